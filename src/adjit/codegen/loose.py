"""Sums of innermost loops of adjoint code whose order is free.

    for j: s = s + x[j] * y[j]   ->   for j: s = plus(s, x[j] * y[j])

`plus` (see `module`) is an addition that LLVM may reorder, so that it vectorises the loop. The last step before adjoint
code is printed, as `accumulate` is.
"""

from __future__ import annotations

from dataclasses import replace

from adjit.analysis.turns import Turns, sum_of
from adjit.ir.core import Atom, Function, Let, Loop, Stmt, fresh
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
    for p, after in zip(loop.params, loop.nexts, strict=True):
        if not (isinstance(p.type, Scalar) and p.type.is_float and p.type.lanes == 1):
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
