"""Short loops inside work items that add to places beside their own are written out.

    for i, in parallel: for k in range(2): dx[i + k - 1] += w[k] * d
    ->  for i, in parallel: dx[i - 1] += w[0] * d; dx[i] += w[1] * d

So the places are constants away from the work item's own.
"""

from __future__ import annotations

from dataclasses import replace

from adjit.ir.builder import Builder
from adjit.ir.core import Atom, Block, Const, Function, Let, Loop, Stmt, Store, Sym
from adjit.ir.types import INT64
from adjit.ir.visit import Rewriter, walk
from adjit.transform.copier import Copier

_MOST = 32
"""Turns of a nest that is written out."""


def unroll_items(function: Function) -> Function:
    """The function with such loops written out (see the module)."""
    if not any(isinstance(s, Loop) and s.parallel for s in walk(function.body)):
        return function
    return replace(function, body=_Unroll().block(function.body))


class _Unroll(Rewriter):
    def __init__(self) -> None:
        super().__init__()
        self._items: list[Sym] = []

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        if not isinstance(stmt, Loop):
            return (self.rebuild(stmt),)
        turns = _turns(stmt)
        if self._items and turns is not None and _pushes(stmt, set(self._items)) and _size(stmt) <= _MOST:
            return self._written_out(stmt, turns)
        item = stmt.parallel and stmt.index is not None
        if item and stmt.index is not None:
            self._items.append(stmt.index)
        rebuilt = self.rebuild(stmt)
        if item:
            self._items.pop()
        return (rebuilt,)

    def _written_out(self, loop: Loop, turns: range) -> Block:
        b = Builder(loop.span, simplify=True)
        carried = list(self.atoms(loop.inits))
        for turn in turns:
            assert loop.index is not None
            env: dict[Sym, Atom] = {
                loop.index: Const(turn, INT64),
                **dict(zip(loop.params, carried, strict=True)),
            }
            copier = Copier(b, {**self.env, **env})
            for s in loop.body:
                copier.take(s)
            carried = list(copier.atoms(loop.nexts))
        inner = _Unroll()
        inner._items = self._items
        made = inner.block(b.block())
        self.env |= {r: inner.atom(a) for r, a in zip(loop.results, carried, strict=True)}
        return made


def _turns(loop: Loop) -> range | None:
    ends = (loop.lo, loop.hi, loop.step)
    if loop.index is None or loop.stop is not None or not all(isinstance(a, Const) for a in ends):
        return None
    lo, hi, step = (a.integer for a in ends if isinstance(a, Const))
    return range(lo, hi, step) if step else None


def _size(loop: Loop) -> int:
    """Turns of the nest; more than any limit where they are not known."""
    turns = _turns(loop)
    if turns is None:
        return _MOST + 1
    inner = [_size(s) for s in loop.body if isinstance(s, Loop)]
    return len(turns) * max(inner, default=1)


def _pushes(loop: Loop, items: set[Sym]) -> bool:
    """Whether the loop adds to elements whose places follow both its index and those of the work items."""
    made = {s.target: s for s in walk(loop.body) if isinstance(s, Let)}

    def reads(a: Atom, wanted: set[Sym]) -> bool:
        if a in wanted:
            return True
        let = made.get(a) if isinstance(a, Sym) else None
        return let is not None and any(reads(x, wanted) for x in let.args)

    own = {s.index for s in walk((loop,)) if isinstance(s, Loop) and s.index is not None}
    updates = [s for s in walk(loop.body) if isinstance(s, Store) and s.update == "add"]
    return any(
        any(reads(a, own) for a in s.index)
        and any(reads(a, items) or a not in made for a in s.index if a not in own)
        for s in updates
    )
