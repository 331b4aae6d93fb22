"""Gates: lower bounds are proven, and found where reversed loops need them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from adjit.analysis.ranges import lower_bounds, unsigned_indices
from adjit.ir.core import Atom, Const, Function, If, Let, Load, Loop, Stmt, Sym, const
from adjit.ir.types import BOOL, FLOAT64, INT64, Array

_N = Sym("n", INT64)
_X = Sym("x", Array(FLOAT64, 1, "C"))


def _bound(lo: Atom, hi: Atom, step: int, make: Callable[[Sym], Let], *before: Stmt) -> int | None:
    """The bound of an expression of the index of one loop."""
    i = Sym("i", INT64)
    let = make(i)
    loop = Loop(i, lo, hi, Const(step, INT64), (), (), (let,), (), ())
    return lower_bounds(Function("f", (_N, _X), (*before, loop), ())).get(let.target)


def _op(op: str, other: Atom, swap: bool = False) -> Callable[[Sym], Let]:
    return lambda i: Let(Sym("t", INT64), op, (other, i) if swap else (i, other))


def test_index_minus_constant() -> None:
    assert _bound(const(1), _N, 1, _op("sub", const(1))) == 0
    assert _bound(const(1), _N, 1, _op("sub", const(2))) == -1


def test_descending_loop() -> None:
    assert _bound(_N, const(0), -1, _op("sub", const(1))) == 0
    assert _bound(_N, const(-1), -1, _op("add", const(0))) == 0
    assert _bound(_N, const(-2), -1, _op("add", const(0))) == -1


def test_mirrored_index() -> None:
    last = Sym("last", INT64)
    minus = Let(last, "sub", (_N, const(1)))
    assert _bound(const(0), _N, 1, _op("sub", last, swap=True), minus) == 0
    assert _bound(const(0), _N, 1, _op("sub", const(9), swap=True), minus) is None


def test_unknown_bounds() -> None:
    assert _bound(_N, const(10), 1, _op("add", const(0))) is None
    assert _bound(const(0), _N, 1, _op("sub", _N)) is None


@pytest.mark.parametrize(
    ("op", "other", "want"),
    [("mul", const(3), 0), ("floordiv", const(2), 0), ("mod", const(5), 0), ("and_", const(7), 0)],
)
def test_other_operations(op: str, other: Atom, want: int) -> None:
    assert _bound(const(0), _N, 1, _op(op, other)) == want


def _counter(change: str) -> int | None:
    i, k, after, out = (Sym(n, INT64) for n in ("i", "k", "k", "k"))
    body = (Let(after, change, (k, const(1))),)
    loop = Loop(i, const(0), _N, const(1), (k,), (const(2),), body, (after,), (out,))
    return lower_bounds(Function("f", (_N,), (loop,), (out,))).get(out)


def test_counters_by_induction() -> None:
    assert _counter("add") == 2
    assert _counter("sub") is None


def test_join_takes_the_least() -> None:
    c, r = Sym("c", BOOL), Sym("r", INT64)
    f = Function("f", (c,), (If(c, (), (), (const(3),), (const(-4),), (r,)),), (r,))
    assert lower_bounds(f)[r] == -4


def test_only_indices_that_llvm_does_not_prove_are_marked() -> None:
    marked = []
    for lo, hi, step in ((const(0), _N, 1), (_N, const(-1), -1)):
        i, v = Sym("i", INT64), Sym("v", FLOAT64)
        loop = Loop(i, lo, hi, const(step), (), (), (Load(v, _X, (i,)),), (), ())
        marked.append(i in unsigned_indices(Function("f", (_N, _X), (loop,), ())))
    assert marked == [False, True]
