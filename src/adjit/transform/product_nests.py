"""Products of matrices on a device: a work item adds up each element, in order, or a library multiplies large ones.

    c = matmul(a, b)   ->   for i, for j, in parallel: s = 0.0; for k: s = s + a[i, k] * b[k, j]; c[i, j] = s

and where there is a library

    if k < LONG and n * k * m < MANY: the nest
    else: c = matmul(a, b)

Taken when derivatives are there: those of a product are products, by its rule, and not sums of what work items push.
"""

from __future__ import annotations

from dataclasses import replace

from adjit.ir.builder import Builder
from adjit.ir.core import Atom, Block, Const, Function, If, Loop, Stmt, Whole
from adjit.ir.types import INT64
from adjit.ir.visit import Rewriter, walk
from adjit.rules.linear.base import Matrices, rank
from adjit.rules.linear.products import loops

LONG, MANY = 512, 1 << 27
"""From sums of so many terms, or so many multiplications in all, on a product is a library's.

Measured on an H200: a work item takes 0.1 us a term, so that 512 terms take the 45 us of a call of cuBLAS through CuPy,
whatever the extents; where the device is full, 2**27 multiplications do. Below, a nest is also a part of a CUDA graph.
"""


def product_nests(function: Function, library: bool = False) -> Function:
    """The function with its products as nests (see the module). library: whether there is one for large ones."""
    if not any(isinstance(s, Whole) and s.op == "matmul" for s in walk(function.body)):
        return function
    return replace(function, body=_Products(library).block(function.body))


class _Products(Rewriter):
    def __init__(self, library: bool):
        super().__init__()
        self._library = library

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        rebuilt = self.rebuild(stmt)
        if not isinstance(rebuilt, Whole) or rebuilt.op != "matmul":
            return (rebuilt,)
        if not self._library:
            return _nest(rebuilt)
        b = Builder(rebuilt.span)
        b.append(If(_small(b, rebuilt), _nest(rebuilt), (rebuilt,), span=rebuilt.span))
        return b.block()


def _small(b: Builder, product: Whole) -> Atom:
    m = Matrices(b)
    (out,), (x, _) = product.outs, product.args
    *_, terms = m.shape(x)  # type: ignore[arg-type]
    count = terms
    for extent in m.shape(out):
        count = b.op("mul", count, extent)
    short, few = b.op("lt", terms, Const(LONG, INT64)), b.op("lt", count, Const(MANY, INT64))
    return b.op("and_", short, few)


def _nest(product: Whole) -> Block:
    b = Builder(product.span)
    (out,), (x, y) = product.outs, product.args
    loops(b, out, x, y)  # type: ignore[arg-type]
    return tuple(_in_parallel(s, rank(out)) for s in b.block())


def _in_parallel(stmt: Stmt, axes: int) -> Stmt:
    """The loops over the elements of the result, marked: it is an array of its own."""
    if not isinstance(stmt, Loop) or axes == 0:
        return stmt
    return replace(stmt, body=tuple(_in_parallel(s, axes - 1) for s in stmt.body), parallel=True)
