"""Exits that meet: break, return and else of one loop; and what was once wrong after an early return."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numba import njit

import adjit as aj


def break_or_return(r):
    for i in range(3):
        if r > 1.0:
            break
        if r < -9.0:
            return -r
    else:
        return r * 2
    return r * 5


def break_or_return_while(r):
    i = 0
    while i < 3:
        i += 1
        if r > 1.0:
            break
        if r < -9.0:
            return -r
    else:
        return r * 2
    return r * 5


def return_or_break(r):
    for i in range(3):
        if r < -9.0:
            return -r
        if r > 1.0:
            break
    else:
        return r * 2
    return r * 5


def nested_for_else(r):
    s = 0.0
    for k in range(3):
        for i in range(3):
            if r > 1.0:
                break
            if r < -9.0:
                return -r
        else:
            return r * 2 + s
        s += r * k
    return r * 5 + s


def inner_else_continues(r):
    s = 0.0
    for k in range(4):
        for j in range(3):
            if r * j > 2.0:
                break
        else:
            continue
        s += r * r
        if s > 20.0:
            return s
    return s + r


def inner_break_and_return(r):
    while True:
        r = r * 1.5
        for j in range(3):
            if r > 3.0:
                break
            if r < 0.0:
                return r
        else:
            r = r + 0.1
            continue
        if r > 10.0:
            break
        r = r + 1.0
    else:
        return 0.0
    return r * r


def swap_in_unreachable_else(x, n):
    a = x.copy()
    b = np.ones(3)
    while True:
        n += 1
        if n > 5:
            break
    else:
        if n == 3:
            a, b = b, a
        else:
            return x[1]
    return a[0]


def local_after_guard(x, n):
    if n == 0:
        return x[0]
    v = np.ones(2)
    for i in range(n):
        v[0] = x[0] * v[0] * v[1] + i
        v[1] = x[0] * v[0]
    return v[1]


def fresh_each_turn(x):
    s = 0.0
    for t in range(2):
        nb = np.empty(1)
        nb[0] = x
        nb[0] = nb[0] * nb[0] * x
        s += nb[0]
    return s


def one_side_is_new(x, n):
    if n == 0:
        w = np.ones(3)
    else:
        w = x.copy()
    for i in range(3):
        w[i] = w[i] * x[i]
    return w[0]


LOOPS = [
    break_or_return,
    break_or_return_while,
    return_or_break,
    nested_for_else,
    inner_else_continues,
    inner_break_and_return,
]


@pytest.mark.parametrize("f", LOOPS)
@pytest.mark.parametrize("r", [2.1, 0.5, -10.0, 1.2, 0.9])
def test_exits_that_meet(f: Callable[[float], float], r: float) -> None:
    value, gradient = aj.value_and_grad(f)(r)
    assert value == f(r)
    h = 1e-6
    assert gradient == pytest.approx((f(r + h) - f(r - h)) / (2 * h), abs=1e-6)


def test_swap_in_an_else_that_is_never_reached() -> None:
    np.testing.assert_array_equal(aj.grad(swap_in_unreachable_else)(np.array([0.3, 0.5, 0.7]), 2), [1, 0, 0])


def test_a_pullback_twice_where_the_local_array_is_made_in_a_branch() -> None:
    x = np.array([0.3, 0.5, -0.2])
    _, pullback = aj.vjp(local_after_guard, x, 2)
    first = pullback(1.0)[0].copy()
    np.testing.assert_array_equal(first, pullback(1.0)[0])
    np.testing.assert_allclose(first, aj.grad(local_after_guard)(x, 2), rtol=1e-14)


def test_reverse_over_reverse_with_an_array_made_each_turn() -> None:
    (second,) = aj.vjp(aj.grad(fresh_each_turn), 1.3)[1](1.0)
    assert second == pytest.approx(12 * 1.3)


def test_an_array_that_is_new_on_one_side_of_a_branch() -> None:
    x = np.array([0.3, 0.5, 0.7])
    np.testing.assert_allclose(aj.grad(one_side_is_new)(x, 1), [0.6, 0, 0])
    np.testing.assert_allclose(aj.grad(one_side_is_new)(x, 0), [1, 0, 0])


@njit
def number_after_a_loop_that_returns(a, n):
    if n >= 3:
        for _ in range(n % 4):
            return -0.5
        s = n >> 1
    else:
        s = a[n]
    return s + a[0]


@pytest.mark.parametrize("n", [1, 3, 4])
def test_a_number_that_an_exit_leaves_unbound_is_cast(n: int, uncompiled: None) -> None:
    """An integer on one path and a float on the other was cast where no path had bound it (UnboundLocalError in plain Python)."""
    a = np.array([0.3, -0.7, 1.1])
    value, tangent = aj.jvp(number_after_a_loop_that_returns, (a, n), (np.ones(3), None))
    assert value == pytest.approx(number_after_a_loop_that_returns.py_func(a, n))
    assert tangent == pytest.approx({1: 2.0, 3: 0.0, 4: 1.0}[n])
