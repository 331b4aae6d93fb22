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
from dataclasses import dataclass, replace

from adjit.analysis.alias import Affine, Alias
from adjit.analysis.carried import Carried, Count, Reduction, Same
from adjit.analysis.certain_races import doubtful_store
from adjit.analysis.meetings import Meetings, Reach, Updated
from adjit.analysis.trips import trip_count
from adjit.analysis.work import work
from adjit.ir.builder import Builder, const_of
from adjit.ir.core import (
    ONE,
    ZERO,
    Atom,
    Block,
    Call,
    Const,
    Custom,
    Derive,
    Ensure,
    Function,
    Loop,
    Raise,
    RefAppend,
    RefNew,
    Stmt,
    Store,
    Sym,
    fresh,
)
from adjit.ir.notes import APART, COPIED, NEAR, InOrder, Note, OnThreads
from adjit.ir.types import INT64, Array, Scalar
from adjit.ir.visit import Rewriter, renamed, walk
from adjit.transform.copies import Copies, copies_of, redirected

MOST = 64
"""Parts of one loop at most: few enough to add up their results, enough for the threads of a large machine."""
GRAIN = 20_000
"""Work of a part at least, in operations (about 10 us): starting threads costs a few microseconds."""

COPY = 48
"""Work that an element of a copy of an array must be worth: to clear it, in memory that may be new, and to add it."""

_IN_ORDER: dict[type, str] = {
    Call: "calls a function that calls itself",
    Custom: "has a derivative rule inside",
    Derive: "takes a gradient inside",
    Raise: "may raise",
    RefAppend: "keeps arrays in a list",
    RefNew: "keeps arrays in a list",
    Ensure: "records a number of values that is not known before",
}

_Kind = Same | Reduction | Count


def parts(function: Function) -> Function:
    """The function with its parallel loops in parts (see the module)."""
    if not any(isinstance(s, Loop) and s.parallel for s in walk(function.body)):
        return function
    p = _Parts(function)
    body = p.block(function.body)
    return replace(function, body=body, results=p.atoms(function.results))


class _CannotSplitError(Exception):
    """The reason why a loop stays in order."""


class _Serial(Rewriter):
    """Loops inside a part run in order."""

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        stmt = self.rebuild(stmt)
        return (replace(stmt, parallel=False) if isinstance(stmt, Loop) and stmt.parallel else stmt,)


class _Apart(Rewriter):
    """Parts meet nowhere: their updates are stores like any others."""

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        stmt = self.rebuild(stmt)
        return (replace(stmt, update="") if isinstance(stmt, Store) and stmt.update else stmt,)


@dataclass(frozen=True)
class _Split:
    """How a loop is split. copies: arrays of which each part has its own. near: how turns come near each other."""

    kinds: tuple[_Kind, ...]
    updated: tuple[Updated, ...]
    copies: tuple[Copies, ...]
    near: tuple[Reach, ...]


class _Parts(Rewriter):
    def __init__(self, function: Function):
        super().__init__()
        self._alias = Alias(function)
        self._affine = Affine.of(function)
        self._meetings = Meetings(self._alias, self._affine)

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        if not isinstance(stmt, Loop) or not stmt.parallel:
            return (self.rebuild(stmt),)
        (plain,) = _Serial(dict(self.env)).stmt(stmt)
        assert isinstance(plain, Loop)
        try:
            split = self._split(plain)
        except _CannotSplitError as reason:  # loops inside may be split
            rebuilt = self.rebuild(stmt)
            assert isinstance(rebuilt, Loop)
            return (replace(rebuilt, parallel=False, note=InOrder(str(reason))),)
        positive = plain.index is not None and self._affine.nonnegative(plain.index)
        made, values = _Writer(plain, split, positive).build()
        self.env.update(zip(plain.results, values, strict=True))
        return made

    def _split(self, loop: Loop) -> _Split:
        """How the loop is split. Raises _CannotSplitError."""
        if loop.index is None or loop.index.type != INT64 or loop.stop is not None:
            raise _CannotSplitError("its end or its index is not that of a plain range")
        if not isinstance(loop.step, Const):
            raise _CannotSplitError("its step is not a constant")
        for s in walk(loop.body):
            reason = _IN_ORDER.get(type(s))
            if reason is not None:
                raise _CannotSplitError(f"it {reason}")
        doubtful = doubtful_store(loop, self._alias)
        if doubtful is not None:
            raise _CannotSplitError(f"turns write the same elements of `{doubtful.array.name}`")
        carried = Carried(loop)
        kinds: list[_Kind] = []
        for k, p in enumerate(loop.params):
            kind = carried.of(k)
            if kind is None:
                raise _CannotSplitError(f"each turn needs `{p.name}` of the one before")
            kinds.append(kind)
        updated = self._meetings.of(loop)
        if updated is None:
            raise _CannotSplitError("turns may update one array by two names")
        copies: list[Copies] = []
        near: list[Reach] = []
        for one in updated:
            if one.apart:
                continue
            if one.reach is not None:
                near.append(one.reach)
                continue
            own = copies_of(loop, one, self._alias)
            if own is None:
                raise _CannotSplitError(f"turns may meet in `{one.array.name}`, which is also read there")
            copies.append(own)
        return _Split(tuple(kinds), tuple(updated), tuple(copies), tuple(near))


class _Writer:
    """Writes one loop in parts."""

    def __init__(self, loop: Loop, split: _Split, positive: bool):
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
        if not self._split.copies:
            values = self._all()
            return b.block(), values
        env: dict[Sym, Atom] = {}
        alone = renamed((loop,), env)
        with b.collect() as split:
            values = self._all()
        results = tuple(fresh(r) for r in loop.results)
        b.if_(
            b.op("gt", self._parts, 1),
            tuple(split),
            alone,
            values,
            tuple(env[r] for r in loop.results),
            results,
        )
        return b.block(), results

    def _number(self, effort: Atom) -> Atom:
        """How many parts there are."""
        b, split = self._b, self._split
        most: Atom = b.op("min", b.op("add", b.op("floordiv", effort, GRAIN), 1), MOST)
        most = b.op("min", most, self._turns)
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
        self._changes = {k: kind.by(b) for k, kind in enumerate(self._split.kinds) if isinstance(kind, Count)}
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

    def _part(self, part: Atom) -> None:
        """The turns of one part."""
        b, loop = self._b, self._loop
        assert loop.step is not None
        first, last = _cut(b, self._turns, part, self._parts)
        lo, hi = self._turn(first), self._turn(last)
        inits: list[Atom] = []
        for k, (kind, init) in enumerate(zip(self._split.kinds, loop.inits, strict=True)):
            match kind:
                case Same():
                    inits.append(init)
                case Count():
                    inits.append(b.op("add", init, b.op("mul", self._changes[k], first)))
                case Reduction():
                    inits.append(self._start(kind, init, part))
        pairs = zip(self._split.copies, self._copies, strict=True)
        own = [(one, one.mine(b, copies, part)) for one, copies in pairs]
        body = redirected(loop.body, own) if own else loop.body
        results = tuple(fresh(r) for r in loop.results)
        body = _Apart().block(body)
        b.loop(replace(loop, lo=lo, hi=hi, inits=tuple(inits), body=body, results=results))
        for k, sums in self._sums.items():
            b.store(sums, (part,), results[k])

    def _turn(self, t: Atom) -> Atom:
        """The index in turn t, said so that it is seen not to be negative where the loop's is."""
        b, step = self._b, self._loop.step
        assert isinstance(step, Const)
        if step.integer == -1:  # turns are counted from the end of the range
            assert self._loop.hi is not None
            left = b.op("sub", self._turns, t)
            return b.op(
                "add", b.cast(self._loop.hi, INT64), b.op("nonneg", left) if isinstance(left, Sym) else left
            )
        i = b.op("add", self._lo, b.op("mul", t, step))
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
        for k, (kind, init) in enumerate(zip(self._split.kinds, loop.inits, strict=True)):
            match kind:
                case Same():
                    values.append(init)
                case Count():
                    values.append(b.op("add", init, b.op("mul", self._changes[k], self._turns)))
                case Reduction():
                    values.append(self._reduced(kind, self._sums[k], loop.params[k]))
        return tuple(values)

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
            build(part, *_cut(b, extent, part, count))
        b.loop(
            Loop(part, ZERO, count, ONE, (), (), tuple(body), (), (), None, self._loop.span, parallel=True)
        )

    def _note(self) -> Note:
        """What is said of each array that turns update."""
        hows = (APART if one.apart else COPIED if one.reach is None else NEAR for one in self._split.updated)
        names = (one.array.name for one in self._split.updated)
        return OnThreads(tuple(zip(names, hows, strict=True)))


def _cut(b: Builder, extent: Atom, part: Atom, count: Atom) -> tuple[Atom, Atom]:
    """Where a part begins and ends."""
    ends = (b.op("floordiv", b.op("mul", extent, a), count) for a in (part, b.op("add", part, 1)))
    first, last = (b.op("nonneg", a) if isinstance(a, Sym) else a for a in ends)
    return first, last


def _row(p: Sym) -> Array:
    assert isinstance(p.type, Scalar)
    return Array(p.type, 1, "C")
