"""The primal made ready for a derivative transform.

loop: ... stop c             ->  loop carry (turn = 0): ... next turn + 1; stop c -> turns
v = view a[i, :]; t = load v[j]   ->  t = load a[i, j]
"""

from __future__ import annotations

from dataclasses import replace

from adjit.ir.builder import const_of
from adjit.ir.core import (
    ONE,
    ZERO,
    Atom,
    Const,
    Function,
    Let,
    Load,
    Loop,
    Slice,
    Stmt,
    Store,
    Sym,
    Undef,
    View,
)
from adjit.ir.types import BOOL, INT64, Scalar
from adjit.ir.visit import Rewriter


class _CountTurns(Rewriter):
    """Gives every loop whose number of turns is not known ahead a counter as its last carried value."""

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        stmt = self.rebuild(stmt)
        if not isinstance(stmt, Loop) or (stmt.index is not None and stmt.stop is None):
            return (stmt,)
        turn, after, turns = Sym("turn", INT64), Sym("turn", INT64), Sym("turns", INT64)
        step = Let(after, "add", (turn, ONE), None, stmt.span)
        return (
            replace(
                stmt,
                params=(*stmt.params, turn),
                inits=(*stmt.inits, ZERO),
                body=(*stmt.body, step),
                nexts=(*stmt.nexts, after),
                results=(*stmt.results, turns),
            ),
        )


class _ForwardViews(Rewriter):
    """Elements reached through a view whose slices are whole axes are reached through the base."""

    def __init__(self) -> None:
        super().__init__()
        self._views: dict[Sym, View] = {}

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        stmt = self.rebuild(stmt)
        if isinstance(stmt, View):
            whole = all(not isinstance(i, Slice) or i == Slice() for i in stmt.index)
            if whole and not stmt.transpose:
                self._views[stmt.target] = stmt
        elif isinstance(stmt, Load | Store):
            while stmt.array in self._views:
                view = self._views[stmt.array]
                rest = iter(stmt.index)
                index = tuple(next(rest) if isinstance(i, Slice) else i for i in view.index)
                stmt = replace(stmt, array=view.array, index=index)
        return (stmt,)


class _Fill(Rewriter):
    """Numbers that no path reads are zeros, so that they can be recorded with the others."""

    def atom(self, a: Atom) -> Atom:
        if isinstance(a, Undef) and isinstance(a.type, Scalar):
            return Const(False, BOOL) if a.type.is_bool else const_of(0, a.type)
        return super().atom(a)


def filled(function: Function) -> Function:
    """Undefined numbers as zeros (see `_Fill`)."""
    f = _Fill()
    return replace(function, body=f.block(function.body), results=f.atoms(function.results))


def count_turns(function: Function) -> Function:
    """Adds turn counters (see the module)."""
    return replace(function, body=_CountTurns().block(function.body))


def forward_views(function: Function) -> Function:
    """Resolves element accesses through whole-axis views (see the module)."""
    return replace(function, body=_ForwardViews().block(function.body))
