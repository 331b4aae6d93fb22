"""What only further derivatives would need is left out of code that nothing is derived from any more.

    z = eq(ct, 0); t = szmul(ct, ds); d = select(z, t, u)   ->   d = select(z, 0, u)

The tangent of a strong product chooses between two products where one of them is zero (`rules.arithmetic`).
"""

from __future__ import annotations

from dataclasses import replace

from adjit.ir.builder import const_of
from adjit.ir.core import Const, Function, Let, Stmt, Sym
from adjit.ir.visit import Rewriter, walk
from adjit.transform.clean import clean


def values_only(function: Function) -> Function:
    """One function as it is printed."""
    lets = {s.target: s for s in walk(function.body) if isinstance(s, Let)}
    if not any(_zero(s, lets) for s in lets.values()):
        return function
    rewriter = _Zeros(lets)
    return clean(replace(function, body=rewriter.block(function.body)), keep_raising=True)


class _Zeros(Rewriter):
    def __init__(self, lets: dict[Sym, Let]):
        super().__init__()
        self._lets = lets

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        if isinstance(stmt, Let) and _zero(stmt, self._lets):
            cond, _, other = stmt.args
            stmt = replace(stmt, args=(cond, const_of(0.0, stmt.target.type), other))
        return (self.rebuild(stmt),)


def _zero(stmt: Let, lets: dict[Sym, Let]) -> bool:
    """Whether it is a choice that takes a strong product where its first factor is zero."""
    if stmt.op != "select" or not isinstance(stmt.args[0], Sym) or not isinstance(stmt.args[1], Sym):
        return False
    cond, taken = lets.get(stmt.args[0]), lets.get(stmt.args[1])
    if cond is None or taken is None or cond.op != "eq" or taken.op != "szmul":
        return False
    against = cond.args[1]
    return cond.args[0] == taken.args[0] and isinstance(against, Const) and against.value == 0
