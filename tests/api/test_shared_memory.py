"""What works on copies refuses the arguments that a call refuses: copies would not share what the arguments do."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import adjit as aj

pytestmark = pytest.mark.usefixtures("uncompiled")
X = np.array([1.0, 2.0, 3.0])


class Pair(NamedTuple):
    a: Any
    b: Any


def hand_on(a, b):
    a[0] = 2.0 * b[1]
    return a[0] * b[0] * b[1]


def of_pair(p):
    p.a[0] = 2.0 * p.b[1]
    return p.a[0] * p.b[0] * p.b[1]


def captured(a):
    a[0] = 2.0 * X[1]
    return a[0] * X[0]


def read_only(a, b):
    return a[0] * b[1]


@aj.kernel
def doubled(a, b):
    i = aj.index()
    a[i] = 2.0 * b[i]


def along_rows(a, b):
    for i in range(len(a)):
        a[i] = 2.0 * b[i]


CALLS = {
    "pure": lambda x: aj.pure(hand_on)(x, x),
    "pure, views": lambda x: aj.pure(hand_on)(x[:2], x[1:]),
    "pure, fields": lambda x: aj.pure(of_pair)(Pair(x, x)),
    "pure, captured": lambda _: aj.pure(captured)(X),
    "pure, kernel": lambda x: aj.pure(doubled)(x, x[::-1], ndrange=3),
    "vjp": lambda x: aj.vjp(aj.pure(hand_on), x, x),
    "jvp": lambda x: aj.jvp(aj.pure(hand_on), (x, x), (x, x)),
    "grad": lambda x: aj.grad(aj.pure(hand_on), has_aux=True)(x, x),
    "jvp of grad": lambda x: aj.jvp(aj.grad(aj.pure(hand_on), has_aux=True), (x, x), (x, x)),
    "check_grad": lambda x: aj.check_grad(hand_on, x, x),
    "check_grad, captured": lambda _: aj.check_grad(captured, X),
    "check_races": lambda x: aj.check_races(doubled, 3, x, x[::-1]),
    "check_races, turns": lambda x: aj.check_races(along_rows, None, x, x),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
def test_refused_by_name(call):
    x = X.copy()
    with pytest.raises(aj.ArgumentError, match=r"shares memory with .*is written") as error:
        call(x)
    assert "pass a copy of one of them" in str(error.value)
    np.testing.assert_array_equal(x, X)


def test_what_is_only_read_may_be_shared():
    assert aj.pure(read_only)(X, X) == (2.0, ())
    aj.check_grad(read_only, X, X)


def test_read_only_arrays_are_copied():
    x = X.copy()
    x.flags.writeable = False
    value, (state,) = aj.pure(hand_on)(x, X)
    assert value == 8.0
    np.testing.assert_array_equal(state, [4.0, 2.0, 3.0])
    aj.check_grad(hand_on, x, X)
    aj.check_races(doubled, 3, x, X)
