"""Sums that several nests push to one array are pulled together.

    for i in range(1, n): w = f(a[i]); d[i] += w; d[i - 1] -= w
    for i in range(n - 1): v = g(b[i]); d[i] += v; d[i + 1] -= v
    ->  for p, reached by all of these: d[p] += f(a[p]) - f(a[p + 1]) + g(b[p]) - g(b[p - 1])
        for other p: each of these that reaches it, one after another

The array is loaded and stored once, and what both nests read is loaded once. The nests do nothing but push, the last
one of them aside, so the earlier ones may wait for the last: nothing in between knows the array, nor writes what the
others are made of. `transform.join_places` builds the loops over places; `gather` does what is left to each nest by
itself. Used on adjoint code.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from adjit.analysis.scatter import Group, Nest, fills_box, needed_for, steady_bounds
from adjit.ir.builder import Builder
from adjit.ir.core import Alloc, Atom, Block, Function, If, Let, Load, Loop, Stmt, Store, Sym, View
from adjit.ir.visit import walk
from adjit.transform.clear_arrays import ClearArrays
from adjit.transform.gather import pays, without
from adjit.transform.join_places import Places, Pull
from adjit.transform.spans import spans_of

_FAR = 4
"""Pushes farther out would make much of the array an end."""
_MOST = 12
"""So many terms of a place at most."""


def join(function: Function, clear: Iterable[Sym] = ()) -> tuple[Function, frozenset[Sym]]:
    """The function with sums of several nests pulled together (see the module).

    clear: parameters that hold zeros. Returns also those that need not: all of them is stored before it is read.
    """
    return _Join(function, clear).function()


@dataclass(frozen=True)
class _Part:
    """A nest, and what it pushes to the array."""

    loop: Loop
    nest: Nest
    group: Group
    alone: bool
    """Whether the nest does nothing else."""

    def needed(self) -> list[Let | Load]:
        """What the pushes are made of."""
        return needed_for(self.nest, [a for m in self.group.members for _, a in m.what.terms]) or []


class _Join(ClearArrays):
    def __init__(self, function: Function, clear: Iterable[Sym]):
        super().__init__(function, clear)
        self._waiting: set[int] = set()
        self._joined: dict[int, list[_Part]] = {}

    def _block(self, block: Block, clear: dict[Sym, tuple[Atom, ...] | None]) -> Block:
        self._find(block)
        return super()._block(block, clear)

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        if id(stmt) in self._waiting:
            return ()
        parts = self._joined.get(id(stmt))
        return (self.rebuild(stmt),) if parts is None else self._pulled(parts)

    # which nests

    def _find(self, block: Block) -> None:
        """Notes which nests of the block wait, and for which one."""
        loops = [s for s in block if isinstance(s, Loop)]
        if len(loops) < 2:
            return
        waiting: dict[Sym, list[_Part]] = {}
        for stmt in block:
            if isinstance(stmt, Let):
                continue
            parts = self._parts(stmt) if isinstance(stmt, Loop) else []
            mine = {part.group.array: part for part in parts}
            for array, chain in list(waiting.items()):
                if not self._may_pass(stmt, array, chain, mine.get(array)):
                    self._close(waiting.pop(array))
            for array, part in mine.items():
                chain = waiting.setdefault(array, [])
                chain.append(part)
                if not part.alone:
                    self._close(waiting.pop(array))
        for chain in waiting.values():
            self._close(chain)

    def _close(self, chain: list[_Part]) -> None:
        """Joins the nests, if there are several and it pays."""
        taken = self._waiting | self._joined.keys()
        chain = [part for part in chain if id(part.loop) not in taken]
        terms = sum(len(m.what.terms) for part in chain for m in part.group.members)
        if len(chain) < 2 or terms > _MOST or not all(part.alone for part in chain[:-1]):
            return
        self._waiting |= {id(part.loop) for part in chain[:-1]}
        self._joined[id(chain[-1].loop)] = chain

    def _parts(self, loop: Loop) -> list[_Part]:
        """What the loop pushes to arrays that could be pulled with what others push there."""
        nest = Nest.of(loop)
        if nest is None or not steady_bounds(nest) or any(h.modulus > 1 for h in nest.heads):
            return []
        if not all(self.scatters.affine.nonnegative(h.index) for h in nest.heads):
            return []
        bends = self.scatters.bends(nest)
        stores = sum(isinstance(s, Store) for s in nest.body)
        handed_on = any(h.params for h in nest.loops)
        found: list[_Part] = []
        for group in self.scatters.of(nest):
            if group.reach > _FAR or not fills_box(nest, group):
                continue
            if len({m.offset for m in group.members}) == 1 or pays(nest, bends, group):
                found.append(_Part(loop, nest, group, len(group.members) == stores and not handed_on))
        return found

    def _may_pass(self, stmt: Stmt, array: Sym, chain: list[_Part], part: _Part | None) -> bool:
        """Whether the chain's nests may wait beyond the statement, or for it if it is a part of the chain."""
        sources = {s.array for one in chain for s in one.needed() if isinstance(s, Load)}
        for s in walk((stmt,)):
            if isinstance(s, Load | Store):
                if part is None and not self.scatters.distinct.surely(s.array, array):
                    return False
                if isinstance(s, Store) and s.array != (part and part.group.array):
                    if not all(self.scatters.distinct.surely(s.array, a) for a in sources):
                        return False
            elif not isinstance(s, Let | Loop | If | Alloc | View):
                return False
            elif isinstance(s, Alloc) and s.target in sources:
                return False
        return True

    # what they become

    def _pulled(self, parts: list[_Part]) -> tuple[Stmt, ...]:
        self.changed = True
        last = parts[-1]
        b = Builder(last.loop.span, simplify=True)
        array = last.group.array
        pulls = [Pull(b, p.nest, p.group, spans_of(b, p.nest, self.scatters.affine)) for p in parts]
        shape = self.shape(b, array) if self.is_clear(array) else None
        if shape is not None:
            self.fills(array)
        Places(b, array, pulls, shape).build()
        left = without(last.loop, {id(m.what.store) for m in last.group.members})
        return (*b.block(), *(() if left is None else (left,)))
