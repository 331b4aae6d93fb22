"""Decides which sums of a nest of work items are pulled, how, and what else runs in the kernel that pulls.

Two ways to pull. *Replayed*: each place computes again what its sources would add, before anything else of the nest
runs; so what that is made of must not have been stored by the source itself, and nobody may store it meanwhile. *Held*:
the sources write their sums to an array of the nest's own, and the places add those up afterwards. The first is taken
where it is right, unless what is computed again costs more operations than the memory traffic of the second is worth.

That turns touch no element that another one writes, but for updates, is the meaning of a parallel loop; so only what
one and the same work item does to an element is looked at here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from adjit.analysis.differ import Differ
from adjit.analysis.item_pushes import Along, ItemPushes, Push
from adjit.ir.core import Atom, Load, Store, Sym
from adjit.transform.replay import Replay, loads_of, replay
from adjit.transform.sources import Step, count_of

_MOST = 64
"""Sources of a place by one step at most."""
_HELD = 100
"""Operations that writing a number to memory and reading it again is worth: an H200 does 57 in double precision in the
time that it moves 8 bytes, and cards for games more in single precision."""
_LAUNCH = 8
"""Operations of a work item that one kernel less is worth."""


@dataclass(frozen=True)
class Group:
    """Pushes by one step."""

    step: Step
    pushes: tuple[Push, ...]


@dataclass(frozen=True)
class Held:
    """A number that each work item writes down: the sum of `members`, which other groups' sums are equal to."""

    members: tuple[Push, ...]
    uses: tuple[Push, ...]
    """A push of each target and step that the number is for."""


@dataclass
class Plan:
    """replays: by step. own: stores of the nest that run in the kernel that pulls. left: stores that stay in the nest.
    tests: arrays that must differ."""

    replays: list[Group]
    own: dict[int, Store]
    held: list[Held]
    left: dict[int, Store]
    tests: list[tuple[Sym, Sym]] = field(default_factory=list)

    @property
    def steps(self) -> list[Step]:
        """All steps."""
        return [*(g.step for g in self.replays), *(p.step for h in self.held for p in h.uses)]


def plan(of: ItemPushes, pushes: list[Push], differ: Differ) -> Plan | None:
    """What to do; None: nothing can be pulled, or needs to be."""
    return _Planner(of, pushes, differ).plan()


def is_own(step: Step) -> bool:
    """Whether each work item adds to the place of its own numbers."""
    return all(a == Along(0) for a in step)


class _Planner:
    def __init__(self, of: ItemPushes, pushes: list[Push], differ: Differ):
        self._of, self._pushes, self._differ = of, pushes, differ
        self._tests: dict[tuple[Sym, Sym], None] = {}
        accesses = list(of.accesses())
        self._stores = [s for s in accesses if isinstance(s, Store)]
        pairs = {id(load) for s in self._stores if (load := of.pair_of(s)) is not None}
        self._plain = [s for s in accesses if id(s) not in pairs and not (isinstance(s, Store) and s.update)]
        self._loads: dict[int, list[Load]] = {}

    def plan(self) -> Plan | None:
        near = [p for p in self._pushes if count_of(p.step) <= _MOST]
        replayed = self._replayed(near)
        held = [p for p in near if not is_own(p.step) and p not in replayed and self._may_be_held(p)]
        if self._dear(replayed):
            held += [p for p in replayed if not is_own(p.step)]
            replayed = []
        if not held and not replayed:
            return None
        groups = _by_step(replayed)
        taken = {id(p.store) for p in (*replayed, *held)}
        left = [s for s in self._stores if id(s) not in taken]
        own = self._fused(groups, left, held) if groups else {}
        rest = {id(s): s for s in left if id(s) not in own}
        return Plan(groups, own, _sums_to_hold(self._of, held), rest, list(self._tests))

    # which sums are replayed

    def _replayed(self, near: list[Push]) -> list[Push]:
        """Pushes that places may compute again before anything else runs; those to own places with others only."""
        chosen = [p for p in near if self._loads_are_old(p) and self._is_first(p)]
        while True:
            chosen = self._with_own([p for p in chosen if not is_own(p.step)], chosen)
            loads = [load for p in chosen for load in self._loads_of(p)]
            good = [p for p in chosen if not any(self._meet(load, p.store) for load in loads)]
            if len(good) == len(chosen):
                return good
            chosen = good

    @staticmethod
    def _with_own(shifted: list[Push], near: list[Push]) -> list[Push]:
        """With pushes to own places of the same elements, in the order of the program."""
        targets = {p.target for p in shifted}
        return [p for p in near if p in shifted or (is_own(p.step) and p.target in targets)]

    def _loads_of(self, p: Push) -> list[Load]:
        """What the push is made of."""
        if id(p) not in self._loads:
            self._loads[id(p)] = loads_of(self._of, self._replay([p]))
        return self._loads[id(p)]

    def _replay(self, pushes: Iterable[Push], keep: dict[int, Store] | None = None) -> Replay:
        members = list(pushes)
        return replay(self._of, self._of.body, [members] if members else [], keep or {})

    def _loads_are_old(self, p: Push) -> bool:
        """Whether no store of the work item comes before what the push is made of is loaded."""
        return not any(
            self._of.may_precede(s, load) and self._meet(s, load)
            for load in self._loads_of(p)
            for s in self._stores
        )

    def _is_first(self, p: Push) -> bool:
        """Whether the push may be done before all else that its work item does."""
        return not any(self._of.may_precede(s, p.store) and self._meet(s, p.store) for s in self._plain)

    def _may_be_held(self, p: Push) -> bool:
        """Whether the push may be done after all else that its work item does."""
        return not any(self._of.may_precede(p.store, s) and self._meet(p.store, s) for s in self._plain)

    def _meet(self, a: Load | Store, b: Load | Store) -> bool:
        """Whether the two accesses of one work item may be of one element."""
        return not self._of.apart(a, b) and not self._differing(a.array, b.array)

    def _differing(self, a: Sym, b: Sym) -> bool:
        if a == b:
            return False
        if self._differ.surely(a, b):
            return True
        if not self._differ.testable(a, b):
            return False
        self._tests[(a, b) if a.uid < b.uid else (b, a)] = None
        return True

    def _dear(self, replayed: list[Push]) -> bool:
        """Whether computing the sums again costs more than to write them down."""
        shifted = [p for p in replayed if not is_own(p.step)]
        if not shifted or not all(map(self._may_be_held, shifted)):
            return False
        again = sum(self._replay(g.pushes).cost for g in _by_step(replayed)) - self._replay(replayed).cost
        return again > _HELD * len(_sums_to_hold(self._of, shifted))

    # what else runs with them

    def _fused(self, groups: list[Group], left: list[Store], held: list[Push]) -> dict[int, Store]:
        """Stores that nobody who pulls can see, to the work item's own elements."""
        pulled = [p for g in groups for p in g.pushes]
        loads = [load for p in pulled for load in self._loads_of(p)]
        own = [
            s
            for s in left
            if not (s.update and self._of.meets(s))
            and not any(self._meet(s, load) for load in loads)
            and not any(self._meet(s, p.store) for p in pulled)
        ]
        while own:
            good = self._in_order(own, left, pulled, held)
            if len(good) == len(own):
                break
            own = good
        fused = {id(s): s for s in own}
        return fused if own and self._pays(groups, fused, left, held) else {}

    def _in_order(
        self, own: list[Store], left: list[Store], pulled: list[Push], held: list[Push]
    ) -> list[Store]:
        """Those of the stores that may run before the rest of the nest does."""
        of, mine = self._of, {id(s) for s in own}
        rest = [s for s in left if id(s) not in mine]
        later = self._rest(own, left, held)
        read_later = loads_of(of, later)
        good: list[Store] = []
        for s in own:
            loads = loads_of(of, replay(of, of.body, [], {id(s): s}))
            if any(of.may_precede(r, load) and self._meet(r, load) for load in loads for r in rest):
                continue
            if any(self._meet(load, p.store) for load in loads for p in pulled):
                continue
            if any(of.may_precede(load, s) and self._meet(load, s) for load in read_later):
                continue
            if any(of.may_precede(r, s) and self._meet(r, s) for r in rest):
                continue
            good.append(s)
        return good

    def _rest(self, own: Iterable[Store], left: list[Store], held: list[Push]) -> Replay:
        """What is left of the nest."""
        mine = {id(s) for s in own}
        keep = {id(s): s for s in left if id(s) not in mine}
        ends: tuple[Atom, ...] = self._of.nest.last.nexts
        return replay(self._of, self._of.body, [[p] for p in held], keep, ends)

    def _pays(
        self, groups: list[Group], fused: dict[int, Store], left: list[Store], held: list[Push]
    ) -> bool:
        """Whether one kernel for both is less work."""
        mine = next((g.pushes for g in groups if is_own(g.step)), ())
        apart = self._replay(mine).cost + self._rest((), left, held).cost
        together = self._replay(mine, fused).cost + self._rest(fused.values(), left, held).cost
        return together <= apart + _LAUNCH


def _by_step(pushes: Iterable[Push]) -> list[Group]:
    found: dict[Step, list[Push]] = {}
    for p in pushes:
        found.setdefault(p.step, []).append(p)
    return [Group(step, tuple(members)) for step, members in found.items()]


def _sums_to_hold(of: ItemPushes, pushes: Iterable[Push]) -> list[Held]:
    """Sums to the same place are one number, and so are equal sums to several places."""
    places: dict[object, list[Push]] = {}
    for p in pushes:
        places.setdefault((p.target, p.step), []).append(p)
    sums: dict[object, list[list[Push]]] = {}
    for members in places.values():
        dtype = members[0].store.array.type.dtype  # type: ignore[union-attr]
        made = tuple((p.term or id(p), of.paths[id(p.store)], of.loops[id(p.store)]) for p in members)
        sums.setdefault((dtype, made), []).append(members)
    return [Held(tuple(found[0]), tuple(m[0] for m in found)) for found in sums.values()]
