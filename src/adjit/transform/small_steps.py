"""Sorts and running sums of a few numbers, in loops that are kernels otherwise, are loops of one work item.

    for i: w = empty(3); ...; order = empty(3); whole order = argsort(w, 0); ...
    ->  for i: w = empty(3); ...; order = empty(3); for k: order[how many come before w[k]] = k; ...

Any other loop around such a step is the host's, and each turn has a step of the device's library.
"""

from __future__ import annotations

from dataclasses import replace

from adjit.analysis.alias import Affine, Alias
from adjit.analysis.device_turns import DeviceTurns
from adjit.ir.builder import Builder, const_of
from adjit.ir.core import ONE, ZERO, Alloc, Atom, Block, Const, Function, Loop, Stmt, Sym, Whole
from adjit.ir.nests import nest
from adjit.ir.visit import Rewriter, walk
from adjit.rules.linear.base import dtype_of

FEW = 64
"""So many numbers at most."""


def small_steps(function: Function) -> Function:
    """The function with small steps in such loops written out (see the module)."""
    if not any(isinstance(s, Whole) and s.op in _FORMS for s in walk(function.body)):
        return function
    return replace(function, body=_Small(function).block(function.body))


class _Small(Rewriter):
    def __init__(self, function: Function):
        super().__init__()
        self._turns = DeviceTurns(function, Alias(function), Affine.of(function))
        self._shapes = {s.target: s.shape for s in walk(function.body) if isinstance(s, Alloc)}

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        if not isinstance(stmt, Loop) or stmt.parallel or not self._has_small(stmt.body):
            return (self.rebuild(stmt),)
        written = replace(stmt, body=_Written(self._shapes).block(stmt.body))
        return (written if self._turns.may_be_items(written) else self.rebuild(stmt),)

    def _has_small(self, block: Block) -> bool:
        return any(isinstance(s, Whole) and _extents(s, self._shapes) is not None for s in walk(block))


class _Written(Rewriter):
    def __init__(self, shapes: dict[Sym, tuple[Atom, ...]]):
        super().__init__()
        self._shapes = shapes

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        shape = _extents(stmt, self._shapes) if isinstance(stmt, Whole) else None
        if not isinstance(stmt, Whole) or shape is None:
            return (self.rebuild(stmt),)
        rebuilt = self.rebuild(stmt)
        assert isinstance(rebuilt, Whole)
        b = Builder(stmt.span)
        _FORMS[stmt.op](b, rebuilt, shape)
        return b.block()


def _extents(stmt: Whole, shapes: dict[Sym, tuple[Atom, ...]]) -> tuple[Const, ...] | None:
    """The extents of a step of few numbers."""
    if stmt.op not in _FORMS:
        return None
    known = tuple(n for n in shapes.get(stmt.outs[0], ()) if isinstance(n, Const))
    size = 1
    for n in known:
        size *= n.integer
    return known if len(known) == len(shapes.get(stmt.outs[0], (None,))) and size <= FEW else None


def _rows(stmt: Whole, shape: tuple[Const, ...]) -> tuple[Sym, Sym, int, tuple[Const, ...]]:
    """The result, the argument, the axis, and the extents of the others."""
    (out,), (x, axis, *_) = stmt.outs, stmt.args
    assert isinstance(x, Sym) and isinstance(axis, Const)
    return out, x, axis.integer, (*shape[: axis.integer], *shape[axis.integer + 1 :])


def _sums(b: Builder, stmt: Whole, shape: tuple[Const, ...]) -> None:
    out, x, axis, others = _rows(stmt, shape)
    n, step = shape[axis], stmt.args[2]
    assert isinstance(step, Const)

    def row(b: Builder, place: tuple[Atom, ...], _: object) -> None:
        def add(b: Builder, k: tuple[Atom, ...], total: Atom | None) -> Atom:
            assert total is not None
            at = k[0] if step.integer > 0 else b.op("sub", b.op("sub", n, ONE), k[0])
            index = (*place[:axis], at, *place[axis:])
            total = b.op("add", total, b.cast(b.load(x, index), dtype_of(out)))
            b.store(out, index, total)
            return total

        nest(b, (n,), add, const_of(0, dtype_of(out)))

    nest(b, others, row)


def _order(b: Builder, stmt: Whole, shape: tuple[Const, ...]) -> None:
    out, x, axis, others = _rows(stmt, shape)

    def before(b: Builder, v: Atom, w: Atom) -> Atom:
        less = b.op("lt", v, w)
        if not dtype_of(x).is_float:
            return less
        return b.op("or_", less, b.op("and_", b.op("ne", w, w), b.op("eq", v, v)))

    def row(b: Builder, place: tuple[Atom, ...], _: object) -> None:
        def item(b: Builder, k: tuple[Atom, ...], _: object) -> None:
            own = b.load(x, (*place[:axis], *k, *place[axis:]))

            def count(b: Builder, j: tuple[Atom, ...], total: Atom | None) -> Atom:
                assert total is not None
                other = b.load(x, (*place[:axis], *j, *place[axis:]))
                equal = b.op("not_", before(b, own, other))
                first = b.op("or_", before(b, other, own), b.op("and_", b.op("lt", j[0], k[0]), equal))
                return b.op("add", total, b.op("select", first, ONE, ZERO))

            at = nest(b, (shape[axis],), count, ZERO)
            assert at is not None
            b.store(out, (*place[:axis], at, *place[axis:]), k[0])

        nest(b, (shape[axis],), item)

    nest(b, others, row)


_FORMS = {"argsort": _order, "cumsum": _sums}
