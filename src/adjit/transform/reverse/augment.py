"""The augmented forward sweep: the primal with its records.

    for i: u[i] = e            ->   for i carry (cursor): old = u[i]; record[cursor] = old; u[i] = e; next cursor + 1

A record is sized exactly where the number of turns is known at the function's top; else its capacity is ensured at
the entry of the outermost loop whose number of turns is known there; in rare branches and loops of unknown
length it is ensured where it is written. Never per element of a counted loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from adjit.analysis.regions import Region, Regions
from adjit.ir.builder import Builder
from adjit.ir.core import (
    ONE,
    ZERO,
    Atom,
    Block,
    Const,
    Custom,
    Ensure,
    Function,
    If,
    Let,
    Load,
    Loop,
    Raise,
    Stmt,
    Store,
    Sym,
    const,
    fresh,
)
from adjit.ir.types import INT64, Scalar
from adjit.ir.visit import inner_targets, targets
from adjit.transform.clean import RAISING
from adjit.transform.reverse.record import Decisions, Layout, Tape

_FIRST = 256  # elements of a record whose size is not known ahead


class Augment:
    """Builds the augmented forward function for one set of decisions."""

    def __init__(
        self, function: Function, regions: Regions, decisions: Decisions, layout: Layout, known_old: set[int]
    ):
        self._function, self._regions, self._decisions, self._layout = function, regions, decisions, layout
        self._known_old = known_old
        self._buffer: dict[Tape, Sym] = {}
        self._cursor: dict[Tape, Atom] = dict.fromkeys(layout.tapes, ZERO)
        self._base: dict[Tape, Atom] = {}
        self._sites = {t: _site(t, regions) for t in layout.tapes}
        self.limit = Sym("memory_limit", INT64)

    def build(self) -> tuple[Function, dict[Sym, Atom]]:
        """The function (results: the primal's; last parameter: the memory limit in bytes) and final tape atoms."""
        b = Builder(self._function.span, simplify=True)
        for tape in self._layout.tapes:
            if not self._exact(tape):
                self._buffer[tape] = b.alloc("record", tape.buffer.type, (const(_FIRST),))  # type: ignore[arg-type]
            else:
                self._at_entry(tape, b)
        b.simplify = False
        self._block(self._regions.root, b)
        final: dict[Sym, Atom] = {}
        for tape in self._layout.tapes:
            final[tape.buffer] = self._buffer[tape]
            final[tape.cursor] = self._cursor[tape]
        params = (*self._function.params, self.limit)
        return replace(self._function, params=params, body=b.block()), final

    def _exact(self, tape: Tape) -> bool:
        region, _, trips = self._sites[tape]
        return region is self._regions.root and bool(trips)

    def _at_entry(self, tape: Tape, b: Builder) -> None:
        """Allocate a record at the function's top, before anything is touched, where its size is known there."""
        _, _, trips = self._sites[tape]
        env: dict[Sym, Atom] = {p: p for p in self._function.params}
        bounds = [tuple(self._again(a, env, b) for a in t) for t in trips]
        if any(a is None for t in bounds for a in t):
            return
        self._allocate(tape, b, bounds)  # type: ignore[arg-type]

    def _again(self, a: Atom, env: dict[Sym, Atom], b: Builder) -> Atom | None:
        """A pure value of the function's body computed at its top, or None."""
        if not isinstance(a, Sym) or a in env:
            return env.get(a, a) if isinstance(a, Sym) else a
        stmt = self._regions.definition.get(a)
        if not isinstance(stmt, Let) or stmt.op in RAISING:
            return None
        args = tuple(self._again(x, env, b) for x in stmt.args)
        if any(x is None for x in args):
            return None
        target = fresh(a)
        b.append(Let(target, stmt.op, args, stmt.fn, stmt.span))  # type: ignore[arg-type]
        env[a] = target
        return target

    def _allocate(self, tape: Tape, b: Builder, trips: Sequence[Trip]) -> None:
        need: Atom = const(tape.width)
        for lo, hi, step in trips:
            need = b.op("mul", need, trip_count(b, lo, hi, step))
        self._check(tape, need, b)
        self._buffer[tape] = b.alloc("record", tape.buffer.type, (need,))  # type: ignore[arg-type]

    def _check(self, tape: Tape, need: Atom, b: Builder) -> None:
        """Raise before a record that is larger than the limit (bytes) is allocated."""
        size = b.op("mul", need, tape.dtype.itemsize)
        line = tape.region.owner.span.line if tape.region.owner is not None else 0
        if isinstance(size, Sym):
            raising = Raise("MemoryError", ("record", size, line), b.span)
            b.if_(b.op("gt", size, self.limit), (raising,))

    # blocks

    def _block(self, region: Region, b: Builder) -> None:
        self._enter(region, b)
        for i, stmt in enumerate(region.block):
            self._ensure(region, i, b)
            self._stmt(stmt, b)
            for s in targets(stmt):
                self._push(s, region, b)
        for tape in self._layout.of(region):
            self._cursor[tape] = b.op("add", self._base[tape], tape.width)

    def _enter(self, region: Region, b: Builder) -> None:
        self._ensure(region, -1, b)
        for tape in self._layout.of(region):
            self._base[tape] = self._cursor[tape]
        heads = set() if region.owner is None else set(inner_targets(region.owner))
        for tape in self._layout.of(region):
            for s in tape.slots:
                if s in heads or (s in self._regions.where and self._regions.where[s][0] is not region):
                    self._push(s, region, b)

    def _push(self, s: Sym, region: Region, b: Builder) -> None:
        tape = self._layout.tape(region, s.type) if isinstance(s.type, Scalar) else None
        if tape is None or s not in tape.slots:
            return
        at = b.op("add", self._base[tape], tape.slots[s]) if tape.slots[s] else self._base[tape]
        b.store(self._buffer[tape], (at,), s)

    def _ensure(self, region: Region, at: int, b: Builder) -> None:
        for tape, (where, index, trips) in self._sites.items():
            if where is not region or index != at:
                continue
            if self._exact(tape):
                if tape not in self._buffer:
                    self._allocate(tape, b, trips)
                continue
            need: Atom = const(tape.width)
            for lo, hi, step in trips:
                need = b.op("mul", need, trip_count(b, lo, hi, step))
            need = b.op("add", self._cursor[tape], need)
            self._check(tape, need, b)
            grown = Sym("record", tape.buffer.type)
            b.append(Ensure(grown, self._buffer[tape], need, b.span))
            self._buffer[tape] = grown

    def _stmt(self, stmt: Stmt, b: Builder) -> None:
        match stmt:
            case Store() if id(stmt) in self._decisions.restored and id(stmt) not in self._known_old:
                old = self._decisions.old(stmt)
                b.append(Load(old, stmt.array, stmt.index, stmt.span))
                self._push(old, self._regions.place[id(stmt)][0], b)
                b.append(stmt)
            case Loop():
                self._loop(stmt, b)
            case If() | Custom():
                self._branches(stmt, b)
            case _:
                b.append(stmt)

    # carried cursors and buffers

    def _moved(self, region: Region) -> tuple[list[Tape], list[Tape]]:
        """Tapes whose cursor, and whose buffer, changes inside the region."""
        below = self._layout.below(region)
        grown = [t for t in below if not self._exact(t) and region in self._sites[t][0].path()]
        return below, grown

    def _state(self, cursors: list[Tape], buffers: list[Tape]) -> tuple[Atom, ...]:
        return (*(self._cursor[t] for t in cursors), *(self._buffer[t] for t in buffers))

    def _take(self, cursors: list[Tape], buffers: list[Tape], syms: tuple[Sym, ...]) -> None:
        for t, s in zip(cursors, syms, strict=False):
            self._cursor[t] = s
        for t, s in zip(buffers, syms[len(cursors) :], strict=True):
            self._buffer[t] = s

    def _fresh(self, cursors: list[Tape], buffers: list[Tape]) -> tuple[Sym, ...]:
        return (*(Sym("cursor", INT64) for _ in cursors), *(Sym("record", t.buffer.type) for t in buffers))

    def _loop(self, stmt: Loop, b: Builder) -> None:
        (region,) = self._regions.inner[id(stmt)]
        cursors, buffers = self._moved(region)
        inits = self._state(cursors, buffers)
        params, results = self._fresh(cursors, buffers), self._fresh(cursors, buffers)
        self._take(cursors, buffers, params)
        with b.collect() as body:
            self._block(region, b)
        nexts = self._state(cursors, buffers)
        self._take(cursors, buffers, results)
        b.append(
            replace(
                stmt,
                params=(*stmt.params, *params),
                inits=(*stmt.inits, *inits),
                body=tuple(body),
                nexts=(*stmt.nexts, *nexts),
                results=(*stmt.results, *results),
            )
        )

    def _branches(self, stmt: If | Custom, b: Builder) -> None:
        subs = self._regions.inner[id(stmt)]
        moved = [self._moved(r) for r in subs]
        cursors = [t for m in moved for t in m[0]]
        buffers = [t for m in moved for t in m[1]]
        before = self._state(cursors, buffers)
        results = self._fresh(cursors, buffers)
        bodies: list[Block] = []
        ends: list[tuple[Atom, ...]] = []
        for region in subs:
            for t, a in zip(cursors, before, strict=False):
                self._cursor[t] = a
            for t, a in zip(buffers, before[len(cursors) :], strict=True):
                assert isinstance(a, Sym)
                self._buffer[t] = a
            with b.collect() as body:
                self._block(region, b)
            bodies.append(tuple(body))
            ends.append(self._state(cursors, buffers))
        self._take(cursors, buffers, results)
        if isinstance(stmt, If):
            b.append(
                replace(
                    stmt,
                    then=bodies[0],
                    els=bodies[1],
                    then_values=(*stmt.then_values, *ends[0]),
                    else_values=(*stmt.else_values, *ends[1]),
                    results=(*stmt.results, *results),
                )
            )
        else:
            b.append(
                replace(
                    stmt,
                    body=bodies[0],
                    values=(*stmt.values, *ends[0]),
                    results=(*stmt.results, *results),
                )
            )


Trip = tuple[Atom, Atom, Atom]


def _site(tape: Tape, regions: Regions) -> tuple[Region, int, tuple[Trip, ...]]:
    """Where the capacity of a tape is ensured: (region, before which statement, trip counts to multiply).

    (region, -1, ()) means at the region's own start, for one turn.
    """
    region, at, trips = tape.region, -1, ()
    while True:
        loop = region.owner
        if not isinstance(loop, Loop) or loop.index is None or loop.stop is not None:
            return region, at, trips
        bounds = (loop.lo, loop.hi, loop.step)
        region, at = region.parent, region.at  # type: ignore[assignment]
        trips = (*trips, bounds)
        inside: Region = region
        outer = inside.owner
        if not isinstance(outer, Loop) or not all(_outside(a, inside, regions) for t in trips for a in t):
            return region, at, trips


def _outside(a: Atom, region: Region, regions: Regions) -> bool:
    return not isinstance(a, Sym) or a not in regions.defined(region)


def trip_count(b: Builder, lo: Atom, hi: Atom, step: Atom) -> Atom:
    """`len(range(lo, hi, step))` as int64."""
    lo, hi, step = (b.cast(a, INT64) for a in (lo, hi, step))
    span = b.op("sub", hi, lo)
    if isinstance(step, Const):
        s = int(step.value)
        if s == 1:
            return b.op("max", span, ZERO)
        up = b.op("add", span, s - 1) if s > 0 else b.op("sub", b.op("neg", span), s + 1)
        return b.op("max", b.op("floordiv", up, const(abs(s))), ZERO)
    positive = b.op("gt", step, ZERO)
    rounded = b.op("sub", b.op("add", span, step), b.op("select", positive, ONE, const(-1)))
    return b.op("max", b.op("floordiv", rounded, step), ZERO)

