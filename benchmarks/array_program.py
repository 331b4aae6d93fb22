"""What a program of the array table is: a NumPy source, the forms that JAX has of it, its arguments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Form = Callable[..., Any]


@dataclass(frozen=True)
class ArrayProgram:
    """One program of the array table."""

    name: str
    group: str
    """`recurrence`, `stencil` or `product`: which bar holds."""
    loss: Callable[..., float]
    """The source that Numba and adjit both take."""
    forms: dict[str, Form]
    """JAX forms of the same value by name, in whole arrays; the fastest counts."""
    inputs: Callable[..., tuple[Any, ...]]
    """Arguments of a given size. Whole numbers are compile-time constants for JAX."""
    wrt: tuple[int, ...]
    full: tuple[int, ...]
    quick: tuple[int, ...]
    scan: Form | None = None
    """Of a recurrence: JAX's transliteration of the loop program, scans and masks (see `masked`)."""
    statements: int = 0
    """Assignments from arrays in one step (in all, where no last argument counts steps); 0: not counted."""
    threads: bool = False
    """Whether adjit gets it as `@njit(parallel=True)`, whose array statements run on threads; `njit` stays plain."""
    jit_bar: float = 1 / 1.1
    """How many times faster than plain `njit` the function that `aj.jit` compiles must be."""
