"""Builds the nests over places in which what work items add is collected (see `transform.gather_items`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from adjit.analysis.item_nests import turn_of
from adjit.analysis.item_pushes import Along, ItemPushes, Push, Target
from adjit.ir.builder import Builder, const_of
from adjit.ir.core import FALSE, ONE, TRUE, Atom, Loop, Store, Sym, fresh
from adjit.ir.notes import Pulled
from adjit.ir.types import BOOL
from adjit.transform.copier import Copier
from adjit.transform.pull_plan import Group, Held, is_own
from adjit.transform.replay import Sum, replay, touching
from adjit.transform.sources import Box, Guarded, Sources, Step
from adjit.transform.spans import both


@dataclass(frozen=True)
class Entry:
    """What reaches places by one step.

    sums(b, source, before): the sums of these slots, with what the work item of these numbers adds to those before.
    """

    step: Step
    slots: Sequence[int]
    sums: Callable[[Builder, Sequence[Atom], Sequence[Sum]], Sequence[Sum]]
    guarded: Guarded


class Collect:
    """Writes the nests of one plan. differing: whether two arrays are known to differ where they run."""

    def __init__(self, b: Builder, of: ItemPushes, sources: Sources, differing: Callable[[Sym, Sym], bool]):
        self._b, self._of, self._sources, self._differing = b, of, sources, differing
        self._amounts = of.nest.amounts(b)
        self._same = of.nest.same()
        self._places: set[int] = set()

    def replayed(self, groups: Sequence[Group], own: dict[int, Store]) -> None:
        """Nests whose work items compute again what reaches their places; the first runs the `own` stores too."""
        for targets in self._apart(p for g in groups for p in g.pushes):
            entries: list[Entry] = []
            for g in groups:
                keep = own if is_own(g.step) else {}
                members = [[p for p in g.pushes if p.target == t] for t in targets]
                if any(members) or keep:
                    entries.append(self._again(g.step, members, keep))
            if own and not any(is_own(e.step) for e in entries):
                step = tuple(Along(0) for _ in self._of.nest.loops)
                entries.insert(0, self._again(step, [[] for _ in targets], own))
            self._nest(targets, entries, False)
            own = {}

    def held(self, arrays: Sequence[tuple[Held, Sym]]) -> None:
        """Nests that add up numbers which the work items have written down."""
        uses = [(p, array) for h, array in arrays for p in h.uses]
        for targets in self._apart(p for p, _ in uses):
            slots = list(targets)
            entries = [
                self._read(p, slots.index(p.target), array) for p, array in uses if p.target in targets
            ]
            self._nest(targets, entries, True)

    def _apart(self, pushes: Iterable[Push]) -> list[dict[Target, Push]]:
        """Targets of which one work item may own the elements of a place: not one array by two names, or two ways."""
        nests: list[dict[Target, Push]] = []
        for p in pushes:
            if any(p.target in n for n in nests):
                continue
            fitting = (n for n in nests if all(self._beside(p.target, t) for t in n))
            n = next(fitting, None)
            if n is None:
                n = {}
                nests.append(n)
            n[p.target] = p
        return nests

    def _beside(self, a: Target, b: Target) -> bool:
        if a.array == b.array:
            return a.axes == b.axes
        return self._differing(a.array, b.array)

    def _again(self, step: Step, members: list[list[Push]], keep: dict[int, Store]) -> Entry:
        """What the sources' statements come to."""
        slots = [k for k, m in enumerate(members) if m]
        pushes = [m for m in members if m]
        starts = [(Sym("sum", m[0].store.array.type.dtype), Sym("hit", BOOL)) for m in pushes]  # type: ignore[union-attr]
        first = replay(self._of, self._of.body, pushes, keep)
        later = replay(self._of, self._of.body, pushes, keep, (), starts)
        does = [*touching(self._of, first), *keep.values(), *(p.store for m in pushes for p in m)]
        guarded = self._of.guarded(does)

        def sums(b: Builder, source: Sequence[Atom], before: Sequence[Sum]) -> list[Sum]:
            env = self._env(b, source, guarded)
            for own, given in zip(starts, before, strict=True):
                env |= dict(zip(own, given, strict=True))
            made = first if all(hit == FALSE for _, hit in before) else later
            copier = Copier(b, env)
            for s in made.block:
                copier.take(s)
            return [(copier.atom(a), copier.atom(hit)) for a, hit in made.sums]

        return Entry(step, slots, sums, guarded)

    def _env(self, b: Builder, source: Sequence[Atom], guarded: Guarded) -> dict[Sym, Atom]:
        """What the nest's loops define, for the work item of these numbers.

        Where its own guards keep it in the range, its numbers may be any before those are asked.
        """
        nest, env = self._of.nest, dict(self._same)
        indices: list[Atom] = []
        for head, i, (above, _) in zip(self._of.heads, source, guarded, strict=True):
            sure = isinstance(i, Sym) and i.uid not in self._places and not above
            if sure and self._of.counting(head.index):
                i = b.op("nonneg", i)
            env[head.index] = i
            indices.append(i)
        if self._amounts:
            turns = [turn_of(b, loop, i) for loop, i in zip(nest.loops, indices, strict=True)]
            env |= nest.counted(self._amounts, b, turns)
        return env

    def _read(self, p: Push, slot: int, array: Sym) -> Entry:
        def sums(b: Builder, source: Sequence[Atom], before: Sequence[Sum]) -> list[Sum]:
            at = tuple(
                b.op("nonneg", b.op("sub", i, s)) for i, s in zip(source, self._sources.starts, strict=True)
            )
            return [(b.op("add", before[0][0], b.load(array, at)), TRUE)]

        return Entry(p.step, (slot,), sums, [(False, False)] * len(p.step))

    # nests

    def _nest(self, targets: dict[Target, Push], entries: Sequence[Entry], clipped: bool) -> None:
        """One nest over places. clipped: places are not known to be those of elements."""
        b, loops = self._b, self._of.nest.loops
        box = self._sources.box(b, [e.step for e in entries], [(t.array, t.axes) for t in targets])
        rests = [{axis: amount(b) for axis, amount in p.rest} for p in targets.values()]
        place = tuple(fresh(h.index) for h in self._of.heads)
        self._places = {p.uid for p in place}
        with b.collect() as body:
            sums = self._collected(place, entries, [p.store.array for p in targets.values()], box)
            for t, rest, (total, hit) in zip(targets, rests, sums, strict=True):
                index = dict(zip(t.axes, place, strict=True)) | rest
                at = tuple(index[axis] for axis in range(len(index)))
                if clipped:
                    for axis, p in zip(t.axes, place, strict=True):
                        hit = both(b, hit, b.op("lt", p, b.dim(t.array, axis)))
                self._add(t.array, at, total, hit)
        names = ", ".join(dict.fromkeys(t.array.name for t in targets))
        stmts = tuple(body)
        for k in reversed(range(len(loops))):
            note = Pulled(names) if k == 0 else None
            flows = ((), (), stmts, (), (), None)
            made = Loop(
                place[k], box.starts[k], box.stops[k], ONE, *flows, loops[k].span, parallel=True, note=note
            )
            stmts = (made,)
        b.extend(stmts)

    def _collected(
        self, place: Sequence[Sym], entries: Sequence[Entry], arrays: Sequence[Sym], box: Box
    ) -> list[Sum]:
        """The sums of everything that reaches a place, one for each array."""
        b = self._b
        state: list[Sum] = [(const_of(0.0, a.type.dtype), FALSE) for a in arrays]  # type: ignore[union-attr]
        for e in entries:
            for source in self._sources.of(b, e.step, place, box, e.guarded):
                before = list(state)
                with b.collect() as body:
                    for k, s in zip(
                        e.slots, e.sums(b, source.index, [state[k] for k in e.slots]), strict=True
                    ):
                        state[k] = s
                if source.where == TRUE:
                    b.extend(tuple(body))
                    continue
                changed = [k for k, (x, y) in enumerate(zip(before, state, strict=True)) if x != y]
                then = tuple(a for k in changed for a in state[k])
                els = tuple(a for k in changed for a in before[k])
                joined = [(Sym("sum", before[k][0].type), Sym("hit", BOOL)) for k in changed]
                b.if_(source.where, tuple(body), (), then, els, tuple(s for pair in joined for s in pair))
                for k, pair in zip(changed, joined, strict=True):
                    state[k] = pair
        return state

    def _add(self, array: Sym, index: tuple[Atom, ...], total: Atom, hit: Atom) -> None:
        b = self._b
        with b.collect() as body:
            b.store(array, index, b.op("add", b.load(array, index), total), "add")
        if hit == TRUE:
            b.extend(tuple(body))
        elif hit != FALSE:
            b.if_(hit, tuple(body))
