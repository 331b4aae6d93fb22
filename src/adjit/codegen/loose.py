"""Sums of innermost loops of adjoint code whose order is free.

    for j: s = s + x[j] * y[j]   ->   for j: s = plus(s, x[j] * y[j])

`plus` (see `module`) is an addition that LLVM may reorder, so that it vectorises the loop. The last step before adjoint
code is printed, as `accumulate` is.
"""

from __future__ import annotations

from dataclasses import replace

from adjit.analysis.turns import Turns, is_sum
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


class _Loose(Rewriter):
    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        stmt = self.rebuild(stmt)
        return (_marked(stmt),) if isinstance(stmt, Loop) and Turns.plain(stmt) else (stmt,)


def _marked(loop: Loop) -> Loop:
    marked: dict[int, tuple[Let, ...]] = {}
    made = {s.target: s for s in loop.body if isinstance(s, Let)}
    for p, after in zip(loop.params, loop.nexts, strict=True):
        if not (isinstance(p.type, Scalar) and p.type.is_float and is_sum(p, after, loop)):
            continue
        a = after
        while isinstance(a, Sym) and a != p:
            let = made[a]
            left, right = let.args
            if let.op == "add" and right == p:
                left, right = right, left
            if let.op == "sub":
                minus = fresh(let.target)
                marked[id(let)] = (Let(minus, "neg", (right,), None, let.span), _plus(let, left, minus))
            else:
                marked[id(let)] = (_plus(let, left, right),)
            a = left
    return replace(loop, body=tuple(t for s in loop.body for t in marked.get(id(s), (s,))))


def _plus(let: Let, left: Atom, right: Atom) -> Let:
    return Let(let.target, "add", (left, right), "plus", let.span)
