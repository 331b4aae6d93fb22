"""Indices that the guards around an access prove not to be negative are said not to be: no wrap-around test is printed.

    if 0 < i < n - 1: t = load u[i - 1]   ->   if 0 < i < n - 1: k = nonneg(i - 1); t = load u[k]

For kernels, whose work items have a guard where a loop over the interior would have a range.
"""

from __future__ import annotations

from dataclasses import replace

from adjit.analysis.alias import Affine
from adjit.analysis.guards import Guards, Path
from adjit.analysis.regions import Regions
from adjit.ir.core import Atom, Block, Function, If, Let, Load, Loop, Stmt, Store, Sym
from adjit.ir.types import INT64
from adjit.ir.visit import Rewriter, walk


def sure_places(function: Function) -> Function:
    """The function with such indices marked (see the module)."""
    if not any(isinstance(s, Loop) and s.parallel for s in walk(function.body)):
        return function
    s = _SurePlaces(function)
    return replace(function, body=s.block(function.body))


class _SurePlaces(Rewriter):
    def __init__(self, function: Function):
        super().__init__()
        self._affine = Affine.of(function)
        self._guards = Guards(self._affine, Regions(function).definition)
        self._path: Path = ()
        self._sure: dict[Atom, Sym] = {}

    def block(self, block: Block) -> Block:
        outer, self._sure = self._sure, dict(self._sure)
        made = super().block(block)
        self._sure = outer
        return made

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        match stmt:
            case If():
                return (self._if(stmt),)
            case Load() | Store() if self._path:
                before: list[Stmt] = []
                index = tuple(self._marked(a, stmt, before) for a in stmt.index)
                return (*before, self.rebuild(replace(stmt, index=index)))
            case _:
                return (self.rebuild(stmt),)

    def _if(self, stmt: If) -> If:
        cond, path = self.atom(stmt.cond), self._path
        self._path = (*path, (stmt.cond, True))
        then, then_values = self.block(stmt.then), self.atoms(stmt.then_values)
        self._path = (*path, (stmt.cond, False))
        els, else_values = self.block(stmt.els), self.atoms(stmt.else_values)
        self._path = path
        return If(cond, then, els, then_values, else_values, stmt.results, stmt.span)

    def _marked(self, a: Atom, access: Load | Store, before: list[Stmt]) -> Atom:
        if not isinstance(a, Sym) or a.type != INT64 or self._affine.nonnegative(a):
            return a
        if a not in self._sure:
            low = self._guards.least(a, self._path)
            if low is None or low < 0:
                return a
            self._sure[a] = Sym(a.name, INT64)
            before.append(Let(self._sure[a], "nonneg", (self.atom(a),), None, access.span))
        return self._sure[a]
