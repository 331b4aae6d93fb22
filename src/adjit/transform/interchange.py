"""A nest of parallel loops runs in the memory order of its arrays.

rewrite: parallel i: parallel j: F[i, j] = ...      ->  parallel j: parallel i: F[i, j] = ...     (F in Fortran's order)
rewrite: parallel i: parallel j: T[i, j] = ...      ->  parallel j: parallel i: T[i, j] = ...     (T a transpose)

Each access prefers some loops to be innermost: those that do not move it, and those that move it along the axis in
which its elements are neighbours. Of two loops the one that more accesses prefer is the inner one; where that is a
tie they stay as they are, so arrays in C order keep the order of their indices. Integers that are computed between the
loops go into the innermost one, or before the nest where no index moves them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations, permutations

from adjit.ir.core import Atom, Block, Function, Let, Load, Loop, Raise, Slice, Stmt, Store, Sym, View
from adjit.ir.types import INT64, Array
from adjit.ir.visit import Rewriter, everywhere, walk
from adjit.transform.clean import RAISING

_EXTENTS = frozenset({"dim", "add", "sub", "mul", "neg", "min", "max"})


def interchange(function: Function) -> Function:
    """Parallel nests in memory order (see the module)."""

    def rewrite(f: Function) -> Function:
        if not any(isinstance(s, Loop) and s.parallel for s in walk(f.body)):
            return f
        views = {s.target: s for s in walk(f.body) if isinstance(s, View)}
        return replace(f, body=_Interchange(_Memory(views)).block(f.body))

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
    def __init__(self, memory: _Memory):
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


def _order(nest: _Nest, memory: _Memory) -> tuple[Loop, ...]:
    """The loops in the order that most accesses prefer."""
    moved_by = _dependence(nest)
    costs = [
        cost
        for s in walk(nest.body)
        if isinstance(s, Load | Store) and (cost := memory.costs(s, moved_by)) is not None
    ]

    def gain(outer: Loop, inner: Loop) -> int:
        pairs = [(c.get(outer.index, 0), c.get(inner.index, 0)) for c in costs]
        return sum((b < a) - (a < b) for a, b in pairs)

    return max(
        permutations(nest.loops),
        key=lambda order: sum(gain(a, b) for a, b in combinations(order, 2)),
    )


def _dependence(nest: _Nest) -> Callable[[Atom], frozenset[Sym | None]]:
    """On which indices of the nest an index depends, through integer arithmetic."""
    indices = {loop.index for loop in nest.loops}
    inside = (*nest.lets, *nest.body)
    meaning = {s.target: s for s in walk(inside) if isinstance(s, Let) and s.target.type == INT64}
    known: dict[Atom, frozenset[Sym | None]] = {}

    def of(a: Atom) -> frozenset[Sym | None]:
        if a in indices and isinstance(a, Sym):
            return frozenset((a,))
        if a not in known:
            let = meaning.get(a) if isinstance(a, Sym) else None
            parts = () if let is None else let.args
            known[a] = frozenset[Sym | None]().union(*map(of, parts))
        return known[a]

    return of


class _Memory:
    """In which order the axes of arrays lie in memory."""

    def __init__(self, views: dict[Sym, View]):
        self._views = views

    def costs(
        self, access: Load | Store, moved_by: Callable[[Atom], frozenset[Sym | None]]
    ) -> dict[Sym | None, int] | None:
        """How far each index moves an access: 0 not at all, or to a neighbour; more for slower axes."""
        order = self._axes(access.array)
        if order is None:
            return None
        found: dict[Sym | None, int] = {}
        for distance, axis in enumerate(order):
            for index in moved_by(access.index[axis]):
                found[index] = distance
        return found

    def _axes(self, array: Sym) -> tuple[int, ...] | None:
        """The axes of an array, those of the nearest elements first; None where that is not known."""
        type_ = array.type
        assert isinstance(type_, Array)
        if type_.layout == "F" or type_.ndim == 1:
            return tuple(range(type_.ndim))
        if type_.layout == "C":
            return tuple(reversed(range(type_.ndim)))
        view = self._views.get(array)
        if view is None or view.shape is not None:
            return None
        base = self._axes(view.array)
        if base is None:
            return None
        kept = view.axes if view.axes is not None else _kept(view)
        place = {axis: k for k, axis in enumerate(kept) if axis is not None}
        new = [k for k, axis in enumerate(kept) if axis is None]
        return (*new, *(place[axis] for axis in base if axis in place))


def _kept(view: View) -> tuple[int, ...]:
    return tuple(axis for axis, item in enumerate(view.index) if isinstance(item, Slice))


__all__ = ["interchange"]
