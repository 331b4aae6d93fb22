"""The four programs of the speed table, each with its arguments at a given size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from adjit.cli.demos import gauss_seidel, particles


@njit
def burgers_loss(u0, T, c):
    """Sum of squares after T in-place upwind steps of Burgers' equation; c is dt/dx, so no division."""
    u = u0.copy()
    for _ in range(T):
        for i in range(1, u.shape[0]):
            u[i] -= c * u[i] * (u[i] - u[i - 1])
    loss = 0.0
    for i in range(u.shape[0]):
        loss += u[i] * u[i]
    return loss


@njit
def sum_of_squares(x):
    """The function of the rows about calls: it computes nearly nothing."""
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * x[i]
    return total


def burgers_inputs(n: int = 1000, T: int = 1000) -> tuple[np.ndarray, int, float]:
    """A sine on 1, n points; T steps; the Courant number 0.2."""
    return 1.0 + 0.5 * np.sin(2 * np.pi * np.arange(n) / n), T, 0.2


@dataclass(frozen=True)
class Program:
    """One program of the table."""

    name: str
    loss: Callable[..., float]
    inputs: Callable[..., tuple[Any, ...]]
    full: tuple[int, ...]
    """Arguments of `inputs` at the size that the table speaks of."""
    quick: tuple[int, ...]
    small: tuple[int, ...]
    """A size at which only compiling takes time."""
    bar: float
    stretch: float


PROGRAMS = {
    program.name: program
    for program in (
        Program("lexicographic", gauss_seidel.lexicographic_loss, gauss_seidel.inputs,
                full=(1024, 100), quick=(256, 50), small=(8, 2), bar=2.2, stretch=1.9),
        Program("red-black", gauss_seidel.red_black_loss, gauss_seidel.inputs,
                full=(1024, 100), quick=(256, 50), small=(8, 2), bar=2.7, stretch=2.2),
        Program("particles", particles.density_loss, particles.inputs,
                full=(100_000,), quick=(10_000,), small=(100,), bar=2.2, stretch=1.85),
        Program("burgers", burgers_loss, burgers_inputs,
                full=(1000, 1000), quick=(1000, 200), small=(10, 3), bar=3.6, stretch=2.5),
    )
}  # fmt: skip
