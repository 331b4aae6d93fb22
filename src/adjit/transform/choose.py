"""Branches that only choose between cheap values become selects.

    if c: yield x * 2 else: yield x      ->   t = x * 2; r = select(c, t, x)

Legal where no side can store, trap or take long; used on adjoint code, where such branches repeat
the primal's and would be mispredicted once more.
"""

from __future__ import annotations

from dataclasses import replace

from adjit.ir.core import Block, Function, If, Let, Loop, Stmt, Undef
from adjit.ir.types import INT64, Scalar
from adjit.ir.visit import Rewriter

_CHEAP = frozenset(
    {"add", "sub", "mul", "neg", "pos", "fdiv", "szmul", "select", "lt", "le", "gt", "ge", "eq", "ne", "not_"}
    | {"min", "max", "abs", "cast"}
)
_WHOLE = frozenset({"add", "sub", "mul", "neg", "pos"})
_LIMIT = 32  # operations of both sides; a misprediction costs about as much


class _Choose(Rewriter):
    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        stmt = self.rebuild(stmt)
        if not isinstance(stmt, If) or not stmt.results:
            return (stmt,)
        cheap = _cheap(stmt.then) and _cheap(stmt.els) and len(stmt.then) + len(stmt.els) <= _LIMIT
        values = (*stmt.then_values, *stmt.else_values)
        if not cheap or any(isinstance(v, Undef) or not _float(v.type) for v in values):
            return (stmt,)
        return (*stmt.then, *stmt.els, *_selects(stmt))


class _Indices(Rewriter):
    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        stmt = self.rebuild(stmt)
        if not isinstance(stmt, If) or not stmt.results:
            return (stmt,)
        values = (*stmt.then_values, *stmt.else_values)
        sides = (*stmt.then, *stmt.els)
        whole = all(isinstance(s, Let) and s.op in _WHOLE and s.target.type == INT64 for s in sides)
        if not whole or any(isinstance(v, Undef) or v.type != INT64 for v in values):
            return (stmt,)
        return (*sides, *_selects(stmt))


def chosen_indices(loop: Loop) -> Loop:
    """The loop with branches that only choose between sums of integers as selects."""
    (chosen,) = _Indices().stmt(loop)
    assert isinstance(chosen, Loop)
    return chosen


def _selects(stmt: If) -> list[Stmt]:
    pairs = zip(stmt.results, stmt.then_values, stmt.else_values, strict=True)
    return [Let(r, "select", (stmt.cond, a, b), None, stmt.span) for r, a, b in pairs]


def _float(t: object) -> bool:
    return isinstance(t, Scalar) and t.is_float


def _cheap(block: Block) -> bool:
    return all(isinstance(s, Let) and s.op in _CHEAP and s.fn is None for s in block)


def choose(function: Function) -> Function:
    """Cheap branches as selects (see the module)."""
    c = _Choose()
    return replace(function, body=c.block(function.body), results=c.atoms(function.results))
