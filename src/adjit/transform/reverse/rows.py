"""Arrays that each turn of a parallel loop makes for itself, and that the reverse sweep needs, as rows of one array.

    for i in range(lo, hi), in parallel: w = alloc (3); ...
    ->  rows = alloc (hi - lo, 3); for i in range(lo, hi), in parallel: w = view rows[i - lo, :]; ...

The turns then share no list in which the arrays are kept, and each knows its own. Loops inside a turn whose number of
turns is known before the parallel one give the rows an axis each. Rows of different extents follow each other (see
`uneven`). What cannot be had so is kept in a list (see `kept`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from adjit.analysis.carried import Amount, Carried
from adjit.analysis.numbered_turns import turn_of, turns_of
from adjit.analysis.regions import Region, Regions
from adjit.ir.builder import Builder
from adjit.ir.core import Alloc, Atom, Const, Function, If, Loop, Slice, Stmt, Sym
from adjit.ir.nests import nest
from adjit.ir.types import INT64, Array
from adjit.ir.visit import Rewriter
from adjit.transform.prepare import forward_views
from adjit.transform.reverse.uneven import in_uneven_rows


def in_rows(function: Function, array: Sym) -> Function | None:
    """The program with the allocation as rows (see the module); None where that cannot be."""
    for k, f in enumerate((*function.functions, replace(function, functions=()))):
        found = _found(f, array)
        new = in_uneven_rows(f, array) if found is None else _Rows(found).function(f)
        if new is None:
            continue
        new = forward_views(new)
        if k == len(function.functions):
            return replace(new, functions=function.functions)
        return replace(function, functions=(*function.functions[:k], new, *function.functions[k + 1 :]))
    return None


@dataclass(frozen=True)
class _Place:
    """An allocation and the loops around it, whose turns are known before the first, the outermost parallel one."""

    alloc: Alloc
    loops: tuple[Loop, ...]
    trips: tuple[Amount, ...]
    shape: tuple[Amount, ...]
    rows: Sym

    @property
    def fill(self) -> Atom | None:
        """What all rows are filled with when they are made."""
        return self.alloc.fill if isinstance(self.alloc.fill, Const) else None


def _found(function: Function, array: Sym) -> _Place | None:
    regions = Regions(function)
    alloc = regions.definition.get(array)
    if not isinstance(alloc, Alloc) or alloc.like is not None:
        return None
    type_ = array.type
    assert isinstance(type_, Array)
    path = regions.where[array][0].path()
    first = next((k for k, r in enumerate(path) if isinstance(r.owner, Loop) and r.owner.parallel), None)
    if first is None or type_.layout != "C" or type_.ndim == 0:
        return None
    loops = _loops(path[first:])
    if loops is None:
        return None
    carried = Carried(loops[0])
    trips = [turns_of(loops[0]), *map(carried.trips, loops[1:])]
    shape = [carried.fixed(a) for a in alloc.shape]
    if any(amount is None for amount in (*trips, *shape)):
        return None
    rows = Sym(f"{array.name}_rows", Array(type_.dtype, type_.ndim + len(loops), "C"))
    return _Place(
        alloc, loops, tuple(a for a in trips if a is not None), tuple(a for a in shape if a is not None), rows
    )


def _loops(path: list[Region]) -> tuple[Loop, ...] | None:
    """The loops of nested regions; None where one may stop early, or where something else than a branch is between."""
    if not all(isinstance(r.owner, Loop | If) for r in path):
        return None
    loops = tuple(r.owner for r in path if isinstance(r.owner, Loop))
    plain = all(
        p.index is not None and p.index.type == INT64 and p.stop is None and isinstance(p.step, Const)
        for p in loops
    )
    return loops if plain else None


class _Rows(Rewriter):
    def __init__(self, place: _Place):
        super().__init__()
        self._place = place

    def function(self, f: Function) -> Function:
        return replace(f, body=self.block(f.body))

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        place = self._place
        if stmt is place.alloc:
            return self._row()
        if stmt is not place.loops[0]:
            return (self.rebuild(stmt),)
        b = Builder(place.alloc.span, simplify=True)
        shape = (*(trips(b) for trips in place.trips), *(extent(b) for extent in place.shape))
        b.append(Alloc(place.rows, shape, place.fill, None, place.alloc.span))
        return (*b.block(), self.rebuild(stmt))

    def _row(self) -> tuple[Stmt, ...]:
        """The turn's own row."""
        place = self._place
        alloc = place.alloc
        b = Builder(alloc.span, simplify=True)
        turns = [turn_of(b, loop) for loop in place.loops]
        made = b.view(place.rows, (*turns, *(Slice() for _ in alloc.shape)), alloc.target.type)  # type: ignore[arg-type]
        self.env[alloc.target] = made
        fill = alloc.fill
        if isinstance(fill, Sym):
            nest(b, alloc.shape, lambda b, i, _: b.store(made, i, fill))
        return b.block()
