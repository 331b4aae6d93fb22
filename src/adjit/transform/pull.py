"""Builds the loops over places that pull one group of sums (see `transform.gather`); `pull_row` those of a row."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from adjit.analysis.bends import BACK_HIGH, BACK_LOW, HIGH, LOW, MIRRORS, RING
from adjit.analysis.scatter import Push
from adjit.ir.core import ONE, TRUE, ZERO, Atom, Loop, Stmt, Sym, const, fresh
from adjit.ir.types import INT64
from adjit.transform.clear_outside import clear_outside
from adjit.transform.pull_row import Indices, PullRow, Step, regular_places
from adjit.transform.spans import both, moved, some_turns

_STRAIGHT: Step = (0, frozenset())


class Pull(PullRow):
    """Builds the nest that pulls one group."""

    def build(self) -> None:
        if self._shape is not None:
            self._clear_other(self._shape)
        self._level(0, ())

    def _clear_other(self, extents: tuple[Atom, ...]) -> None:
        """Clears the places of a clear array that are not pulled: all of them, if the nest has no turns."""
        b, axes = self._b, self._group.axes
        self._some = some_turns(b, self._spans)
        shape = tuple(extents[axis] for axis in axes)
        box = [self._ends_of(level) for level in range(len(shape))]
        tight = self._low == self._high
        clear_outside(b, self._group.array, axes, shape, box, self._some, self._nest.loops, tight)

    def _level(self, level: int, place: Indices) -> None:
        """The loops over places, all but the innermost."""
        if level == self._last:
            self._inner_row(place)  # the nest is one loop
            return
        start, stop = self._ends_of(level)
        least, most = self._regular_rows(level)
        if level < self._last - 1:
            self._along(level, place, start, stop, lambda p: self._level(level + 1, (*place, p)))
            return
        b, span, every = self._b, self._spans[level], self._reached(place)
        if least <= self._low[level] and most >= self._high[level]:
            self._rows_along(level, place, start, stop, every)
            return
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

    def _rows_along(self, level: int, place: Indices, start: Atom, stop: Atom, every: Atom) -> None:
        """Rows along a loop that moves none of them out of reach. every: whether every row reaches those along it;
        asked before the loop, so that LLVM can ask there what may overlap.
        """
        b = self._b
        with b.collect() as whole:
            self._along(level, place, start, stop, lambda p: self._inner_row((*place, p)))
        if every == TRUE:
            b.extend(tuple(whole))
            return
        with b.collect() as apart:
            self._along(level, place, start, stop, lambda p: self._outer_row((*place, p)))
        b.if_(every, tuple(whole), tuple(apart))

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

    def _regular_rows(self, level: int) -> tuple[int, int]:
        """Between which distances from the ends of the range every row reaches a place, by no detour."""
        steps = [row[level] for row in self._rows]
        least = max(max(regular_places(step)[0], _ends_at(step, LOW, BACK_LOW)) for step in steps)
        most = min(min(regular_places(step)[1], -_ends_at(step, HIGH, BACK_HIGH)) for step in steps)
        return least, most

    def _reached(self, place: Indices) -> Atom:
        """Whether every row reaches the places along these loops by no detour."""
        every: Atom = TRUE
        for level, p in enumerate(place):
            every = both(self._b, every, self._within(level, p, *self._regular_rows(level)))
        return every

    def _inner_row(self, place: Indices) -> None:
        """A row that all rows of the group reach."""
        inner = self._source(place, (_STRAIGHT,) * len(place))
        self._whole_row(inner, {row: self._source(inner, row) for row in self._rows})

    def _outer_row(self, place: Indices) -> None:
        """What each row that reaches this one adds, one after another."""
        span, last = self._spans[-1], self._last
        inner = self._source(place, (_STRAIGHT,) * len(place))
        if self._shape is not None:
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
        self._where(self._within(level, p, *regular_places(row[level])), body)
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
            self._where(both(b, b.op("ge", i, low), b.op("lt", i, high)), body)

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
            known = both(b, known, b.op("lt", p, moved(b, span.stop, most)))
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


def _ends_at(step: Step, end: str, back: str) -> int:
    """How many places from the end on get what turns bring there that are stopped or turned back."""
    offset, kinds = step
    if back in kinds:
        return abs(offset) + 1
    return int(end in kinds)
