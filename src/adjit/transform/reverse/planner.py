"""The plan of one function's reverse sweep: what is recorded, what is rolled back.

The reverse sweep is built for a set of decisions; what it could not find is added to the decisions, and it is built
again until nothing is missing. Decisions only grow, so this ends.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from adjit.analysis.activity import Activity
from adjit.analysis.alias import Affine, Alias, Roots
from adjit.analysis.dependence import may_overwrite_later
from adjit.analysis.order import Order
from adjit.analysis.ranges import ranges_of
from adjit.analysis.regions import Region, Regions
from adjit.errors import UnsupportedError
from adjit.ir.builder import Builder, const_of
from adjit.ir.core import (
    Atom,
    Const,
    Function,
    Load,
    Loop,
    RefNew,
    Store,
    Sym,
)
from adjit.ir.nests import add_into, copied_list, copy_into
from adjit.ir.types import Array, any_layout
from adjit.ir.visit import inner_targets, targets, walk
from adjit.transform.reverse.callees import Callee, Calls
from adjit.transform.reverse.materialise import Scope
from adjit.transform.reverse.record import Decisions, Layout
from adjit.transform.reverse.shadows import Context
from adjit.transform.reverse.sweep import Sweep


@dataclass(frozen=True)
class Wish:
    """What is asked of the transform.

    inputs: active parameters (arrays get a shadow parameter, scalars an adjoint result). seeded: indices of
    results that receive a cotangent. final: whether arrays' final values are seeded through their shadows.
    split: the reverse function works on private copies and leaves what it is given alone. watch: `debug_nans`.
    repeats: the reverse function is called several times on one forward sweep (several cotangents). device: the program
    runs on a device, where turns of parallel loops are work items. clear: shadows hold zeros when the reverse function
    is called. once: both sweeps run in one call, and shadows and seeds are there before the first.
    """

    inputs: tuple[Sym, ...]
    seeded: tuple[int, ...]
    final: bool = False
    split: bool = False
    watch: bool = False
    repeats: bool = False
    device: bool = False
    clear: bool = False
    once: bool = False


Built = tuple[Sweep, Builder, tuple[Atom, ...], Layout]


class Planner:
    """Plans one function of a program: the entry function, or one that it calls (`callee`)."""

    def __init__(
        self,
        function: Function,
        wish: Wish,
        versions: dict[Sym, Sym],
        activity: Activity,
        calls: Calls,
        callee: Callee | None = None,
    ):
        self.wish, self.calls, self.callee = wish, calls, callee
        self.versions = versions
        self.function = function
        self.regions = Regions(function, calls.written_by, calls.read_by)
        self.alias = calls.alias
        ranges = ranges_of(function)
        self.affine = Affine(self.regions.definition, ranges.bounds)
        self.order = Order(self.regions, ranges)
        self.activity = activity
        arrays = [p for p in function.params if isinstance(p.type, Array)]
        for stmt in walk(function.body):
            arrays += [s for s in (*targets(stmt), *inner_targets(stmt)) if isinstance(s.type, Array)]
        self.active_array = {a: self.activity.active(a) for a in arrays}
        self.decisions = Decisions()
        self.inputs = wish.inputs if callee is None else tuple(function.params[k] for k in callee.inputs)
        self.seeded = wish.seeded if callee is None else callee.seeded
        self.shadow_of = self._shadows()
        self.seeds = tuple(Sym("seed", function.results[k].type) for k in self.seeded)

    def _shadows(self) -> dict[Sym, Sym]:
        if self.callee is None:
            return {p: Sym(f"d{p.name}", p.type) for p in self.wish.inputs if isinstance(p.type, Array)}
        given = (self.function.params[k] for k in self.callee.shadowed)
        return {p: Sym(f"d{p.name}", any_layout(p.type)) for p in given}

    # one build

    def sweep(self, layout: Layout | None = None) -> Built:
        """Build the reverse sweep for the decisions; `layout`: the final one, which knows what calls move."""
        known = self._known_old()
        if layout is None:
            layout = self._layout(known)
        sweep = Sweep(self.regions, self.alias, self.affine, self.order, self.decisions, layout)
        sweep.results = self.function.results
        sweep.versions = self.versions
        sweep.calls = self.calls
        active = frozenset(self.activity.scalars)
        sweep.begin(Context(active, self.active_array, known, self.wish.watch))
        b = Builder(simplify=True)
        if self.callee is None:
            sweep.push(Scope(self.regions.root, b, len(self.function.body)))
        else:
            sweep.open_region(self.regions.root, b)
        shadows = {p: d for p, d in self.shadow_of.items() if self.active_array.get(p, True)}
        sweep.top.shadows.update(shadows)
        back = self._protect(sweep, b) if self.callee is None else []
        for k, seed in zip(self.seeded, self.seeds, strict=True):
            result = self.function.results[k]
            if isinstance(result.type, Array):
                assert isinstance(result, Sym)
                if self.active_array[result]:
                    add_into(b, sweep.shadow(result), seed)
            else:
                sweep.add(result, seed)
        sweep.block()
        for array, copy in back:
            copy_into(b, array, copy)
        adjoints = tuple(
            sweep.adjoint.get(p, const_of(0.0, p.type)) for p in self.inputs if not isinstance(p.type, Array)
        )
        if self.callee is not None:
            adjoints = (*adjoints, *(sweep.cursor[t] for t in self.callee.state))
        return sweep, b, adjoints, layout

    def _layout(self, known: dict[int, Sym]) -> Layout:
        return Layout(self.regions, self.decisions, known, self.callee is not None, self.wish.device)

    def _protect(self, sweep: Sweep, b: Builder) -> list[tuple[Sym, Sym]]:
        """Arrays that are rolled back and seen by others: put back at the end, or worked on in a private copy."""
        back: list[tuple[Sym, Sym]] = []
        rolled = self._rolled_roots()
        private = self.wish.split or self.wish.repeats
        seen = exposed_roots(self.function, self.alias)
        for root in self.protected():
            assert isinstance(root.type, Array)
            copy = b.alloc_like(f"{root.name}_private" if self.wish.split else f"{root.name}_final", root)
            copy_into(b, copy, root)
            if self.wish.split:
                sweep.stack[0].values[root] = copy
            else:
                back.append((root, copy))
        for stmt in self.function.body:
            if isinstance(stmt, RefNew):
                held = self.alias.held(stmt.target)
                if not held.isdisjoint(rolled) and (private or not held.isdisjoint(seen)):
                    listed = copied_list(b, stmt.target, f"{stmt.target.name}_private")
                    sweep.stack[0].values[stmt.target] = listed
        return back

    def protected(self) -> list[Sym]:
        """Arrays that are copied because the reverse sweep rolls them back and others see them."""
        private = self.wish.split or self.wish.repeats
        seen = exposed_roots(self.function, self.alias)
        root_region = self.regions.root
        return [
            r
            for r in self._rolled_roots()
            if r in self.regions.where and self.regions.where[r][0] is root_region and (private or r in seen)
        ]

    def _rolled_roots(self) -> list[Sym]:
        found: dict[Sym, None] = {}
        for store in self.decisions.restored.values():
            for root in sorted(self.alias.roots(store.array), key=lambda s: s.uid):
                found[root] = None
        found.update(dict.fromkeys(sorted(self.calls.rolled(), key=lambda s: s.uid)))
        return list(found)

    def memory(self, sweep: Sweep) -> tuple[Roots, Roots, Roots]:
        """What the reverse sweep loads again, what it puts back, and what calls must put back for it."""

        def union(arrays: Iterable[Sym]) -> Roots:
            return frozenset[Sym]().union(*(self.alias.roots(a) for a in arrays))

        restored = self.decisions.restored
        return (
            union(load.array for load in sweep.repeated.values()),
            union(s.array for s in restored.values()),
            union(s.array for key, s in restored.items() if key in self.regions.assumed),
        )

    # decisions

    def plan(self) -> Built:
        for _ in range(200):
            built = self.sweep()
            sweep = built[0]
            new = [(s, r) for s, r in sweep.wanted if r not in self.decisions.recorded.get(s, ())]
            for s, region in new:
                self.decisions.recorded.setdefault(s, {})[region] = None
            if new:
                continue
            assert not sweep.wanted, "a value is wanted that no record can give"
            wanted = self._overwriters(list(sweep.repeated.values()))
            if wanted.keys() - self.decisions.restored.keys():
                if not self._prefer_records(list(sweep.repeated.values()), wanted):
                    self.decisions.restored.update(wanted)
                continue
            self.decisions.restored = {k: v for k, v in self.decisions.restored.items() if k in wanted}
            if built[3].home != self._homes():
                continue
            return built
        raise AssertionError("the reverse sweep's plan does not settle")

    def _homes(self) -> dict[Sym, tuple[Region, ...]]:
        return self._layout(self._known_old()).home

    def _overwriters(self, loads: list[Load]) -> dict[int, Store]:
        """Stores that must be rolled back so that the loads can be repeated."""
        found: dict[int, Store] = {}
        for stmt in self.function.body:
            for store in self.regions.stores(stmt):
                if self._wanted_back(store) or any(self._overwrites(load, store) for load in loads):
                    found[id(store)] = store
        return found

    def _wanted_back(self, store: Store) -> bool:
        """Whether the callers of this function need the store rolled back."""
        return self.callee is not None and not self.alias.roots(store.array).isdisjoint(self.calls.restore)

    def _overwrites(self, load: Load, store: Store) -> bool:
        return may_overwrite_later(self.regions, self.alias, self.affine, self.order, load, store)

    def _prefer_records(self, loads: list[Load], stores: dict[int, Store]) -> bool:
        """Per piece of memory: where recording the loads costs less than rolling back, forbid repeating them."""
        changed = False
        for group in self._groups(loads, stores):
            some_loads, some_stores = group
            meeting = next(filter(self._meets, some_stores), None)
            if meeting is not None:
                self._refuse_unrecorded(some_loads, some_stores, meeting)
                self.decisions.unrepeatable.update(id(x) for x in some_loads)
                changed = True
                continue
            if any(id(x) in self.regions.assumed for x in some_loads) or any(
                map(self._wanted_back, some_stores)
            ):
                continue
            record = sum(self._weight(self.regions.place[id(x)][0]) for x in some_loads)
            restore = sum(self._weight(self.regions.place[id(x)][0]) * self._times(x) for x in some_stores)
            if record <= restore:
                self.decisions.unrepeatable.update(id(x) for x in some_loads)
                changed = True
        return changed

    def _meets(self, store: Store) -> bool:
        """Whether turns of a parallel loop may update one element there: no turn knows what it held before them all."""
        region = self.regions.place[id(store)][0]
        while store.update and region.parent is not None:
            if isinstance(region.owner, Loop) and region.owner.parallel:
                return True
            region = region.parent
        return False

    def _refuse_unrecorded(self, loads: list[Load], stores: list[Store], meeting: Store) -> None:
        """Raise UnsupportedError where what such updates change must be put back, and no record will do."""
        if any(id(x) in self.regions.assumed for x in loads) or any(map(self._wanted_back, stores)):
            name = meeting.array.name
            raise UnsupportedError(
                f"work items may meet in '{name}', and the reverse sweep needs what it held before",
                f"let what reads it before read a copy: {name}.copy()",
                meeting.span,
            )

    def _times(self, store: Store) -> float:
        """How many stores it stands for, guessed."""
        return 100.0 if id(store) in self.regions.assumed else 1.0

    def _groups(self, loads: list[Load], stores: dict[int, Store]) -> list[tuple[list[Load], list[Store]]]:
        """Loads and the stores that overwrite them, by connected memory."""
        groups: list[tuple[set[Sym], list[Load], list[Store]]] = []
        pairs: list[tuple[set[Sym], list[Load], list[Store]]] = []
        for store in stores.values():
            pairs.append((set(self.alias.roots(store.array)), [], [store]))
        for load in loads:
            if any(self._overwrites(load, s) for s in stores.values()):
                pairs.append((set(self.alias.roots(load.array)), [load], []))
        for roots, some_loads, some_stores in pairs:
            for g in [g for g in groups if not g[0].isdisjoint(roots)]:
                groups.remove(g)
                roots |= g[0]
                some_loads, some_stores = g[1] + some_loads, g[2] + some_stores
            groups.append((roots, some_loads, some_stores))
        return [(g[1], g[2]) for g in groups if g[1]]

    def _weight(self, region: Region) -> float:
        """How often a region runs, guessed."""
        weight = 1.0
        while region.parent is not None:
            owner = region.owner
            weight *= _turns(owner) if isinstance(owner, Loop) else 0.5
            region = region.parent
        return weight

    def _known_old(self) -> dict[int, Sym]:
        """Rolled-back stores whose overwritten value was loaded just before and is recorded anyway."""
        found: dict[int, Sym] = {}
        for key, store in self.decisions.restored.items():
            region, at = self.regions.place[key]
            for i in range(at - 1, -1, -1):
                stmt = region.block[i]
                if isinstance(stmt, Load) and region in self.decisions.recorded.get(stmt.target, ()):
                    same = stmt.array == store.array and all(map(self.affine.same, stmt.index, store.index))
                    if same:
                        found[key] = stmt.target
                        break
                if self._touches(stmt, store):
                    break
        return found

    def _touches(self, stmt: object, store: Store) -> bool:
        roots = self.alias.roots(store.array)
        return any(
            not roots.isdisjoint(self.alias.roots(s.array))
            for s in self.regions.stores(stmt)  # type: ignore[arg-type]
        )


def _turns(loop: Loop) -> float:
    if isinstance(loop.lo, Const) and isinstance(loop.hi, Const) and isinstance(loop.step, Const):
        return float(max(1, len(range(loop.lo.integer, loop.hi.integer, loop.step.integer))))
    return 100.0


def exposed_roots(function: Function, alias: Alias) -> frozenset[Sym]:
    """Memory that the caller holds after the call: the arguments' and the results'."""
    return frozenset(function.params).union(*(alias.roots(a) for a in function.results))
