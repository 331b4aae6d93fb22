"""A derivative taken in a loop, of a loop whose length is not known ahead, differentiated once more in reverse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numba import prange

import adjit as aj

pytestmark = pytest.mark.usefixtures("uncompiled")

X = np.array([2.0, 3.0, 1.5])


def root(x):
    y = 1.0
    while abs(y * y - x) > 1e-13:
        y = 0.5 * (y + x / y)
    return y


def in_a_loop(x):
    s = 0.0
    for i in range(len(x)):
        s += aj.grad(root)(x[i]) * x[i]
    return s


def by_pullbacks(x):
    s = 0.0
    for i in range(len(x)):
        _, pullback = aj.vjp(root, x[i])
        s += pullback(x[i])[0]
    return s


def in_a_parallel_loop(x):
    y = np.zeros(len(x))
    for i in prange(len(x)):
        y[i] = aj.grad(root)(x[i]) * x[i]
    return np.sum(y)


@pytest.mark.parametrize("f", [in_a_loop, by_pullbacks, in_a_parallel_loop], ids=lambda f: f.__name__)
def test_a_sum_of_slopes(f: Callable[..., Any]) -> None:
    """x / (2 sqrt(x)), summed: sqrt(x) / 2."""
    assert f is in_a_parallel_loop or aj.jit(f)(X) == pytest.approx(np.sum(np.sqrt(X)) / 2)
    np.testing.assert_allclose(aj.grad(f)(X), 0.25 / np.sqrt(X), rtol=1e-11)
    np.testing.assert_allclose(aj.hessian(f)(X), np.diag(-0.125 * X**-1.5), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        aj.vjp(aj.grad(f), X)[1](np.ones(3))[0], -0.125 * X**-1.5, rtol=1e-9, atol=1e-12
    )


def test_in_a_branch() -> None:
    def f(x):
        if x > 1.0:
            return aj.grad(root)(x)
        return x

    assert aj.grad(f)(4.0) == pytest.approx(-0.25 / 8, rel=1e-10)
    assert aj.grad(f)(0.5) == 1.0


def test_in_nested_loops_and_branches() -> None:
    def f(x):
        s = 0.0
        for i in range(len(x)):
            for j in range(i + 1):
                if x[j] > 1.6:
                    s += aj.grad(root)(x[i] * x[j]) * x[i]
                else:
                    s += aj.hessian(root)(x[i] * x[j])
        return s

    aj.check_grad(f, X)
    aj.check_grad(aj.grad(f), X)


def test_in_a_loop_of_unknown_length() -> None:
    def f(x):
        s, k = 0.0, 0
        while s < 20.0:
            s += aj.grad(root)(x + k) * x * 10
            k += 1
        return s

    aj.check_grad(f, 2.0)
    assert aj.grad(aj.grad(f))(2.0) == pytest.approx(aj.hessian(f)(2.0), rel=1e-9)


def test_the_hessian_of_a_loop_around_it() -> None:
    def roots(x):
        s = 0.0
        for i in range(3):
            s += root(x[i] * x[0])
        return s

    def f(x):
        return np.sum(aj.hessian(roots)(x) * x[1])

    aj.check_grad(f, X)


def test_of_arrays_that_are_written() -> None:
    def f(x, n):
        y = np.zeros(n)
        for i in range(n):

            def g(z):
                a = np.zeros(3)
                a[0] = z[0]
                k = 0
                while a[0] < 9.0:
                    a[k % 3] = a[(k + 2) % 3] * z[1] + a[k % 3] * z[1] + 1.0
                    k += 1
                return a[0] * a[1]

            y[i] = np.sum(aj.grad(g)(x * (i + 1)))
        return np.sum(y * y)

    x = np.array([1.0, 1.3])
    aj.check_grad(f, x, 3)
    aj.check_grad(aj.grad(f), x, 3)
