"""Integers of 8 to 32 bits at the limits of their types.

A plain function has NumPy's values: each operation wraps in the type of its arrays, sums are of 64 bits. A dispatcher has
Numba's: inside of an expression the numbers are of 64 bits, and wrap where an array of them is made. Each statement of
one program per type is a case of the grid; its value is `out[k]`. The program is linear in x, so that what it returns at
the unit vectors is its gradient.
"""

from __future__ import annotations

import warnings
from typing import Any

import numba
import numpy as np
import pytest

import adjit as aj

SMALL = ("int8", "int16", "int32", "uint8", "uint16", "uint32")


def _grid(x, a, b, m, three, out):
    """Operators and functions, fused with x, under a name, in a mask, summed, stored and updated."""
    out[0] = np.sum(x * (a + b))
    out[1] = np.sum(x * (a - three))
    out[2] = np.sum(x * (a * a))
    out[3] = np.sum(x * (-a))
    out[4] = np.sum(x * (~(a * b)))
    out[5] = np.sum(x * ((a + a) // b))
    out[6] = np.sum(x * ((a * b) % three))
    out[7] = np.sum(x * ((a * a) >> three))
    out[8] = np.sum(x * (a << (b & three)))
    out[9] = np.sum(x * np.abs(a * b))
    out[10] = np.sum(x * (a**2 + a))
    out[11] = np.sum(x * (np.add(a * a, b) * a))
    out[12] = np.sum(x * np.maximum(a + a, b))
    out[13] = np.sum(x * np.where(a * a > 50, a * b, b))
    out[14] = np.sum(x * (a / b))
    out[15] = np.sum(x * ((a * a)[::-1] * b))
    out[16] = np.sum(x * (m * (a * a)))
    named = a * a
    out[17] = np.sum(x * named)
    named = -(a + b)
    out[18] = np.sum(x * named)
    out[19] = np.sum(x[a * a > 100])
    out[20] = np.sum(a * b) * np.sum(x)
    out[21] = np.sum(x * np.cumsum(a * b))
    out[22] = np.max(a * a) * np.sum(x)
    y = x.copy()
    y[:] = y * (a * a)
    out[23] = np.sum(y)
    own = a.copy()
    own += a * a
    own[1:] -= a[1:] * a[:-1]
    out[24] = np.sum(x * own)
    t = a[0]
    for i in range(a.shape[0]):
        own[i] = a[i] * a[i]
        own[i] += b[i]
        t = a[i] * a[i] + b[i]
        out[25] += x[i] * t
    out[26] = np.sum(x * own)
    out[27] = np.sum(x * (a.astype(np.int64) * b))
    return np.sum(out)


def _arguments(name):
    least, most = np.iinfo(name).min, np.iinfo(name).max
    a = np.array([most, least, 12, 3, most // 2 + 1, 100], name)
    b = np.array([3, 7, 12, most, 2, most - 1], name)
    m = np.stack((b, a))
    return np.linspace(1, 2, 6), a, b, m, np.full(6, 3, name)


def _agrees(f, reference, name):
    x, *rest = _arguments(name)
    wanted, found = np.zeros(28), np.zeros(28)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scalars that wrap
        total = reference(x, *rest, wanted)
        value, gradient = aj.value_and_grad(f)(x, *rest, found)
        slopes = np.array([reference(e, *rest, np.zeros(28)) for e in np.eye(6)])
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    np.testing.assert_allclose(value, total, rtol=1e-12)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-9, atol=1e-9 * np.abs(slopes).max())


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.usefixtures("uncompiled")
def test_plain_functions_wrap_as_numpy(name):
    _agrees(_grid, _grid, name)


def test_compiled_plain_functions_wrap_as_numpy():
    _agrees(_grid, _grid, "int8")


@pytest.mark.parametrize("name", ["int8", "uint16"])
def test_dispatchers_compute_expressions_in_64_bits_as_numba(name):
    compiled = numba.njit(_grid)
    _agrees(compiled, compiled, name)


def test_the_square_of_a_wrapped_number_may_be_negative():
    def f(x, a):
        b = a * a
        return np.sum(x * b)

    value, gradient = aj.value_and_grad(f)(np.array([1.0, 2.0]), np.array([12, 3], np.int8))
    assert value == -94
    assert gradient.tolist() == [-112, 9]


def test_what_is_returned_and_passed_on_has_the_type_of_arrays():
    @numba.njit
    def inner(x, v):
        return np.sum(x * v)

    @numba.njit
    def f(x, a):
        return inner(x, a * a) + x[0] * np.multiply(a[0], a[1]), a * a

    x, a = np.array([1.0, 2.0]), np.array([20, 17], np.uint8)
    wanted, squares = f(x, a)
    (found, own), _ = aj.vjp(f, x, a)
    assert found == wanted
    assert own.dtype == squares.dtype and own.tolist() == squares.tolist()


def bounds(x, n, u):
    chosen = range(u[0] % 3, n % 6)
    s = x * len(chosen)
    for _ in chosen:
        s += x
    for k, _ in enumerate(range(u[2] + 2, u[1])):
        s += x * k
    for i in reversed(range(u[2], u[0])):
        s += x * i
    for i, j in zip(range(u[1], u[0], 2), range(u[0])):
        s += x * i * j
    for i in reversed(range(u[1], u[0], 2)):
        s += x * i
    return s + x * len(range(u[0], u[1], -1)) + x * len(range(u[1], u[0], -1))


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint32])
@pytest.mark.usefixtures("uncompiled")
def test_ranges_of_small_integers(dtype: Any) -> None:
    """Their bounds do not wrap: `range(2, 1)` of two uint8 has no items."""
    u = np.array([5, 1, 0], dtype)
    for f in (bounds, numba.njit(bounds)):
        assert aj.value_and_grad(f)(0.25, 1, u) == (bounds(0.25, 1, u), 4 * bounds(0.25, 1, u))


def test_a_range_of_small_integers_compiled() -> None:
    u = np.array([5, 1, 0], np.uint8)
    assert aj.value_and_grad(bounds)(0.25, 1, u) == (bounds(0.25, 1, u), 4 * bounds(0.25, 1, u))


@pytest.mark.usefixtures("uncompiled")
def test_differences_that_stretch_wrap() -> None:
    """An array of one element, updated in place by another one: the difference is computed once, on 64 bits."""

    @numba.njit
    def shifted(a, g, h):
        h -= g
        return a[0] * a[0]

    h = np.array([164], np.uint8)
    assert aj.grad(shifted)(np.array([2.0]), np.array([250], np.uint8), h) == 4.0
    assert h == 170


def powers(x, u, n):
    return x * np.float_power(u[0], u[1]) + x * np.sum(np.float_power(u, 2))


def vandermonde(x, u, n):
    return x * np.sum(np.vander(u, 4)) + x * np.sum(np.vander(u, 3, increasing=True)[0])


def polynomials(x, u, n):
    p = np.array([2, 3], np.int16)
    return (
        x * np.polyval(u, u[0])
        + x * np.polyval(u, n)
        + x * np.sum(np.polyval(u, u))
        + x * np.polyval(p, u[0])
    )


def of_floats(x, u, n):
    return x * np.polynomial.polynomial.polyval(u[0], u) + x * np.polynomial.polynomial.polyval(n, u)


def slopes(x, u, n):
    at = np.array([0.0, 1.5, 2.0])
    return x * np.sum(np.gradient(u)) + x * np.sum(np.gradient(u, 2)) + x * np.sum(np.gradient(u, at))


def norms(x, u, n):
    return x * np.linalg.norm(u) + x * np.linalg.norm(u, 1) + x * np.average(u, weights=u)


@pytest.mark.parametrize(
    "f", [powers, vandermonde, polynomials, of_floats, slopes, norms], ids=lambda f: f.__name__
)
@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.usefixtures("uncompiled")
def test_functions_that_compute_in_more_bits(f: Any, dtype: Any) -> None:
    u = np.array([100, 3, 200]).astype(dtype)
    value, slope = aj.value_and_grad(f)(1.5, u, 3)
    assert (value, slope) == (pytest.approx(f(1.5, u, 3), rel=1e-14), pytest.approx(f(1.0, u, 3), rel=1e-14))


def test_large_unsigned_integers_compiled() -> None:
    def f(x, u):
        return x * np.sign(u[0]) + x * np.sum(np.sign(u)) + x * (u[0] / 2**63) + x * ((2**63 - 1) % 1000)

    u = np.array([2**63 + 5, 0], np.uint64)
    assert aj.value_and_grad(f)(1.5, u)[0] == f(1.5, u)
    for g in (lambda x: x / 2**64, lambda x: x * (2**62 * 4)):
        with pytest.raises(aj.UnsupportedError, match="does not fit in 64 bits"):
            aj.grad(g)(1.5)
