"""The augmented forward sweep: the primal with its records.

    for i: u[i] = e            ->   for i carry (cursor): old = u[i]; record[cursor] = old; u[i] = e; next cursor + 1

A record is sized exactly where the turns of its loops can be counted at the function's top; else its capacity is
ensured at the entry of the outermost loop where they can; in rare branches and loops of unknown length it is ensured
where it is written. Never per element of a counted loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from adjit.analysis.regions import Region, Regions
from adjit.analysis.trips import trip_count
from adjit.ir.builder import Builder
from adjit.ir.core import (
    FALSE,
    ONE,
    ZERO,
    Atom,
    Block,
    Call,
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
from adjit.ir.types import BOOL, FLOAT64, INT64, Scalar
from adjit.ir.visit import inner_targets, targets
from adjit.transform.reverse.callees import Callee, Calls
from adjit.transform.reverse.record import Decisions, Layout, Tape
from adjit.transform.reverse.room import Room, Turns, product
from adjit.transform.reverse.sites import CHUNK, Site, site_of

_FIRST = 256  # elements of a record whose size is not known ahead

_Range = tuple[Atom, Atom, Atom]


class Augment:
    """Builds the augmented forward function for one set of decisions."""

    def __init__(
        self,
        function: Function,
        regions: Regions,
        decisions: Decisions,
        layout: Layout,
        known_old: set[int],
        calls: Calls,
        callee: Callee | None = None,
    ):
        self._calls, self._callee = calls, callee
        self._function, self._regions, self._decisions, self._layout = function, regions, decisions, layout
        self._known_old = known_old
        self._buffer: dict[Tape, Sym] = {}
        self._cursor: dict[Tape, Atom] = dict.fromkeys((*layout.tapes, *layout.foreign), ZERO)
        self._base: dict[Tape, Atom] = {}
        self._sites = {t: site_of(t, regions, layout) for t in layout.tapes}
        self._pending: dict[Tape, list[tuple[int, Sym]]] = {}
        self.limit = Sym("memory_limit", INT64)
        self._stand_ins: dict[int, tuple[Loop, Loop]] = {}

    def build(self) -> tuple[Function, dict[Sym, Atom]]:
        """The function (results: the primal's; last parameter: the memory limit in bytes) and final tape atoms."""
        if self._callee is not None:
            return self._build_called(self._callee), {}
        b = Builder(self._function.span, simplify=True)
        for tape in (*self._layout.tapes, *self._layout.foreign):
            if not self._exact(tape):
                self._buffer[tape] = b.alloc("record", tape.buffer.type, (const(_FIRST),))  # type: ignore[arg-type]
            else:
                self._at_entry(tape, b)
        b.simplify = False
        self._block(self._regions.root, b)
        final: dict[Sym, Atom] = {}
        for tape in (*self._layout.tapes, *self._layout.foreign):
            final[tape.buffer] = self._buffer[tape]
            final[tape.cursor] = self._cursor[tape]
        params = (*self._function.params, self.limit)
        return replace(self._function, params=params, body=b.block()), final

    def _build_called(self, callee: Callee) -> Function:
        """A called function: the records that it moves come in and go out."""
        cursors, buffers = list(callee.state), list(callee.state)
        state = self._fresh(cursors, buffers)
        self._take(cursors, buffers, state)
        b = Builder(self._function.span)
        self._block(self._regions.root, b)
        return replace(
            self._function,
            name=callee.forward,
            augmented=True,
            params=(*self._function.params, self.limit, *state),
            body=b.block(),
            results=(*self._function.results, *self._state(cursors, buffers)),
        )

    def _exact(self, tape: Tape) -> bool:
        site = self._sites.get(tape)
        if site is None or self._callee is not None:
            return False
        return site.region is self._regions.root and bool(site.loops)

    def _at_entry(self, tape: Tape, b: Builder) -> None:
        """Allocate a record at the function's top, before anything is touched, where its size is known there."""
        site = self._sites[tape]
        assert site is not None
        params = set(self._function.params)
        room = Room(self._regions, lambda s: s in params)
        if room.may_count(site.loops):
            self._allocate(tape, b, room.turns(b, site.loops))

    def _turns_from(self, site: Site, b: Builder) -> list[Turns]:
        """How often the body of the site's loops runs, counted at the site."""
        if not site.loops:
            return []
        (region,) = self._regions.inner[id(site.loops[0])]
        inside = self._regions.defined(region)
        return Room(self._regions, lambda s: s not in inside).turns(b, site.loops)

    def _allocate(self, tape: Tape, b: Builder, turns: Sequence[Turns]) -> None:
        need = self._room(tape, turns, ZERO, b)
        self._buffer[tape] = b.alloc("record", tape.buffer.type, (need,))  # type: ignore[arg-type]

    def _room(self, tape: Tape, turns: Sequence[Turns], after: Atom, b: Builder) -> Atom:
        """Elements that a record needs for so many turns after a cursor; raises where that is over the limit.

        The limit (bytes) is compared with a float product, which does not wrap around as the integer one could.
        """
        size = b.op("mul", b.cast(after, FLOAT64), float(tape.dtype.itemsize))
        width, each = const(tape.width), const(float(tape.width * tape.dtype.itemsize))
        need, more = product(b, turns, width, each)
        assert more is not None
        size = more if after == ZERO else b.op("add", size, more)
        line = (self._function if tape.region.owner is None else tape.region.owner).span.line
        if isinstance(size, Sym):
            raising = Raise("MemoryError", ("record", size, line), b.span)
            b.if_(b.op("gt", size, b.cast(self.limit, FLOAT64)), (raising,))
        return need if after == ZERO else b.op("add", after, need)

    # blocks

    def _block(self, region: Region, b: Builder) -> None:
        self._enter(region, b)
        for i, stmt in enumerate(region.block):
            self._ensure(region, i, b)
            self._stmt(stmt, b)
            for s in targets(stmt):
                self._push(s, region, b)
        for tape, end in self._layout.ends.get(region, {}).items():
            own = self._layout.tape(region, INT64)
            assert own is not None
            b.store(self._buffer[own], (b.op("add", self._base[own], own.slots[end]),), self._cursor[tape])
        for tape in self._layout.of(region):
            if self._sites[tape] is None:
                self._flush(tape, b)
            else:
                self._cursor[tape] = b.op("add", self._base[tape], tape.width)

    def _flush(self, tape: Tape, b: Builder) -> None:
        """At the end of a region with calls in it: push what it records, above what the calls pushed."""
        self._grow(tape, [], b)
        base = self._cursor[tape]
        for slot, s in self._pending.pop(tape, []):
            b.store(self._buffer[tape], (b.op("add", base, slot) if slot else base,), s)
        self._cursor[tape] = b.op("add", base, tape.width)

    def _enter(self, region: Region, b: Builder) -> None:
        self._ensure(region, -1, b)
        for tape in self._layout.of(region):
            self._base[tape] = self._cursor[tape]
        heads = set() if region.owner is None else set(inner_targets(region.owner))
        for tape in self._layout.at(region):
            for s in tape.slots:
                if s in heads or (s in self._regions.where and self._regions.where[s][0] is not region):
                    self._push(s, region, b)

    def _push(self, s: Sym, region: Region, b: Builder) -> None:
        tape = self._layout.tape(region, s.type) if isinstance(s.type, Scalar) else None
        if tape is None or s not in tape.slots:
            return
        if self._sites[tape] is None:
            self._pending.setdefault(tape, []).append((tape.slots[s], s))
            return
        at = b.op("add", self._base[tape], tape.slots[s]) if tape.slots[s] else self._base[tape]
        b.store(self._buffer[tape], (at,), s)

    def _ensure(self, region: Region, at: int, b: Builder) -> None:
        for tape, site in self._sites.items():
            if site is None or site.region is not region or site.at != at or site.loop is not None:
                continue
            if self._exact(tape):
                if tape not in self._buffer:
                    self._allocate(tape, b, self._turns_from(site, b))
                continue
            self._grow(tape, self._turns_from(site, b), b)

    def _grow(self, tape: Tape, turns: Sequence[Turns], b: Builder) -> None:
        """Make room for so many turns after the cursor."""
        need = self._room(tape, turns, self._cursor[tape], b)
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
            case Call() if self._calls.of(stmt).active:
                self._call(stmt, b)
            case _:
                b.append(stmt)

    def _call(self, stmt: Call, b: Builder) -> None:
        """The augmented form of the callee in place of the call."""
        callee = self._calls.of(stmt)
        tapes = list(callee.state)
        args = (*stmt.args, self.limit, *self._state(tapes, tapes))
        made = self._fresh(tapes, tapes)
        b.append(Call((*stmt.results, *made), callee.forward, args, stmt.span))
        self._take(tapes, tapes, made)

    # carried cursors and buffers

    def _moved(self, region: Region) -> tuple[list[Tape], list[Tape]]:
        """Tapes whose cursor, and whose buffer, changes inside the region."""
        below = self._layout.below(region)
        return below, [t for t in below if self._grows_in(t, region)]

    def _grows_in(self, tape: Tape, region: Region) -> bool:
        if tape in self._layout.moved_by_calls(region):
            return True
        if self._exact(tape):
            return False
        site = self._sites[tape]
        return region in (tape.turn if site is None else site.region).path()

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
        chunked = [t for t, site in self._sites.items() if site is not None and site.loop is stmt]
        if chunked:
            self._chunks(stmt, chunked, b)
        else:
            self._turns(stmt, b)

    def _turns(self, stmt: Loop, b: Builder) -> None:
        """The loop with its body's records."""
        (region,) = self._regions.inner[id(stmt)]
        cursors, buffers = self._moved(region)
        inits = self._state(cursors, buffers)
        params, results = self._fresh(cursors, buffers), self._fresh(cursors, buffers)
        self._take(cursors, buffers, params)
        with b.collect() as body:
            original = self._stand_ins.get(id(stmt), (stmt, stmt))[1].index
            if original is not None and original != stmt.index:
                assert stmt.index is not None
                b.append(Let(original, "cast", (stmt.index,), None, stmt.span))
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

    def _chunks(self, stmt: Loop, chunked: list[Tape], b: Builder) -> None:
        """The same turns in chunks: a loop over chunks that ensures capacity, around a loop over turns."""
        (region,) = self._regions.inner[id(stmt)]
        cursors, buffers = self._moved(region)
        buffers = [*buffers, *chunked]
        carried = tuple(fresh(p) for p in stmt.params)
        inits = (*stmt.inits, *self._state(cursors, buffers))
        params, results = self._fresh(cursors, buffers), self._fresh(cursors, buffers)
        self._take(cursors, buffers, params)
        outer = Sym("chunk", INT64)
        whole: _Range | None = None
        stride: Atom | None = None
        if stmt.index is not None:
            assert stmt.lo is not None and stmt.hi is not None and stmt.step is not None
            whole = (b.cast(stmt.lo, INT64), b.cast(stmt.hi, INT64), b.cast(stmt.step, INT64))
            step = whole[2]
            stride = const(step.integer * CHUNK) if isinstance(step, Const) else b.op("mul", step, CHUNK)
        with b.collect() as body:
            lo, hi, step = self._chunk(stmt, whole, outer, b)
            turns = trip_count(b, lo, hi, step)
            for tape in chunked:
                self._grow(tape, [(turns, None)], b)
            inner, stop = self._stopping(stmt, carried, (lo, hi, step))
            self._turns(inner, b)
        ends = tuple(inner.results[: len(stmt.results)])
        nexts = (*ends, *self._state(cursors, buffers))
        self._take(cursors, buffers, results)
        b.append(
            Loop(
                None if whole is None else outer,
                None if whole is None else whole[0],
                None if whole is None else whole[1],
                stride,
                (*carried, *params),
                inits,
                tuple(body),
                nexts,
                (*stmt.results, *results),
                stop,
                stmt.span,
            )
        )

    def _chunk(self, stmt: Loop, whole: _Range | None, start: Sym, b: Builder) -> _Range:
        """The range of one chunk that begins at `start`, of the loop's whole range."""
        if whole is None:
            return ZERO, const(CHUNK), ONE
        _, hi, step = whole
        end = b.op("add", start, b.op("mul", step, CHUNK))
        if isinstance(step, Const):
            return start, b.op("min" if step.integer > 0 else "max", end, hi), step
        up = b.op("gt", step, ZERO)
        return start, b.op("select", up, b.op("min", end, hi), b.op("max", end, hi)), step

    def _stopping(
        self, stmt: Loop, carried: tuple[Sym, ...], bounds: tuple[Atom, Atom, Atom]
    ) -> tuple[Loop, Atom | None]:
        """The loop over one chunk's turns, which says whether it stopped early."""
        results = tuple(fresh(r) for r in stmt.results)
        index = Sym("turn", INT64) if stmt.index is None else Sym(stmt.index.name, INT64)
        if stmt.index is not None and stmt.index.type == INT64:
            index = stmt.index
        inner = replace(
            stmt, index=index, lo=bounds[0], hi=bounds[1], step=bounds[2], inits=carried, results=results
        )
        if stmt.stop is None:
            return self._stands_for(inner, stmt), None
        stopped, after = Sym("stopping", BOOL), Sym("stopped", BOOL)
        inner = replace(
            inner,
            params=(*inner.params, stopped),
            inits=(*inner.inits, FALSE),
            nexts=(*inner.nexts, stmt.stop),
            results=(*inner.results, after),
        )
        return self._stands_for(inner, stmt), after

    def _stands_for(self, inner: Loop, stmt: Loop) -> Loop:
        """Let the new loop have the body of the old one."""
        self._regions.inner[id(inner)] = self._regions.inner[id(stmt)]
        self._stand_ins[id(inner)] = (inner, stmt)
        return inner

    def _branches(self, stmt: If | Custom, b: Builder) -> None:
        subs = self._regions.inner[id(stmt)]
        moved = [self._moved(r) for r in subs]
        cursors = list(dict.fromkeys(t for m in moved for t in m[0]))
        buffers = list(dict.fromkeys(t for m in moved for t in m[1]))
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
