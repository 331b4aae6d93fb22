"""Arrays of different extents that the turns of a parallel loop make, as rows that follow each other in one array.

    for i in range(n), in parallel: w = alloc (k[i]); ...
    ->  starts = alloc (n + 1), of zeros
        for i in range(n), in parallel: starts[i] = k[i]
        total = 0; for i in range(n): size = starts[i]; starts[i] = total; total = total + size
        starts[n] = total; rows = alloc (total)
        for i in range(n), in parallel: w = view rows[starts[i]:starts[i + 1]]; ...

What leads to the extents is computed twice, so it must not depend on what the loop does in other turns. A turn that
does not make its array has an empty row.
"""

from __future__ import annotations

from dataclasses import replace

from adjit.analysis.alias import Affine, Alias
from adjit.analysis.distinct import Distinct
from adjit.analysis.numbered_turns import turn_of, turns_of
from adjit.analysis.regions import Regions
from adjit.analysis.slices import Slices
from adjit.ir.builder import Builder
from adjit.ir.core import (
    ONE,
    ZERO,
    Alloc,
    Atom,
    Block,
    Const,
    Function,
    If,
    Let,
    Loop,
    Raise,
    Slice,
    Stmt,
    Sym,
    View,
    const,
    fresh,
)
from adjit.ir.nests import nest
from adjit.ir.types import INT64, Array
from adjit.ir.visit import Rewriter


def in_uneven_rows(f: Function, array: Sym) -> Function | None:
    """The function with the allocation as rows (see the module); None where that cannot be."""
    regions = Regions(f)
    alloc = regions.definition.get(array)
    if not isinstance(alloc, Alloc) or alloc.like is not None:
        return None
    assert isinstance(alloc.target.type, Array)
    if alloc.target.type.layout != "C" or alloc.target.type.ndim == 0:
        return None
    loop = _around(regions, alloc)
    if loop is None:
        return None
    alias = Alias(f)
    found = Slices(loop, alias, Affine.of(f), Distinct(f, alias)).to(alloc)
    if found is None or not found[1].isdisjoint(loop.params):
        return None
    return replace(f, body=_Uneven(alloc, loop, found[0]).block(f.body))


def _around(regions: Regions, alloc: Alloc) -> Loop | None:
    """The parallel loop right in whose turns, or in branches of them, the array is made."""
    path = regions.where[alloc.target][0].path()
    inside = [r.owner for r in reversed(path)]
    while inside and isinstance(inside[0], If):
        inside.pop(0)
    loop = inside[0] if inside else None
    if not isinstance(loop, Loop) or not loop.parallel:
        return None
    if any(isinstance(o, Loop) and o.parallel for o in inside[1:]):
        return None
    plain = loop.index is not None and loop.index.type == INT64 and loop.stop is None
    return loop if plain and isinstance(loop.step, Const) and abs(loop.step.integer) == 1 else None


class _Uneven(Rewriter):
    """Writes the rows of one allocation."""

    def __init__(self, alloc: Alloc, loop: Loop, slice_: Block):
        super().__init__()
        self._alloc, self._loop, self._slice = alloc, loop, slice_
        name = alloc.target.name
        assert isinstance(alloc.target.type, Array)
        self._starts = Sym(f"{name}_starts", Array(INT64, 1, "C"))
        self._rows = Sym(f"{name}_rows", Array(alloc.target.type.dtype, 1, "C"))

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        if stmt is self._alloc:
            return self._row()
        if stmt is not self._loop:
            return (self.rebuild(stmt),)
        b = Builder(self._alloc.span, simplify=True)
        self._make_rows(b)
        head = Builder(self._alloc.span, simplify=True)
        turn = turn_of(head, self._loop)
        ends = (turn, head.op("add", turn, ONE))
        self._ends = tuple(head.load(self._starts, (at,), "start") for at in ends)
        body = (*head.block(), *self.block(self._loop.body))
        return (*b.block(), self._with_body(body))

    def _with_body(self, body: Block) -> Loop:
        loop = self._loop
        return replace(loop, inits=self.atoms(loop.inits), body=body, nexts=self.atoms(loop.nexts))

    def _make_rows(self, b: Builder) -> None:
        """Before the loop: how large each row is, where it starts, and the rows."""
        alloc, loop = self._alloc, self._loop
        turns = turns_of(loop)(b)
        b.append(Alloc(self._starts, (b.op("add", turns, 1),), ZERO, None, alloc.span))
        sizes = _Sizes(alloc, loop, self._starts).block(self._slice)
        flows = ((), (), sizes, (), (), None)
        index = loop.index
        assert index is not None
        alone = Loop(index, loop.lo, loop.hi, loop.step, *flows, loop.span, parallel=True)
        b.append(Rewriter({}, fresh).rebuild(alone))
        t, total, after, all_ = (Sym(name, INT64) for name in ("turn", "start", "start", "total"))
        with b.collect() as body:
            size = b.load(self._starts, (t,), "size")
            raising = Raise("ValueError", ("negative dimensions not allowed",), alloc.span)
            b.if_(b.op("lt", size, ZERO), (raising,))
            b.store(self._starts, (t,), total)
            b.append(Let(after, "add", (total, size), None, alloc.span))
        b.loop(Loop(t, ZERO, turns, ONE, (total,), (ZERO,), tuple(body), (after,), (all_,), None, alloc.span))
        b.store(self._starts, (turns,), all_)
        fill = alloc.fill if isinstance(alloc.fill, Const) else None
        b.append(Alloc(self._rows, (all_,), fill, None, alloc.span))

    def _row(self) -> tuple[Stmt, ...]:
        """The turn's own row, in the array's extents."""
        alloc = self._alloc
        b = Builder(alloc.span, simplify=True)
        made = b.view(self._rows, (Slice(*self._ends),), self._rows.type)  # type: ignore[arg-type]
        if len(alloc.shape) > 1:
            shaped = fresh(alloc.target)
            extents = tuple(b.cast(self.atom(a), INT64) for a in alloc.shape)
            b.append(View(shaped, made, (), None, extents, span=alloc.span))
            made = shaped
        self.env[alloc.target] = made
        fill = alloc.fill
        if isinstance(fill, Sym):
            extents = self.atoms(alloc.shape)
            nest(b, extents, lambda b, i, _: b.store(made, i, self.atom(fill)))
        return b.block()


class _Sizes(Rewriter):
    """In place of the array: how many elements it has, -1 where an extent is negative."""

    def __init__(self, alloc: Alloc, loop: Loop, starts: Sym):
        super().__init__()
        self._alloc, self._loop, self._starts = alloc, loop, starts

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        if stmt is not self._alloc:
            return (self.rebuild(stmt),)
        b = Builder(stmt.span, simplify=True)
        size: Atom = ONE
        for extent in self._alloc.shape:
            n = b.cast(extent, INT64)
            size = (
                b.op("select", b.op("lt", n, ZERO), const(-1), b.op("mul", size, n))
                if size == ONE
                else (b.op("select", b.op("lt", b.op("min", size, n), ZERO), const(-1), b.op("mul", size, n)))
            )
        b.store(self._starts, (turn_of(b, self._loop),), size)
        return b.block()
