"""An innermost loop of adjoint code that adds to one array upwards and downwards becomes two loops.

    for i: d[c - i] += e[i] * a; d[i] += e[i]; e[i] = 0
    ->  for i: d[c - i] += e[i] * a
        for i: d[i] += e[i]; e[i] = 0

LLVM cannot tell that turns which meet in the middle only add, and leaves the one loop scalar; each of the two it
vectorises (the reverse of Levinson and Durbin's recursion takes half the time). Only where the turns of the loop may
run in any order, where what is added can be computed from what no earlier statement of the turn has written, and where
nothing but sums reads or writes what is moved. Sums change by rounding only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from adjit.analysis.increments import Increment, increments
from adjit.analysis.turns import Turns
from adjit.ir.core import Atom, Block, Function, Let, Load, Loop, Stmt, Store, Sym
from adjit.ir.visit import Rewriter, operands, renamed, targets


def both_ways(function: Function) -> Function:
    """The function with such loops in two (see the module)."""
    b = _BothWays(Turns(function))
    return replace(function, body=b.block(function.body))


class _BothWays(Rewriter):
    def __init__(self, turns: Turns):
        super().__init__()
        self._turns = turns

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        if not isinstance(stmt, Loop) or not self._turns.plain(stmt):
            return (self.rebuild(stmt),)
        return tuple(self.rebuild(s) for s in self._split(stmt))

    def _split(self, loop: Loop) -> tuple[Stmt, ...]:
        """The increments that go the other way than one before them, and the loop without them; or the loop."""
        found = increments(loop.body, loop.nexts)
        other = [one for k, one in enumerate(found) if any(self._opposite(one, x, loop) for x in found[:k])]
        if not other or not self._turns.any_order(loop):
            return (loop,)
        sums = {id(s) for one in found for s in (one.load, one.store)}
        moved = {id(s) for one in other for s in (one.load, one.store)}
        stays = [s for s in loop.body if isinstance(s, Load | Store) and id(s) not in moved]
        alone = all(
            self._turns.apart(one.store, s, loop) or (id(s) in sums and s.array == one.store.array)
            for one in other
            for s in stays
        )
        first = self._computed(loop, other, sums) if alone else None
        if first is None:
            return (loop,)
        before = replace(loop, params=(), inits=(), body=first, nexts=(), results=())
        after = replace(loop, body=_without(loop.body, moved))
        return (*renamed((before,), {}), after)

    def _opposite(self, a: Increment, b: Increment, loop: Loop) -> bool:
        """Whether the two add to one array, one upwards and the other one downwards."""
        if a.store.array != b.store.array:
            return False
        pairs = zip(a.store.index, b.store.index, strict=True)
        return any(self._turns.slope(x, loop) * self._turns.slope(y, loop) < 0 for x, y in pairs)

    def _computed(self, loop: Loop, other: Sequence[Increment], sums: set[int]) -> Block | None:
        """The increments with all that they are made of; None where that is not what it is at the turn's start."""
        made = {s.target: k for k, s in enumerate(loop.body) if isinstance(s, Let | Load)}
        wanted: set[int] = set()
        todo: list[Atom] = []
        at = {id(s): k for k, s in enumerate(loop.body)}
        for one in other:
            wanted |= {at[id(one.load)], at[id(one.store)]}
            todo += [one.store.value, *one.store.index]
        while todo:
            a = todo.pop()
            if a in loop.params:
                return None
            k = made.get(a) if isinstance(a, Sym) else None
            if k is None or k in wanted:
                continue
            stmt = loop.body[k]
            if isinstance(stmt, Load) and (id(stmt) in sums or self._written(stmt, loop.body[:k], loop)):
                return None
            wanted.add(k)
            todo += operands(stmt)
        return tuple(s for k, s in enumerate(loop.body) if k in wanted)

    def _written(self, load: Load, before: Block, loop: Loop) -> bool:
        """Whether a statement before it in the turn may have written what is loaded."""
        return any(isinstance(s, Store) and not self._turns.apart(load, s, loop) for s in before)


def _without(block: Block, moved: set[int]) -> Block:
    """The statements without those of increments, and without the sums on the way from their loads to their stores."""
    gone: set[Atom] = set()
    kept: list[Stmt] = []
    for s in block:
        if id(s) in moved or (isinstance(s, Let) and not gone.isdisjoint(s.args)):
            gone.update(targets(s))
        else:
            kept.append(s)
    return tuple(kept)
