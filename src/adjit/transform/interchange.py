"""A nest of parallel loops runs in the memory order of its arrays.

rewrite: parallel i: parallel j: F[i, j] = ...      ->  parallel j: parallel i: F[i, j] = ...     (F in Fortran's order)
rewrite: parallel i: parallel j: T[i, j] = ...      ->  parallel j: parallel i: T[i, j] = ...     (T a transpose)

Each access prefers some loops to be innermost: those that do not move it, and those that move it along the axis in
which its elements are neighbours. Of two loops the one that more accesses prefer is the inner one; where that is a
tie they stay as they are, so arrays in C order keep the order of their indices. Integers that are computed between the
loops go into the innermost one, or before the nest where no index moves them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations, permutations

from adjit.analysis.memory_order import MemoryOrder, moved_by
from adjit.analysis.raising import RAISING
from adjit.ir.core import Block, Function, Let, Load, Loop, Raise, Stmt, Store, Sym
from adjit.ir.types import INT64
from adjit.ir.visit import Rewriter, everywhere, walk

_EXTENTS = frozenset({"dim", "add", "sub", "mul", "neg", "min", "max"})


def interchange(function: Function) -> Function:
    """Parallel nests in memory order (see the module)."""

    def rewrite(f: Function) -> Function:
        if not any(isinstance(s, Loop) and s.parallel for s in walk(f.body)):
            return f
        return replace(f, body=_Interchange(MemoryOrder.of(f)).block(f.body))

    return everywhere(function, rewrite)


@dataclass(frozen=True, slots=True)
class _Nest:
    """Loops, outer first; what the innermost one runs.

    lets, fixed: what is computed between the loops, from their indices or not.
    """

    loops: tuple[Loop, ...]
    lets: Block
    fixed: Block
    body: Block


class _Interchange(Rewriter):
    def __init__(self, memory: MemoryOrder):
        super().__init__()
        self._memory = memory

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        nest = _nest_of(stmt)
        if nest is None:
            return (self.rebuild(stmt),)
        order = _order(nest, self._memory)
        if order == nest.loops:
            return (self.rebuild(stmt),)
        body = (*nest.lets, *self.block(nest.body))
        for loop in reversed(order):
            body = (replace(loop, body=body),)
        return (*nest.fixed, *body)


def _nest_of(stmt: Stmt) -> _Nest | None:
    """The perfect nest of parallel loops that a statement is, of two at least."""
    loops: list[Loop] = []
    lets: list[Let] = []
    fixed: list[Let] = []
    inner: Stmt | None = stmt
    body: Block = ()
    while isinstance(inner, Loop) and _free(inner, loops, lets):
        loops.append(inner)
        body = inner.body
        between = [s for s in body[:-1] if isinstance(s, Let) and s.op not in RAISING]
        last = body[-1] if len(between) + 1 == len(body) else None
        moving, still = _parted(between, {o.index for o in loops} | {s.target for s in lets})
        if isinstance(last, Loop) and _free(last, loops, [*lets, *moving]):
            lets += moving
            fixed += still
            inner = last
        else:
            inner = None
    if len(loops) < 2 or any(isinstance(s, Raise) for s in walk(body)):
        return None
    return _Nest(tuple(loops), tuple(lets), tuple(fixed), body)


def _parted(between: list[Let], moved: set[Sym | None]) -> tuple[list[Let], list[Let]]:
    """What stands between two loops: what must stay inside the outer one, and integers that it does not move."""
    moved = set(moved)
    inside: list[Let] = []
    still: list[Let] = []
    for s in between:
        if s.op in _EXTENTS and s.target.type == INT64 and not any(a in moved for a in s.args):
            still.append(s)
        else:
            moved.add(s.target)
            inside.append(s)
    return inside, still


def _free(loop: Loop, outer: list[Loop], lets: list[Let]) -> bool:
    """Whether a loop may change places with those around it."""
    bound = {o.index for o in outer} | {s.target for s in lets}
    plain = loop.parallel and not loop.params and loop.stop is None and loop.index is not None
    return plain and not any(a in bound for a in (loop.lo, loop.hi, loop.step))


def _order(nest: _Nest, memory: MemoryOrder) -> tuple[Loop, ...]:
    """The loops in the order that most accesses prefer."""
    moved = moved_by((loop.index for loop in nest.loops), (*nest.lets, *nest.body))
    costs = [
        cost
        for s in walk(nest.body)
        if isinstance(s, Load | Store) and (cost := memory.costs(s, moved)) is not None
    ]

    def gain(outer: Loop, inner: Loop) -> int:
        pairs = [(c.get(outer.index, 0), c.get(inner.index, 0)) for c in costs]
        return sum((b < a) - (a < b) for a, b in pairs)

    return max(
        permutations(nest.loops),
        key=lambda order: sum(gain(a, b) for a, b in combinations(order, 2)),
    )


__all__ = ["interchange"]
