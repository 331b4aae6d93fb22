"""Records of a parallel loop in parts: each part fills a record of its own, and in the end they follow each other.

    for part in range(parts), in parallel:  record = alloc (256); cursor = 0; ... the turns ...
                                            segments[part] = record; used[part] = cursor
    starts = the sums of `used` before each part
    record = ensure record (cursor + all of `used`)
    for part in range(parts), in parallel:  record[starts[part] + j] = segments[part][j] for each j
                                            ends[..] += starts[part] in each turn

So the record is what it is when the turns run in order, whatever order the parts ran in, and the reverse sweep need not
know of parts. A part's record grows in memory that its thread has just used; the whole one is made once, in its size.
"""

from __future__ import annotations

from dataclasses import dataclass

from adjit.analysis.recorded import Recorded
from adjit.ir.builder import Builder
from adjit.ir.core import (
    ONE,
    ZERO,
    Atom,
    Block,
    Ensure,
    Loop,
    Raise,
    RefAppend,
    RefGet,
    RefNew,
    RefSet,
    Sym,
    const,
    fresh,
)
from adjit.ir.types import FLOAT64, INT64, Array, RefList

_FIRST = 256
"""Elements that a part's record has at first."""


@dataclass
class Segments:
    """The records of one cursor, while its loop's parts are written."""

    recorded: Recorded
    lists: dict[int, Sym]
    used: Sym

    @staticmethod
    def made(b: Builder, recorded: Recorded, loop: Loop, parts: Atom) -> Segments:
        """The lists that hold the parts' records, by what the loop carries."""
        lists: dict[int, Sym] = {}
        for k in recorded.buffers:
            type_ = loop.params[k].type
            assert isinstance(type_, Array)
            lists[k] = Sym("segments", RefList(type_))
            b.append(RefNew(lists[k], b.span))
            with b.collect() as body:
                b.append(RefAppend(lists[k], b.alloc("segment", type_, (ZERO,)), b.span))
            _each(b, parts, tuple(body), Sym("part", INT64))
        used = b.alloc("used", Array(INT64, 1, "C"), (parts,))
        return Segments(recorded, lists, used)

    def begin(self, b: Builder, k: int, type_: Array) -> Sym:
        """The record that a part starts with."""
        assert k in self.lists
        return b.alloc("record", type_, (const(_FIRST),))

    def end(self, b: Builder, part: Atom, results: tuple[Sym, ...]) -> None:
        """Keep what a part recorded."""
        for k, listed in self.lists.items():
            b.append(RefSet(listed, part, results[k], b.span))
        b.store(self.used, (part,), results[self.recorded.cursor])

    def starts(self, b: Builder, loop: Loop, parts: Atom) -> tuple[Sym, Atom]:
        """Where each part's values start in the record, and the cursor after all of them."""
        starts = b.alloc("starts", Array(INT64, 1, "C"), (parts,))
        at, after, q = Sym("cursor", INT64), Sym("cursor", INT64), Sym("part", INT64)
        with b.collect() as body:
            b.store(starts, (q,), at)
            moved = b.op("add", at, b.load(self.used, (q,)))
        inits = (loop.inits[self.recorded.cursor],)
        b.loop(Loop(q, ZERO, parts, ONE, (at,), inits, tuple(body), (moved,), (after,), None, b.span))
        return starts, after

    def room(self, b: Builder, loop: Loop, cursor: Atom) -> dict[int, Sym]:
        """The records, with room for all that the parts recorded. Raises where one is over the limit."""
        found: dict[int, Sym] = {}
        for k in self.lists:
            record = loop.inits[k]
            assert isinstance(record, Sym)
            assert isinstance(record.type, Array)
            if self.recorded.limit is not None:
                size = b.op("mul", b.cast(cursor, FLOAT64), float(record.type.dtype.itemsize))
                assert isinstance(size, Sym)
                raising = Raise("MemoryError", ("record", size, self.recorded.line), b.span)
                b.if_(b.op("gt", size, b.cast(self.recorded.limit, FLOAT64)), (raising,))
            found[k] = fresh(record)
            b.append(Ensure(found[k], record, cursor, b.span))
        return found

    def follow(
        self, b: Builder, part: Atom, start: Atom, records: dict[int, Sym], turns: tuple[Atom, Atom]
    ) -> None:
        """Put what a part recorded in its place, and move the ends that its turns (from, to) kept."""
        count = b.load(self.used, (part,))
        for k, listed in self.lists.items():
            segment, j = fresh(records[k], "segment"), Sym("j", INT64)
            b.append(RefGet(segment, listed, part, b.span))
            with b.collect() as body:
                b.store(records[k], (b.op("nonneg", b.op("add", start, j)),), b.load(segment, (j,)))
            _each(b, count, tuple(body), j)
        for end in self.recorded.ends:
            turn = Sym("turn", INT64)
            with b.collect() as body:
                at = b.op("nonneg", end.at(b, turn))
                b.store(end.array, (at,), b.op("add", b.load(end.array, (at,)), start))
            b.loop(Loop(turn, *turns, ONE, (), (), tuple(body), (), (), None, b.span))


def _each(b: Builder, count: Atom, body: Block, index: Sym) -> None:
    b.loop(Loop(index, ZERO, count, ONE, (), (), body, (), (), None, b.span))
