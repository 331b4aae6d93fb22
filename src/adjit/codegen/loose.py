"""Sums of innermost loops whose order is free: those of adjoint code, and what a part of a parallel loop adds up.

    for j: s = s + x[j] * y[j]   ->   for j: s = plus(s, x[j] * y[j])

`plus` (see `module`) is an addition that LLVM may reorder, so that it vectorises the loop. The last step before code
is printed, as `accumulate` is.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from adjit.analysis.turns import Turns, sum_of
from adjit.ir.core import Atom, Function, Let, Loop, Stmt, Sym, fresh
from adjit.ir.types import Scalar
from adjit.ir.visit import Rewriter

PLUS = '''@intrinsic
def plus(context, a, b):
    """a + b, as a part of a sum whose order is free."""

    def add(target, builder, signature, args):
        return builder.fadd(*args, flags=("reassoc",))

    return a(a, a), add
'''


def loose(function: Function) -> Function:
    """The function with its free sums marked (see the module)."""
    return replace(function, body=_Loose().block(function.body))


def loose_parts(function: Function) -> Function:
    """The function with what parts of parallel loops add up marked, all the way to the loops that do it."""
    return replace(function, body=_LooseParts().block(function.body))


class _LooseParts(Rewriter):
    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        stmt = self.rebuild(stmt)
        return (_free(stmt, stmt.params),) if isinstance(stmt, Loop) and stmt.free else (stmt,)


def _free(loop: Loop, sums: Collection[Sym]) -> Loop:
    """The loop with these of its sums marked."""
    if Turns.plain(loop):
        return _marked(loop, sums)
    body: list[Stmt] = []
    for s in loop.body:
        if isinstance(s, Loop):
            ends = dict(zip(loop.nexts, loop.params, strict=True))
            flows = zip(s.params, s.inits, s.results, strict=True)
            s = _free(s, [p for p, init, end in flows if init in sums and ends.get(end) == init])
        body.append(s)
    return replace(loop, body=tuple(body))


class _Loose(Rewriter):
    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        stmt = self.rebuild(stmt)
        return (_marked(stmt, stmt.params),) if isinstance(stmt, Loop) and Turns.plain(stmt) else (stmt,)


def _marked(loop: Loop, sums: Collection[Sym]) -> Loop:
    marked: dict[int, tuple[Let, ...]] = {}
    for p, after in zip(loop.params, loop.nexts, strict=True):
        if p not in sums or not (isinstance(p.type, Scalar) and p.type.is_float and p.type.lanes == 1):
            continue
        for let, term in sum_of(p, after, loop) or ():
            before = next(a for a in let.args if a is not term)
            if let.op == "sub":
                minus = fresh(let.target)
                marked[id(let)] = (Let(minus, "neg", (term,), None, let.span), _plus(let, before, minus))
            else:
                marked[id(let)] = (_plus(let, before, term),)
    return replace(loop, body=tuple(t for s in loop.body for t in marked.get(id(s), (s,))))


def _plus(let: Let, left: Atom, right: Atom) -> Let:
    return Let(let.target, "add", (left, right), "plus", let.span)
