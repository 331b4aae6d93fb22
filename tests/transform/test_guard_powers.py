"""Powers of integers: where the test of the exponent stands, and what is raised."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjit as aj
from adjit.ir.core import Function, Loop, Raise
from adjit.ir.visit import walk
from adjit.runtime.arguments import spec_of
from adjit.transform.lowered import lowered

X = np.array([0.5, -1.5, 2.0, 1.0])


def scaled(x, n):
    s = 0.0
    for i in range(len(x)):
        for j in range(2, 4):
            s += x[i] * j ** (n + 1)
    return s


def downwards(x, n):
    s = 0.0
    for i in range(len(x) - 1, -1, -1):
        s += x[i] * (i + 2) ** n
    return s


def in_a_branch(x, n):
    s = 0.0
    for i in range(len(x)):
        if n >= 0:
            s += x[i] * (i + 2) ** n
    return s


def after_an_exception(x, n):
    s = 0.0
    for i in range(len(x)):
        if n < 0:
            raise IndexError("mine")
        s += x[i] * (i + 2) ** n
    return s


def by_turn(x, n):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * 2 ** (n - i)
    return s


def counted(x, n):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * 2**n
        n -= 1
    return s


def function_of(f: Any) -> Function:
    return lowered(f, (spec_of(X, "x"), spec_of(2, "n"))).function


def raising_loops(f: Any) -> bool:
    """Whether a turn of a loop may raise."""
    loops = (s for s in walk(function_of(f).body) if isinstance(s, Loop))
    return any(isinstance(s, Raise) for loop in loops for s in walk(loop.body))


@pytest.mark.parametrize("f", [scaled, downwards])
@pytest.mark.usefixtures("uncompiled")
def test_steady_exponents_are_tested_before_the_loops(f: Any) -> None:
    assert not raising_loops(f)
    assert aj.value_and_grad(f)(X, 2)[0] == pytest.approx(f(X, 2))
    with pytest.raises(ValueError, match="make its base a float"):
        aj.grad(f)(X, -2)
    assert aj.value_and_grad(f)(X[:0], -2)[0] == 0.0  # no turn comes to the power


@pytest.mark.parametrize("f", [in_a_branch, after_an_exception, by_turn, counted])
@pytest.mark.usefixtures("uncompiled")
def test_other_exponents_are_tested_where_they_are_used(f: Any) -> None:
    assert raising_loops(f)
    assert aj.value_and_grad(f)(X, 3)[0] == pytest.approx(f(X, 3))
    if f is in_a_branch:
        assert aj.value_and_grad(f)(X, -2)[0] == f(X, -2) == 0.0
        return
    with pytest.raises(IndexError if f is after_an_exception else ValueError):
        aj.grad(f)(X, -2)


def test_a_first_turn_that_is_fine_does_not_hide_the_next() -> None:
    with pytest.raises(ValueError, match="make its base a float"):
        aj.grad(by_turn)(X, 2)
    assert aj.value_and_grad(by_turn)(X[:3], 2)[0] == by_turn(X[:3], 2)


def alternating(x, n):
    s = 0.0
    for k in range(-n, n):
        s += x[abs(k)] * (-1) ** k + 1**k
    return s


def of_bases(x, n, k):
    return x * n**k


def test_ones_and_zero() -> None:
    """Powers of a literal 1 or -1 are whole, those of zero raise as in Python."""
    assert aj.value_and_grad(alternating)(X, 3)[0] == alternating(X, 3)
    np.testing.assert_array_equal(aj.grad(alternating)(X, 3), [1, -2, 2, -1])
    for f in (of_bases, aj.grad(of_bases)):
        with pytest.raises(ZeroDivisionError, match="negative power"):
            f(1.0, 0, -1)
