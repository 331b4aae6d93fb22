"""The forward sweep's last nest and the reverse sweep's first as one nest: where, and with the same bits as apart.

`aj.grad` keeps them apart, as there is no value to add up; `aj.value_and_grad` may not.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import njit, prange

import adjit as aj

RNG = np.random.default_rng(7)
X, W = RNG.uniform(-1, 1, (9, 7)), RNG.uniform(-1, 1, (9, 7))
U, V = RNG.uniform(-1, 1, 12), RNG.uniform(0.5, 1, 12)


@njit(parallel=True)
def squares(x, w):
    out = x * w - np.sin(x)
    return 0.5 * np.sum(out * out)


@njit(parallel=True)
def stencil(x, w):  # apart, as the next one: turns push to places of others
    lap = 4.0 * x[1:-1, 1:-1] - (x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2])
    out = x[1:-1, 1:-1] - w[1:-1, 1:-1] * lap
    return np.sum(out * out)


@njit(parallel=True)
def limited(x, w):
    rise = x[1:, :] - x[:-1, :]
    flux = np.where(rise * w[1:, :] > 0.0, 0.0, rise)
    out = x[1:-1, :] - w[1:-1, :] * (flux[1:, :] - flux[:-1, :])
    return np.sum(out * out)


@njit(parallel=True)
def divided(x, w):
    return np.sum(x / (2.0 + w) + w / (3.0 + x))


@njit(parallel=True)
def mean(x, w):
    out = x * w
    return np.mean(out * out)


@njit(parallel=True)
def reversed_rows(x, w):
    out = x[:, ::-1] * w
    return np.mean(out * out)


@njit(parallel=True)
def looped(u, v):
    s = 0.0
    for i in prange(u.shape[0]):
        s += u[i] * u[i] * v[i]
    return s


@njit(parallel=True)
def shared(u, v):  # turns push to places of others: apart
    s = 0.0
    for i in prange(u.shape[0] - 1):
        s += u[i] * u[i + 1] * v[i]
    return s


@njit(parallel=True)
def chosen(u, v):  # the places are not known: apart
    s = 0.0
    for i in prange(u.shape[0]):
        s += u[(i * 5) % 12] * v[i]
    return s


@njit(parallel=True)
def wanted(u, v):  # the reverse nest needs the sum: apart
    s = np.sum(u * v)
    return s * s


@njit(parallel=True)
def in_place(u, v):
    u[:] = u * v
    return np.sum(u * u)


@njit(parallel=True)
def several(u, v):
    return np.sum(u * u * v), 3.0 * u[0]


def plain(u, v):
    s = 0.0
    for i in prange(u.shape[0]):
        s += np.exp(u[i]) * v[i]
    return s


def _taken(f: Any, *args: Any) -> bool:
    """Whether the forward function takes what the reverse one begins with."""
    text = aj.value_and_grad(f, wrt=(0, 1)).source(*args)
    return "memory_limit, " in text.partition(f"def {f.__name__}(")[2].partition(")")[0]


ONE = [(squares, X, W), (divided, X, W), (mean, X, W), (looped, U, V), (plain, U, V)]
APART = [
    (stencil, X, W),
    (limited, X, W),
    (reversed_rows, X, W),
    (shared, U, V),
    (chosen, U, V),
    (wanted, U, V),
]


@pytest.mark.parametrize(("f", "x", "y"), [*ONE, *APART], ids=lambda f: getattr(f, "__name__", ""))
def test_the_same_bits(f: Any, x: Any, y: Any, uncompiled: None) -> None:
    value, gradient = aj.value_and_grad(f, wrt=(0, 1))(x, y)
    apart = aj.grad(f, wrt=(0, 1))(x, y)
    assert value == pytest.approx(getattr(f, "py_func", f)(x, y), rel=1e-13)
    for a, b in zip(gradient, apart, strict=True):
        assert np.array_equal(a, b)
    direction = (np.cos(x), np.sin(y))
    _, tangent = aj.jvp(f, (x, y), direction)
    assert sum(np.sum(g * d) for g, d in zip(gradient, direction, strict=True)) == pytest.approx(
        tangent, rel=1e-11
    )


@pytest.mark.parametrize(("f", "x", "y"), ONE, ids=lambda f: getattr(f, "__name__", ""))
def test_one_nest(f: Any, x: Any, y: Any) -> None:
    assert _taken(f, x, y)


@pytest.mark.parametrize(("f", "x", "y"), APART, ids=lambda f: getattr(f, "__name__", ""))
def test_two_nests(f: Any, x: Any, y: Any) -> None:
    assert not _taken(f, x, y)


def test_what_is_written_and_several_results(uncompiled: None) -> None:
    u = U.copy()
    value, gradient = aj.value_and_grad(in_place)(u, V)
    assert np.array_equal(u, U * V)
    assert value == pytest.approx(np.sum((U * V) ** 2))
    np.testing.assert_allclose(gradient, 2 * U * V**2, rtol=1e-13)
    (value, aux), gradient = aj.value_and_grad(several, has_aux=True)(U, V)
    assert (value, aux) == (pytest.approx(np.sum(U * U * V)), 3.0 * U[0])
    np.testing.assert_allclose(gradient, 2 * U * V, rtol=1e-13)


def test_no_turns(uncompiled: None) -> None:
    none = np.zeros(0)
    for f in (looped, plain):
        value, gradient = aj.value_and_grad(f, wrt=(0, 1))(none, none)
        assert value == 0.0
        assert all(g.shape == (0,) for g in gradient)
    value, gradient = aj.value_and_grad(stencil, wrt=(0, 1))(np.ones((2, 5)), np.ones((2, 5)))
    assert value == 0.0
    assert all(np.array_equal(g, np.zeros((2, 5))) for g in gradient)


def test_compiled() -> None:
    for f, x, y in (squares, X, W), (looped, U, V):
        value, gradient = aj.value_and_grad(f, wrt=(0, 1))(x, y)
        assert value == pytest.approx(f.py_func(x, y), rel=1e-13)
        apart = aj.grad(f, wrt=(0, 1))(x, y)
        for a, b in zip(gradient, apart, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-14, atol=1e-15)
