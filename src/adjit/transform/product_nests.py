"""Products of matrices on a device: a work item adds up each element, in order.

    c = matmul(a, b)   ->   for i, for j, in parallel: s = 0.0; for k: s = s + a[i, k] * b[k, j]; c[i, j] = s

Taken when derivatives are there: those of a product are products, by its rule, and not sums of what work items push.
"""

from __future__ import annotations

from dataclasses import replace

from adjit.ir.builder import Builder
from adjit.ir.core import Function, Loop, Stmt, Whole
from adjit.ir.visit import Rewriter, walk
from adjit.rules.linear.base import rank
from adjit.rules.linear.products import loops


def product_nests(function: Function) -> Function:
    """The function with its products as nests (see the module)."""
    if not any(isinstance(s, Whole) and s.op == "matmul" for s in walk(function.body)):
        return function
    return replace(function, body=_Products().block(function.body))


class _Products(Rewriter):
    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        rebuilt = self.rebuild(stmt)
        if not isinstance(rebuilt, Whole) or rebuilt.op != "matmul":
            return (rebuilt,)
        b = Builder(rebuilt.span)
        (out,), (x, y) = rebuilt.outs, rebuilt.args
        loops(b, out, x, y)  # type: ignore[arg-type]
        return tuple(_in_parallel(s, rank(out)) for s in b.block())


def _in_parallel(stmt: Stmt, axes: int) -> Stmt:
    """The loops over the elements of the result, marked: it is an array of its own."""
    if not isinstance(stmt, Loop) or axes == 0:
        return stmt
    return replace(stmt, body=tuple(_in_parallel(s, axes - 1) for s in stmt.body), parallel=True)
