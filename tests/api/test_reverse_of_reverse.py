"""Reverse mode over reverse mode where arrays are made in loops: lists of kept arrays have shadows turn by turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjit as aj

pytestmark = pytest.mark.usefixtures("uncompiled")
X = np.array([1.5, 0.7])


def squares(x: np.ndarray) -> float:
    out = 0.0
    for _ in range(1):
        g = x * x
        out += np.sum(g * g)
    return out


def dots(x: np.ndarray) -> float:
    out, k = 0.0, 0
    while k < 2:
        g = np.sin(x)
        out += np.dot(g, g)
        k += 1
    return out


def copies(x: np.ndarray) -> float:
    out = 0.0
    for _ in range(2):
        g = x.copy()
        for _ in range(2):
            h = g * g
            out += np.sum(h * h)
    return out


def first_times_sum(x: np.ndarray) -> float:
    s = 0.0
    for _ in range(1):
        g = x * x
        s += 2 * np.sum(g) * x[0]
    return s


def elements(x: np.ndarray) -> float:
    s = 0.0
    for k in range(2):
        g = np.zeros(2)
        g[0] += x[0] ** 3 * x[k]
        g[1] += x[1] ** 2 * x[k]
        s += g[k] * x[0]
    return s


def inner(x: np.ndarray) -> float:
    s = 0.0
    for _ in range(2):
        g = aj.grad(lambda y: y[0] ** 4)(x)
        s += g[0] * x[0]
    return s


def branch(x: np.ndarray) -> float:
    s = 0.0
    for k in range(3):
        if k != 1:
            g = x * x[k % 2]
            s += np.sum(g * g)
    return s


def pulled(x: np.ndarray) -> float:
    """A pullback in a loop, of an array function whose argument changes afterwards."""
    r = x * 1.0
    _, pullback = aj.vjp(lambda y: y * y * y[0], r)
    s = 0.0
    for k in range(2):
        c = np.zeros(2)
        c[k] = 1.0
        s += pullback(c)[0][k] * x[k]
        r[k] += 1.0
    return s


PROGRAMS = [squares, dots, copies, first_times_sum, elements, inner, branch, pulled]


def of_gradient(op: Callable[..., Any], f: Callable[..., Any]) -> Any:
    return op(aj.grad(f))


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_second_derivatives(f: Callable[..., Any]) -> None:
    right = aj.jacfwd(aj.jacfwd(f))(X)
    step = 1e-6
    for k in range(2):
        e = np.eye(2)[k] * step
        near = (aj.jacfwd(f)(X + e) - aj.jacfwd(f)(X - e)) / (2 * step)
        assert np.allclose(right[:, k], near, rtol=1e-7, atol=1e-7)
    for found in (
        aj.jacrev(aj.jacrev(f))(X),
        aj.jacrev(aj.grad(f))(X),
        aj.hessian(f)(X),
        np.stack([aj.grad(lambda x, k: aj.jacrev(f)(x)[k])(X, k) for k in range(2)]),
    ):
        assert np.allclose(found, right, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_third_derivatives(f: Callable[..., Any]) -> None:
    right = aj.jacfwd(aj.jacfwd(aj.jacfwd(f)))(X)
    for found in (
        aj.jacrev(aj.jacrev(aj.grad(f)))(X),
        aj.jacrev(aj.hessian(f))(X),
        aj.jacfwd(aj.hessian(f))(X),
        aj.jacrev(aj.jacfwd(aj.jacrev(f)))(X),
    ):
        assert np.allclose(found, right, rtol=1e-11, atol=1e-11)


def test_a_pullback_called_in_a_loop() -> None:
    def row(x: np.ndarray) -> float:
        _, pullback = aj.vjp(aj.grad(first_times_sum), x)
        a = 0.0
        for r in range(2):
            c = np.zeros(2)
            c[r] = 1.0
            a = pullback(c)[0][0]
        return a

    assert np.allclose(aj.grad(row)(X), [0.0, 4.0], atol=1e-14)


def test_the_closed_form() -> None:
    assert np.allclose(aj.jacrev(aj.jacrev(squares))(X), np.diag(12 * X**2), rtol=1e-14)
