"""Copies statements to another place, where their operands have other values."""

from __future__ import annotations

from adjit.ir.builder import Builder
from adjit.ir.core import Atom, Let, Stmt, Sym, fresh
from adjit.ir.types import INT64
from adjit.ir.visit import Rewriter


class Copier(Rewriter):
    """Copies statements to where the builder stands, with fresh symbols; `i + c - d` becomes one sum."""

    def __init__(self, b: Builder, env: dict[Sym, Atom]):
        """`env`: what the operands are there; grows by what is copied."""
        super().__init__(env, fresh)
        self.builder = b

    def take(self, stmt: Stmt) -> None:
        """Copy one statement."""
        if (
            isinstance(stmt, Let)
            and stmt.op in ("add", "sub")
            and stmt.target.type == INT64
            and stmt.fn is None
        ):
            args = self.atoms(stmt.args)
            if all(a.type == INT64 for a in args):
                self.env[stmt.target] = self.builder.op(stmt.op, *args)
                return
        self.builder.append(self.rebuild(stmt))
