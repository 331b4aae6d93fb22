"""Sums that work items push to shifted places are pulled by the work items of the places: for devices.

    for i, j, in parallel: if c(i, j): w = da[i, j] * 0.2; db[i - 1, j] += w; db[i, j + 1] += w; da[i, j] = 0
    ->  for p, q, in parallel:
            s = 0; hit = False
            if p + 1 < n: if c(p + 1, q): s = s + da[p + 1, q] * 0.2; hit = True
            if q - 1 >= 0: if c(p, q - 1): s = s + da[p, q - 1] * 0.2; hit = True
            if hit: db[p, q] += s
        for i, j, in parallel: if c(i, j): da[i, j] = 0

No atomic operations, and the same bits from run to run; no edges apart, since a work item costs its guards only. What
several work items read is read from the cache. `transform.pull_plan` decides which sums are pulled, how, and what else
may run in the first kernel. Used on adjoint code.
"""

from __future__ import annotations

from dataclasses import replace

from adjit.analysis.alias import Affine, Alias
from adjit.analysis.carried import Reduction
from adjit.analysis.device_turns import DeviceTurns, NotItemsError
from adjit.analysis.differ import Differ
from adjit.analysis.distinct import Distinct
from adjit.analysis.item_nests import Nest, item_nest
from adjit.analysis.item_pushes import ItemPushes
from adjit.analysis.regions import Regions
from adjit.analysis.trips import trip_count
from adjit.ir.builder import Builder
from adjit.ir.core import TRUE, ZERO, Atom, Block, Function, Loop, Stmt, Store, Sym, fresh
from adjit.ir.types import Array
from adjit.ir.visit import Rewriter, walk
from adjit.transform.collect import Collect
from adjit.transform.pull_plan import Held, Plan, plan
from adjit.transform.replay import replay
from adjit.transform.restored import restored
from adjit.transform.sources import Sources
from adjit.transform.spans import both
from adjit.transform.unroll_items import unroll_items


def gather_items(function: Function) -> Function:
    """The function with sums of its parallel nests pulled (see the module)."""
    function = restored(unroll_items(function))
    if not any(isinstance(s, Loop) and s.parallel for s in walk(function.body)):
        return function
    g = _GatherItems(function)
    return replace(function, body=g.block(function.body))


class _GatherItems(Rewriter):
    def __init__(self, function: Function):
        super().__init__()
        self._alias, self._affine = Alias(function), Affine.of(function)
        self._turns = DeviceTurns(function, self._alias, self._affine)
        self._differ = Differ(Distinct(function, self._alias), Regions(function).definition)

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        if not isinstance(stmt, Loop) or not stmt.parallel:
            return (self.rebuild(stmt),)
        try:
            nest = item_nest(stmt, self._turns)
        except NotItemsError:
            return (self.rebuild(stmt),)
        made = self._pulled(nest)
        return (stmt,) if made is None else made

    def _pulled(self, nest: Nest) -> Block | None:
        of = ItemPushes(nest, self._alias, self._affine)
        pushes = of.pushes()
        decided = plan(of, pushes, self._differ) if pushes else None
        if decided is None:
            return None
        b, first = Builder(nest.loops[0].span, simplify=True), nest.loops[0]
        for s in nest.before:
            b.append(s)
        sources = Sources(b, of)
        right = sources.ranges_fit(b, decided.steps)
        for x, y in decided.tests:
            right = both(b, right, self._differ.test(b, x, y))
        if right == TRUE:
            self._written(b, of, sources, decided, first.results)
            return b.block()
        copy = Rewriter({}, fresh)
        els = copy.block((_with_body(nest, nest.last.body, nest.last.nexts, first.results),))
        results = tuple(map(fresh, first.results))
        with b.collect() as then:
            self._written(b, of, sources, decided, results)
        b.if_(right, tuple(then), els, results, copy.atoms(first.results), first.results)
        return b.block()

    def _written(
        self, b: Builder, of: ItemPushes, sources: Sources, decided: Plan, results: tuple[Sym, ...]
    ) -> None:
        """The nests of a plan. results: what stands for the nest's."""
        known = {frozenset(pair) for pair in decided.tests}

        def differing(x: Sym, y: Sym) -> bool:
            return self._differ.surely(x, y) or frozenset((x, y)) in known

        collect = Collect(b, of, sources, differing)
        collect.replayed(decided.replays, decided.own)
        arrays = [(h, _array(b, sources, h)) for h in decided.held]
        _rest(b, of, sources, decided, arrays, results)
        collect.held(arrays)


def _array(b: Builder, sources: Sources, held: Held) -> Sym:
    """A number for each work item."""
    like = held.members[0].store.array
    assert isinstance(like.type, Array)
    shape = tuple(
        b.op("max", b.op("sub", stop, start), 0)
        for start, stop in zip(sources.starts, sources.stops, strict=True)
    )
    return b.alloc(f"{like.name}_terms", Array(like.type.dtype, len(shape), "C"), shape)


def _rest(
    b: Builder,
    of: ItemPushes,
    sources: Sources,
    decided: Plan,
    arrays: list[tuple[Held, Sym]],
    results: tuple[Sym, ...],
) -> None:
    """What is left of the nest: stores of its own, numbers to write down, what it carries."""
    nest = of.nest
    made = replay(of, nest.last.body, [h.members for h, _ in arrays], decided.left, nest.last.nexts)
    inside = Builder(nest.loops[0].span, simplify=True)
    inside.extend(made.block)
    for (_, array), (total, _) in zip(arrays, made.sums, strict=True):
        at = tuple(
            inside.op("nonneg", inside.op("sub", h.index, start)) if start != ZERO else h.index
            for h, start in zip(of.heads, sources.starts, strict=True)
        )
        inside.store(array, at, total)
    body = inside.block()
    stores = any(isinstance(s, Store) and of.outside(s.array) for s in walk(body))
    if stores or any(isinstance(k, Reduction) for k in nest.turns[0].kinds):
        b.append(_with_body(nest, body, made.ends, results))
        return
    first = nest.loops[0]
    assert first.lo is not None and first.hi is not None and first.step is not None
    if results:
        trips = trip_count(b, first.lo, first.hi, first.step)
        for k, r in enumerate(results):
            nest.after(b, k, trips, r)


def _with_body(nest: Nest, body: Block, nexts: tuple[Atom, ...], results: tuple[Sym, ...]) -> Loop:
    """The nest with another body, without what runs before it."""
    gone = {id(s) for s in nest.before}
    made = replace(nest.last, body=body, nexts=nexts)
    for one in nest.loops[-2::-1]:
        heads = tuple(s for s in one.body[:-1] if id(s) not in gone)
        made = replace(one, body=(*heads, made))
    return replace(made, results=results)
