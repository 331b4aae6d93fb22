"""Whether the turns of a loop may be work items of a device, and in which arrays they meet.

A loop that is marked as parallel is one by its meaning: its turns meet in updates only. Any other loop is one where
that is proven: of each array that it writes either every turn has elements of its own (`i` and one constant along
some axis), or all that is done with the array is updates of one kind, whose order does not matter.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from adjit.analysis.alias import Affine, Alias
from adjit.analysis.carried import Carried, Count, Reduction, Same
from adjit.analysis.distinct import Distinct
from adjit.analysis.meetings import Meetings
from adjit.analysis.update_pairs import Pairs
from adjit.ir.core import (
    Alloc,
    Call,
    Const,
    Derive,
    Ensure,
    Function,
    If,
    Load,
    Loop,
    Raise,
    RefAppend,
    RefGet,
    RefNew,
    Store,
    Sym,
    View,
    Whole,
)
from adjit.ir.types import INT64
from adjit.ir.visit import inner_targets, targets, walk

Kind = Same | Reduction | Count

_HOST: dict[type, str] = {
    Call: "calls a function that calls itself",
    Derive: "takes a gradient inside",
    Whole: "calls a library for whole arrays",
    RefNew: "keeps local arrays for the reverse sweep",
    RefAppend: "keeps local arrays for the reverse sweep",
    RefGet: "keeps local arrays for the reverse sweep",
    Ensure: "keeps a number of values for the reverse sweep that depends on data",
    Raise: "may raise",
}


class NotItemsError(Exception):
    """Why the turns of a loop are no work items; `span` is the place of what stands in the way."""

    def __init__(self, reason: str, stmt: object):
        super().__init__(reason)
        self.stmt = stmt


@dataclass(frozen=True)
class Turns:
    """kinds: of what the loop carries. meet: outside arrays in whose updates turns may meet; None: perhaps in any."""

    kinds: tuple[Kind, ...]
    meet: frozenset[Sym] | None


class DeviceTurns:
    """Answers for the loops of one function."""

    def __init__(self, function: Function, alias: Alias, affine: Affine):
        self._whole = whole_arrays(function)
        self._distinct = Distinct(function, alias)
        self._alias = alias
        self._meetings = Meetings(alias, affine)
        self._affine = affine

    def may_be_items(self, loop: Loop) -> bool:
        """Whether the turns of the loop may be work items."""
        try:
            self.of(loop)
        except NotItemsError:
            return False
        return True

    def of(self, loop: Loop) -> Turns:
        """How the turns of the loop meet. Raises NotItemsError."""
        if loop.index is None or loop.index.type != INT64 or loop.stop is not None:
            raise NotItemsError("its end is not that of a plain range", loop)
        if not isinstance(loop.step, Const) or loop.step.integer == 0:
            raise NotItemsError("its step is not a constant", loop)
        inside = {type(s): s for s in walk(loop.body)}
        for kind, reason in _HOST.items():
            if kind in inside:
                raise NotItemsError(f"it {reason}", inside[kind])
        carried = Carried(loop)
        kinds: list[Kind] = []
        for k, p in enumerate(loop.params):
            kind = carried.of(k)
            if kind is None:
                raise NotItemsError(f"each turn needs '{p.name}' of the one before", loop)
            kinds.append(kind)
        if not loop.parallel:
            self._prove(loop)
        return Turns(tuple(kinds), self._meet(loop))

    def _meet(self, loop: Loop) -> frozenset[Sym] | None:
        updated = self._meetings.of(loop)
        if updated is None:
            return None
        return frozenset(one.array for one in updated if not one.apart)

    def _prove(self, loop: Loop) -> None:
        body = list(walk(loop.body))
        own = {r for s in body if isinstance(s, Alloc) for r in self._alias.roots(s.target)}
        written = [s for s in body if isinstance(s, Store) and not self._alias.roots(s.array) <= own]
        roots = frozenset[Sym]().union(*(self._alias.roots(s.array) for s in written))
        touching = [
            s
            for s in body
            if isinstance(s, Load | Store)
            and not self._alias.roots(s.array).isdisjoint(roots - own)
            and not all(self._distinct.surely(s.array, w.array) for w in written)
        ]
        groups = self._meetings.touched(loop, touching, self._whole, self._distinct)
        if groups is None:
            raise NotItemsError("one array has two names in it", written[0])
        pairs = Pairs(loop.body, self._affine, loop.nexts)
        for group in groups:
            if not group.apart and not _updates_only(group.accesses, pairs):
                first = next(s for s in group.accesses if isinstance(s, Store))
                raise NotItemsError(f"turns may meet in '{group.array.name}'", first)


def whole_arrays(function: Function) -> frozenset[Sym]:
    """Array symbols that are no views: parameters, allocations, and what is chosen from those."""
    views: set[Sym] = set()
    while True:
        before = len(views)
        for s in walk(function.body):
            match s:
                case View() | RefGet() | Call() | Ensure():
                    views.update(targets(s))
                case If():
                    pairs = zip(s.results, s.then_values, s.else_values, strict=True)
                    views.update(r for r, *sources in pairs if not views.isdisjoint(sources))  # type: ignore[arg-type]
                case Loop():
                    for p, init, after, r in zip(s.params, s.inits, s.nexts, s.results, strict=True):
                        if init in views or after in views:
                            views.update((p, r))
                case _:
                    pass
        if len(views) == before:
            break
    made = {t for s in walk(function.body) for t in (*targets(s), *inner_targets(s))} | {*function.params}
    return frozenset(made - views)


def _updates_only(accesses: Iterable[Load | Store], pairs: Pairs) -> bool:
    """Whether all that happens to an array is updates of one kind."""
    stores = [s for s in accesses if isinstance(s, Store)]
    if len({s.update for s in stores}) != 1 or not stores[0].update:
        return False
    loads = [pairs.load_of(s) for s in stores]
    if any(load is None for load in loads):
        return False
    return {id(s) for s in accesses if isinstance(s, Load)} == {id(load) for load in loads}
