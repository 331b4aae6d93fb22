"""What a condition implies is tested around it.

    c = (a and b); if c: S else: T     ->    if a: (if c: S else: T) else: T

Where `a` does not depend on floats and `b` does (`i > 0 and u[i] > 0`), S runs only where `a` holds. T stands twice, so
only a short one does.
"""

from __future__ import annotations

from dataclasses import replace

from adjit.ir.core import FALSE, Atom, Function, If, Stmt, Sym, fresh
from adjit.ir.visit import Rewriter, renamed, walk

_SHORT = 12


def conjuncts(function: Function) -> Function:
    """The function with such branches nested (see the module)."""
    implied: dict[Sym, Atom] = {
        r: s.cond
        for s in walk(function.body)
        if isinstance(s, If)
        for r, b in zip(s.results, s.else_values, strict=True)
        if b == FALSE and isinstance(s.cond, Sym)
    }
    r = _Conjuncts(implied)
    return replace(function, body=r.block(function.body)) if implied else function


class _Conjuncts(Rewriter):
    def __init__(self, implied: dict[Sym, Atom]):
        super().__init__()
        self._implied = implied

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        stmt = self.rebuild(stmt)
        if not isinstance(stmt, If) or sum(1 for _ in walk(stmt.els)) > _SHORT:
            return (stmt,)
        outer, cond = stmt, stmt.cond
        while isinstance(cond, Sym) and cond in self._implied:
            cond = self._implied[cond]
            outer = _around(outer, cond, stmt)
        return (outer,)


def _around(inner: If, cond: Atom, branch: If) -> If:
    """The inner branch where a condition holds, else the other side of the whole branch."""
    env: dict[Sym, Atom] = {}
    els = renamed(branch.els, env)
    values = tuple(env.get(a, a) if isinstance(a, Sym) else a for a in branch.else_values)
    own = tuple(map(fresh, inner.results))
    return If(cond, (replace(inner, results=own),), els, own, values, inner.results, inner.span)
