"""The first increments of an array that holds zeros become stores.

    d = alloc (n) fill 0; for i in range(1, n): x = load d[i]; d[i] = x + t      (or d is a parameter that holds zeros)
    ->  d = alloc (n); d[0] = 0; for i in range(1, n): d[i] = t

One pass over its memory less, and its zeros are not loaded. Each turn must add to a place of its own, at a constant
distance from the turn's indices, so that the places are a box; what lies outside of it is cleared. `gather` does the
same to the sums that it pulls. Used on adjoint code.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from adjit.analysis.scatter import Group, Nest, fills_box
from adjit.ir.builder import Builder
from adjit.ir.core import Function, Loop, Stmt, Store, Sym
from adjit.transform.clear_arrays import ClearArrays
from adjit.transform.clear_outside import clear_outside
from adjit.transform.spans import Span, moved, some_turns, spans_of
from adjit.transform.sums import Term, summed


def fill(function: Function, clear: Iterable[Sym] = ()) -> tuple[Function, frozenset[Sym]]:
    """The function with first increments as stores (see the module).

    clear: parameters that hold zeros. Returns also those that need not: all of them is stored before it is read.
    """
    return _Fill(function, clear).function()


class _Fill(ClearArrays):
    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        nest = self.clear_nest(stmt)
        made = None if nest is None else self._stored(nest)
        return (self.rebuild(stmt),) if made is None else made

    def _stored(self, nest: Nest) -> tuple[Stmt, ...] | None:
        loop = nest.loops[0]
        groups = [g for g in self.scatters.apart(nest) if self.is_clear(g.array) and _own_places(nest, g)]
        if not groups:
            return None
        self.changed = True
        b = Builder(loop.span, simplify=True)
        spans = spans_of(b, nest, self.scatters.affine)
        for group in groups:
            self._clear_rest(b, nest, group, spans)
            self.fills(group.array)
        sums: dict[int, tuple[Term, ...]] = {}
        for group in groups:
            stores = [id(m.what.store) for m in group.members]
            sums |= dict.fromkeys(stores, ())
            sums[stores[-1]] = tuple(t for m in group.members for t in m.what.terms)
        return (*b.block(), _with_stores(loop, sums))

    def _clear_rest(self, b: Builder, nest: Nest, group: Group, spans: list[Span]) -> None:
        """Clears what the nest does not store to: all of the array, if it has no turns."""
        extents = self.shape(b, group.array)
        shape = [extents[axis] for axis in group.axes]
        offset = group.members[0].offset
        box = [(moved(b, s.start, o), moved(b, s.stop, o)) for s, o in zip(spans, offset, strict=True)]
        clear_outside(b, group.array, group.axes, shape, box, some_turns(b, spans), nest.loops)


def _own_places(nest: Nest, group: Group) -> bool:
    """Whether each turn stores to one place of the array, in a box."""
    return len({m.offset for m in group.members}) == 1 and fills_box(nest, group)


def _with_stores(loop: Loop, sums: Mapping[int, tuple[Term, ...]]) -> Loop:
    """The nest with these stores as stores of sums; those of nothing are dropped."""
    body: list[Stmt] = []
    for s in loop.body:
        if isinstance(s, Loop):
            body.append(_with_stores(s, sums))
        elif id(s) in sums:
            assert isinstance(s, Store)
            if sums[id(s)]:
                b = Builder(s.span, simplify=True)
                total = summed(b, None, sums[id(s)])
                body += (*b.block(), replace(s, value=total, update=""))
        else:
            body.append(s)
    return replace(loop, body=tuple(body))
