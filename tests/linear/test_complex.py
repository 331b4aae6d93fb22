"""Gates: factorisations of complex matrices, whose adjoints are those of differences where phases do not matter."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numba import njit

import adjit as aj

from .programs import numbers


def _complex(*shape: int, seed: int) -> np.ndarray:
    return numbers(*shape, seed=seed) + 1j * numbers(*shape, seed=seed + 1)


Z, C, C4 = _complex(3, 3, seed=31), numbers(3, 3, seed=33), numbers(4, 4, seed=34)
TALL, WIDE = _complex(4, 3, seed=35), _complex(3, 4, seed=37)


def factor(a, c):
    low = np.linalg.cholesky(a)
    return np.sum((low * c).real) + np.sum((low * low).imag)


def vectors_of_hermitian(a, c):
    w, v = np.linalg.eigh(a)
    total = np.sum(w**3) + np.sum(np.abs(v) ** 2 * c)
    return total + np.sum(((v * np.exp(0.1 * w)) @ v.conj().T * c).imag)


def values_of_hermitian(a, c):
    return np.sum(np.linalg.eigvalsh(a) * c[0])


def singular_tall(a, c):
    u, w, vt = np.linalg.svd(a, False)
    total = np.sum(w**3) + np.sum(np.abs(u) ** 2 * c[:, :3]) + np.sum(np.abs(vt) ** 2 * c[:3, :3])
    return total + np.sum(((u * np.sqrt(w)) @ vt * c[:, :3]).imag)


def singular_wide(a, c):
    u, w, vt = np.linalg.svd(a, False)
    total = w[0] * w[1] + np.sum(np.abs(u) ** 2 * c[:3, :3]) + np.sum(np.abs(vt) ** 2 * c[:3])
    return total + np.sum(((u * np.sqrt(w)) @ vt * c[:3]).real)


def orthogonal(a, c):
    n = a.shape[1]
    q, r = np.linalg.qr(a)
    total = np.sum((q * c[: a.shape[0], :n]).real) + np.sum((q * q).imag)
    return total + np.sum((r * r * c[:n, :n]).imag) + np.sum(np.abs(r) ** 3) + r[0, 0].real


PROGRAMS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (factor, (Z @ Z.conj().T + np.eye(3), C)),
    (vectors_of_hermitian, (Z + Z.conj().T, C)),
    (values_of_hermitian, (Z + Z.conj().T, C)),
    (singular_tall, (TALL, C4)),
    (singular_wide, (WIDE, C4)),
    (orthogonal, (TALL, C4)),
    (orthogonal, (Z, C4)),
]


@pytest.mark.parametrize(("program", "args"), PROGRAMS)
def test_derivatives(program: Callable[..., Any], args: tuple[Any, ...], uncompiled: None) -> None:
    value, _ = aj.vjp(program, *copy.deepcopy(args))
    np.testing.assert_allclose(value, program(*args), rtol=1e-12)
    aj.check_grad(program, *copy.deepcopy(args))


@njit
def both(a):
    u, s, vt = np.linalg.svd(a, False)
    q, r = np.linalg.qr(a)
    return np.sum(s**3) + np.sum(np.abs(u) ** 4) + np.sum(np.abs(r) ** 3) + np.sum((q * q).real)


def test_compiled() -> None:
    value, gradient = aj.value_and_grad(both)(TALL)
    np.testing.assert_allclose(value, both(TALL), rtol=1e-12)
    direction, step = _complex(4, 3, seed=41), 1e-6
    slope = (both(TALL + step * direction) - both(TALL - step * direction)) / (2 * step)
    np.testing.assert_allclose(np.sum(gradient * direction).real, slope, rtol=1e-6)
