"""Elements that an innermost loop reads again and again are read before it, where the loop does not write them.

    A[i, k] = x; for j in range(k + 1, n): A[i, j] -= A[i, k] * A[k, j]
    ->  A[i, k] = x; t = A[i, k]; for j in range(k + 1, n): A[i, j] -= t * A[k, j]

LLVM does so by itself where the loop writes other arrays; that one row of an array is not another, or
that column k is not among the columns from k + 1 on, it cannot know, and may then leave the loop scalar. Only elements
that the statements just before the loop touch too: a loop without turns would not have read any other.
"""

from __future__ import annotations

from dataclasses import replace

from adjit.analysis.turns import Turns
from adjit.ir.core import Block, Function, Load, Loop, Stmt, Store, Sym
from adjit.ir.visit import Rewriter, defined, walk


def lift(function: Function) -> Function:
    """The function with such loads before their loops (see the module)."""
    if not any(isinstance(s, Loop) and _candidates(s) for s in walk(function.body)):
        return function
    return replace(function, body=_Lift(Turns(function)).block(function.body))


def _candidates(loop: Loop) -> list[Load]:
    """Loads of arrays that the loop also stores to, at places that do not move with its turns by themselves."""
    if not Turns.plain(loop):
        return []
    stored = {s.array for s in loop.body if isinstance(s, Store)}
    own = {loop.index, *loop.params, *(s.target for s in loop.body if isinstance(s, Load))}
    loads = (s for s in loop.body if isinstance(s, Load))
    return [
        s for s in loads if s.array in stored and own.isdisjoint(a for a in s.index if isinstance(a, Sym))
    ]


class _Lift(Rewriter):
    def __init__(self, turns: Turns):
        super().__init__()
        self._turns = turns

    def block(self, block: Block) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            if isinstance(stmt, Loop):
                first, stmt = self._lifted(stmt, out)
                out += first
            out.append(self.rebuild(stmt))
        return tuple(out)

    def _lifted(self, loop: Loop, before: list[Stmt]) -> tuple[list[Stmt], Loop]:
        """What is read before the loop, and the loop without it."""
        first: list[Stmt] = []
        inside = defined(loop.body) | {loop.index, *loop.params}
        for load in _candidates(loop):
            steady = all(a not in inside for a in load.index if isinstance(a, Sym))
            stores = [s for s in loop.body if isinstance(s, Store)]
            if not steady or not _touched(load, before, self._turns):
                continue
            if all(self._turns.apart(load, s, loop) for s in stores):
                first.append(load)
        if not first:
            return [], loop
        gone = {id(s) for s in first}
        return [self.rebuild(s) for s in first], replace(
            loop, body=tuple(s for s in loop.body if id(s) not in gone)
        )


def _touched(load: Load, before: list[Stmt], turns: Turns) -> bool:
    """Whether a statement of the block before has read or written that element."""
    for s in before:
        if isinstance(s, Load | Store) and s.array == load.array:
            if all(turns.affine.same(a, b) for a, b in zip(s.index, load.index, strict=True)):
                return True
    return False
