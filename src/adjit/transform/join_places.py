"""Builds the loops over the places of an array that pull what several nests push there (see `transform.join`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from adjit.analysis.scatter import Group, Nest, Push
from adjit.ir.builder import Builder, const_of
from adjit.ir.core import ONE, TRUE, ZERO, Atom, Const, Loop, Sym, const, fresh
from adjit.ir.notes import Pulled
from adjit.ir.types import INT64
from adjit.transform.copier import Copier
from adjit.transform.spans import Span, both, made_of, moved
from adjit.transform.sums import Term, summed


class Pull:
    """What one nest adds to places of the array."""

    def __init__(self, b: Builder, nest: Nest, group: Group, spans: Sequence[Span]):
        self._b, self.nest, self.axes, self.members = b, nest, group.axes, group.members
        self._spans = spans

    def range(self, m: Push, axis: int) -> tuple[Atom, Atom]:
        """The first place along an axis that the push reaches, and the one after the last."""
        level = self.axes.index(axis)
        span, offset = self._spans[level], m.offset[level]
        return moved(self._b, span.start, offset), moved(self._b, span.stop, offset)

    def terms(self, place: dict[int, Atom], members: Sequence[Push]) -> list[Term]:
        """What the pushes add to a place, by axis, which they reach."""
        b, found = self._b, list[Term]()
        for offset in dict.fromkeys(m.offset for m in members):
            env: dict[Sym, Atom] = {}
            for axis, loop, o in zip(self.axes, self.nest.loops, offset, strict=True):
                assert loop.index is not None
                source = moved(b, place[axis], -o)
                env[loop.index] = b.op("nonneg", source) if o > 0 else source
            copier = Copier(b, env)
            here = [m for m in members if m.offset == offset]
            for s in made_of(self.nest, [a for m in here for _, a in m.what.terms]):
                copier.take(s)
            found += [(sign, copier.atom(a)) for m in here for sign, a in m.what.terms]
        return found


class Places:
    """The loops over the places of the array."""

    def __init__(self, b: Builder, array: Sym, pulls: Sequence[Pull], shape: tuple[Atom, ...] | None):
        """shape: the array's extents, if it holds zeros: then it is stored to."""
        self._b, self._array, self._pulls, self._clear = b, array, pulls, shape is not None
        self._axes, self._like = pulls[0].axes, pulls[0].nest.loops
        self._shape = shape or tuple(b.dim(array, axis) for axis in range(len(self._axes)))
        self._parallel = all(pull.nest.loops[0].parallel for pull in pulls)
        self._box = {axis: self._common(axis) for axis in self._axes}
        self._all = {axis: self._any(axis) for axis in self._axes}

    def build(self) -> None:
        """First the places that every push reaches, then the others."""
        self._inner({})
        self._outer({}, TRUE)

    def _ranges(self, axis: int) -> tuple[list[Atom], list[Atom]]:
        ranges = [pull.range(m, axis) for pull in self._pulls for m in pull.members]
        return list(dict.fromkeys(a for a, _ in ranges)), list(dict.fromkeys(z for _, z in ranges))

    def _common(self, axis: int) -> tuple[Atom, Atom]:
        """The places along an axis that every push reaches; in the array, also where a nest has no turns."""
        starts, stops = self._ranges(axis)
        b, extent = self._b, self._shape[axis]
        first = b.op("min", b.op("max", _least(b, "max", starts), ZERO), extent)
        return first, b.op("min", b.op("max", _least(b, "min", stops), first), extent)

    def _any(self, axis: int) -> tuple[Atom, Atom]:
        """The places along an axis that are looked at: all, if the array is to be stored to, or what is reached."""
        if self._clear:
            return ZERO, self._shape[axis]
        starts, stops = self._ranges(axis)
        b = self._b
        return (
            b.op("max", _least(b, "min", starts), ZERO),
            b.op("min", _least(b, "max", stops), self._shape[axis]),
        )

    def _loop(
        self, level: int, start: Atom, stop: Atom, build: Callable[[Sym], None], few: bool = False
    ) -> None:
        """few: not worth a thread."""
        like = self._like[level]
        assert like.index is not None
        i = fresh(like.index)
        with self._b.collect() as body:
            build(i)
        note = None if level or few else Pulled(self._array.name)
        flows = ((), (), tuple(body), (), (), None)
        parallel = self._parallel and level == 0 and not few
        self._b.loop(Loop(i, start, stop, ONE, *flows, like.span, parallel=parallel, note=note))

    def _inner(self, place: dict[int, Atom]) -> None:
        level = len(place)
        if level < len(self._axes):
            axis = self._axes[level]
            self._loop(level, *self._box[axis], lambda p: self._inner({**place, axis: p}))
            return
        terms = [t for pull in self._pulls for t in pull.terms(place, pull.members)]
        self._add(place, terms, self._clear)

    def _outer(self, place: dict[int, Atom], inside: Atom) -> None:
        """Places that not every push reaches. inside: whether the outer indices are such that every push does."""
        b, level = self._b, len(place)
        axis = self._axes[level]
        (first, last), (start, stop) = self._box[axis], self._all[axis]

        if level < len(self._axes) - 1:

            def row(p: Sym) -> None:
                here = both(b, b.op("le", first, p), b.op("lt", p, last))
                self._outer({**place, axis: p}, both(b, inside, here))

            self._loop(level, start, stop, row)
            return
        side = Sym("side", INT64)
        with b.collect() as body:
            before = b.op("eq", side, ZERO)
            behind = last if inside == TRUE else b.op("select", inside, last, stop)
            ahead = first if inside == TRUE else b.op("select", inside, first, stop)
            self._ends(place, b.op("select", before, start, behind), b.op("select", before, ahead, stop))
        b.loop(Loop(side, ZERO, const(2), ONE, (), (), tuple(body), (), (), None, self._like[-1].span))

    def _ends(self, place: dict[int, Atom], start: Atom, stop: Atom) -> None:
        """Each push that reaches places of a row from `start` to `stop`, one after another."""
        b, level = self._b, len(place)
        axis = self._axes[level]
        if self._clear:
            zero = const_of(0.0, self._array.type.dtype)  # type: ignore[union-attr]
            self._loop(
                level, start, stop, lambda p: b.store(self._array, self._at({**place, axis: p}), zero), True
            )
        for pull in self._pulls:
            for offset in dict.fromkeys(m.offset for m in pull.members):
                members = [m for m in pull.members if m.offset == offset]
                self._push(place, axis, pull, members, start, stop)

    def _push(
        self,
        place: dict[int, Atom],
        axis: int,
        pull: Pull,
        members: Sequence[Push],
        start: Atom,
        stop: Atom,
    ) -> None:
        b, reached = self._b, TRUE
        for other, p in place.items():
            first, last = pull.range(members[0], other)
            known = isinstance(first, Const) and first.integer <= 0
            here = b.op("lt", p, last) if known else both(b, b.op("le", first, p), b.op("lt", p, last))
            reached = both(b, reached, here)
        with b.collect() as body:
            first, last = pull.range(members[0], axis)
            known = isinstance(first, Const) and first.integer <= 0
            first, last = start if known else b.op("max", start, first), b.op("min", stop, last)

            def one(p: Sym) -> None:
                at = {**place, axis: p}
                self._add(at, pull.terms(at, members), False)

            self._loop(len(place), first, last, one, True)
        b.if_(reached, tuple(body)) if reached != TRUE else b.extend(tuple(body))

    def _at(self, place: dict[int, Atom]) -> tuple[Atom, ...]:
        return tuple(place[axis] for axis in range(len(place)))

    def _add(self, place: dict[int, Atom], terms: Sequence[Term], first: bool) -> None:
        """Add to an element, or store to it."""
        total = None if first else self._b.load(self._array, self._at(place))
        self._b.store(self._array, self._at(place), summed(self._b, total, terms), "" if first else "add")


def _least(b: Builder, op: str, atoms: Sequence[Atom]) -> Atom:
    """The least or the greatest of the numbers, whole ones known now first."""
    known = [a.integer for a in atoms if isinstance(a, Const)]
    rest = [a for a in atoms if not isinstance(a, Const)]
    found: Atom | None = const(max(known) if op == "max" else min(known)) if known else None
    for a in rest:
        found = a if found is None else b.op(op, found, a)
    assert found is not None
    return found
