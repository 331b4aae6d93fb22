"""Builds the loops over places that pull one group of sums (see `transform.gather`)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from adjit.analysis.bends import BACK_HIGH, BACK_LOW, HIGH, LOW, MIRRORS, RING, Bends, Kinds
from adjit.analysis.scatter import Group, Nest, Push
from adjit.ir.builder import Builder, const_of
from adjit.ir.core import ONE, TRUE, ZERO, Alloc, Atom, Const, Loop, Stmt, Sym, const, fresh
from adjit.ir.notes import Pulled
from adjit.ir.types import INT64
from adjit.transform.copier import Copier
from adjit.transform.spans import Span, added, made_of, moved

Indices = tuple[Atom, ...]
Step = tuple[int, Kinds]
"""How the place along one axis follows from the index: an offset, and how it is brought back into the range."""
_STRAIGHT: Step = (0, frozenset())


class Pull:
    """Builds the nest that pulls one group."""

    def __init__(
        self,
        b: Builder,
        nest: Nest,
        group: Group,
        spans: list[Span],
        bends: Bends,
        positive: tuple[bool, ...],
        fresh: Alloc | None,
    ):
        """positive: by loop, whether its index is proven not to be negative. fresh: the array, if nothing is in it."""
        self._b, self._nest, self._group, self._spans = b, nest, group, spans
        self._fresh, self._bends = fresh, bends
        self._some: Atom = TRUE  # whether the nest has turns, so that the places are all in the array
        steps = [_steps(m) for m in group.members]
        reached = [[o if not kinds else 0 for o, kinds in along] for along in zip(*steps, strict=True)]
        self._low, self._high = tuple(map(min, reached)), tuple(map(max, reached))
        self._rows: dict[tuple[Step, ...], list[Push]] = {}
        for m, step in zip(group.members, steps, strict=True):
            self._rows.setdefault(step[:-1], []).append(m)
        self._loop, self._last = nest.loops[-1], len(nest.loops) - 1
        self._positive = positive
        self._level_of = {h.index: k for k, h in enumerate(nest.heads)}

    def build(self) -> None:
        if self._fresh is not None:
            self._clear_other(self._fresh)
        self._level(0, ())

    def _clear_other(self, alloc: Alloc) -> None:
        """Clears the places of a fresh array that are not pulled: all of them, if the nest has no turns."""
        b = self._b
        for span in self._spans:
            self._some = _both(b, self._some, b.op("lt", span.start, span.stop))
        shape = tuple(alloc.shape[axis] for axis in self._group.axes)
        box = [self._ends_of(level) for level in range(len(shape))]
        box[0] = tuple(b.op("select", self._some, a, shape[0]) for a in box[0])  # type: ignore[assignment]
        for level, extent in enumerate(shape):
            start, stop = box[level]
            if start == ZERO and stop == extent:
                continue
            side = Sym("side", INT64)
            with b.collect() as body:
                at_start = b.op("eq", side, ZERO)
                before, after = b.op("select", at_start, ZERO, stop), b.op("select", at_start, start, extent)
                ranges = [*box[:level], (before, after), *((ZERO, n) for n in shape[level + 1 :])]
                self._clear_box(alloc.target, ranges, ())
            b.loop(Loop(side, ZERO, const(2), ONE, (), (), tuple(body), (), (), None, self._loop.span))

    def _clear_box(self, array: Sym, ranges: list[tuple[Atom, Atom]], place: Indices) -> None:
        """Clears a box of places; its loops are the nest's."""
        b, level = self._b, len(place)
        if level == len(ranges):
            b.store(array, self._place(place[:-1], place[-1]), self._zero())
            return
        index = self._nest.loops[level].index
        assert index is not None
        i = fresh(index)
        with b.collect() as body:
            self._clear_box(array, ranges, (*place, i))
        b.loop(Loop(i, *ranges[level], ONE, (), (), tuple(body), (), (), None, self._loop.span))

    def _zero(self) -> Const:
        return const_of(0.0, self._group.array.type.dtype)  # type: ignore[union-attr]

    def _ends_of(self, level: int) -> tuple[Atom, Atom]:
        """The first place along a loop's axis, and the one after the last, of all residue classes."""
        b, span = self._b, self._spans[level]
        return moved(b, span.start, self._low[level]), moved(b, span.stop, self._high[level])

    def _cleared(self, place: Indices, *ranges: tuple[Atom, Atom]) -> None:
        """Places of a row of a fresh array that terms are then added to."""
        b = self._b
        with b.collect() as body:
            for start, stop in ranges:
                self._turns(
                    start,
                    stop,
                    None,
                    lambda q: b.store(self._group.array, self._place(place, q), self._zero()),
                )
        b.if_(self._some, tuple(body))

    def _level(self, level: int, place: Indices) -> None:
        """The loops over places, all but the innermost."""
        if level == self._last:
            self._row(place)
            return
        start, stop = self._ends_of(level)
        least, most = self._regular_rows(level)
        if level < self._last - 1 or (least <= self._low[level] and most >= self._high[level]):
            self._along(level, place, start, stop, lambda p: self._level(level + 1, (*place, p)))
            return
        b, span, every = self._b, self._spans[level], self._reached(place)
        stop = b.op("max", start, stop)
        first = b.op("min", moved(b, span.start, least), stop) if least > self._low[level] else start
        last = b.op("max", first, moved(b, span.stop, most)) if most < self._high[level] else stop
        if every != TRUE:
            first, last = (b.op("select", every, a, start) for a in (first, last))
        first, last = self._sure(level, first), self._sure(level, last)
        self._along(level, place, first, last, lambda p: self._inner_row((*place, p)))
        side = Sym("side", INT64)
        with b.collect() as body:
            at_start = b.op("eq", side, ZERO)
            left, right = b.op("select", at_start, start, last), b.op("select", at_start, first, stop)
            left = self._sure(level, left)
            self._along(level, place, left, right, lambda p: self._outer_row((*place, p)), few=True)
        b.loop(Loop(side, ZERO, const(2), ONE, (), (), tuple(body), (), (), None, self._loop.span))

    def _along(
        self,
        level: int,
        place: Indices,
        start: Atom,
        stop: Atom,
        build: Callable[[Sym], None],
        few: bool = False,
    ) -> None:
        """A loop over places, `place` being those along the loops around it. few: not worth a thread."""
        b, loop = self._b, self._nest.loops[level]
        assert loop.index is not None
        p = fresh(loop.index)
        with b.collect() as body:
            build(p)
        start, step = self._next(level, start, self._class_of(level, place, self._group.places[level]))
        flows = ((), (), tuple(body), (), (), None)
        note = None if level else self._note()
        parallel = loop.parallel and not few
        b.loop(Loop(p, start, stop, step, *flows, loop.span, parallel=parallel, note=note))

    def _sure(self, level: int, a: Atom) -> Atom:
        """The atom, of which it is said that it is not negative where no place can be."""
        start = self._spans[level].start
        known = isinstance(start, Const) and start.integer + self._low[level] >= 0
        return self._b.op("nonneg", a) if known and isinstance(a, Sym) else a

    def _class_of(self, level: int, indices: Indices, by: int) -> Atom:
        """A number of the residue class of a loop's index, the outer ones being `indices`, moved by a constant."""
        b, head = self._b, self._nest.heads[level]
        total = self._spans[level].rest
        for s, factor in head.residue.terms.items():
            if s in self._level_of:
                total = added(b, total, indices[self._level_of[s]], factor, head.modulus)
        return moved(b, total, by)

    def _next(self, level: int, start: Atom, wanted: Atom) -> tuple[Atom, Const]:
        """The first number from `start` on of the class of `wanted`, and the step to the next one."""
        b, modulus = self._b, self._nest.heads[level].modulus
        if modulus == 1:
            return start, ONE
        gap = b.op("mod", b.op("sub", wanted, start), modulus)
        return b.op("add", start, gap), const(modulus)

    def _regular_rows(self, level: int) -> tuple[int, int]:
        """Between which distances from the ends of the range every row reaches a place, by no detour."""
        steps = [row[level] for row in self._rows]
        least = max(max(_regular(step)[0], _ends_at(step, LOW, BACK_LOW)) for step in steps)
        most = min(min(_regular(step)[1], -_ends_at(step, HIGH, BACK_HIGH)) for step in steps)
        return least, most

    def _reached(self, place: Indices) -> Atom:
        """Whether every row reaches the places along these loops by no detour."""
        every: Atom = TRUE
        for level, p in enumerate(place):
            every = _both(self._b, every, self._within(level, p, *self._regular_rows(level)))
        return every

    def _row(self, place: Indices) -> None:
        b, every = self._b, self._reached(place)
        if every == TRUE:
            self._inner_row(place)
            return
        with b.collect() as whole:
            self._inner_row(place)
        with b.collect() as apart:
            self._outer_row(place)
        b.if_(every, tuple(whole), tuple(apart))

    def _inner_row(self, place: Indices) -> None:
        """A row that all rows of the group reach."""
        inner = self._source(place, (_STRAIGHT,) * len(place))
        self._whole_row(inner, {row: self._source(inner, row) for row in self._rows})

    def _outer_row(self, place: Indices) -> None:
        """What each row that reaches this one adds, one after another."""
        span, last = self._spans[-1], self._last
        inner = self._source(place, (_STRAIGHT,) * len(place))
        if self._fresh is not None:
            self._cleared(place, self._ends_of(len(place)))
        for row, members in self._rows.items():

            def push(source: Indices, members: list[Push] = members) -> None:
                wanted = self._class_of(last, source, 0)
                for m in members:
                    self._turns(span.start, span.stop, wanted, partial(self._push, inner, source, [m]))

            self._each_source(inner, row, (), push)

    def _each_source(
        self, place: Indices, row: tuple[Step, ...], chosen: Indices, build: Callable[[Indices], None]
    ) -> None:
        """For each row of turns that reaches the place by these steps: `chosen` and what follows."""
        level, b = len(chosen), self._b
        if level == len(row):
            build(chosen)
            return
        p, (offset, kinds), span = place[level], row[level], self._spans[level]
        with b.collect() as body:
            self._each_source(place, row, (*chosen, self._source_of(level, p, row[level])), build)
        self._where(self._within(level, p, *_regular(row[level])), body)
        if LOW in kinds:
            turns = (ZERO, b.op("min", const(-offset), span.stop))
            self._clamped_to(ZERO, place, row, chosen, build, turns)
        if HIGH in kinds:
            turns = (b.op("max", moved(b, span.stop, -offset), ZERO), span.stop)
            self._clamped_to(moved(b, span.stop, -1), place, row, chosen, build, turns)
        for kind in kinds & MIRRORS:
            i = self._turned_back(kind, p, offset, span)
            with b.collect() as body:
                self._each_source(place, row, (*chosen, self._b.op("nonneg", i)), build)
            low, high = (
                (ZERO, const(-offset)) if kind == BACK_LOW else (moved(b, span.stop, -offset), span.stop)
            )
            self._where(_both(b, b.op("ge", i, low), b.op("lt", i, high)), body)

    def _turned_back(self, kind: str, a: Atom, offset: int, span: Span) -> Atom:
        """Which turn's index comes to the place a, or the other way round, on the other side of the end."""
        b = self._b
        if kind == BACK_LOW:
            return b.op("sub", const(-offset), a)
        return b.op("sub", moved(b, b.op("mul", span.stop, 2), -2 - offset), a)

    def _clamped_to(
        self,
        end: Atom,
        place: Indices,
        row: tuple[Step, ...],
        chosen: Indices,
        build: Callable[[Indices], None],
        turns: tuple[Atom, Atom],
    ) -> None:
        """Where the place is an end of the range: each of the turns that are stopped there."""
        b, level = self._b, len(chosen)
        loop = self._nest.loops[level]
        assert loop.index is not None
        i = fresh(loop.index)
        with b.collect() as body:
            self._each_source(place, row, (*chosen, i), build)
        with b.collect() as each:
            b.loop(Loop(i, *turns, ONE, (), (), tuple(body), (), (), None, loop.span))
        self._where(b.op("eq", place[level], end), each)

    def _where(self, condition: Atom, body: list[Stmt]) -> None:
        if condition == TRUE:
            self._b.extend(tuple(body))
        else:
            self._b.if_(condition, tuple(body))

    def _within(self, level: int, p: Atom, least: int, most: int) -> Atom:
        """Whether start + least <= p < stop + most (it is known that a row reaches p)."""
        b, span = self._b, self._spans[level]
        known: Atom = TRUE
        if least > self._low[level]:
            known = b.op("le", moved(b, span.start, least), p)
        if most < self._high[level]:
            known = _both(b, known, b.op("lt", p, moved(b, span.stop, most)))
        return known

    def _source(self, place: Indices, row: tuple[Step, ...]) -> Indices:
        """The indices of the nest's row that reaches the place without being stopped at an end."""
        return tuple(self._source_of(k, p, step) for k, (p, step) in enumerate(zip(place, row, strict=True)))

    def _source_of(self, level: int, p: Atom, step: Step) -> Atom:
        offset, kinds = step
        if RING in kinds and offset != 0:
            b = self._b
            return b.op("nonneg", b.op("mod", moved(b, p, -offset), self._spans[level].stop))
        return self._counting(level, p, offset)

    def _counting(self, level: int, p: Atom, offset: int) -> Atom:
        """p - offset, which is not negative where the nest's index and places are not."""
        start = self._spans[level].start
        i = moved(self._b, p, -offset)
        known = isinstance(start, Const) and start.integer + self._low[level] - offset >= 0
        return i if known or not self._positive[level] else self._b.op("nonneg", i)

    def _note(self) -> Pulled:
        return Pulled(self._group.array.name)

    def _turns(
        self,
        start: Atom,
        stop: Atom,
        wanted: Atom | None,
        build: Callable[[Sym], None],
        parallel: bool = False,
        note: Pulled | None = None,
    ) -> None:
        """A loop along the innermost axis. wanted: of the residue class. parallel: each turn has its own place."""
        b = self._b
        assert self._loop.index is not None
        step = ONE
        if wanted is not None:
            start, step = self._next(self._last, start, wanted)
        j = fresh(self._loop.index)
        with b.collect() as body:
            build(j)
        flows = ((), (), tuple(body), (), (), None)
        parallel = parallel and self._loop.parallel
        b.loop(Loop(j, start, stop, step, *flows, self._loop.span, parallel=parallel, note=note))

    def _reach(self) -> tuple[int, int]:
        """Margins of a row's inner places, where no turn that reaches them is bent, nor reads at a bent index."""
        margins: list[int] = []
        for m in self._group.members:
            offset, kinds = m.offset[-1], m.bends[-1]
            margins += [offset, 0] if kinds else [offset]
            for s in made_of(self._nest, [a for _, a in m.what.terms]):
                bent = self._bends.of(s.target)
                if bent is not None and bent.level == self._last:
                    margins += [offset - bent.offset, offset]
        return min(margins), max(margins)

    def _whole_row(self, place: Indices, sources: dict[tuple[Step, ...], Indices]) -> None:
        """All increments of a row at once, then those near its ends."""
        b, span = self._b, self._spans[-1]
        low, high = self._reach()
        first, last = moved(b, span.start, high), moved(b, span.stop, low)
        wanted = self._class_of(self._last, place, self._group.places[-1])
        self._turns(
            first, last, wanted, partial(self._pull, place, sources), True, None if place else self._note()
        )
        if low == high:
            return
        if self._fresh is not None:
            start, stop = self._ends_of(len(place))
            self._cleared(place, (start, b.op("min", first, stop)), (b.op("max", first, last), stop))
        width = high - low
        side = Sym("side", INT64)
        with b.collect() as body:
            at_start = b.op("eq", side, ZERO)
            right = b.op("max", b.op("add", span.start, width), b.op("sub", span.stop, width))
            left = b.op("min", span.stop, b.op("add", span.start, width))
            start = b.op("select", at_start, span.start, right)
            stop = b.op("select", at_start, left, span.stop)
            self._turns(start, stop, None, partial(self._ends, place, sources, wanted, first, last))
        b.loop(Loop(side, ZERO, const(2), ONE, (), (), tuple(body), (), (), None, self._loop.span))

    def _ends(
        self,
        place: Indices,
        sources: dict[tuple[Step, ...], Indices],
        wanted: Atom,
        first: Atom,
        last: Atom,
        j: Sym,
    ) -> None:
        """Increments from turn j whose place, before it is bent, is not one of the row's inner ones."""
        b, modulus = self._b, self._nest.heads[-1].modulus
        for offset in sorted({m.offset[-1] for m in self._group.members}):
            q = moved(b, j, offset)
            outside = b.op("or_", b.op("lt", q, first), b.op("ge", q, last))
            if modulus > 1:
                gap = b.op("mod", b.op("sub", q, wanted), modulus)
                outside = _both(b, outside, b.op("eq", gap, ZERO))
            with b.collect() as body:
                for row, members in self._rows.items():
                    self._push(place, sources[row], [m for m in members if m.offset[-1] == offset], j)
            b.if_(outside, tuple(body))

    def _push(self, place: Indices, source: Indices, members: list[Push], j: Sym) -> None:
        """The increments of one row from turn j, one after another."""
        copier = self._copier(source, j, members, regular=False)
        for m in members:
            at = self._place(place, self._bent(j, m))
            self._add(at, [(sign, copier.atom(a)) for sign, a in m.what.terms])

    def _bent(self, j: Sym, m: Push) -> Atom:
        """The place along the innermost axis of an increment from turn j."""
        b, stop, (offset, kinds) = self._b, self._spans[-1].stop, _steps(m)[-1]
        q = moved(b, j, offset)
        if RING in kinds:
            return b.op("nonneg", b.op("mod", q, stop))
        for kind in kinds & MIRRORS:
            outside = b.op("lt", q, ZERO) if kind == BACK_LOW else b.op("ge", q, stop)
            return b.op("select", outside, self._turned_back(kind, j, offset, self._spans[-1]), q)
        if LOW in kinds:
            q = b.op("max", q, ZERO)
        return b.op("min", q, moved(b, stop, -1)) if HIGH in kinds else q

    def _pull(self, place: Indices, sources: dict[tuple[Step, ...], Indices], q: Sym) -> None:
        """All increments of place q."""
        b = self._b
        terms: list[tuple[int, Atom]] = []
        for steps in dict.fromkeys(map(_steps, self._group.members)):
            members = [m for m in self._group.members if _steps(m) == steps]
            copier = self._copier(sources[steps[:-1]], moved(b, q, -steps[-1][0]), members, regular=True)
            terms += [(sign, copier.atom(a)) for m in members for sign, a in m.what.terms]
        self._add(self._place(place, q), terms, self._fresh is not None)

    def _copier(self, source: Indices, j: Atom, members: list[Push], regular: bool) -> Copier:
        """What the members' terms are made of, for one turn of the nest. regular: no index along the row is bent."""
        env: dict[Sym, Atom] = {}
        for loop, i in zip(self._nest.loops, (*source, j), strict=True):
            assert loop.index is not None
            env[loop.index] = i
        copier = Copier(self._b, env)
        for s in made_of(self._nest, [a for m in members for _, a in m.what.terms]):
            bent = self._bends.of(s.target) if regular else None
            if bent is not None and bent.level == self._last:
                copier.env[s.target] = moved(self._b, j, bent.offset)
            else:
                copier.take(s)
        return copier

    def _place(self, place: Indices, q: Atom) -> Indices:
        """The index of a place of the group's array."""
        found = dict(self._group.rest)
        for axis, i in zip(self._group.axes, (*place, q), strict=True):
            found[axis] = i
        return tuple(found[axis] for axis in range(len(found)))

    def _add(self, index: Indices, terms: list[tuple[int, Atom]], first: bool = False) -> None:
        """Add to an element, which is known to be zero if these are the first terms that it gets."""
        b, array = self._b, self._group.array
        total: Atom | None = None if first else b.load(array, index)
        for sign, a in terms:
            if total is None:
                total = a if sign > 0 else b.op("neg", a)
            else:
                total = b.op("add" if sign > 0 else "sub", total, a)
        assert total is not None
        b.store(array, index, total, "" if first else "add")


def _steps(m: Push) -> tuple[Step, ...]:
    return tuple(zip(m.offset, m.bends, strict=True))


def _regular(step: Step) -> tuple[int, int]:
    """The places of turns that are not bent: how far the first and the last are moved from those of the range."""
    offset, kinds = step
    if RING in kinds:
        return 0, 0
    return (max(offset, 0), min(offset, 0)) if kinds else (offset, offset)


def _ends_at(step: Step, end: str, back: str) -> int:
    """How many places from the end on get what turns bring there that are stopped or turned back."""
    offset, kinds = step
    if back in kinds:
        return abs(offset) + 1
    return int(end in kinds)


def _both(b: Builder, x: Atom, y: Atom) -> Atom:
    if x == TRUE:
        return y
    return x if y == TRUE else b.op("and_", x, y)
