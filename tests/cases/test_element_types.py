"""The element type of an array that is made without a dtype is that of what it is made from, never of later stores."""

import numpy as np
import pytest
from numba import njit

import adjit as aj


def from_numbers(x, n):
    a = np.array([n, 2])
    a[0] = int(x * 10.0)
    a[1] = x * 10.0
    return x * a[0] + a[1]


def from_nested(x, n):
    a = np.array([[n, 2], [3, n]])
    a[0, 1] = x * 10.0
    return x * a[0, 1]


def like_floats(x, n):
    t = np.array([x, 2.0 * x])
    u = np.zeros_like(t)
    u[0] = 1.5 * x
    return u[0] * u[0] + n


def like_integers(x, n):
    u = np.ones_like(np.array([n, n]))
    u[0] = 1.5 * x
    return x * u[0]


def copied(x, n):
    a = np.array([n, 2]).copy()
    a[0] = x * 1.5
    return x * a[0]


def counted(x, n):
    a = np.arange(n, n + 3)
    a[1] = 2.7 * x
    return x * a[1]


def comprehended(x, n):
    a = np.array([i + n for i in range(3)])
    a[1] = 2.7 * x
    return x * a[1]


def in_a_loop(x, n):
    total = 0.0
    for k in range(3):
        a = np.array([n, k])
        a[0] = x * 1.7
        total += x * a[0]
    return total


PROGRAMS = [from_numbers, from_nested, like_floats, like_integers, copied, counted, comprehended, in_a_loop]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("compiled", [False, True], ids=["plain", "njit"])
def test_later_stores_are_cut(f, compiled):
    g = njit(f) if compiled else f
    x, n, h = 3.71, 4, 1e-6
    value, slope = aj.value_and_grad(g)(x, n)
    assert value == f(x, n)
    assert slope == pytest.approx((f(x + h, n) - f(x - h, n)) / (2 * h), rel=1e-8)
    assert aj.jvp(g, (x, n), (1.0, None))[1] == pytest.approx(slope, rel=1e-12)
