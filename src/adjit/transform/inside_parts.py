"""The body of a loop as it is inside one part: loops in it run in order, and no other part touches what it updates."""

from __future__ import annotations

from dataclasses import replace

from adjit.ir.core import Atom, Block, Loop, Stmt, Store, Sym
from adjit.ir.visit import Rewriter


class _Serial(Rewriter):
    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        stmt = self.rebuild(stmt)
        return (replace(stmt, parallel=False) if isinstance(stmt, Loop) and stmt.parallel else stmt,)


class _Apart(Rewriter):
    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        stmt = self.rebuild(stmt)
        return (replace(stmt, update="") if isinstance(stmt, Store) and stmt.update else stmt,)


def in_order(loop: Loop, env: dict[Sym, Atom]) -> Loop:
    """The loop, and those inside it, as loops in order."""
    (plain,) = _Serial(dict(env)).stmt(loop)
    assert isinstance(plain, Loop)
    return plain


def apart(body: Block) -> Block:
    """Parts meet nowhere: their updates are stores like any others."""
    return _Apart().block(body)
