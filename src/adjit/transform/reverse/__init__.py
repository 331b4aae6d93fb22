"""Reverse mode: a typed primal becomes an augmented forward function and a reverse function.

The two are planned together. The reverse sweep is built for a set of decisions (what is recorded, what is rolled
back); what it could not find is added to the decisions, and it is built again until nothing is missing. Decisions
only grow, so this ends.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from adjit.analysis.activity import Activity
from adjit.analysis.alias import Affine, Alias
from adjit.analysis.dependence import may_overwrite_later
from adjit.analysis.ranges import lower_bounds
from adjit.analysis.regions import Region, Regions
from adjit.errors import UnsupportedError
from adjit.ir.builder import Builder, const_of
from adjit.ir.core import (
    Atom,
    Const,
    Custom,
    Function,
    Load,
    Loop,
    RefNew,
    Stmt,
    Store,
    Sym,
)
from adjit.ir.types import Array
from adjit.ir.visit import Rewriter, defined, free, inner_targets, targets, walk
from adjit.transform.carry import carry
from adjit.transform.choose import choose
from adjit.transform.clean import clean
from adjit.transform.common import common
from adjit.transform.custom import dissolved, with_forward
from adjit.transform.defer import defer_stores
from adjit.transform.hoist import hoist
from adjit.transform.nests import add_into, copied_list, copy_into
from adjit.transform.prepare import count_turns, filled, forward_views
from adjit.transform.reverse.augment import Augment
from adjit.transform.reverse.growing import growing
from adjit.transform.reverse.materialise import KeepAllocationError, NumberBranchError, Scope
from adjit.transform.reverse.record import Decisions, Layout
from adjit.transform.reverse.references import references
from adjit.transform.reverse.shadows import Context
from adjit.transform.reverse.sweep import Sweep
from adjit.transform.sink import sink
from adjit.transform.slopes import carries
from adjit.transform.stride import stride
from adjit.transform.windows import windows


@dataclass(frozen=True)
class Reversed:
    """An augmented forward function and a reverse function.

    forward: the primal's parameters, `limit` (bytes a record may take) -> the primal's results, then what is
    passed on: `saved` (split: `kept`, `saved`).
    backward: `kept` primal parameters, `saved`, `shadows`, `seeds` -> adjoints of the active scalar parameters.
    `passed`: the forward function's atoms for what is passed on.
    """

    forward: Function
    backward: Function
    kept: tuple[Sym, ...]
    saved: tuple[Sym, ...]
    passed: tuple[Atom, ...]
    shadows: tuple[Sym, ...]
    seeds: tuple[Sym, ...]
    records: tuple[tuple[str, int], ...]
    limit: Sym


@dataclass(frozen=True)
class Wish:
    """What is asked of the transform.

    inputs: active parameters (arrays get a shadow parameter, scalars an adjoint result). seeded: indices of
    results that receive a cotangent. final: whether arrays' final values are seeded through their shadows.
    split: the reverse function works on private copies and leaves what it is given alone. watch: `debug_nans`.
    repeats: the reverse function is called several times on one forward sweep (several cotangents).
    """

    inputs: tuple[Sym, ...]
    seeded: tuple[int, ...]
    final: bool = False
    split: bool = False
    watch: bool = False
    repeats: bool = False


_Built = tuple[Sweep, Builder, tuple[Atom, ...], Layout]


class _Planner:
    def __init__(self, function: Function, wish: Wish, versions: dict[Sym, Sym]):
        self.wish = wish
        self.versions = versions
        self.function = function
        self.regions = Regions(function)
        self.alias = Alias(function)
        self.affine = Affine(self.regions.definition, lower_bounds(function))  # type: ignore[arg-type]
        outputs = _outputs(function, wish)
        self.activity = Activity(function, self.alias, wish.inputs, outputs, carries)
        arrays = [p for p in function.params if isinstance(p.type, Array)]
        for stmt in walk(function.body):
            arrays += [s for s in (*targets(stmt), *inner_targets(stmt)) if isinstance(s.type, Array)]
        self.active_array = {a: self.activity.active(a) for a in arrays}
        self.decisions = Decisions()
        self.shadow_of = {p: Sym(f"d{p.name}", p.type) for p in wish.inputs if isinstance(p.type, Array)}
        self.seeds = tuple(Sym("seed", function.results[k].type) for k in wish.seeded)

    # one build

    def sweep(self) -> _Built:
        known = self._known_old()
        layout = Layout(self.regions, self.decisions, known)
        sweep = Sweep(self.regions, self.alias, self.affine, self.decisions, layout)
        sweep.results = self.function.results
        sweep.versions = self.versions
        active = frozenset(self.activity.scalars)
        sweep.begin(Context(active, self.active_array, known, self.wish.watch))
        b = Builder(simplify=True)
        root = Scope(self.regions.root, b, len(self.function.body))
        root.shadows.update({p: d for p, d in self.shadow_of.items() if self.active_array[p]})
        sweep.push(root)
        back = self._protect(sweep, b)
        for k, seed in zip(self.wish.seeded, self.seeds, strict=True):
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
            sweep.adjoint.get(p, const_of(0.0, p.type))
            for p in self.wish.inputs
            if not isinstance(p.type, Array)
        )
        return sweep, b, adjoints, layout

    def _protect(self, sweep: Sweep, b: Builder) -> list[tuple[Sym, Sym]]:
        """Arrays that are rolled back and seen by others: put back at the end, or worked on in a private copy."""
        back: list[tuple[Sym, Sym]] = []
        rolled = self._rolled_roots()
        private = self.wish.split or self.wish.repeats
        seen = exposed_roots(self.function, self.alias)
        for root in rolled:
            if self.regions.where[root][0] is not self.regions.root or not (private or root in seen):
                continue
            assert isinstance(root.type, Array)
            shape = tuple(b.dim(root, k) for k in range(root.type.ndim))
            kind = replace(root.type, layout="C", readonly=False)
            copy = b.alloc(f"{root.name}_private" if self.wish.split else f"{root.name}_final", kind, shape)
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

    def _rolled_roots(self) -> list[Sym]:
        found: dict[Sym, None] = {}
        for store in self.decisions.restored.values():
            for root in sorted(self.alias.roots(store.array), key=lambda s: s.uid):
                found[root] = None
        return list(found)

    # decisions

    def plan(self) -> _Built:
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
        return Layout(self.regions, self.decisions, self._known_old()).home

    def _overwriters(self, loads: list[Load]) -> dict[int, Store]:
        """Stores that must be rolled back so that the loads can be repeated."""
        found: dict[int, Store] = {}
        for stmt in walk(self.function.body):
            if isinstance(stmt, Store) and any(self._overwrites(load, stmt) for load in loads):
                found[id(stmt)] = stmt
        return found

    def _overwrites(self, load: Load, store: Store) -> bool:
        return may_overwrite_later(self.regions, self.alias, self.affine, load, store)

    def _prefer_records(self, loads: list[Load], stores: dict[int, Store]) -> bool:
        """Per piece of memory: where recording the loads costs less than rolling back, forbid repeating them."""
        changed = False
        for group in self._groups(loads, stores):
            some_loads, some_stores = group
            record = sum(self._weight(self.regions.place[id(x)][0]) for x in some_loads)
            restore = sum(self._weight(self.regions.place[id(x)][0]) for x in some_stores)
            if record <= restore:
                self.decisions.unrepeatable.update(id(x) for x in some_loads)
                changed = True
        return changed

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


def reverse(function: Function, wish: Wish) -> Reversed:
    """Build both sweeps of a typed primal. Parameters of `function` and of `wish.inputs` are the same symbols."""
    ready = windows(clean(forward_views(filled(function)), keep_raising=True))
    ready = _with_rules(hoist(ready), wish)
    planner, (sweep, b, adjoints, layout) = _planned(ready, wish)
    function = planner.function
    augment = Augment(function, planner.regions, planner.decisions, layout, set(sweep.context.known_old))
    forward, final = augment.build()
    backward = _tidied(Function(f"{function.name}_reverse", (), b.block(), adjoints, span=function.span))
    needed = free(backward.body) | {a for a in backward.results if isinstance(a, Sym)}
    needed -= defined(backward.body)
    shadows = tuple(planner.shadow_of.values())
    kept = tuple(p for p in function.params if p in needed)
    given = {*shadows, *planner.seeds, *kept}
    saved = tuple(s for s in sorted(needed, key=lambda s: s.uid) if s not in given)
    backward = replace(backward, params=(*kept, *saved, *shadows, *planner.seeds))
    passed = tuple(final.get(s, s) for s in ((*kept, *saved) if wish.split else saved))
    if wish.split:
        forward, passed = _own_copies(planner, forward, passed)
    forward = dissolved(replace(forward, results=(*function.results, *passed)))
    forward = clean(stride(forward), keep_raising=True)
    records = tuple((t.dtype.name, t.width) for t in layout.tapes)
    return Reversed(
        forward,
        backward,
        kept,
        saved,
        forward.results[len(function.results) :],
        shadows,
        planner.seeds,
        records,
        augment.limit,
    )


def _outputs(function: Function, wish: Wish) -> list[Atom]:
    """What receives cotangents."""
    outputs: list[Atom] = [
        function.results[k] for k in wish.seeded if function.results[k].type.differentiable
    ]
    if wish.final:
        outputs += [p for p in wish.inputs if isinstance(p.type, Array)]
    return outputs


class _Rules(Rewriter):
    """Puts `fwd` in place of each active call with a custom rule."""

    def __init__(self, activity: Activity, alias: Alias):
        super().__init__()
        self._activity, self._alias = activity, alias
        self._depth = 0

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        if not isinstance(stmt, Custom):
            self._depth += 1
            rebuilt = self.rebuild(stmt)
            self._depth -= 1
            return (rebuilt,)
        written = [s.array for s in walk(stmt.body) if isinstance(s, Store)]
        if not any(map(self._activity.active, (*stmt.results, *written))):
            return (stmt,)
        roots = frozenset[Sym]().union(*(self._alias.roots(a) for a in written))
        places = tuple(k for k, a in enumerate(stmt.args) if not self._alias.roots(a).isdisjoint(roots))
        return with_forward(stmt, places, self._depth > 0)


def _with_rules(function: Function, wish: Wish) -> Function:
    if not any(isinstance(s, Custom) for s in walk(function.body)):
        return function
    alias = Alias(function)
    activity = Activity(function, alias, wish.inputs, _outputs(function, wish), carries)
    return replace(function, body=_Rules(activity, alias).block(function.body))


def _tidied(backward: Function) -> Function:
    """The reverse function without dead code, with its memory traffic in a good order."""
    backward = clean(backward)
    read = free(backward.body) | {a for a in backward.results if isinstance(a, Sym)}
    read -= defined(backward.body)
    backward = replace(backward, params=tuple(sorted(read, key=lambda s: s.uid)))
    return clean(carry(defer_stores(sink(choose(common(clean(stride(backward))))))))


def _planned(function: Function, wish: Wish) -> tuple[_Planner, _Built]:
    """Plan, keeping references to the allocations inside loops that turn out to be needed."""
    forced: set[Sym] = set()
    chosen: set[Sym] = set()
    versions = growing(function)
    while True:
        rewritten = references(function, forced, versions, chosen)
        rewritten = filled(rewritten)
        planner = _Planner(count_turns(rewritten), wish, versions)
        try:
            return planner, planner.plan()
        except KeepAllocationError as error:
            forced.add(error.array)
        except NumberBranchError as error:
            if error.array in chosen:
                raise UnsupportedError(
                    f"the array `{error.array.name}`, chosen by a branch, cannot be followed backwards",
                    "use one array and copy into it, or index both",
                    function.span,
                ) from None
            chosen.add(error.array)


def exposed_roots(function: Function, alias: Alias) -> frozenset[Sym]:
    """Memory that the caller holds after the call: the arguments' and the results'."""
    return frozenset(function.params).union(*(alias.roots(a) for a in function.results))


def _own_copies(
    planner: _Planner, forward: Function, passed: tuple[Atom, ...]
) -> tuple[Function, tuple[Atom, ...]]:
    """Arrays that the caller can reach are copied before they are kept."""
    exposed = exposed_roots(planner.function, planner.alias)
    b = Builder(forward.span)
    own: list[Atom] = []
    for a in passed:
        if isinstance(a, Sym) and isinstance(a.type, Array) and a in exposed:
            shape = tuple(b.dim(a, k) for k in range(a.type.ndim))
            copy = b.alloc(a.name, replace(a.type, layout="C", readonly=False), shape)
            copy_into(b, copy, a)
            a = copy
        elif isinstance(a, Sym) and not planner.alias.held(a).isdisjoint(exposed):
            a = copied_list(b, a, a.name)
        own.append(a)
    return replace(forward, body=(*forward.body, *b.block())), tuple(own)


__all__ = ["Reversed", "Wish", "reverse"]
