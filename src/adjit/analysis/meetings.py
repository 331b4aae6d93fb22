"""Where the turns of a parallel loop meet in memory: elements that several turns update.

By the meaning of `Loop.parallel` turns meet in updates only (`Store.update`: increments of an adjoint, the user's
atomic operations). For each array that a loop updates this finds which of these is so:

* *apart*: an axis is indexed by the loop's index and one constant, so each turn has elements of its own;
* *near*: an axis is indexed within a fixed distance of the loop's index (`i - 1` to `i + 1`, clamped, or around a
  ring by `%`): turns far from each other never meet;
* *anywhere*: nothing is known of the elements.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from adjit.analysis.alias import Affine, Alias
from adjit.ir.core import ZERO, Alloc, Atom, Const, If, Let, Loop, Slice, Stmt, Store, Sym, View
from adjit.ir.types import INT64
from adjit.ir.visit import defined, targets, walk


@dataclass(frozen=True)
class Reach:
    """The index lies between `i + low` and `i + high`, for the loop's index i.

    ring: modulo the length of the range. wraps: where `i + low` is negative it may count from the array's end.
    """

    low: int
    high: int
    ring: bool = False
    wraps: bool = False

    def joined(self, other: Reach) -> Reach:
        """What holds of both."""
        low, high = min(self.low, other.low), max(self.high, other.high)
        return Reach(low, high, self.ring or other.ring, self.wraps or other.wraps)

    def moved(self, by: int) -> Reach:
        """The reach of index + by."""
        return replace(self, low=self.low + by, high=self.high + by)


@dataclass
class Updated:
    """An array from outside the loop that its turns update.

    op: "add", "min" or "max"; "" if they differ. stores: its updates. direct: whether all are by the array itself,
    not by a view. reach: along the axis where turns come least near each other; None: anywhere.
    """

    array: Sym
    op: str
    stores: list[Store] = field(default_factory=list)
    direct: bool = True
    reach: Reach | None = None

    @property
    def apart(self) -> bool:
        """Whether each turn has elements of its own."""
        r = self.reach
        return r is not None and r.low == r.high and not (r.ring or r.wraps)


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
        for base, one in found.items():
            known = [r for r in axes[base] if r is not None]
            one.reach = min(known, key=lambda r: (r.high - r.low, r.ring, r.wraps), default=None)
        arrays = list(found.values())
        for k, one in enumerate(arrays):
            if any(self._alias.roots(one.array) & self._alias.roots(other.array) for other in arrays[:k]):
                return None
        return arrays


class _Places:
    """Indices of accesses in a loop, by the array from outside, relative to the loop's index."""

    def __init__(self, loop: Loop, body: list[Stmt], affine: Affine):
        self._loop, self._affine = loop, affine
        self._inside = defined(loop.body) | {*loop.params}
        self._made = {t: s for s in body for t in targets(s)}
        step = loop.step
        forward = isinstance(step, Const) and step.integer > 0
        assert loop.lo is not None
        assert loop.hi is not None
        # first <= index <= last
        self._first, self._last = ((loop.lo, 0), (loop.hi, -1)) if forward else ((loop.hi, 1), (loop.lo, 0))

    def of(self, array: Sym, index: tuple[Atom, ...]) -> tuple[Sym | None, tuple[Atom | None, ...]]:
        """The array from outside that is accessed, and the index of each axis; None where that is not known."""
        places: tuple[Atom | None, ...] = index
        while array in self._inside:
            view = self._made.get(array)
            if not isinstance(view, View):
                return None, ()
            places = _through(view, places)
            array = view.array
        return array, places

    def reach(self, a: Atom | None) -> Reach | None:
        """How far the index is from the loop's; None if that is not known."""
        if a is None or self._loop.index is None or not self._affine.nonnegative(self._loop.index):
            return None
        found = self._relative(a)
        if found is None or found.ring or self._affine.nonnegative(a):
            return found
        return replace(found, wraps=True)

    def _relative(self, a: Atom) -> Reach | None:
        if a == self._loop.index:
            return Reach(0, 0)
        stmt = self._made.get(a) if isinstance(a, Sym) else None
        match stmt:
            case Let(op="add" | "sub", fn=None):
                x, y = stmt.args
                if stmt.op == "add" and isinstance(x, Const):
                    x, y = y, x
                inner = self._relative(x)
                if inner is None or inner.ring or not isinstance(y, Const) or not isinstance(y.value, int):
                    return None
                return inner.moved(y.value if stmt.op == "add" else -y.value)
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
                    return Reach(inner.low, max(inner.high, most))
            else:
                least = self._difference(bound, self._last)
                if least is not None:
                    return Reach(min(inner.low, least), inner.high)
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
        return Reach(inner.low, inner.high, ring=True)


def _through(view: View, places: tuple[Atom | None, ...]) -> tuple[Atom | None, ...]:
    """The index of the view's array, from one of the view."""
    if view.shape is not None:
        return (None,) * view.array.type.ndim  # type: ignore[union-attr]
    if view.axes is not None:
        found: list[Atom | None] = [None] * view.array.type.ndim  # type: ignore[union-attr]
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
