"""Whether two turns of a loop can have the same index along an axis: `a * i + b`, with inner loops inside of `b`.

    v[2 * i], v[2 * i + 1]                        no: two apart, and moved by one
    y[i * m + j] for j in range(m)                no: m apart, and less than m wide
    y[3 * i + k] for k in range(4)                yes: three apart, and four wide

An index is a polynomial in the loop's index, those of inner loops and what is the same in every turn. Inner indices are
put at the ends of their ranges; what is left is `a * i + low` to `a * i + high`. Two turns that are k from each
other meet only where `a * k` is in the range of the differences of the rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from adjit.analysis.alias import Affine
from adjit.analysis.polynomials import Poly
from adjit.ir.core import Alloc, Atom, Const, Let, Load, Loop, Slice, Stmt, Store, Sym, View
from adjit.ir.types import INT64
from adjit.ir.visit import defined, targets, walk

_STEADY = frozenset({"dim", "floordiv", "mod", "min", "max", "cast"})
"""Operations on integers that are not taken apart: known by what they are made of."""

_ZERO = Poly.number(0)


Bounds = Mapping[Sym, int]
"""Lower bounds of symbols."""


@dataclass(frozen=True)
class Band:
    """An index in turn i: from `slope * i + low` to `slope * i + high`. bounds: what holds where it is used."""

    slope: Poly
    low: Poly
    high: Poly
    bounds: Bounds


class Strided:
    """Indices of the accesses in one loop's body."""

    def __init__(self, loop: Loop, affine: Affine):
        self._loop, self._affine = loop, affine
        body = list(walk(loop.body))
        self._inside = defined(loop.body) | {*loop.params, loop.index}
        self._made: Mapping[Sym, Stmt] = {t: s for s in body for t in targets(s)}
        self._loops = [s for s in body if isinstance(s, Loop) and s.index is not None]
        self._steady: dict[object, Sym] = {}

    def never_meet(self, accesses: Sequence[Load | Store]) -> bool:
        """Whether no turn stores an element that another one touches, of accesses to one array."""
        bands = [self._bands(s) for s in accesses]
        return all(
            any(x is not None and y is not None and self._differ(x, y) for x, y in zip(a, b, strict=False))
            for k, (one, a) in enumerate(zip(accesses, bands, strict=True))
            for other, b in zip(accesses[k:], bands[k:], strict=True)
            if isinstance(one, Store) or isinstance(other, Store)
        )

    # what an access touches

    def _bands(self, access: Load | Store) -> tuple[Band | None, ...]:
        """One for each axis of the array from outside; none at all where that has another shape."""
        places = [(self._poly(a), self._affine.nonnegative(a)) for a in access.index]
        array = access.array
        while array in self._inside:
            view = self._made.get(array)
            if not isinstance(view, View) or view.shape is not None:
                return ()
            places = self._through(view, places)
            array = view.array
        return tuple(self._band(p, known) for p, known in places)

    def _through(
        self, view: View, places: Sequence[tuple[Poly | None, bool]]
    ) -> list[tuple[Poly | None, bool]]:
        """The places in a view's array, and whether they are proven not to count from the end."""
        if view.axes is not None:
            found = {axis: p for axis, p in zip(view.axes, places, strict=True) if axis is not None}
            return [found[k] for k in range(len(found))]
        rest = iter(places)
        made: list[tuple[Poly | None, bool]] = []
        for item in view.index:
            if isinstance(item, Slice):
                place, known = next(rest)
                made.append((self._sliced(item, place) if known else None, known))
            else:
                made.append((self._poly(item), self._affine.nonnegative(item)))
        return made

    def _sliced(self, item: Slice, place: Poly | None) -> Poly | None:
        """The place in what is sliced, of one in the slice."""
        if place is None or (item.start is not None and not self._affine.nonnegative(item.start)):
            return None
        step = 1 if item.step is None else item.step.integer if isinstance(item.step, Const) else 0
        start = _ZERO if item.start is None else self._poly(item.start)
        return None if step <= 0 or start is None else start.plus(place, step)

    def _band(self, place: Poly | None, known: bool) -> Band | None:
        """None where nothing is known, or where the place may count from the array's end."""
        index = self._loop.index
        if place is None or index is None:
            return None
        low = high = place
        bounds: dict[Sym, int] = {}
        self._runs(self._loop, bounds)
        for inner in reversed(self._loops):
            assert inner.index is not None
            if inner.index not in low.symbols | high.symbols:
                continue
            ends = self._runs(inner, bounds)
            if ends is None:
                return None
            least, most = (self._at_end(p, inner.index, ends, bounds) for p in (low, high))
            if least is None or most is None:
                return None
            low, high = least[0], most[1]
        if not known and not self._at_least(0, place, bounds):
            return None
        one, other = low.split(index), high.split(index)
        if one is None or other is None or one[0] != other[0]:
            return None
        steady = {*self._steady.values()}
        if any(s in self._inside and s not in steady for p in (*one, other[1]) for s in p.symbols):
            return None
        return Band(one[0], one[1], other[1], bounds)

    def _runs(self, loop: Loop, bounds: dict[Sym, int]) -> tuple[Poly, Poly] | None:
        """The least and the greatest index of a loop that runs; what follows from that goes into the bounds."""
        if loop.stop is not None or not isinstance(loop.step, Const) or loop.lo is None or loop.hi is None:
            return None
        lo, hi = self._poly(loop.lo), self._poly(loop.hi)
        if lo is None or hi is None:
            return None
        up = loop.step.integer > 0
        least, most = (lo, hi.plus(Poly.number(-1))) if up else (hi.plus(Poly.number(1)), lo)
        found = most.plus(least, -1).single
        if found is not None:
            bounds[found[0]] = max(-found[1], bounds.get(found[0], -found[1]))
        return least, most

    def _at_end(
        self, p: Poly, index: Sym, ends: tuple[Poly, Poly], bounds: Bounds
    ) -> tuple[Poly, Poly] | None:
        """The least and the greatest of a polynomial over the range of an inner index."""
        parts = p.split(index)
        if parts is None:
            return None
        slope, rest = parts
        first, last = (rest.plus(slope.times(end)) for end in ends)
        if self._at_least(0, slope, bounds):
            return first, last
        return (last, first) if self._at_least(0, _ZERO.plus(slope, -1), bounds) else None

    # comparisons

    def _differ(self, x: Band, y: Band) -> bool:
        """Whether x in one turn is never y in another one."""
        assert isinstance(self._loop.step, Const)
        if x.slope != y.slope:
            return False
        slope = x.slope.times(Poly.number(self._loop.step.integer))
        low, high = x.low.plus(y.high, -1), x.high.plus(y.low, -1)
        a, least, most = slope.constant, low.constant, high.constant
        if a is not None and least is not None and most is not None:
            return a != 0 and not _multiple_between(abs(a), least, most)
        bounds = {s: max(x.bounds.get(s, 0), y.bounds.get(s, 0)) for s in (*x.bounds, *y.bounds)}
        return any(  # -wide < low and high < wide
            self._at_least(1, wide.plus(high, -1), bounds) and self._at_least(1, wide.plus(low), bounds)
            for wide in (slope, _ZERO.plus(slope, -1))
        )

    def _at_least(self, n: int, p: Poly, bounds: Bounds) -> bool:
        def bound(s: Sym) -> int | None:
            known = [b for b in (self._affine.least(s), bounds.get(s)) if b is not None]
            return max(known, default=None)

        found = p.least(bound)
        return found is not None and found >= n

    # polynomials

    def _poly(self, a: Atom) -> Poly | None:
        """The integer as a polynomial; None where it is no int64."""
        if isinstance(a, Const):
            return Poly.number(a.value) if isinstance(a.value, int) and a.type == INT64 else None
        if not isinstance(a, Sym) or a.type != INT64:
            return None
        stmt = self._made.get(a, self._affine.definition(a))
        return self._computed(stmt) if isinstance(stmt, Let) else Poly.symbol(a)

    def _computed(self, let: Let) -> Poly | None:
        parts = [self._poly(a) for a in let.args] if let.fn is None else []
        match let.op, parts:
            case "add" | "sub", [Poly() as x, Poly() as y]:
                return x.plus(y, 1 if let.op == "add" else -1)
            case "mul", [Poly() as x, Poly() as y]:
                return x.times(y)
            case "neg", [Poly() as x]:
                return _ZERO.plus(x, -1)
            case "nonneg" | "cast" | "pos", [Poly() as x]:
                return x
            case "dim", _:
                made = self._affine.definition(let.args[0])
                if isinstance(made, Alloc) and isinstance(let.args[1], Const):
                    return self._poly(made.shape[let.args[1].integer])
            case _:
                pass
        return Poly.symbol(self._one_symbol(let))

    def _one_symbol(self, let: Let) -> Sym:
        """What is the same in every turn has one symbol, however often it is computed."""
        if let.op not in _STEADY or any(a in self._inside for a in let.args):
            return let.target
        return self._steady.setdefault((let.op, let.fn, let.args), let.target)


def _multiple_between(n: int, low: int, high: int) -> bool:
    """Whether a multiple of n other than 0 is in the range."""
    first, last = -(-low // n), high // n
    return first <= last and (first, last) != (0, 0)
