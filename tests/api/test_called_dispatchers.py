"""Dispatchers that a plain function calls: inside Numba's types, outside Python's numbers of what they return."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import njit

import adjit as aj

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")

U = np.array([100, 3, 200], np.uint8)


@njit
def add(a, b):
    return a + b


@njit
def sub(a, b):
    return a - b


@njit
def products(u, n):
    w = np.empty(3, np.uint8)
    for i in range(3):
        w[i] = u[i] * n
    w[0] = 300  # cut off, as every store of Numba's
    return w


@njit
def expressions(u, x):
    v = u * u
    return np.sum(x * (u * u)) + v[0] + np.sum(v)


@njit
def recursive(u, k):
    return u if k == 0 else recursive(u + 200, k - 1)


@njit
def power(a, n):
    return a**n


@njit
def looped(u):
    s = 0
    for i in range(3):
        s = s + u[i] * u[i]
    for j in range(u[1], u[0]):
        s = s * 2 - j
    return s


@njit
def both(a, b):
    return a + b, a > b


def widened(x, y, n):
    return x * add(U[0], 200) + x * (sub(U[1], U[0]) / 2)


def stored(x, y, n):
    return x * np.sum(products(U, n)) + x * expressions(U, y)


def called_again(x, y, n):
    return x * recursive(U[0], n)


def powers(x, y, n):
    return x * power(U[0], n) + x * power(n, -2)


def in_loops(x, y, n):
    return x * looped(U) + x * (looped(U) % 7)


def pairs(x, y, n):
    a, b = both(U[0], U[2])
    c, d = both(U[0], n)
    return x * (b + d) + x * (a + c) + x * (a + 0)


def index(x, y, n):
    k = add(U[0], U[2])
    return y[k % 3] * x + x * (k - n) + x * (add(1, 2) + U[0])


PROGRAMS = (stored, called_again, powers, pairs, index)
"""Without those whose uint64 wraps, which is Python's integer when nothing is compiled."""


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_values(f: Any, uncompiled: None) -> None:
    args = 0.5, np.array([1.0, 1.5, 2.0]), 3
    assert aj.value_and_grad(f)(*args) == (f(*args), pytest.approx(2 * f(*args)))


def test_compiled() -> None:
    def f(x, y, n):
        bools = add(y[0] > 0, y[1] > 0) + (add(y[0], 1) > 0) + (add(y[0], 1) > 1)  # of Python: 2 + 1 + 1
        return x * bools + widened(x, y, n) + stored(x, y, n) + powers(x, y, n) + in_loops(x, y, n)

    args = 0.5, np.array([1.0, 1.5, 2.0]), 3
    assert aj.value_and_grad(f)(*args) == (f(*args), pytest.approx(2 * f(*args)))


def test_what_a_dispatcher_returns_is_pythons(uncompiled: None) -> None:
    def f(x, n):
        return x * (add(U[0], n) + U[1])  # an integer that uint8 may not hold

    assert aj.value_and_grad(f)(1.0, 5)[0] == 108.0
    with pytest.raises(OverflowError, match="a Python integer is out of bounds for uint8"):
        aj.grad(f)(1.0, 200)


def test_single_precision_stays_that(uncompiled: None) -> None:
    def f(x, n):
        s = np.float32(0.0)
        for i in range(n):
            s += add(x[i], x[i]) * x[i]
        return s

    x = np.array([1.0, 1.5], np.float32)
    value, gradient = aj.value_and_grad(f)(x, 2)
    assert (value, gradient.dtype) == (6.5, np.float32)
