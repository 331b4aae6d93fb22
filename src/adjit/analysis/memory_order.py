"""In which order the axes of arrays lie in memory, and how far each index of a nest moves an access."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from adjit.ir.core import Atom, Block, Function, Let, Load, Slice, Store, Sym, View
from adjit.ir.types import INT64, Array
from adjit.ir.visit import walk

MovedBy = Callable[[Atom], frozenset[Sym | None]]


class MemoryOrder:
    """The order of the axes of a function's arrays."""

    def __init__(self, views: dict[Sym, View]):
        self._views = views

    @staticmethod
    def of(function: Function) -> MemoryOrder:
        """That of all arrays of the function."""
        return MemoryOrder({s.target: s for s in walk(function.body) if isinstance(s, View)})

    def costs(self, access: Load | Store, moved_by: MovedBy) -> dict[Sym | None, int] | None:
        """How far each index moves an access: 0 to a neighbour; more for slower axes; absent: not at all."""
        order = self.axes(access.array)
        if order is None:
            return None
        found: dict[Sym | None, int] = {}
        for distance, axis in enumerate(order):
            for index in moved_by(access.index[axis]):
                found[index] = distance
        return found

    def axes(self, array: Sym) -> tuple[int, ...] | None:
        """The axes of an array, those of the nearest elements first; None where that is not known."""
        type_ = array.type
        assert isinstance(type_, Array)
        if type_.layout == "F" or type_.ndim == 1:
            return tuple(range(type_.ndim))
        if type_.layout == "C":
            return tuple(reversed(range(type_.ndim)))
        view = self._views.get(array)
        if view is None or view.shape is not None:
            return None
        base = self.axes(view.array)
        if base is None:
            return None
        kept = view.axes if view.axes is not None else _kept(view)
        place = {axis: k for k, axis in enumerate(kept) if axis is not None}
        new = [k for k, axis in enumerate(kept) if axis is None]
        return (*new, *(place[axis] for axis in base if axis in place))


def moved_by(indices: Iterable[Sym | None], inside: Block) -> MovedBy:
    """On which of these indices an atom depends, through the integer arithmetic of the statements inside."""
    own = set(indices)
    meaning = {s.target: s for s in walk(inside) if isinstance(s, Let) and s.target.type == INT64}
    known: dict[Atom, frozenset[Sym | None]] = {}

    def of(a: Atom) -> frozenset[Sym | None]:
        if a in own and isinstance(a, Sym):
            return frozenset((a,))
        if a not in known:
            let = meaning.get(a) if isinstance(a, Sym) else None
            parts = () if let is None else let.args
            known[a] = frozenset[Sym | None]().union(*map(of, parts))
        return known[a]

    return of


def _kept(view: View) -> tuple[int, ...]:
    return tuple(axis for axis, item in enumerate(view.index) if isinstance(item, Slice))
