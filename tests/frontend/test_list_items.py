"""Lists into which numbers of other types are put: held in plain functions, refused in dispatchers, which cut them off."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numba import njit

import adjit as aj

X = np.array([0.7, 1.3, 2.1, 0.4, 1.9])


def running(x):
    s = [0]
    for v in x:
        s.append(s[-1] + v)
    return s[-1] * x[0]


def memory(x):
    memo = [-1] * 6
    memo[0], memo[1] = x[0], x[1]
    for i in range(2, 6):
        memo[i] = memo[i - 1] + memo[i - 2]
    return memo[5] * memo[5] * x[0]


def coins(x):
    ways = [0] * 6
    ways[0] = 1
    for c in (1, 2):
        for j in range(c, 6):
            ways[j] += ways[j - c] * x[c]
    return ways[5] * x[0]


def literals(x):
    s = [1, 2]
    s[0] = x[1]
    return s[0] * x[0] + s[1]


def in_tuples(x):
    s = [(0, 0)]
    s[0] = (1, x[0])
    return s[0][1] * x[1]


def bools(x):
    s = [x[0] > 0]
    s.append(x[1])
    return s[1] * x[0]


def copied(x):
    s = [0, 1]
    t = s.copy()
    t[0] = x[0]
    return t[0] * x[1] + s[0]


def extended(x):
    s = [0, 1]
    s.extend(x)
    s += [x[1]]
    s.insert(0, x[2])
    return s[0] * x[1] * s[-1] + s[4]


def helped(x):
    s = [0]
    put(s, x[0])
    return s[1] * x[1]


def put(s, v):
    s.append(v)


PROGRAMS = [running, memory, coins, literals, in_tuples, bools, copied, extended, helped]


def differences(f: Callable[[Any], float], x: np.ndarray) -> list[float]:
    return [(f(x + h) - f(x - h)) / 2e-6 for h in 1e-6 * np.eye(len(x))]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_plain(f: Callable[..., Any], uncompiled: None) -> None:
    value, gradient = aj.value_and_grad(f)(X)
    assert value == pytest.approx(f(X), rel=1e-14)
    np.testing.assert_allclose(gradient, differences(f, X), atol=1e-7)


def test_compiled() -> None:
    assert aj.jit(coins)(X) == pytest.approx(coins(X), rel=1e-14)


@pytest.mark.parametrize("f", PROGRAMS[:-1], ids=lambda f: f.__name__)
def test_dispatchers(f: Callable[..., Any]) -> None:
    with pytest.raises(aj.UnsupportedError, match="which would be cut off"):
        aj.grad(njit(f))(X)


def popped_twice(x):
    s = [x[0]]
    s.pop()
    return s.pop() * x[0]


def outside(x):
    s = [x[0]]
    return s[3] * x[0]


def test_what_always_raises() -> None:
    with pytest.raises(IndexError, match="pop from empty list"):
        aj.grad(popped_twice)(X)


def test_an_index_outside_of_a_list_where_indices_are_checked() -> None:
    with pytest.raises(IndexError):
        aj.grad(njit(boundscheck=True)(outside))(X)
