"""Stores to a local array after the last place that reads it are dropped.

    d = alloc (n) fill 0; ...; for i: x = load d[i]; ...; store d[i] = 0   ->   the same without the store

A cotangent is cleared when its value's definition is passed, whoever reads it next; the last one is read by nobody.
The array must be known by one name only. In the last statement that reads it, the store stays unless each turn of the
loops around it has an element of its own, which is read before and nowhere else. Used on adjoint code.
"""

from __future__ import annotations

from dataclasses import replace

from adjit.analysis.alias import Affine
from adjit.ir.core import Alloc, Block, Function, If, Let, Load, Loop, Stmt, Store, Sym
from adjit.ir.visit import blocks, operands, walk, yields


def unread(function: Function) -> Function:
    """The function without stores that nobody can read (see the module)."""
    made = [s for s in walk(function.body) if isinstance(s, Alloc)]
    if not made:
        return function
    return replace(function, body=_Unread(function).block(function.body))


class _Unread:
    def __init__(self, function: Function):
        ends = (a for s in walk(function.body) for a in yields(s))
        self._leaving = {*ends, *function.results}
        self._affine = Affine.of(function)

    def block(self, block: Block) -> Block:
        """The block, and those inside it, without stores that nobody can read."""
        for array in [s.target for s in block if isinstance(s, Alloc)]:
            block = self._trimmed(block, array)
        return tuple([self._inside(stmt) for stmt in block])

    def _inside(self, stmt: Stmt) -> Stmt:
        if not isinstance(stmt, Loop | If) or not any(isinstance(s, Alloc) for s in walk((stmt,))):
            return stmt
        if isinstance(stmt, Loop):
            return replace(stmt, body=self.block(stmt.body))
        return replace(stmt, then=self.block(stmt.then), els=self.block(stmt.els))

    def _trimmed(self, block: Block, array: Sym) -> Block:
        """The block without the unread stores to one array that is made in it."""
        uses = [s for s in walk(block) if array in operands(s)]
        one_name = all(isinstance(s, Load | Store) or (isinstance(s, Let) and s.op == "dim") for s in uses)
        stores = [s for s in uses if isinstance(s, Store)]
        if array in self._leaving or not one_name or not stores:
            return block
        last = max((k for k, s in enumerate(block) if _reads(s, array)), default=-1)
        gone = {
            id(t) for s in block[last + 1 :] for t in walk((s,)) if isinstance(t, Store) and t.array == array
        }
        if last >= 0:
            gone |= self._after_own_load(block[last], array)
        return _without(block, gone) if gone else block

    def _after_own_load(self, stmt: Stmt, array: Sym) -> set[int]:
        """Stores of a nest to elements that only their own turn reads, before."""
        loops: list[Loop] = []
        while isinstance(stmt, Loop):
            loops.append(stmt)
            if any(isinstance(s, Load | Store) and s.array == array for s in stmt.body):
                break
            inner = [s for s in stmt.body if any(array in operands(t) for t in walk((s,)))]
            if len(inner) != 1:
                return set()
            stmt = inner[0]
        if not loops or not isinstance(stmt, Loop):
            return set()
        touching = [s for s in walk(stmt.body) if isinstance(s, Load | Store) and s.array == array]
        if not all(any(s is t for t in stmt.body) for s in touching):
            return set()
        index = touching[0].index
        alike = all(self._affine.same(a, b) for s in touching for a, b in zip(s.index, index, strict=True))
        bases = {self._affine.split(a)[0] for a in index if self._affine.nonnegative(a)}
        if not alike or not all(loop.index is not None and loop.index in bases for loop in loops):
            return set()
        loaded = max(k for k, s in enumerate(touching) if isinstance(s, Load))
        return {id(s) for s in touching[loaded + 1 :]}


def _reads(stmt: Stmt, array: Sym) -> bool:
    return any(isinstance(s, Load) and s.array == array for s in walk((stmt,)))


def _without(block: Block, gone: set[int]) -> Block:
    """The block without some stores, and without loops and branches that are empty then."""
    out: list[Stmt] = []
    for s in block:
        if id(s) in gone:
            continue
        if isinstance(s, Loop) and any(id(t) in gone for t in walk(s.body)):
            s = replace(s, body=_without(s.body, gone))
        elif isinstance(s, If) and any(id(t) in gone for b in blocks(s) for t in walk(b)):
            s = replace(s, then=_without(s.then, gone), els=_without(s.els, gone))
        out.append(s)
    return tuple(out)
