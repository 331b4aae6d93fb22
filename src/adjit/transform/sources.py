"""Which work items of a nest add to a place: the inverse of the steps from a work item's numbers to the place.

    place = i + 1                    i = place - 1, where that is in the range
    place = (i + 1) % n              i = (place - 1) % n
    place = min(i + 1, n - 1)        i = place - 1; and of the last place i = n - 1 too
    place = i - 1, from the end      i = place + 1; and i = place + 1 - size, where that is in the range

Where the work item's own guards say that it is in the range, nothing else has to.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product

from adjit.analysis.bends import HIGH, LOW, RING
from adjit.analysis.item_pushes import Along, ItemPushes
from adjit.ir.builder import Builder
from adjit.ir.core import TRUE, ZERO, Atom, Const, Sym, const
from adjit.transform.spans import both, moved

Step = tuple[Along, ...]
Guarded = Sequence[tuple[bool, bool]]
"""By loop: whether the work item's guards say that it is not before the range, and not behind it."""


@dataclass(frozen=True)
class Box:
    """By loop: where places begin, and the end of them.

    low, high: of steps that are not brought back, the least and the greatest. lower, wider: whether there are places
    before, and behind, all that such steps reach.
    """

    starts: tuple[Atom, ...]
    stops: tuple[Atom, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]
    lower: tuple[bool, ...]
    wider: tuple[bool, ...]


@dataclass(frozen=True)
class Source:
    """A work item: its numbers, and the conditions under which it exists and adds to the place."""

    index: tuple[Atom, ...]
    where: Atom


def count_of(step: Step) -> int:
    """How many work items may add to one place by this step."""
    total = 1
    for a in step:
        total *= 1 + (a.size is not None) + (abs(a.offset) if a.kinds & {LOW, HIGH} else 0)
    return total


class Sources:
    """The sources of one nest's places. before: where what is the same for all places is computed."""

    def __init__(self, before: Builder, of: ItemPushes):
        self._of = of
        self.starts = tuple(moved(before, h.first, h.before) for h in of.heads)
        self.stops = tuple(moved(before, h.last, h.after) for h in of.heads)
        self.ends = {end: amount(before) for end, amount in of.ends.items()}

    def box(self, b: Builder, steps: Iterable[Step], arrays: Sequence[tuple[Sym, Sequence[int]]]) -> Box:
        """A box that holds every place that the steps reach. b: before the nest.

        arrays: those of which the places are elements, each with its axis for each loop.
        """
        along = list(zip(*steps, strict=True))
        low = tuple(min(_straight(a) for a in level) for level in along)
        high = tuple(max(_straight(a) for a in level) for level in along)
        starts: list[Atom] = []
        stops: list[Atom] = []
        wider: list[bool] = []
        lower = tuple(any(a.kinds for a in level) for level in along)
        for k, (level, least, most) in enumerate(zip(along, low, high, strict=True)):
            start, stop = moved(b, self.starts[k], least), moved(b, self.stops[k], most)
            if lower[k]:
                start = ZERO
            elif isinstance(start, Const):
                start = Const(max(start.integer, 0), start.type)
            else:
                start = b.op("max", start, ZERO)
            more = [b.dim(*size) for size in dict.fromkeys(a.size for a in level if a.size is not None)]
            more += [
                self.ends[end] for end in dict.fromkeys(a.end for a in level if a.end is not None and a.kinds)
            ]
            for end in more:
                stop = b.op("max", stop, end)
            if most > 0 and not more:
                limit = self.stops[k]  # what else runs there runs in the range
                for array, axes in dict(arrays).items():
                    limit = b.op("max", limit, b.dim(array, axes[k]))
                stop = b.op("min", stop, limit)
            starts.append(start)
            stops.append(stop)
            wider.append(bool(more))
        return Box(tuple(starts), tuple(stops), low, high, lower, tuple(wider))

    def ranges_fit(self, b: Builder, steps: Iterable[Step]) -> Atom:
        """Whether no loop goes farther than where its places are brought back."""
        pairs = dict.fromkeys((k, a.end) for step in steps for k, a in enumerate(step) if a.end is not None)
        fit: Atom = TRUE
        for k, end in pairs:
            fit = both(b, fit, b.op("le", self.stops[k], self.ends[end]))
        return fit

    def of(self, b: Builder, step: Step, place: Sequence[Atom], box: Box, guarded: Guarded) -> list[Source]:
        """The work items that reach the place by the step; b: where the place is known."""
        found: list[Source] = []
        each = [self._along(b, k, a, place[k], box, guarded[k]) for k, a in enumerate(step)]
        for choice in product(*each):
            where: Atom = TRUE
            for _, cond in choice:
                where = both(b, where, cond)
            found.append(Source(tuple(s for s, _ in choice), where))
        return found

    def _along(
        self, b: Builder, k: int, a: Along, p: Atom, box: Box, guarded: tuple[bool, bool]
    ) -> list[tuple[Atom, Atom]]:
        """Numbers along one axis, each with its condition."""
        start, stop, o = self.starts[k], self.stops[k], a.offset
        size = stop if a.end is None else self.ends[a.end]
        if RING in a.kinds:
            s = b.op("nonneg", b.op("mod", moved(b, p, -o), size))
            inside = TRUE if box.high[k] <= 0 and not box.wider[k] else b.op("lt", p, size)
            if start != ZERO and not guarded[0]:
                inside = both(b, inside, b.op("le", start, s))
            if a.end is not None and not guarded[1]:
                inside = both(b, inside, b.op("lt", s, stop))
            return [(s, self._of_class(b, k, s, inside))]
        s = moved(b, p, -o)
        exact = not a.kinds
        above = guarded[0] or _at_least(box.starts[k], o, start)
        below = guarded[1] or (exact and box.high[k] == o and not box.wider[k])
        low = TRUE if above or (exact and box.low[k] == o and not box.lower[k]) else b.op("le", start, s)
        high = TRUE if below else b.op("lt", s, stop)
        if HIGH in a.kinds:
            high = both(b, high, b.op("lt", p, size))
        found = [(s, self._of_class(b, k, s, both(b, low, high)))]
        if LOW in a.kinds:
            first = b.op("eq", p, ZERO)
            for t in map(const, range(-o)):
                there = both(b, first, b.op("lt", t, stop))
                there = there if start == ZERO else both(b, there, b.op("le", start, t))
                found.append((t, self._of_class(b, k, t, there)))
        if HIGH in a.kinds:
            last = b.op("eq", p, moved(b, size, -1))
            for t in range(o):
                end = moved(b, stop, -1 - t)
                there = both(b, last, b.op("le", start, end))
                there = there if a.end is None else both(b, there, b.op("le", size, moved(b, end, o)))
                found.append((end, self._of_class(b, k, end, there)))
        if a.size is not None:
            extent = b.dim(*a.size)
            s = b.op("sub", s, extent)
            there = TRUE if guarded[0] else b.op("le", start, s)
            there = both(b, there, TRUE if guarded[1] else b.op("lt", s, stop))
            found.append((s, self._of_class(b, k, s, both(b, there, b.op("lt", p, extent)))))
        return found

    def _of_class(self, b: Builder, k: int, s: Atom, where: Atom) -> Atom:
        """Where the loop has steps: whether one of them comes to the number."""
        loop = self._of.nest.loops[k]
        assert isinstance(loop.step, Const) and loop.lo is not None
        size = abs(loop.step.integer)
        if size == 1:
            return where
        return both(b, where, b.op("eq", b.op("mod", b.op("sub", s, loop.lo), size), ZERO))


def _at_least(first: Atom, offset: int, start: Atom) -> bool:
    """Whether every place from the first on comes from an index that is not before the start."""
    return isinstance(first, Const) and isinstance(start, Const) and first.integer - offset >= start.integer


def _straight(a: Along) -> int:
    return 0 if a.kinds else a.offset
