"""What may stand in a kernel: captures, tuples, other numbers, rules, gradients, errors."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest
from numba import njit

import adjit as aj

from .emulate import launch, plain

X = np.array([0.5, -1.5, 2.0])
TABLE = np.array([1.0, 10.0, 100.0])


@pytest.fixture(autouse=True)
def _uncompiled(uncompiled):
    """Generated programs run as plain Python."""


def total(k, *more):
    """The sum of what a kernel leaves in a new array, as a function of x."""

    def f(x):
        y = np.zeros(len(x))
        k(y, x, *more, ndrange=len(x))
        return np.sum(y)

    return f


def agrees(f, slopes, x=X):
    value, gradient = aj.value_and_grad(f)(x.copy())
    np.testing.assert_allclose(value, plain(f, x.copy()), rtol=1e-14)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-13)
    aj.check_grad(f, x.copy())


def test_captured_arrays_are_read(monkeypatch):
    @aj.kernel
    def weighted(y, x):
        i = aj.index()
        y[i] = TABLE[i] * x[i]

    agrees(total(weighted), TABLE)
    monkeypatch.setitem(globals(), "TABLE", np.array([2.0, 2.0, 2.0]))
    agrees(total(weighted), [2.0, 2.0, 2.0])


def test_captured_arrays_are_not_written():
    @aj.kernel
    def fill(x):
        TABLE[aj.index()] = x[0]

    with pytest.raises(aj.UnsupportedError, match="a captured array is written"):
        fill(X, ndrange=3)


class Spring(NamedTuple):
    stiffness: float
    rest: np.ndarray


def test_tuples():
    @aj.kernel
    def pull(f, x, p):
        i = aj.index()
        f[i] = p.stiffness * (x[i] - p.rest[i])

    def force(p, x):
        f = np.zeros(len(x))
        pull(f, x, p, ndrange=x.shape)
        return np.sum(f)

    given = aj.grad(force)(Spring(3.0, np.ones(3)), X)
    assert given.stiffness == np.sum(X - 1.0) and given.rest.tolist() == [-3.0, -3.0, -3.0]


def test_a_gradient_in_a_kernel():
    def potential(r):
        return r * r * math.exp(-r)

    @aj.kernel
    def force(y, x):
        i = aj.index()
        y[i] = -aj.grad(potential)(x[i])

    agrees(total(force), -np.exp(-X) * (2 - 4 * X + X * X))


def test_rules_of_ones_own():
    @aj.custom_vjp
    def doubled(v):
        return 2.0 * v

    doubled.defvjp(lambda v: (2.0 * v, None), lambda _, ct: (5.0 * ct,))

    @aj.kernel
    def ruled(y, x):
        i = aj.index()
        y[i] = doubled(x[i]) + aj.stop_gradient(x[i])

    assert aj.grad(total(ruled))(X).tolist() == [5.0, 5.0, 5.0]


def power(v, n):
    return v if n == 1 else v * power(v, n - 1)


def test_a_function_that_calls_itself():
    @aj.kernel
    def powers(y, x):
        i = aj.index()
        y[i] = power(x[i], i + 1)

    agrees(total(powers), [1.0, 2 * X[1], 3 * X[2] ** 2])


@njit(inline="always")
def twice_the_place():
    return 2.0 * aj.index()


def test_a_device_function_asks_for_the_place():
    @aj.kernel
    def placed(y, x):
        y[aj.index()] = x[aj.index()] * twice_the_place()

    assert aj.grad(total(placed))(X).tolist() == [0.0, 2.0, 4.0]


def test_complex_numbers():
    @aj.kernel
    def turn(z, w):
        i = aj.index()
        z[i] = z[i] * w

    def norm(z, w):
        v = z.copy()
        turn(v, w, ndrange=len(v))
        s = 0.0
        for i in range(len(v)):
            s += abs(v[i]) ** 2
        return s

    z = np.array([1 + 2j, 3 - 1j])
    aj.check_grad(norm, z, 0.5 + 0.25j)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_dtypes(dtype):
    @aj.kernel
    def affine(y, x, a):
        i = aj.index()
        y[i] = a * x[i] + i
        aj.atomic_add(y, (0,), x[i])

    x = np.arange(1, 4).astype(dtype)
    got, want = np.zeros(3, dtype), np.zeros(3, dtype)
    affine(got, x, 2, ndrange=3)
    launch(affine, want, x, 2, ndrange=3)
    assert got.dtype == want.dtype and got.tolist() == want.tolist()


def test_an_error_of_the_users():
    @aj.kernel
    def strict(y, x):
        i = aj.index()
        if x[i] < -1.0:
            raise ValueError("too small")
        y[i] = x[i]

    with pytest.raises(ValueError, match="too small"):
        aj.grad(total(strict))(X)
    assert aj.grad(total(strict))(np.abs(X)).tolist() == [1.0, 1.0, 1.0]


def test_whole_array_statements_in_a_kernel():
    @aj.kernel
    def rows(y, x):
        i = aj.index()
        y[i] = np.sum(x[: i + 1] * x[: i + 1])

    agrees(total(rows), 2 * X * [3, 2, 1])


def test_nested_parallel_loops_of_a_host():
    @aj.kernel
    def add_row(y, x, row):
        i = aj.index()
        y[row, i] = x[i] * (row + 1)

    def f(x):
        y = np.zeros((2, len(x)))
        for row in range(2):
            add_row(y, x, row, ndrange=len(x))
        return np.sum(y)

    assert aj.grad(f)(X).tolist() == [3.0, 3.0, 3.0]
