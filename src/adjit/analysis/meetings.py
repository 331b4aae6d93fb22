"""Where the turns of a parallel loop meet in memory: elements that several turns update.

By the meaning of `Loop.parallel` turns meet in updates only (`Store.update`: increments of an adjoint, the user's
atomic operations). For each array that a loop updates this finds which of these is so:

* *apart*: an axis is indexed by the loop's index and one constant, or by multiples of the index that differ (see
  `strided`), so each turn has elements of its own;
* *near*: an axis is indexed within a fixed distance of the loop's index (`i - 1` to `i + 1`, clamped, or around a
  ring by `%`): turns far from each other never meet;
* *rows*: an axis is indexed from `starts[i]` to `starts[i + 1]`, or in a view of these places: turns have elements of
  their own where `starts` never falls, which the program looks at before the loop;
* *anywhere*: nothing is known of the elements.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, field, replace

from adjit.analysis.alias import Affine, Alias
from adjit.analysis.carried import Amount, Carried
from adjit.analysis.distinct import Distinct
from adjit.analysis.strided import Strided
from adjit.ir.builder import Builder
from adjit.ir.core import ZERO, Alloc, Atom, Const, If, Let, Load, Loop, Slice, Stmt, Store, Sym, View, const
from adjit.ir.types import INT64, Scalar
from adjit.ir.visit import defined, targets, walk


@dataclass(frozen=True)
class Sum:
    """A constant and integers that the program computes before the loop, each with a sign."""

    fixed: int
    more: tuple[tuple[int, Amount], ...] = ()

    def plus(self, other: Sum, sign: int = 1) -> Sum:
        """The sum (or difference) of both."""
        more = tuple((sign * s, a) for s, a in other.more)
        return Sum(self.fixed + sign * other.fixed, (*self.more, *more))

    def computed(self, b: Builder) -> Atom:
        """The number, where `b` stands."""
        total: Atom | None = None
        for sign, amount in sorted(self.more, key=lambda m: -m[0]):
            a = amount(b)
            if total is None:
                total = a if sign > 0 else b.op("neg", a)
            else:
                total = b.op("add" if sign > 0 else "sub", total, a)
        if total is None:
            return const(self.fixed)
        return total if self.fixed == 0 else b.op("add" if self.fixed > 0 else "sub", total, abs(self.fixed))


Between = tuple[tuple[Sum, ...], tuple[Sum, ...]]
"""Numbers of which the least is below a value, and others of which the greatest is above it."""


@dataclass(frozen=True)
class Reach:
    """The index lies between `i + min(lows)` and `i + max(highs)`, for the loop's index i.

    ring: modulo the length of the range. wraps: where `i + low` is negative it may count from the array's end.
    """

    lows: tuple[Sum, ...]
    highs: tuple[Sum, ...]
    ring: bool = False
    wraps: bool = False

    def joined(self, other: Reach) -> Reach:
        """What holds of both."""
        lows = tuple(dict.fromkeys((*self.lows, *other.lows)))
        highs = tuple(dict.fromkeys((*self.highs, *other.highs)))
        return Reach(lows, highs, self.ring or other.ring, self.wraps or other.wraps)

    def moved(self, by: Between, sign: int) -> Reach:
        """The reach of index + by, or of index - by."""
        below, above = by if sign > 0 else by[::-1]
        lows = tuple(low.plus(m, sign) for low in self.lows for m in below)
        highs = tuple(high.plus(m, sign) for high in self.highs for m in above)
        return replace(self, lows=lows, highs=highs)

    @property
    def constant(self) -> tuple[int, int] | None:
        """The ends, where both are constants."""
        if any(s.more for s in (*self.lows, *self.highs)):
            return None
        return min(s.fixed for s in self.lows), max(s.fixed for s in self.highs)

    @property
    def one(self) -> bool:
        """Whether it is one distance."""
        return len({*self.lows, *self.highs}) == 1

    @property
    def apart(self) -> bool:
        """Whether no two turns have the same index."""
        return self.one and not (self.ring or self.wraps)

    def low(self, b: Builder) -> Atom:
        """The lower end, computed where `b` stands."""
        return _extreme(b, "min", self.lows)

    def width(self, b: Builder) -> Atom:
        """How far the ends are from each other."""
        known = self.constant
        if known is not None:
            return const(known[1] - known[0])
        return b.op("max", b.op("sub", _extreme(b, "max", self.highs), self.low(b)), 0)


def _extreme(b: Builder, op: str, sums: tuple[Sum, ...]) -> Atom:
    fixed = [s.fixed for s in sums if not s.more]
    found: list[Atom] = [s.computed(b) for s in sums if s.more]
    found += [const(min(fixed) if op == "min" else max(fixed))] if fixed else []
    total = found[0]
    for a in found[1:]:
        total = b.op(op, total, a)
    return total


@dataclass(frozen=True)
class Rows:
    """The index lies between `starts[i + at]` and `starts[i + at + 1]`, that one excluded, for the loop's index i.

    ends: the two as one turn reads them.
    """

    starts: Sym
    at: int
    ends: tuple[Sym, ...] = field(compare=False)


Place = Atom | Rows | None
"""The index along an axis, or a row in which it is; None where it is not known."""


@dataclass
class Updated:
    """An array from outside the loop that its turns update.

    op: "add", "min" or "max"; "" if they differ. stores: its updates. direct: whether all are by the array itself,
    not by a view. reach: along the axis where turns come least near each other; None: nothing is known of the
    elements, but for `rows`. strided: whether turns are apart by multiples of the index (`analysis.strided`).
    """

    array: Sym
    op: str
    stores: list[Store] = field(default_factory=list)
    direct: bool = True
    reach: Reach | None = None
    rows: Rows | None = None
    strided: bool = False

    @property
    def apart(self) -> bool:
        """Whether each turn has elements of its own."""
        return self.strided or (self.reach is not None and self.reach.apart)


@dataclass
class Touched:
    """An array from outside a loop, and some accesses to it. apart: whether each turn has elements of its own."""

    array: Sym
    accesses: list[Load | Store]
    apart: bool


class Meetings:
    """Finds what the turns of a loop update."""

    def __init__(self, alias: Alias, affine: Affine):
        self._alias, self._affine = alias, affine

    def of(self, loop: Loop) -> list[Updated] | None:
        """The arrays that turns of the loop update; None if one has two names, so that nothing can be said."""
        body = list(walk(loop.body))
        places = _Places(loop, body, self._affine)
        own = {r for s in body if isinstance(s, Alloc) for r in self._alias.roots(s.target)}
        found: dict[Sym, Updated] = {}
        axes: dict[Sym, list[Reach | None]] = {}
        rows: dict[Sym, list[Rows | None]] = {}
        for store in body:
            if not isinstance(store, Store) or not store.update or self._alias.roots(store.array) <= own:
                continue
            base, index = places.of(store.array, store.index)
            if base is None:
                return None
            one = found.setdefault(base, Updated(base, store.update))
            one.stores.append(store)
            one.op = one.op if one.op == store.update else ""
            one.direct = one.direct and store.array == base
            here = [places.reach(a) for a in index]
            old = axes.get(base, here)
            axes[base] = [a and b and a.joined(b) for a, b in zip(old, here, strict=True)]
            own_rows = [places.rows(a) for a in index]
            before = rows.get(base, own_rows)
            rows[base] = [a if a == b else None for a, b in zip(before, own_rows, strict=True)]
        for base, one in found.items():
            known = [r for r in axes[base] if r is not None]
            one.reach = min(known, key=_order, default=None)
            one.rows = next(
                (r for r in rows[base] if r is not None and self._unchanged(r.starts, body)), None
            )
            one.strided = not one.apart and Strided(loop, self._affine).never_meet(one.stores)
        arrays = list(found.values())
        return None if self._two_names([one.array for one in arrays]) else arrays

    def touched(
        self, loop: Loop, accesses: Sequence[Load | Store], whole: Set[Sym], distinct: Distinct
    ) -> list[Touched] | None:
        """The accesses by the array from outside that they reach; None if one array has two names.

        whole: symbols that are no views. Two such of one array are the same elements by the same index.
        distinct: says which names are those of different arrays.
        """
        places = _Places(loop, list(walk(loop.body)), self._affine)
        found: dict[Sym, list[Load | Store]] = {}
        axes: dict[Sym, list[Reach | None]] = {}
        for access in accesses:
            base, index = places.of(access.array, access.index)
            if base is None:
                return None
            same = (b for b in found if self._one_array(b, base, whole) and not distinct.surely(b, base))
            base = next(same, base)
            found.setdefault(base, []).append(access)
            here = [places.reach(a) for a in index]
            axes[base] = [a and b and a.joined(b) for a, b in zip(axes.get(base, here), here, strict=True)]
        if self._two_names(list(found), distinct):
            return None
        apart = {
            base: any(r is not None and r.apart for r in reach)
            or Strided(loop, self._affine).never_meet(found[base])
            for base, reach in axes.items()
        }
        return [Touched(base, group, apart[base]) for base, group in found.items()]

    def _one_array(self, a: Sym, b: Sym, whole: Set[Sym]) -> bool:
        return a != b and a in whole and b in whole and bool(self._alias.roots(a) & self._alias.roots(b))

    def _two_names(self, arrays: Sequence[Sym], distinct: Distinct | None = None) -> bool:
        return any(
            self._alias.roots(one) & self._alias.roots(other)
            and not (distinct is not None and distinct.surely(one, other))
            for k, one in enumerate(arrays)
            for other in arrays[:k]
        )

    def _unchanged(self, array: Sym, body: list[Stmt]) -> bool:
        roots = self._alias.roots(array)
        return not any(isinstance(s, Store) and roots & self._alias.roots(s.array) for s in body)


def _order(r: Reach) -> tuple[bool, int, bool, bool]:
    """Which reach is the best to split by."""
    low, high = r.constant or (0, 0)
    return r.constant is None and not r.one, high - low, r.ring, r.wraps


class _Places:
    """Indices of accesses in a loop, by the array from outside, relative to the loop's index."""

    def __init__(self, loop: Loop, body: list[Stmt], affine: Affine):
        self._loop, self._affine = loop, affine
        self._inside = defined(loop.body) | {*loop.params}
        self._made = {t: s for s in body for t in targets(s)}
        self._loops = {s.index: s for s in body if isinstance(s, Loop) and s.index is not None}
        self._fixed = Carried(loop).fixed
        self._amounts: dict[Sym, Sum | None] = {}
        step = loop.step
        forward = isinstance(step, Const) and step.integer > 0
        assert loop.lo is not None
        assert loop.hi is not None
        # first <= index <= last
        self._first, self._last = ((loop.lo, 0), (loop.hi, -1)) if forward else ((loop.hi, 1), (loop.lo, 0))

    def of(self, array: Sym, index: tuple[Atom, ...]) -> tuple[Sym | None, tuple[Place, ...]]:
        """The array from outside that is accessed, and the index of each axis; None where that is not known.

        In a view of a row the index is somewhere in the row, whatever it is in the view.
        """
        places: tuple[Place, ...] = index
        while array in self._inside:
            view = self._made.get(array)
            if not isinstance(view, View):
                return None, ()
            places = _through(view, places)
            if view.index:
                pairs = zip(view.index, places, strict=True)
                places = tuple(self._row(i) or p if isinstance(i, Slice) else p for i, p in pairs)
            array = view.array
        return array, places

    def _row(self, item: Slice) -> Rows | None:
        return None if item.step is not None else self._between_starts(item.start, item.stop, 0)

    def reach(self, a: Place) -> Reach | None:
        """How far the index is from the loop's; None if that is not known."""
        if (
            a is None
            or isinstance(a, Rows)
            or self._loop.index is None
            or not self._affine.nonnegative(self._loop.index)
        ):
            return None
        found = self._relative(a)
        if found is None or found.ring or self._affine.nonnegative(a):
            return found
        return replace(found, wraps=True)

    def rows(self, a: Place) -> Rows | None:
        """The row that the index runs along, where that is read in every turn; None if it is not known to be one."""
        if isinstance(a, Rows):
            return a
        k = _bare(a, self._made)
        loop = self._loops.get(k) if isinstance(k, Sym) else None
        if loop is None or loop.stop is not None or not isinstance(loop.step, Const):
            return None
        if abs(loop.step.integer) != 1:
            return None
        up = loop.step.integer > 0
        first, end = (loop.lo, loop.hi) if up else (loop.hi, loop.lo)
        return self._between_starts(first, end, 0 if up else -1)

    def _between_starts(self, first: Atom | None, end: Atom | None, offset: int) -> Rows | None:
        """The row from `first` to `end`, each moved by the offset."""
        low, high = (self._start(x, offset) for x in (first, end))
        if low is None or high is None or low.starts != high.starts or low.at + 1 != high.at:
            return None
        return replace(low, ends=(*low.ends, *high.ends))

    def _start(self, a: Atom | None, offset: int) -> Rows | None:
        """`starts[i + at] + offset`."""
        bare = _bare(a, self._made)
        base, constant = (None, 0) if bare is None else self._affine.split(bare)
        base = _bare(base, self._made)
        load = self._made.get(base) if isinstance(base, Sym) else None
        if constant != offset or not isinstance(load, Load) or len(load.index) != 1:
            return None
        if load.array in self._inside or not any(s is load for s in self._loop.body):
            return None
        i, at = self._base(load.index[0])
        return Rows(load.array, at, (load.target,)) if i == self._loop.index else None

    def _base(self, a: Atom) -> tuple[Atom | None, int]:
        """The integer as another one and a constant, signs and types aside."""
        base, offset = self._affine.split(a)
        bare = _bare(base, self._made)
        if bare is None or bare == base:
            return base, offset
        inner, more = self._base(bare)
        return inner, offset + more

    def _relative(self, a: Atom) -> Reach | None:
        if a == self._loop.index:
            return Reach((Sum(0),), (Sum(0),))
        if isinstance(a, Sym) and a in self._loops:
            return self._window(self._loops[a])
        stmt = self._made.get(a) if isinstance(a, Sym) else None
        match stmt:
            case Let(op="add" | "sub", fn=None):
                return self._moved(stmt)
            case Let(op="nonneg"):
                return self._relative(stmt.args[0])
            case Let(op="cast") if stmt.target.type == INT64 and stmt.args[0].type == INT64:
                return self._relative(stmt.args[0])
            case Let(op="min" | "max" | "minimum" | "maximum"):
                return self._clamped(stmt)
            case Let(op="select"):
                return self._either(stmt.args[1], stmt.args[2])
            case If():
                k = stmt.results.index(a)  # type: ignore[arg-type]
                return self._either(stmt.then_values[k], stmt.else_values[k])
            case Let(op="mod"):
                return self._around(stmt)
            case _:
                return None

    def _moved(self, stmt: Let) -> Reach | None:
        """`x + y` and `x - y`, where one of them follows the loop's index."""
        x, y = stmt.args
        for one, by in ((x, y), (y, x)) if stmt.op == "add" else ((x, y),):
            inner = self._relative(one)
            between = None if inner is None or inner.ring else self._between(by)
            if inner is not None and between is not None:
                return inner.moved(between, 1 if stmt.op == "add" else -1)
        return None

    def _window(self, loop: Loop) -> Reach | None:
        """The indices of a loop inside whose range follows the loop's index."""
        assert loop.lo is not None
        assert loop.hi is not None
        first, end = self._relative(loop.lo), self._relative(loop.hi)
        if first is None or end is None or first.ring or end.ring or not isinstance(loop.step, Const):
            return None
        if loop.step.integer > 0:
            return Reach(first.lows, tuple(s.plus(Sum(-1)) for s in end.highs))
        return Reach(tuple(s.plus(Sum(1)) for s in end.lows), first.highs)

    def _between(self, a: Atom) -> Between | None:
        """The range of a number that does not follow the loop's index."""
        if isinstance(a, Const):
            here = (Sum(a.value),) if isinstance(a.value, int) and a.type == INT64 else None
            return None if here is None else (here, here)
        if not isinstance(a, Sym) or a.type != INT64:
            return None
        loop = self._loops.get(a)
        if loop is not None:
            return self._of_range(loop)
        stmt = self._made.get(a)
        if isinstance(stmt, Let) and stmt.op == "nonneg":
            return self._between(stmt.args[0])
        if isinstance(stmt, Let) and stmt.op in ("add", "sub") and stmt.fn is None:
            x, y = (self._between(x) for x in stmt.args)
            if x is not None and y is not None:
                found = Reach(*x).moved(y, 1 if stmt.op == "add" else -1)
                return found.lows, found.highs
        amount = self._amount(a)
        return None if amount is None else ((amount,), (amount,))

    def _of_range(self, loop: Loop) -> Between | None:
        """The indices of a loop inside."""
        assert loop.lo is not None
        assert loop.hi is not None
        first, end = self._between(loop.lo), self._between(loop.hi)
        if first is None or end is None or not isinstance(loop.step, Const):
            return None
        if loop.step.integer > 0:
            return first[0], tuple(s.plus(Sum(-1)) for s in end[1])
        return tuple(s.plus(Sum(1)) for s in end[0]), first[1]

    def _amount(self, a: Sym) -> Sum | None:
        """An integer that is the same in every turn."""
        if a not in self._amounts:
            fixed = self._fixed(a)
            self._amounts[a] = None if fixed is None else Sum(0, ((1, fixed),))
        return self._amounts[a]

    def _either(self, x: Atom, y: Atom) -> Reach | None:
        one, other = self._relative(x), self._relative(y)
        return None if one is None or other is None else one.joined(other)

    def _clamped(self, stmt: Let) -> Reach | None:
        for x, bound in (stmt.args, stmt.args[::-1]):
            inner = self._relative(x)
            if inner is None or inner.ring or (isinstance(bound, Sym) and bound in self._inside):
                continue
            if stmt.op.startswith("max"):  # the bound is at most i + most
                most = self._difference(bound, self._first)
                if most is not None:
                    return replace(inner, highs=(*inner.highs, Sum(most)))
            else:
                least = self._difference(bound, self._last)
                if least is not None:
                    return replace(inner, lows=(*inner.lows, Sum(least)))
        return None

    def _difference(self, a: Atom, end: tuple[Atom, int]) -> int | None:
        """a - end, where both are the same number and a constant."""
        base, offset = self._affine.split(a)
        base_end, offset_end = self._affine.split(end[0])
        return offset - offset_end - end[1] if base == base_end else None

    def _around(self, stmt: Let) -> Reach | None:
        """`(i + c) % n` where the range is 0 to n."""
        inner = self._relative(stmt.args[0])
        starts = self._affine.split(self._first[0]), self._first[1]
        if inner is None or inner.ring or starts[0] != (None, -starts[1]):
            return None
        if self._difference(stmt.args[1], self._last) != 1:
            return None
        return replace(inner, ring=True) if inner.constant is not None else None


def _bare(a: Atom | None, made: dict[Sym, Stmt]) -> Atom | None:
    """The integer without what only says its type or sign."""
    while isinstance(a, Sym) and isinstance(s := made.get(a), Let) and s.op in ("nonneg", "cast"):
        if not isinstance(s.args[0].type, Scalar) or not s.args[0].type.is_integral:
            break
        a = s.args[0]
    return a


def _through(view: View, places: tuple[Place, ...]) -> tuple[Place, ...]:
    """The index of the view's array, from one of the view."""
    if view.shape is not None:
        return (None,) * view.array.type.ndim  # type: ignore[union-attr]
    if view.axes is not None:
        found: list[Place] = [None] * view.array.type.ndim  # type: ignore[union-attr]
        for axis, place in zip(view.axes, places, strict=True):
            if axis is not None:
                found[axis] = place
        return tuple(found)
    rest = iter(places)
    return tuple(
        (place if _starts_at_zero(item) else None) if isinstance(item, Slice) else item
        for item, place in ((item, next(rest) if isinstance(item, Slice) else None) for item in view.index)
    )


def _starts_at_zero(item: Slice) -> bool:
    return item.start in (None, ZERO) and item.step is None
