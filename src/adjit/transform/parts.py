"""Parallel loops in parts: each part is a run of turns, and one thread's work.

    for i in range(n), in parallel: s = s + x[i] * y[i]; da[i - 1] += w; da[i + 1] += w
    ->  parts = as many as the work is worth
        for phase in 0, 1:
            for h in range(half of the parts), in parallel:  part = phase + 2 * h
                for i in range(n * part // parts, n * (part + 1) // parts): ...        sums start from 0
                sums[part] = s
        for part in range(parts): s = s + sums[part]

How many parts there are, and where they begin, follows from the number of turns and the work in them, never from the
number of threads: so results have the same bits with any number of threads, and small loops are one part, which no
thread is woken for. Where turns near each other update the same elements, every second part runs at once, then the
others; where they may meet anywhere, each part has a copy of the array, and the copies are added up in order.

Afterwards each `Loop.parallel` counts from 0 in steps of 1, carries nothing, and its turns meet nowhere. A loop that
cannot be split is an ordinary one, with a note that says why.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from adjit.analysis.alias import Affine, Alias
from adjit.analysis.carried import Count, Reduction, Same
from adjit.analysis.distinct import Distinct
from adjit.analysis.meetings import Meetings, Updated
from adjit.analysis.slices import Slices
from adjit.analysis.steps import Steps
from adjit.analysis.trips import trip_count
from adjit.analysis.work import ALONE, work
from adjit.ir.builder import Builder, const_of
from adjit.ir.core import (
    FALSE,
    ONE,
    ZERO,
    Alloc,
    Atom,
    Block,
    Const,
    Function,
    Let,
    Loop,
    Stmt,
    Sym,
    fresh,
)
from adjit.ir.notes import APART, COPIED, NEAR, InOrder, Note, OnThreads, rows_apart
from adjit.ir.types import BOOL, INT64, Array, Scalar
from adjit.ir.visit import Rewriter, renamed, used, walk
from adjit.transform import inside_parts
from adjit.transform.ahead import Ahead, Range
from adjit.transform.copies import redirected
from adjit.transform.rising import cut, in_order, known_rows
from adjit.transform.segments import Segments
from adjit.transform.split import CannotSplitError, Pushed, Split, split_of
from adjit.transform.terms import Terms

MOST = 64
"""Parts of one loop at most: few enough to add up their results, enough for the threads of a large machine."""
GRAIN = 20_000 * ALONE
"""Work of a part at least (10 us, or 6 in vectorised loops): starting threads costs two microseconds."""

COPY = 48 * ALONE
"""Work that an element of a copy of an array must be worth: to clear it, in memory that may be new, and to add it."""


def parts(function: Function) -> Function:
    """The function with its parallel loops in parts (see the module)."""
    if not any(isinstance(s, Loop) and s.parallel for s in walk(function.body)):
        return function
    p = _Parts(function)
    body = p.block(function.body)
    return replace(function, body=body, results=p.atoms(function.results))


class _Parts(Rewriter):
    def __init__(self, function: Function):
        super().__init__()
        self._alias = Alias(function)
        self._affine = Affine.of(function)
        self._meetings = Meetings(self._alias, self._affine)
        self._distinct = Distinct(function, self._alias)
        self._empty: set[Sym] = set()  # arrays that this block made, until a statement knows their names

    def block(self, block: Block) -> Block:
        outer, self._empty = self._empty, set()
        out: list[Stmt] = []
        for stmt in block:
            out += self.stmt(stmt)
            if isinstance(stmt, Alloc) and stmt.fill is None:
                self._empty.add(stmt.target)
            elif self._empty and not (isinstance(stmt, Let) and stmt.op == "dim"):
                self._empty -= used((stmt,))
        self._empty = outer
        return tuple(out)

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        if not isinstance(stmt, Loop) or not stmt.parallel:
            return (self.rebuild(stmt),)
        plain = inside_parts.in_order(stmt, self.env)
        try:
            slices = Slices(plain, self._alias, self._affine, self._distinct, frozenset(self._empty))
            split = split_of(plain, self._meetings, slices, self._alias)
        except CannotSplitError as reason:  # loops inside may be split
            rebuilt = self.rebuild(stmt)
            assert isinstance(rebuilt, Loop)
            return (replace(rebuilt, parallel=False, note=InOrder(str(reason))),)
        positive = plain.index is not None and self._affine.nonnegative(plain.index)
        made, values = _Writer(plain, split, positive).build()
        self.env.update(zip(plain.results, values, strict=True))
        return made


class _Writer:
    """Writes one loop in parts."""

    def __init__(self, loop: Loop, split: Split, positive: bool):
        """`positive`: whether the loop's index is proven not to be negative."""
        self._loop, self._split, self._positive = loop, split, positive
        self._b = Builder(loop.span, simplify=True)

    def build(self) -> tuple[Block, tuple[Atom, ...]]:
        """The statements, and the values of the loop's results."""
        loop, b = self._loop, self._b
        assert loop.lo is not None
        assert loop.hi is not None
        assert loop.step is not None
        self._turns = trip_count(b, loop.lo, loop.hi, loop.step)
        self._lo = b.cast(loop.lo, INT64)
        effort = work(b, loop, self._turns)
        self._sizes = [one.size(b) for one in self._split.copies]
        self._parts = self._number(effort)
        split = self._split
        if not (split.copies or split.records or split.rows or split.steps):
            values = self._all()
            return b.block(), values
        env: dict[Sym, Atom] = {}
        alone = renamed((loop,), env)
        with b.collect() as made:
            values = self._all()
        results = tuple(fresh(r) for r in loop.results)
        b.if_(
            self._may_split(),
            tuple(made),
            alone,
            values,
            tuple(env[r] for r in loop.results),
            results,
        )
        return b.block(), results

    def _may_split(self) -> Atom:
        """Whether there are several parts, and each turn has rows of its own."""
        b = self._b
        several = b.op("gt", self._parts, 1)
        for rows in self._split.rows:
            with b.collect() as then:
                rising = in_order(b, rows, self._parts, *self._ends())
            result = Sym("rising", BOOL)
            b.if_(several, tuple(then), (), (rising,), (FALSE,), (result,))
            several = result
        return several

    def _ends(self) -> tuple[Atom, Atom]:
        """The least and the greatest index."""
        first, last = self._turn(ZERO), self._turn(self._turns, 1)
        assert isinstance(self._loop.step, Const)
        return (first, last) if self._loop.step.integer > 0 else (last, first)

    def _number(self, effort: Atom) -> Atom:
        """How many parts there are."""
        b, split = self._b, self._split
        most: Atom = b.op("add", b.op("floordiv", effort, GRAIN), 1)
        fours = b.op(
            "mul", b.op("floordiv", b.op("add", most, 3), 4), 4
        )  # as many for each of two threads, or four
        most = b.op("select", b.op("gt", most, 2), fours, most)
        most = b.op("min", b.op("min", most, MOST), self._turns)
        for (
            reach
        ) in split.near:  # parts that are not neighbours are apart, and only the first one wraps around
            spans = [reach.width(b), *([b.op("neg", reach.low(b))] if reach.wraps else [])]
            for span in spans:
                if not isinstance(span, Const):
                    most = b.op("min", most, b.op("floordiv", self._turns, b.op("max", span, 1)))
                elif span.integer > 1:
                    most = b.op("min", most, b.op("floordiv", self._turns, span))
        for size in self._sizes:  # adding the copies up is to cost less than half of the turns
            most = b.op("min", most, b.op("floordiv", effort, b.op("add", b.op("mul", size, COPY), 1)))
        if split.near:
            most = b.op("mul", b.op("floordiv", most, 2), 2)
        return b.op("max", most, 1, hint="parts")

    def _all(self) -> tuple[Atom, ...]:
        """All parts; what they come to."""
        b, loop = self._b, self._loop
        self._copies = [one.make(b, self._parts) for one in self._split.copies]
        self._sums = {
            k: b.alloc(f"{loop.params[k].name}_of_parts", _row(loop.params[k]), (self._parts,))
            for k, kind in enumerate(self._split.kinds)
            if isinstance(kind, Reduction)
        }
        self._segments = [Segments.made(b, one, loop, self._parts) for one in self._split.records]
        self._changes = {k: kind.by(b) for k, kind in enumerate(self._split.kinds) if isinstance(kind, Count)}
        self._terms = Terms(b, loop, self._lo, self._turns, self._split.ahead)
        self._ahead = Ahead(b, loop, self._split.kinds, self._split.ahead, self._parts, self._terms)
        self._ahead.run(self._range)
        if self._split.near:
            self._phases()
        else:
            self._threads(self._parts, lambda h: h, self._note())
        for one, copies in zip(self._split.copies, self._copies, strict=True):
            extent = b.dim(one.array, 0)
            count = b.op("max", b.op("min", b.op("floordiv", extent, 1024), MOST), 1)
            self._over(
                count,
                extent,
                lambda part, first, last, o=one, c=copies: o.add(b, c, self._parts, first, last),
            )
        return self._results()

    def _phases(self) -> None:
        """Every second part at once, then the others; the one that may wrap around before all others."""
        b, wraps = self._b, any(reach.wraps for reach in self._split.near)
        down = isinstance(self._loop.step, Const) and self._loop.step.integer < 0
        phase = Sym("phase", INT64)
        with b.collect() as body:
            count = b.op("floordiv", b.op("sub", b.op("add", self._parts, 1), phase), 2)
            if wraps:
                count = b.op("select", b.op("eq", phase, ZERO), ONE, count)

            def part(h: Atom) -> Atom:
                nth = b.op("add", phase, b.op("mul", h, 2))
                return b.op("sub", b.op("sub", self._parts, 1), nth) if down and wraps else nth

            self._threads(count, part, self._note())
        flows = ((), (), tuple(body), (), (), None)
        b.loop(Loop(phase, ZERO, Const(3 if wraps else 2, INT64), ONE, *flows, self._loop.span))

    def _threads(self, count: Atom, part_of: Callable[[Atom], Atom], note: Note) -> None:
        b, loop = self._b, self._loop
        h = Sym("part", INT64)
        with b.collect() as body:
            self._part(part_of(h))
        b.loop(
            Loop(h, ZERO, count, ONE, (), (), tuple(body), (), (), None, loop.span, parallel=True, note=note)
        )

    def _turned(self) -> bool:
        """Whether the turns of a loop that counts down run upwards: memory is read faster so."""
        assert isinstance(self._loop.step, Const)
        return self._loop.step.integer < 0 and not self._split.steps

    def _range(self, part: Atom) -> Range:
        """The turns of a part, and what they begin with where that follows from their number."""
        b, loop = self._b, self._loop
        assert isinstance(loop.step, Const)
        first, last = cut(b, self._turns, part, self._parts)
        if self._turned():
            lo, hi = self._turn(last, 1), b.op("add", self._turn(first), 1)
        else:
            lo, hi = map(self._turn, (first, last))
        begin = b.op("sub", last, 1) if self._turned() else first
        inits: dict[int, Atom] = {}
        for k, (kind, init) in enumerate(zip(self._split.kinds, loop.inits, strict=True)):
            if isinstance(kind, Same):
                inits[k] = init
            elif isinstance(kind, Count):
                inits[k] = b.op("add", init, b.op("mul", self._changes[k], begin))
        step = Const(-loop.step.integer, INT64) if self._turned() else loop.step
        return Range(lo, hi, step, inits)

    def _part(self, part: Atom) -> None:
        """The turns of one part."""
        b, loop = self._b, self._loop
        turns = self._range(part)
        inits: list[Atom] = []
        for k, (kind, init) in enumerate(zip(self._split.kinds, loop.inits, strict=True)):
            match kind:
                case Same() | Count():
                    inits.append(turns.inits[k])
                case Reduction():
                    inits.append(self._start(kind, init, part))
                case Steps():
                    inits.append(self._ahead.start(k, part))
                case Pushed():
                    inits.append(self._begin(k))
        pairs = zip(self._split.copies, self._copies, strict=True)
        own = [(one, one.mine(b, copies, part)) for one, copies in pairs]
        body = redirected(loop.body, own) if own else loop.body
        if self._split.rows:
            body = known_rows(body, self._split.rows)
        results = tuple(fresh(r) for r in loop.results)
        body, nexts = self._terms.read(inside_parts.apart(body)), loop.nexts
        if self._turned():
            body, nexts = self._upwards(body)
        flows = {"inits": tuple(inits), "body": body, "nexts": nexts, "results": results}
        b.loop(replace(loop, lo=turns.lo, hi=turns.hi, step=turns.step, free=True, **flows))
        for k, sums in self._sums.items():
            b.store(sums, (part,), results[k])
        self._ahead.ends(part, results)
        for one in self._segments:
            one.end(b, part, results)

    def _upwards(self, body: Block) -> tuple[Block, tuple[Atom, ...]]:
        """The turns of a loop that counts down, in the order of their indices: memory is read faster so."""
        b = Builder(self._loop.span, simplify=True)
        nexts = list(self._loop.nexts)
        for k, by in self._changes.items():
            nexts[k] = b.op("sub", self._loop.params[k], by)
        return (*body, *b.block()), tuple(nexts)

    def _begin(self, k: int) -> Atom:
        """The cursor, or the record, that a part starts with."""
        type_ = self._loop.params[k].type
        if not isinstance(type_, Array):
            return ZERO
        return next(one.begin(self._b, k, type_) for one in self._segments if k in one.lists)

    def _turn(self, t: Atom, back: int = 0) -> Atom:
        """The index in turn t - back, said so that it is seen not to be negative where the loop's is."""
        b, step = self._b, self._loop.step
        assert isinstance(step, Const)
        if step.integer == -1:  # turns are counted from the end of the range
            assert self._loop.hi is not None
            left = b.op("sub", self._turns, t)
            end = b.op("add", b.cast(self._loop.hi, INT64), back)
            return b.op("add", end, b.op("nonneg", left) if isinstance(left, Sym) else left)
        i = b.op("add", self._lo, b.op("mul", b.op("sub", t, back), step))
        return b.op("nonneg", i) if self._positive and step.integer < 0 and isinstance(i, Sym) else i

    def _start(self, kind: Reduction, init: Atom, part: Atom) -> Atom:
        """What a part's reduction starts from: the first part's from what is there, the others' from nothing."""
        if kind.op in ("min", "max", "and_", "or_"):
            return init  # once more changes nothing
        assert isinstance(init.type, Scalar)
        neutral = const_of(0 if kind.op == "add" else 1, init.type)
        return (
            neutral if init == neutral else self._b.op("select", self._b.op("eq", part, ZERO), init, neutral)
        )

    def _results(self) -> tuple[Atom, ...]:
        b, loop = self._b, self._loop
        values: list[Atom] = []
        pushed = self._joined()
        for k, (kind, init) in enumerate(zip(self._split.kinds, loop.inits, strict=True)):
            match kind:
                case Same():
                    values.append(init)
                case Count():
                    values.append(b.op("add", init, b.op("mul", self._changes[k], self._turns)))
                case Reduction():
                    values.append(self._reduced(kind, self._sums[k], loop.params[k]))
                case Steps():
                    values.append(self._ahead.result(k))
                case Pushed():
                    values.append(pushed[k])
        return tuple(values)

    def _joined(self) -> dict[int, Atom]:
        """The records with what all parts recorded, and their cursors, by what the loop carries."""
        b, loop = self._b, self._loop
        found: dict[int, Atom] = {}
        for one in self._segments:
            starts, cursor = one.starts(b, loop, self._parts)
            records = one.room(b, loop, cursor)
            found |= {one.recorded.cursor: cursor, **records}
            part = Sym("part", INT64)
            with b.collect() as body:
                turns = cut(b, self._turns, part, self._parts)
                one.follow(b, part, b.load(starts, (part,)), records, turns)
            flows = ((), (), tuple(body), (), (), None)
            b.loop(Loop(part, ZERO, self._parts, ONE, *flows, loop.span, parallel=True))
        return found

    def _reduced(self, kind: Reduction, sums: Sym, p: Sym) -> Sym:
        """The parts' results combined, in their order."""
        b = self._b
        assert isinstance(p.type, Scalar)
        total, result, q = fresh(p), fresh(p), Sym("part", INT64)
        with b.collect() as body:
            more = b.load(sums, (q,))
            after = b.let(kind.op, total, more, type=p.type, fn=kind.fn)
        first = b.load(sums, (ZERO,))
        flows = ((total,), (first,), tuple(body), (after,), (result,), None)
        b.loop(Loop(q, ONE, self._parts, ONE, *flows, self._loop.span))
        return result

    def _over(self, count: Atom, extent: Atom, build: Callable[[Atom, Atom, Atom], None]) -> None:
        """A run of places for each part, on threads."""
        b, part = self._b, Sym("part", INT64)
        with b.collect() as body:
            build(part, *cut(b, extent, part, count))
        b.loop(
            Loop(part, ZERO, count, ONE, (), (), tuple(body), (), (), None, self._loop.span, parallel=True)
        )

    def _note(self) -> Note:
        """What is said of each array that turns update, and of what they look at."""
        kinds = zip(self._loop.params, self._split.kinds, strict=True)
        ahead = tuple(p.name for p, kind in kinds if isinstance(kind, Steps))
        return OnThreads(tuple((one.array.name, _how(one)) for one in self._split.updated), ahead)


def _how(one: Updated) -> str:
    """How the turns update an array."""
    if one.apart:
        return APART
    if one.reach is not None:
        return NEAR
    return COPIED if one.rows is None else rows_apart(one.rows.starts.name)


def _row(p: Sym) -> Array:
    assert isinstance(p.type, Scalar)
    return Array(p.type, 1, "C")
