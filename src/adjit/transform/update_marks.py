"""Loops over elements whose turns meet in sums alone: their stores are marked as updates, so that they are kernels.

    for i: k = cell[i]; t = load count[k]; store count[k] = t + 1      ->      store count[k] = t + 1, update add

A loop that is written out (`count[cell[i]] += 1`) has an order, which changes sums by rounding and nothing else. Taken
only where the loop is no kernel otherwise, and where the update stands in it directly: a loop over time around a nest
stays what it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from adjit.analysis.alias import Affine, Alias
from adjit.analysis.device_turns import DeviceTurns
from adjit.analysis.update_pairs import Pairs
from adjit.ir.core import Block, Function, If, Loop, Stmt, Store
from adjit.ir.visit import Rewriter, blocks, walk


def update_marks(function: Function) -> Function:
    """The function with the updates of such loops marked (see the module)."""
    if not any(isinstance(s, Loop) and not s.parallel and _stores(s) for s in walk(function.body)):
        return function
    return replace(function, body=_Marks(function).block(function.body))


class _Marks(Rewriter):
    def __init__(self, function: Function):
        super().__init__()
        self._affine = Affine.of(function)
        self._turns = DeviceTurns(function, Alias(function), self._affine)

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        if not isinstance(stmt, Loop):
            return (self.rebuild(stmt),)
        if stmt.parallel or self._turns.may_be_items(stmt):
            return (stmt,)
        rebuilt = self.rebuild(stmt)
        assert isinstance(rebuilt, Loop)
        found = _updates(rebuilt, self._affine)
        if not found:
            return (rebuilt,)
        marked = replace(rebuilt, body=_Marked(found).block(rebuilt.body))
        return (marked if self._turns.may_be_items(marked) else rebuilt,)


class _Marked(Rewriter):
    def __init__(self, found: set[int]):
        super().__init__()
        self._found = found

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        if isinstance(stmt, Store) and id(stmt) in self._found:
            return (replace(stmt, update="add"),)
        return (self.rebuild(stmt),)


def _updates(loop: Loop, affine: Affine) -> set[int]:
    """The stores in the loop, not in those inside, that add to the element that was loaded just before."""
    pairs = Pairs(loop.body, affine, loop.nexts)
    found: set[int] = set()
    for block in _own_blocks(loop.body):
        for k, store in enumerate(block):
            if not isinstance(store, Store) or store.update:
                continue
            pair = pairs.direct(replace(store, update="add"))
            if pair is None or pair[0] not in block[:k]:
                continue
            between = block[block.index(pair[0]) + 1 : k]
            if not any(isinstance(s, Store) for s in walk(between)):
                found.add(id(store))
    return found


def _own_blocks(block: Block) -> Iterator[Block]:
    """A block and those of its branches."""
    yield block
    for stmt in block:
        if isinstance(stmt, If):
            for sub in blocks(stmt):
                yield from _own_blocks(sub)


def _stores(loop: Loop) -> bool:
    return any(isinstance(s, Store) and not s.update for block in _own_blocks(loop.body) for s in block)
