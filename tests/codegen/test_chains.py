"""Products on a chain from turn to turn: which ones are marked, and that a zero cotangent still wins."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjit as aj


def logistic(x, n):
    for _ in range(n):
        x = 3.7 * x * (1.0 - x)
    return x


def filtered(x, n):
    y = 0.0
    for i in range(x.shape[0]):
        y = x[i] * y + np.sin(x[i])
    return y


def in_a_branch(x, n):
    y = 1.0
    for i in range(x.shape[0]):
        if x[i] > 0.0:
            y = y * x[i]
        else:
            y = y * y * 0.5
    return y


def around_a_loop(x, n):
    y = 1.0
    for _ in range(n):
        s = 0.0
        for i in range(x.shape[0]):
            s += x[i] * x[i]
        y = y * s
    return y


def sum_of_products(x, n):
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i] * x[i] * x[i]
    return s


def rows(x, n):
    t = 0.0
    for _ in range(n):
        for i in range(1, x.shape[0]):
            x[i] = x[i] * x[0]
        t += x[1]
    return t


def marked(program: Callable[..., Any], x: Any, more: Any = 3) -> int:
    text = re.sub("#.*", "", aj.grad(program).source(x, more))
    return len(re.findall(r"[^f] scaled\(|[+(-]scaled\(", text))


@pytest.mark.parametrize(
    ("program", "x", "chained"),
    [
        (logistic, 0.3, True), (filtered, np.ones(4), True), (in_a_branch, np.ones(4), True),
        (around_a_loop, np.ones(4), True), (sum_of_products, np.ones(4), False), (rows, np.ones(4), False),
    ],
)  # fmt: skip
def test_which_are_marked(program: Callable[..., Any], x: Any, chained: bool) -> None:
    assert (marked(program, x) > 0) is chained


def root_of_zero(x, a):
    """The slope of the last turn's root is infinite, and its cotangent 0."""
    y = a[0]
    for i in range(x.shape[0]):
        y = np.sqrt(np.abs(y)) * x[i]
    return y


def test_a_zero_cotangent_wins_over_an_infinite_slope() -> None:
    assert marked(root_of_zero, np.ones(3), np.ones(1)) > 0
    x = np.array([0.7, 0.0, 0.3, 0.0])
    got = aj.grad(root_of_zero, wrt=(0, 1))(x, np.array([0.5]))
    assert not np.isnan(got[0]).any()
    np.testing.assert_array_equal(got[1], 0.0)
    x = np.array([0.7, 0.2, 0.3])
    got = aj.grad(root_of_zero, wrt=0)(x, np.array([0.5]))
    for k in range(3):
        h = np.zeros(3)
        h[k] = 1e-6
        a = np.array([0.5])
        assert got[k] == pytest.approx((root_of_zero(x + h, a) - root_of_zero(x - h, a)) / 2e-6, rel=1e-7)


def test_not_where_infinity_does_not_occur() -> None:
    from numba import njit

    assert "scaled" not in aj.grad(njit(fastmath=True)(logistic)).source(0.3, 3)
