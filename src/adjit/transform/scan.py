"""Sums of what stands before, for devices: an array of counts becomes the places where each begins.

    counts = 0, 3, 1, 4   ->   0, 3, 4, 8        in place: where each begins, and at the end the sum of all

By blocks of `BLOCK` numbers, each added up by one work item; then the last numbers of the blocks in the same way,
until one block is left; then each block gets what stands before it. So there are twice as many launches as the number
of elements has digits in base `BLOCK`, which is also the longest run of one work item.
"""

from __future__ import annotations

from collections.abc import Callable

from adjit.ir.builder import Builder
from adjit.ir.core import ONE, ZERO, Atom, Loop, Sym, const
from adjit.ir.types import INT64

BLOCK = 32
"""How many numbers a work item adds up."""


def scan(b: Builder, counts: Sym, rows: int, length: Atom) -> None:
    """Add up each row of an array of int64 in place, each number with all before it. length: of the rows."""
    stride, last = Sym("stride", INT64), Sym("stride", INT64)
    with b.collect() as body:
        count = b.op("floordiv", length, stride)
        _blocks(b, counts, rows, stride, count)
        one = b.op("le", count, const(BLOCK))
        wider = b.op("select", one, stride, b.op("mul", stride, const(BLOCK)))
    b.loop(Loop(None, None, None, None, (stride,), (ONE,), tuple(body), (wider,), (last,), one, b.span))
    stride, end = Sym("stride", INT64), Sym("stride", INT64)
    with b.collect() as body:
        more = b.op("gt", stride, ONE)
        finer = b.op("select", more, b.op("floordiv", stride, const(BLOCK)), stride)
        count = b.op("floordiv", length, finer)
        _spread(b, counts, rows, finer, b.op("select", more, count, ZERO))
        done = b.op("le", finer, ONE)
    b.loop(Loop(None, None, None, None, (stride,), (last,), tuple(body), (finer,), (end,), done, b.span))


def _blocks(b: Builder, counts: Sym, rows: int, stride: Atom, count: Atom) -> None:
    """Sums within the blocks of every `stride`-th number."""

    def body(row: Atom, block: Atom) -> None:
        j, total, end = (Sym(n, INT64) for n in ("j", "total", "total"))
        with b.collect() as inner:
            at = _place(b, block, j, stride)
            more = b.op("add", total, b.load(counts, (row, at)))
            b.store(counts, (row, at), more)
        mine = _length(b, block, count, BLOCK)
        b.loop(Loop(j, ZERO, mine, ONE, (total,), (ZERO,), tuple(inner), (more,), (end,), None, b.span))

    _over_blocks(b, rows, ZERO, count, body)


def _spread(b: Builder, counts: Sym, rows: int, stride: Atom, count: Atom) -> None:
    """To the numbers of each block but its last one, which has it, what stands before the block."""

    def body(row: Atom, block: Atom) -> None:
        j = Sym("j", INT64)
        first = b.op("nonneg", b.op("sub", b.op("mul", b.op("mul", block, const(BLOCK)), stride), ONE))
        before = b.load(counts, (row, first))
        with b.collect() as inner:
            at = _place(b, block, j, stride)
            b.store(counts, (row, at), b.op("add", before, b.load(counts, (row, at))))
        mine = _length(b, block, count, BLOCK - 1)
        b.loop(Loop(j, ZERO, mine, ONE, (), (), tuple(inner), (), (), None, b.span))

    _over_blocks(b, rows, ONE, count, body)


def _place(b: Builder, block: Atom, j: Atom, stride: Atom) -> Atom:
    """Of the j-th number of a block."""
    number = b.op("add", b.op("add", b.op("mul", block, const(BLOCK)), j), ONE)
    return b.op("nonneg", b.op("sub", b.op("mul", number, stride), ONE))


def _length(b: Builder, block: Atom, count: Atom, most: int) -> Atom:
    """How many numbers of a block there are, and at most `most`."""
    return b.op("min", b.op("sub", count, b.op("mul", block, const(BLOCK))), const(most))


def _over_blocks(b: Builder, rows: int, first: Atom, count: Atom, each: Callable[[Atom, Atom], None]) -> None:
    """Work items for the blocks of all rows."""
    blocks = b.op("floordiv", b.op("add", count, const(BLOCK - 1)), const(BLOCK))
    row, block = Sym("row", INT64), Sym("block", INT64)
    with b.collect() as body:
        each(row if rows > 1 else ZERO, block)
    made = Loop(block, first, blocks, ONE, (), (), tuple(body), (), (), None, b.span, parallel=True)
    if rows > 1:
        made = Loop(row, ZERO, const(rows), ONE, (), (), (made,), (), (), None, b.span, parallel=True)
    b.loop(made)
