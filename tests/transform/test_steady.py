"""Steady values before their loops, reciprocals in place of divisions: only where nothing else sees the difference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjit as aj
from adjit.ir.core import Const, Function, Let, Load, Loop, Store, Sym
from adjit.ir.types import FLOAT64, INT64, Array
from adjit.ir.verify import verify
from adjit.ir.visit import walk
from adjit.transform.steady import steady

from .typed import run, typed

rng = np.random.default_rng(11)


def in_loops(function: Function, op: str) -> int:
    """Operations of a kind, each counted once for every loop around it."""
    loops = [s for s in walk(function.body) if isinstance(s, Loop)]
    return sum(isinstance(t, Let) and t.op == op for s in loops for t in walk(s.body))


def nested(a, h):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            c = h * 0.5
            a[i, j] *= c - 1.0


def of_the_row(a, h):
    for i in range(a.shape[0]):
        s = a[i, 0]
        for j in range(1, a.shape[1]):
            a[i, j] += s * h


def under_a_branch(a, h):
    for i in range(a.shape[0]):
        if a[i, 0] > 0.0:
            for j in range(a.shape[1]):
                a[i, j] += h * h


def carried(a, h):
    s = 1.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j] += s * h
        s = s * h


def without_end(a, h):
    while a[0, 0] < 4.0:
        a[0, 0] += h * h + 1.0


def guarded(a, h):
    for i in range(a.shape[0]):
        if h != 0.0:
            a[i, 0] += h * h / h


def test_divisions_stay_behind_what_guards_them() -> None:
    before = typed(guarded, np.ones((2, 2)), 0.0)
    after = steady(before)
    assert in_loops(after, "div") == in_loops(before, "div") == 1
    assert in_loops(after, "mul") == 0


@pytest.mark.parametrize("program", [nested, of_the_row, under_a_branch, carried, without_end])
def test_same_values(program: Callable[..., Any]) -> None:
    for shape in ((3, 4), (1, 1), (2, 0)):
        if 0 in shape and program is not nested:
            continue
        args = (rng.normal(size=shape), 0.3)
        before = typed(program, *args)
        after = steady(before)
        verify(after)
        assert in_loops(after, "mul") < in_loops(before, "mul")
        np.testing.assert_array_equal(run(after, args)[1][0], run(before, args)[1][0])


def quotients(sink: str) -> Function:
    """for i: r = 1 / d[i]; t = a[i] / d[i] / d[i]; b[i] = (what becomes of r and t)."""
    a, b, c, d = (Sym(n, Array(FLOAT64, 1, "C")) for n in "abcd")
    n, i = Sym("n", INT64), Sym("i", INT64)
    x, e, y, r, s, t, u, v, w = (Sym(name, FLOAT64) for name in "xeyrstuvw")
    body = [
        Load(x, a, (i,)),
        Load(e, c, (i,)),
        Load(y, d, (i,)),
        Let(s, "div", (x, y)),
        Let(t, "fdiv", (s, y)),
        Let(r, "fdiv", (Const(1.0, FLOAT64), y)),
        Let(u, "szmul", (e, t)),
        Let(v, "szmul", (e, r)),
        Let(w, "add", (u, v)),
    ]
    body.append(Store(b, (i,), {"product": w, "first": s, "second": t}[sink]))
    loop = Loop(i, Const(0, INT64), n, Const(1, INT64), (), (), tuple(body), (), ())
    extent = Let(n, "dim", (a, Const(0, INT64)))
    return Function("quotients", (a, b, c, d), (extent, loop), ())


@pytest.mark.parametrize(("sink", "divisions"), [("product", 1), ("first", 2), ("second", 3)])
def test_one_division_by_what_a_block_divides_by_often(sink: str, divisions: int) -> None:
    """What is more than a factor stays a quotient: all of them, or what the others are made of."""
    before = quotients(sink)
    after = steady(before)
    verify(after)
    assert in_loops(after, "div") + in_loops(after, "fdiv") == divisions
    args = (rng.normal(size=5), np.zeros(5), rng.normal(size=5), rng.normal(size=5))
    np.testing.assert_allclose(run(after, args)[1][1], run(before, args)[1][1], rtol=1e-14)


def weighted(sink: str) -> Function:
    """for i: t = a[i] / h; b[i] = (what becomes of t)."""
    a, b, c = (Sym(n, Array(FLOAT64, 1, "C")) for n in "abc")
    h, n, i = Sym("h", FLOAT64), Sym("n", INT64), Sym("i", INT64)
    x, t, e, u, v = (Sym(name, FLOAT64) for name in "xteuv")
    body = [
        Load(x, a, (i,)),
        Load(e, c, (i,)),
        Let(t, "div", (x, h)),
        Let(u, "neg", (t,)),
        Let(v, "szmul", (e, u)),
    ]
    body.append(Store(b, (i,), {"product": v, "itself": t, "negated": u}[sink]))
    loop = Loop(i, Const(0, INT64), n, Const(1, INT64), (), (), tuple(body), (), ())
    extent = Let(n, "dim", (a, Const(0, INT64)))
    return Function("weighted", (a, b, c, h), (extent, loop), ())


@pytest.mark.parametrize(("sink", "changed"), [("product", True), ("itself", False), ("negated", False)])
def test_divisions(sink: str, changed: bool) -> None:
    before = weighted(sink)
    after = steady(before)
    verify(after)
    assert (in_loops(after, "div") == 0) is changed
    args = (rng.normal(size=5), np.zeros(5), rng.normal(size=5), 0.37)
    np.testing.assert_allclose(run(after, args)[1][1], run(before, args)[1][1], rtol=1e-15)


def test_branches_of_the_adjoint_are_those_of_the_primal() -> None:
    """x / h == 1/3 of the primal is not x * (1 / h) for most x; the adjoint must take the same side."""

    def program(x, h):
        s = 0.0
        for i in range(x.shape[0]):
            q = x[i] / h
            if q <= 1.0 / 3.0:
                s += 2.0 * q
            else:
                s += 5.0 * q * q
        return s

    h = np.linspace(0.1, 7.0, 200)
    for one in h:
        x = np.array([one / 3.0, np.nextafter(one / 3.0, 9.0), np.nextafter(one / 3.0, 0.0), one])
        q = x / one
        expected = np.where(q <= 1.0 / 3.0, 2.0 / one, 10.0 * q / one)
        np.testing.assert_allclose(aj.grad(program)(x, one), expected, rtol=1e-13)
