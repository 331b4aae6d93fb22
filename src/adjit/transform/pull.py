"""Builds the loops over places that pull one group of sums (see `transform.gather`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from adjit.analysis.alias import Affine
from adjit.analysis.lattice import Head
from adjit.analysis.scatter import Group, Nest, Offset, Push, needed_for
from adjit.ir.builder import Builder, const_of
from adjit.ir.core import ONE, TRUE, ZERO, Alloc, Atom, Const, Let, Load, Loop, Sym, const, fresh
from adjit.ir.nests import nest as over
from adjit.ir.notes import Pulled
from adjit.ir.types import INT64
from adjit.transform.copier import Copier

Indices = tuple[Atom, ...]


@dataclass(frozen=True)
class Span:
    """start <= index < stop; rest: what the residue is made of besides indices (0 where there is none)."""

    start: Atom
    stop: Atom
    rest: Atom


def spans_of(b: Builder, nest: Nest, affine: Affine) -> list[Span]:
    """The ranges of the nest's loops, ascending, computed before the nest."""
    copier = Copier(b, {})
    for s in made_of(nest, nest.ends()):
        copier.take(s)
    own = nest.own
    spans: list[Span] = []
    for head in nest.heads:
        start = _bound(copier, affine, own, head.first, head.before)
        stop = _bound(copier, affine, own, head.last, head.after)
        spans.append(Span(start, stop, _rest(copier, nest, head)))
    return spans


def _bound(copier: Copier, affine: Affine, own: set[Sym], a: Atom, more: int) -> Atom:
    """a + more, before the nest."""
    base, _ = affine.split(a)
    if isinstance(base, Sym) and base.type == INT64 and base not in own:
        return affine.moved(copier.builder, a, more)
    return _moved(copier.builder, copier.builder.cast(copier.atom(a), INT64), more)


def _rest(copier: Copier, nest: Nest, head: Head) -> Atom:
    """The part of a residue that is not made of indices."""
    b, total = copier.builder, const(head.residue.constant)
    indices = {h.index for h in nest.heads}
    for s, factor in head.residue.terms.items():
        if s not in indices:
            total = _added(b, total, b.cast(copier.atom(s), INT64), factor, head.modulus)
    return total


def _added(b: Builder, total: Atom, a: Atom, factor: int, modulus: int) -> Atom:
    """total + factor * a, modulo the modulus."""
    if factor % modulus == 0:
        return total
    if (factor + 1) % modulus == 0 and total == ZERO:
        return b.op("neg", a)
    if (factor + 1) % modulus == 0:
        return b.op("sub", total, a)
    return b.op("add", total, a if factor == 1 else b.op("mul", a, factor))


def _moved(b: Builder, a: Atom, by: int) -> Atom:
    """a + by."""
    return a if by == 0 else b.op("add" if by > 0 else "sub", a, abs(by))


class Pull:
    """Builds the nest that pulls one group."""

    def __init__(
        self,
        b: Builder,
        nest: Nest,
        group: Group,
        spans: list[Span],
        positive: tuple[bool, ...],
        fresh: Alloc | None,
    ):
        """positive: by loop, whether its index is proven not to be negative. fresh: the array, if nothing is in it."""
        self._b, self._nest, self._group, self._spans = b, nest, group, spans
        self._fresh = fresh
        self._whole: Atom = TRUE  # whether the places that are pulled are all of a fresh array
        offsets = [m.offset for m in group.members]
        self._low = tuple(map(min, zip(*offsets, strict=True)))
        self._high = tuple(map(max, zip(*offsets, strict=True)))
        self._rows: dict[Offset, list[Push]] = {}
        for m in group.members:
            self._rows.setdefault(m.offset[:-1], []).append(m)
        self._loop, self._last = nest.loops[-1], len(nest.loops) - 1
        self._positive = positive
        self._level_of = {h.index: k for k, h in enumerate(nest.heads)}

    def build(self) -> None:
        if self._fresh is not None:
            self._clear_other(self._fresh)
        self._level(0, ())

    def _clear_other(self, alloc: Alloc) -> None:
        """The whole array is cleared here if the places that are pulled are not all of it."""
        b = self._b
        for level, axis in enumerate(self._group.axes):
            start, stop = self._ends_of(level)
            both = _both(b, b.op("eq", start, ZERO), b.op("eq", stop, alloc.shape[axis]))
            self._whole = _both(b, self._whole, both)
        with b.collect() as body:
            over(b, alloc.shape, lambda b, index, _: b.store(alloc.target, index, self._zero()))
        b.if_(b.op("not_", self._whole), tuple(body))

    def _zero(self) -> Const:
        return const_of(0.0, self._group.array.type.dtype)  # type: ignore[union-attr]

    def _ends_of(self, level: int) -> tuple[Atom, Atom]:
        """The first place along a loop's axis, and the one after the last, of all residue classes."""
        b, span = self._b, self._spans[level]
        return _moved(b, span.start, self._low[level]), _moved(b, span.stop, self._high[level])

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
        b.if_(self._whole, tuple(body))

    def _level(self, level: int, place: Indices) -> None:
        """The loops over places, all but the innermost."""
        if level == self._last:
            self._row(place)
            return
        b, loop = self._b, self._nest.loops[level]
        assert loop.index is not None
        p = fresh(loop.index)
        with b.collect() as body:
            self._level(level + 1, (*place, p))
        start, stop = self._ends_of(level)
        start, step = self._next(level, start, self._class_of(level, place, self._group.places[level]))
        flows = ((), (), tuple(body), (), (), None)
        note = None if level else self._note()
        b.loop(Loop(p, start, stop, step, *flows, loop.span, parallel=loop.parallel, note=note))

    def _class_of(self, level: int, indices: Indices, moved: int) -> Atom:
        """A number of the residue class of a loop's index, the outer ones being `indices`, moved by a constant."""
        b, head = self._b, self._nest.heads[level]
        total = self._spans[level].rest
        for s, factor in head.residue.terms.items():
            if s in self._level_of:
                total = _added(b, total, indices[self._level_of[s]], factor, head.modulus)
        return _moved(b, total, moved)

    def _next(self, level: int, start: Atom, wanted: Atom) -> tuple[Atom, Const]:
        """The first number from `start` on of the class of `wanted`, and the step to the next one."""
        b, modulus = self._b, self._nest.heads[level].modulus
        if modulus == 1:
            return start, ONE
        gap = b.op("mod", b.op("sub", wanted, start), modulus)
        return b.op("add", start, gap), const(modulus)

    def _row(self, place: Indices) -> None:
        b, span, last = self._b, self._spans[-1], self._last
        if len(self._rows) == 1:
            self._whole_row(place, {row: self._source(place, row) for row in self._rows})
            return
        every: Atom = TRUE
        for level, p in enumerate(place):
            every = self._within(every, level, p, self._high[level], self._low[level])
        with b.collect() as whole:
            inner = self._source(place, (0,) * len(place))
            self._whole_row(inner, {row: self._source(inner, row) for row in self._rows})
        with b.collect() as apart:
            if self._fresh is not None:
                self._cleared(place, self._ends_of(len(place)))
            for row, members in self._rows.items():
                present: Atom = TRUE
                for level, p in enumerate(place):
                    present = self._within(present, level, p, row[level], row[level])
                with b.collect() as one:
                    inner = self._source(place, (0,) * len(place))
                    source = self._source(inner, row)
                    wanted = self._class_of(last, source, 0)
                    for m in members:
                        self._turns(span.start, span.stop, wanted, partial(self._push, inner, source, [m]))
                if present == TRUE:
                    b.extend(tuple(one))
                else:
                    b.if_(present, tuple(one))
        b.if_(every, tuple(whole), tuple(apart))

    def _within(self, known: Atom, level: int, p: Atom, least: int, most: int) -> Atom:
        """`known`, and the rows from p - least to p - most are among the nest's (of p it is known that one is)."""
        b, span = self._b, self._spans[level]
        if least > self._low[level]:
            known = _both(b, known, b.op("le", _moved(b, span.start, least), p))
        if most < self._high[level]:
            known = _both(b, known, b.op("lt", p, _moved(b, span.stop, most)))
        return known

    def _source(self, place: Indices, row: Offset) -> Indices:
        """The indices of the nest's row that reaches the place."""
        return tuple(self._counting(level, p, o) for level, (p, o) in enumerate(zip(place, row, strict=True)))

    def _counting(self, level: int, p: Atom, offset: int) -> Atom:
        """p - offset, which is not negative where the nest's index and places are not."""
        start = self._spans[level].start
        i = _moved(self._b, p, -offset)
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

    def _whole_row(self, place: Indices, sources: dict[Offset, Indices]) -> None:
        """All increments of a row at once, then those near its ends."""
        b, span, low, high = self._b, self._spans[-1], self._low[-1], self._high[-1]
        first, last = _moved(b, span.start, high), _moved(b, span.stop, low)
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
        sources: dict[Offset, Indices],
        wanted: Atom,
        first: Atom,
        last: Atom,
        j: Sym,
    ) -> None:
        """Increments from turn j whose place is not one of the row's inner ones."""
        b, modulus = self._b, self._nest.heads[-1].modulus
        for offset in sorted({m.offset[-1] for m in self._group.members}):
            q = _moved(b, j, offset)
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
        b = self._b
        copier = self._copier(source, j, members)
        for m in members:
            at = self._place(place, _moved(b, j, m.offset[-1]))
            self._add(at, [(sign, copier.atom(a)) for sign, a in m.what.terms])

    def _pull(self, place: Indices, sources: dict[Offset, Indices], q: Sym) -> None:
        """All increments of place q."""
        b = self._b
        terms: list[tuple[int, Atom]] = []
        for offset in dict.fromkeys(m.offset for m in self._group.members):
            members = [m for m in self._group.members if m.offset == offset]
            copier = self._copier(sources[offset[:-1]], _moved(b, q, -offset[-1]), members)
            terms += [(sign, copier.atom(a)) for m in members for sign, a in m.what.terms]
        self._add(self._place(place, q), terms, self._fresh is not None)

    def _copier(self, source: Indices, j: Atom, members: list[Push]) -> Copier:
        """What the members' terms are made of, computed for one turn of the nest."""
        env: dict[Sym, Atom] = {}
        for loop, i in zip(self._nest.loops, (*source, j), strict=True):
            assert loop.index is not None
            env[loop.index] = i
        copier = Copier(self._b, env)
        for s in made_of(self._nest, [a for m in members for _, a in m.what.terms]):
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


def _both(b: Builder, x: Atom, y: Atom) -> Atom:
    if x == TRUE:
        return y
    return x if y == TRUE else b.op("and_", x, y)


def made_of(nest: Nest, atoms: list[Atom]) -> list[Let | Load]:
    """The statements of the nest that these atoms are made of, which are steady, in order."""
    needed = needed_for(nest, atoms)
    assert needed is not None, "terms and bounds are steady"
    return needed
