"""Whether a store can hit an element that an earlier turn of a loop loaded, by the bounds of the loops between.

    for k: for i in range(k + 1, n): for j in range(k + 1, n): A[i, j] -= A[i, k] * A[k, j]

What turn k reads in column k no later turn stores: turn k' > k stores columns from k' + 1 on. So the column needs no
record. Indices are linear forms; those of the loops inside are replaced by the ends of their ranges.
"""

from __future__ import annotations

from adjit.analysis.ranges import Form, Ranges
from adjit.analysis.regions import Regions
from adjit.ir.core import ONE, Atom, Const, Load, Loop, Store, Sym

_MAX_STEPS = 24


class Order:
    """Order of the turns in which two accesses may meet, in one function."""

    def __init__(self, regions: Regions, ranges: Ranges):
        self._regions, self._ranges = regions, ranges

    def never_later(self, load: Load, store: Store, loop: Loop) -> bool:
        """Whether no later turn of the loop stores what a turn loads, all loops around it in one turn."""
        step = loop.step
        if loop.index is None or not isinstance(step, Const) or not isinstance(step.value, int):
            return False
        direction = 1 if step.value > 0 else -1
        return step.value != 0 and self._apart(load, store, loop, direction)

    def never_at_once(self, load: Load, store: Store, loop: Loop) -> bool:
        """Whether one turn of the loop never stores what it loads."""
        return loop.index is not None and self._apart(load, store, loop, 0)

    def never_before(self, load: Load, store: Store, loop: Loop) -> bool:
        """Whether no earlier turn of the loop (of step 1) stores what a turn loads, all loops around it in one turn."""
        return loop.index is not None and loop.step == ONE and self._apart(load, store, loop, -1)

    def never_at_once_along(self, loaded: Atom, stored: Atom, loop: Loop) -> bool:
        """Whether two indices of one axis differ in every turn of the loop."""
        return loop.index is not None and self._differ(loaded, stored, loop, 0)

    def _apart(self, load: Load, store: Store, loop: Loop, direction: int) -> bool:
        pairs = zip(load.index, store.index, strict=True)
        return any(self._differ(a, b, loop, direction) for a, b in pairs)

    def _differ(self, loaded: Atom, stored: Atom, loop: Loop, direction: int) -> bool:
        """Whether the two differ along this axis, the store `direction` turns later at least (0: in the same)."""
        if not (self._counts(loaded) and self._counts(stored)):
            return False
        a, b = self._ranges.form(loaded), self._ranges.form(stored)
        return self._above(b, a, loop, direction) or self._above(a, b, loop, -direction)

    def _counts(self, a: Atom) -> bool:
        low = self._ranges.lower(a)
        return low is not None and low >= 0

    def _above(self, a: Form, b: Form, loop: Loop, direction: int) -> bool:
        """Whether a > b, where `a` is of a turn that is `direction` times at least one ahead of b's."""
        low, high = self._end(a, loop, 1), self._end(b, loop, -1)
        index = loop.index
        assert index is not None
        if low is None or high is None:
            return False
        factor = low.terms.get(index, 0)
        if factor != high.terms.get(index, 0) or factor * direction < 0:
            return False
        least = self._ranges.least(low.plus(high, -1))
        return least is not None and least + factor * direction >= 1

    def _end(self, form: Form, loop: Loop, sign: int) -> Form | None:
        """A bound from below (sign 1) or above (-1) that knows no index of a loop inside; None if there is none."""
        for _ in range(_MAX_STEPS):
            inside = [s for s in form.terms if s != loop.index and self._inside(s, loop)]
            if not inside:
                return form
            s = max(inside, key=lambda s: s.uid)
            span = self._ranges.spans.get(s)
            if span is None:
                return None
            factor = form.terms[s]
            end = span.low if factor * sign > 0 else span.high
            form = form.plus(Form(0, {s: 1}), -factor).plus(end, factor)
        return None

    def _inside(self, s: Sym, loop: Loop) -> bool:
        region, _ = self._regions.where[s]
        return loop in region.loops
