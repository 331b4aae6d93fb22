"""The primal made ready for a derivative transform.

loop: ... stop c             ->  loop carry (turn = 0): ... next turn + 1; stop c -> turns
v = view a[i, :]; t = load v[j]   ->  t = load a[i, j]
v = view a axes (1, 0); t = load v[i, j]; n = dim(v, 0)   ->   t = load a[j, i]; n = dim(a, 1)
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
    const,
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
    """Elements and extents reached through a view of whole axes are reached through the base."""

    def __init__(self) -> None:
        super().__init__()
        self._views: dict[Sym, View] = {}

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        stmt = self.rebuild(stmt)
        if isinstance(stmt, View):
            if all(not isinstance(i, Slice) or i == Slice() for i in stmt.index):
                self._views[stmt.target] = stmt
        elif isinstance(stmt, Let) and stmt.op == "dim":
            return self._extent(stmt)
        elif isinstance(stmt, Load | Store):
            while (index := self._through(stmt.array, stmt.index)) is not None:
                stmt = replace(stmt, array=self._views[stmt.array].array, index=index)
        return (stmt,)

    def _through(self, array: Sym, index: tuple[Atom, ...]) -> tuple[Atom, ...] | None:
        """The index of the viewed array, or None where the element is not to be found from the view alone."""
        view = self._views.get(array)
        if view is None or view.shape is not None:
            return None
        if view.axes is None:
            rest = iter(index)
            return tuple(next(rest) if isinstance(i, Slice) else i for i in view.index)
        pairs = list(zip(view.axes, index, strict=True))
        if any(k is None and i != ZERO for k, i in pairs):  # a bounds check is to see it
            return None
        return tuple(i for _, i in sorted(((k, i) for k, i in pairs if k is not None), key=lambda p: p[0]))

    def _extent(self, let: Let) -> tuple[Stmt, ...]:
        """`dim` of a view as that of what it is a view of, or as what is known."""
        array, axis = let.args
        while isinstance(array, Sym) and array in self._views and isinstance(axis, Const):
            view, k = self._views[array], axis.integer
            if view.shape is not None:
                extent = view.shape[k]
            elif view.axes is None:
                kept = [d for d, i in enumerate(view.index) if isinstance(i, Slice)]
                array, axis = view.array, const(kept[k])
                continue
            else:
                old = view.axes[k]
                if old is not None:
                    array, axis = view.array, const(old)
                    continue
                extent = ONE
            if extent.type != INT64:
                break
            self.env[let.target] = extent
            return ()
        return (replace(let, args=(array, axis)),)


class _Fill(Rewriter):
    """Numbers that no path reads are zeros, so that they can be recorded with the others."""

    def atom(self, a: Atom) -> Atom:
        if isinstance(a, Undef) and isinstance(a.type, Scalar):
            return Const(False, BOOL) if a.type.is_bool else const_of(0, a.type)
        return super().atom(a)

    def atoms(self, atoms: tuple[Atom, ...]) -> tuple[Atom, ...]:
        return (
            tuple(map(self.atom, atoms)) if any(isinstance(a, Undef) for a in atoms) else super().atoms(atoms)
        )


def filled(function: Function) -> Function:
    """Undefined numbers as zeros (see `_Fill`)."""
    f = _Fill()
    return replace(function, body=f.block(function.body), results=f.atoms(function.results))


def count_turns(function: Function) -> Function:
    """Adds turn counters (see the module)."""
    return replace(function, body=_CountTurns().block(function.body))


def forward_views(function: Function) -> Function:
    """Resolves accesses through whole-axis views (see the module)."""
    f = _ForwardViews()
    body = f.block(function.body)
    return replace(function, body=body, results=f.atoms(function.results))
