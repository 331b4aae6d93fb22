"""Builds the innermost loops that pull one group of sums: those over the places of a row (see `transform.pull`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from adjit.analysis.bends import BACK_LOW, HIGH, LOW, MIRRORS, RING, Bends, Kinds
from adjit.analysis.scatter import Group, Nest, Push
from adjit.ir.builder import Builder, const_of
from adjit.ir.core import ONE, TRUE, ZERO, Atom, Const, Loop, Sym, const, fresh
from adjit.ir.notes import Pulled
from adjit.ir.types import INT64
from adjit.transform.copier import Copier
from adjit.transform.spans import Span, added, both, made_of, moved
from adjit.transform.sums import Term, summed

Indices = tuple[Atom, ...]
Step = tuple[int, Kinds]
"""How the place along one axis follows from the index: an offset, and how it is brought back into the range."""
_STRAIGHT_ENDS = 2
"""So many places at each end of a row are written out; more by a loop."""


class PullRow:
    """Builds what pulls the places of one row."""

    def __init__(
        self,
        b: Builder,
        nest: Nest,
        group: Group,
        spans: list[Span],
        bends: Bends,
        positive: tuple[bool, ...],
        shape: tuple[Atom, ...] | None,
    ):
        """positive: by loop, whether its index is proven not to be negative. shape: the array's extents, if it
        holds zeros: then it is stored to."""
        self._b, self._nest, self._group, self._spans = b, nest, group, spans
        self._shape, self._bends = shape, bends
        self._some: Atom = TRUE  # whether the nest has turns, so that the places are all in the array
        steps = [steps_of(m) for m in group.members]
        reached = [[o if not kinds else 0 for o, kinds in along] for along in zip(*steps, strict=True)]
        self._low, self._high = tuple(map(min, reached)), tuple(map(max, reached))
        self._rows: dict[tuple[Step, ...], list[Push]] = {}
        for m, step in zip(group.members, steps, strict=True):
            self._rows.setdefault(step[:-1], []).append(m)
        self._loop, self._last = nest.loops[-1], len(nest.loops) - 1
        self._positive = positive
        self._level_of = {h.index: k for k, h in enumerate(nest.heads)}

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
            first,
            last,
            wanted,
            lambda q: self._pull(place, sources, q, self._group.members),
            True,
            None if place else self._note(),
        )
        if low == high:
            return
        width = high - low
        if not self._straight(width):
            self._ends_by_turns(place, sources, wanted, first, last)
            return
        with b.collect() as long:
            self._straight_ends(place, sources, width)
        with b.collect() as short:
            if width > 1:  # else there is no turn at all
                self._ends_by_turns(place, sources, wanted, first, last)
        enough = b.op("ge", b.op("sub", span.stop, span.start), width)
        b.if_(enough, tuple(long), tuple(short))

    def _straight(self, width: int) -> bool:
        """Whether the places near the ends of a row are few, and neither they nor what is read for them is bent."""
        members = self._group.members
        read = made_of(self._nest, [a for m in members for _, a in m.what.terms])
        bends = [self._bends.of(s.target) for s in read]
        bent = any(m.bends[-1] for m in members) or any(b and b.level == self._last for b in bends)
        return not bent and self._nest.heads[-1].modulus == 1 and width <= _STRAIGHT_ENDS

    def _straight_ends(self, place: Indices, sources: dict[tuple[Step, ...], Indices], width: int) -> None:
        """The places near the ends of a row that has so many turns at least, one after another."""
        start, stop = self._ends_of(len(place))
        members = self._group.members
        for k in range(width):
            reached = [m for m in members if m.offset[-1] - self._low[-1] <= k]
            self._pull(place, sources, self._sure(self._last, moved(self._b, start, k)), reached)
        for k in reversed(range(width)):
            reached = [m for m in members if self._high[-1] - m.offset[-1] <= k]
            self._pull(place, sources, self._sure(self._last, moved(self._b, stop, -1 - k)), reached)

    def _ends_by_turns(
        self,
        place: Indices,
        sources: dict[tuple[Step, ...], Indices],
        wanted: Atom,
        first: Atom,
        last: Atom,
    ) -> None:
        """The places near the ends of a row, from each turn that reaches one."""
        b, span = self._b, self._spans[-1]
        low, high = self._reach()
        if self._shape is not None:
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
                outside = both(b, outside, b.op("eq", gap, ZERO))
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
        b, stop, (offset, kinds) = self._b, self._spans[-1].stop, steps_of(m)[-1]
        q = moved(b, j, offset)
        if RING in kinds:
            return b.op("nonneg", b.op("mod", q, stop))
        for kind in kinds & MIRRORS:
            outside = b.op("lt", q, ZERO) if kind == BACK_LOW else b.op("ge", q, stop)
            return b.op("select", outside, self._turned_back(kind, j, offset, self._spans[-1]), q)
        if LOW in kinds:
            q = b.op("max", q, ZERO)
        return b.op("min", q, moved(b, stop, -1)) if HIGH in kinds else q

    def _turned_back(self, kind: str, a: Atom, offset: int, span: Span) -> Atom:
        """Which turn's index comes to the place a, or the other way round, on the other side of the end."""
        b = self._b
        if kind == BACK_LOW:
            return b.op("sub", const(-offset), a)
        return b.op("sub", moved(b, b.op("mul", span.stop, 2), -2 - offset), a)

    def _pull(
        self, place: Indices, sources: dict[tuple[Step, ...], Indices], q: Atom, reached: Sequence[Push]
    ) -> None:
        """All increments of place q, which are those of `reached`."""
        b = self._b
        terms: list[Term] = []
        for steps in dict.fromkeys(map(steps_of, reached)):
            members = [m for m in reached if steps_of(m) == steps]
            copier = self._copier(sources[steps[:-1]], moved(b, q, -steps[-1][0]), members, regular=True)
            terms += [(sign, copier.atom(a)) for m in members for sign, a in m.what.terms]
        self._add(self._place(place, q), terms, self._shape is not None)

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

    def _add(self, index: Indices, terms: list[Term], first: bool = False) -> None:
        """Add to an element, which is known to be zero if these are the first terms that it gets."""
        b, array = self._b, self._group.array
        total = summed(b, None if first else b.load(array, index), terms)
        b.store(array, index, total, "" if first else "add")


def steps_of(m: Push) -> tuple[Step, ...]:
    """How the place of an increment follows from the indices, axis by axis."""
    return tuple(zip(m.offset, m.bends, strict=True))


def regular_places(step: Step) -> tuple[int, int]:
    """The places of turns that are not bent: how far the first and the last are moved from those of the range."""
    offset, kinds = step
    if RING in kinds:
        return 0, 0
    return (max(offset, 0), min(offset, 0)) if kinds else (offset, offset)
