"""A pure value computed twice is computed once.

    t = a * b; u = a * b; v = t + u    ->   t = a * b; v = t + t

Values of enclosing blocks are seen in inner ones, not the other way round. Used on adjoint code.
"""

from __future__ import annotations

from dataclasses import replace

from adjit.ir.core import Atom, Block, Function, Let, Stmt
from adjit.ir.types import Scalar
from adjit.ir.visit import Rewriter

_Key = tuple[str, tuple[Atom, ...], str | None, Scalar]


class _Common(Rewriter):
    def __init__(self) -> None:
        super().__init__()
        self._known: dict[_Key, Atom] = {}

    def block(self, block: Block) -> Block:
        outer, self._known = self._known, dict(self._known)
        out = super().block(block)
        self._known = outer
        return out

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        stmt = self.rebuild(stmt)
        if not isinstance(stmt, Let):
            return (stmt,)
        assert isinstance(stmt.target.type, Scalar)
        key = (stmt.op, stmt.args, stmt.fn, stmt.target.type)
        if key in self._known:
            self.env[stmt.target] = self._known[key]
            return ()
        self._known[key] = stmt.target
        return (stmt,)


def common(function: Function) -> Function:
    """Equal pure values once (see the module)."""
    c = _Common()
    return replace(function, body=c.block(function.body), results=c.atoms(function.results))
