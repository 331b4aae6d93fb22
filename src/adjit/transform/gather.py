"""Sums that a loop nest pushes to shifted places are pulled by those who own the places.

    for i: for j: w = da[i, j] * 0.2; db[i, j - 1] += w; db[i - 1, j] += w; da[i, j] = 0
    ->  for p of which both rows that reach row p are in the range:
            for q: db[p, q] += da[p, q + 1] * 0.2 + da[p + 1, q] * 0.2
            the ends of the row, element by element
        for other p: each row that reaches it, by itself
        for i: for j: da[i, j] = 0

Each element is loaded and stored once, neighbours are only read, and so the inner loop vectorises. The outermost rows
have a loop of their own, not a branch: LLVM asks once, before the loop over rows, whether what all of them read and
write can meet, and if the range had rows that are not read, an array that lies just behind another one would seem to
(Jacobi: 3.0 ms in place of 1.5). Used on adjoint code: the order in which increments are added up is not the user's.
`analysis.scatter` says where it is legal, `transform.pull` builds the loops over places.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from adjit.analysis.bends import Bends
from adjit.analysis.memory_order import MemoryOrder
from adjit.analysis.scatter import Group, Nest, Push, fills_box, steady_bounds
from adjit.ir.builder import Builder
from adjit.ir.core import TRUE, Atom, Function, Let, Load, Loop, Stmt, Store, Sym
from adjit.ir.types import INT64
from adjit.ir.visit import renamed
from adjit.transform.choose import chosen_indices
from adjit.transform.clear_arrays import ClearArrays
from adjit.transform.pull import Pull
from adjit.transform.spans import Span, made_of, spans_of

_MAX_OFFSET = 16
"""Offsets farther out would leave long ends of rows to be done one by one."""
_COSTLY = 8
"""What an operation of its own (a division, a root) costs, additions being 1."""
_CHEAP = frozenset(
    {"add", "sub", "mul", "neg", "szmul", "select", "dim", "nonneg", "cast", "pos", "conjugate"}
)
_TESTS = frozenset({"lt", "le", "gt", "ge", "eq", "ne"})


def gather(function: Function, clear: Iterable[Sym] = ()) -> tuple[Function, frozenset[Sym]]:
    """The function with its sums pulled where that is legal and pays (see the module).

    clear: parameters that hold zeros. Returns also those that need not: all of them is stored before it is read.
    """
    return _Gather(function, clear).function()


class _Gather(ClearArrays):
    def __init__(self, function: Function, clear: Iterable[Sym]):
        super().__init__(function, clear)
        self._memory = MemoryOrder.of(function)

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        made = self._pulled(stmt) if isinstance(stmt, Loop) else None
        return (self.rebuild(stmt),) if made is None else made

    def _pulled(self, loop: Loop) -> tuple[Stmt, ...] | None:
        loop = chosen_indices(loop)
        nest = Nest.of(loop)
        if nest is None or not steady_bounds(nest):
            return None
        bends = self.scatters.bends(nest)
        groups = [g for g in self.scatters.of(nest) if pays(nest, bends, g)]
        groups = [g for g in groups if not loop.results or not _must_fit(g)]
        groups = [g for g in groups if len(nest.loops) > 1 or loop.parallel or self._along_memory(g)]
        if not groups:
            return None
        self.changed = True
        b = Builder(loop.span, simplify=True)
        affine = self.scatters.affine
        spans = spans_of(b, nest, affine)
        positive = tuple(affine.nonnegative(h.index) for h in nest.heads)
        fits = _fits(b, groups, spans)
        with b.collect() as made:
            for group in groups:
                shape = None
                if fits == TRUE and self.is_clear(group.array) and fills_box(nest, group):
                    shape = self.shape(b, group.array)
                    self.fills(group.array)
                Pull(b, nest, group, spans, bends, positive, shape).build()
            left = without(loop, {id(m.what.store) for g in groups for m in g.members})
            b.extend(() if left is None else (left,))
        if fits == TRUE:
            return (*b.block(), *made)
        b.if_(fits, tuple(made), renamed((loop,), {}))
        return b.block()

    def _along_memory(self, group: Group) -> bool:
        """Whether places that follow each other are neighbours: what lies rows apart is better loaded once a turn."""
        order = self._memory.axes(group.array)
        return order is None or order[0] == group.axes[-1]


def _must_fit(group: Group) -> bool:
    """Whether it depends on extents that the group may be pulled."""
    return bool(group.sized or group.least)


def _fits(b: Builder, groups: list[Group], spans: list[Span]) -> Atom:
    """Whether axes that are indexed from their end have the range's size, and ranges as many turns as they must."""
    sized = dict.fromkeys((g.array, *pair) for g in groups for pair in sorted(g.sized))
    least = dict.fromkeys(pair for g in groups for pair in sorted(g.least))
    found = [b.op("eq", b.dim(array, axis), spans[level].stop) for array, axis, level in sized]
    found += [b.op("ge", spans[level].stop, turns) for level, turns in least]
    every: Atom = TRUE
    for a in found:
        every = a if every == TRUE else b.op("and_", every, a)
    return every


def pays(nest: Nest, bends: Bends, group: Group) -> bool:
    """Whether the increments overlap, near by, and are cheap enough to be computed once for each place."""
    places = {(m.offset, m.bends) for m in group.members}
    offsets = {m.offset for m in group.members} | (
        {(0,) * len(nest.heads)} if any(any(b) for _, b in places) else set()
    )
    if len(places) < 2 or any(
        abs(o - p) > _MAX_OFFSET for a in offsets for b in offsets for o, p in zip(a, b, strict=True)
    ):
        return False
    apart = ([m for m in group.members if (m.offset, m.bends) == place] for place in places)
    alone = sum(_cost(nest, bends, members) for members in apart)
    return alone <= 3 * _cost(nest, bends, group.members) + 6 * len(group.members)


def _cost(nest: Nest, bends: Bends, members: list[Push]) -> int:
    needed = made_of(nest, [a for m in members for _, a in m.what.terms])
    return sum(1 if _cheap(s, bends) else _COSTLY for s in needed)


def _cheap(s: Let | Load, bends: Bends) -> bool:
    if isinstance(s, Load) or s.op in _CHEAP or bends.of(s.target) is not None:
        return True
    return s.op in _TESTS and all(a.type == INT64 for a in s.args)


def without(loop: Loop, gone: set[int]) -> Loop | None:
    """The nest without some of its stores; None if it does nothing more."""
    body: list[Stmt] = []
    for s in loop.body:
        if isinstance(s, Loop):
            inner = without(s, gone)
            body += () if inner is None else (inner,)
        elif id(s) not in gone:
            body.append(s)
    if not loop.results and not any(isinstance(s, Store | Loop) for s in body):
        return None
    return replace(loop, body=tuple(body))
