"""Rows of a sparse matrix: turns that update `starts[i]` to `starts[i + 1]`, apart where `starts` never falls.

    for i in range(n), in parallel: for k in range(starts[i], starts[i + 1]): d[k] += ...

The program looks at `starts` before the loop; where it falls somewhere, the loop runs in order.
"""

from __future__ import annotations

from collections.abc import Iterable

from adjit.analysis.meetings import Rows
from adjit.ir.builder import Builder
from adjit.ir.core import ONE, ZERO, Atom, Block, Load, Loop, Stmt, Sym
from adjit.ir.types import INT64, Array
from adjit.ir.visit import Rewriter


def cut(b: Builder, extent: Atom, part: Atom, count: Atom) -> tuple[Atom, Atom]:
    """Where a part begins and ends."""
    ends = (b.op("floordiv", b.op("mul", extent, a), count) for a in (part, b.op("add", part, 1)))
    first, last = (b.op("nonneg", a) if isinstance(a, Sym) else a for a in ends)
    return first, last


def in_order(b: Builder, rows: Rows, parts: Atom, low: Atom, high: Atom) -> Atom:
    """Whether each row, of the indices from `low` to `high`, ends before the next one begins, the first not below 0.

    Looked at by so many parts at once.
    """
    wrong = b.alloc("wrong", Array(INT64, 1, "C"), (parts,))
    begins = b.op("add", low, rows.at)
    inside = b.op("ge", begins, ZERO)  # an index below 0 counts from the end
    least = b.op("nonneg", b.op("max", begins, ZERO))
    extent = b.op("select", inside, b.op("add", b.op("sub", high, low), 1), ZERO)

    def count(part: Atom, first: Atom, last: Atom) -> None:
        t, before, total = Sym("t", INT64), Sym("count", INT64), Sym("count", INT64)
        with b.collect() as body:
            at = b.op("nonneg", b.op("add", least, t))
            falls = b.op("gt", b.load(rows.starts, (at,)), b.load(rows.starts, (b.op("add", at, 1),)))
            after = b.op("add", before, b.op("select", falls, 1, 0))
        b.loop(Loop(t, first, last, ONE, (before,), (ZERO,), tuple(body), (after,), (total,), None, b.span))
        b.store(wrong, (part,), total)

    part = Sym("part", INT64)
    with b.collect() as body:
        count(part, *cut(b, extent, part, parts))
    b.loop(Loop(part, ZERO, parts, ONE, (), (), tuple(body), (), (), None, b.span, parallel=True))
    q, total, result = Sym("part", INT64), Sym("count", INT64), Sym("count", INT64)
    with b.collect() as body:
        after = b.op("add", total, b.load(wrong, (q,)))
    flows = ((total,), (ZERO,), tuple(body), (after,), (result,), None)
    b.loop(Loop(q, ZERO, parts, ONE, *flows, b.span))
    first = b.load(rows.starts, (least,))
    rising = b.op("and_", b.op("eq", result, 0), b.op("ge", b.cast(first, INT64), 0))
    return b.op("and_", inside, rising)


def known_rows(body: Block, rows: Iterable[Rows]) -> Block:
    """A loop's body where it is known that rows begin and end at no negative place."""
    return _InRows({s for one in rows for s in one.ends}).block(body)


class _InRows(Rewriter):
    """Where rows begin and end is known not to be negative."""

    def __init__(self, ends: set[Sym]):
        super().__init__()
        self._ends = ends

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        new = self.rebuild(stmt)
        if not isinstance(new, Load) or new.target not in self._ends:
            return (new,)
        b = Builder(new.span)
        b.append(new)
        self.env[new.target] = b.op("nonneg", b.cast(new.target, INT64))
        return b.block()
