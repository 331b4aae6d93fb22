"""Integers that a loop does not change are computed before it.

    for t: n = dim(u, 0); m = n - 1; for i in range(m): ...   ->   n = dim(u, 0); m = n - 1; for t: for i ...

Only extents and sums, differences and products of integers: they cannot raise, and cost nothing when no turn
runs. Sizes of records are then known before the outermost loop. What some path does not make (an array of one
branch) stays where it is read.
"""

from __future__ import annotations

from dataclasses import replace

from adjit.ir.core import Atom, Block, Function, If, Let, Loop, Stmt, Sym, Undef
from adjit.ir.types import INT64
from adjit.ir.visit import Rewriter, defined, inner_targets, walk

_MOVABLE = frozenset({"dim", "add", "sub", "mul", "neg", "min", "max"})


class _Hoist(Rewriter):
    def __init__(self, unmade: set[Sym]):
        super().__init__()
        self._unmade = unmade

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        stmt = self.rebuild(stmt)
        match stmt:
            case Loop():
                inside = defined(stmt.body) | set(inner_targets(stmt)) | self._unmade
                out, body = _split(stmt.body, inside)
                return (*out, replace(stmt, body=body))
            case If():
                inside = defined(stmt.then) | defined(stmt.els) | self._unmade
                first, then = _split(stmt.then, inside)
                second, els = _split(stmt.els, inside)
                return (*first, *second, replace(stmt, then=then, els=els))
            case _:
                return (stmt,)


def _split(block: Block, inside: set[Sym]) -> tuple[list[Stmt], Block]:
    """Statements that may move out, in order, and the rest."""
    out: list[Stmt] = []
    rest: list[Stmt] = []
    for stmt in block:
        movable = (
            isinstance(stmt, Let)
            and stmt.op in _MOVABLE
            and stmt.target.type == INT64
            and not any(isinstance(a, Undef) or a in inside for a in stmt.args)
        )
        if movable:
            assert isinstance(stmt, Let)
            inside.discard(stmt.target)
            out.append(stmt)
        else:
            rest.append(stmt)
    return out, tuple(rest)


def hoist(function: Function) -> Function:
    """Invariant integers before their loops (see the module)."""
    return replace(function, body=_Hoist(_unmade(function)).block(function.body))


def _unmade(function: Function) -> set[Sym]:
    """Symbols that have no value on some path."""
    flows: list[tuple[Sym, tuple[Atom, ...]]] = []
    for stmt in walk(function.body):
        if isinstance(stmt, If):
            flows += zip(stmt.results, zip(stmt.then_values, stmt.else_values, strict=True), strict=True)
        elif isinstance(stmt, Loop):
            both = tuple(zip(stmt.inits, stmt.nexts, strict=True))
            flows += (*zip(stmt.params, both, strict=True), *zip(stmt.results, both, strict=True))
    found: set[Sym] = set()
    while True:
        more = {s for s, values in flows if any(isinstance(a, Undef) or a in found for a in values)}
        if more <= found:
            return found
        found |= more
