"""Records of data-dependent length in kernels: counted first, then written where each work item's own begin.

    for i, in parallel carry (cursor, record):
        while ...: record = ensure record (cursor + room); record[cursor] = x; cursor = cursor + 1
    ->
    counts = zeros (n + 1)                                          a row for each cursor
    for i, in parallel: while ...: cursor = cursor + 1 (from 0)     the turn's slice that counts (`analysis.slices`)
                        counts[i + 1] = cursor
    scan counts                                                     see `scan`
    if cursor + counts[n] is over the limit: raise MemoryError
    record = ensure record (cursor + counts[n])
    for i, in parallel: at = cursor + counts[i]; while ...: record[at] = x; at = at + 1

So the record is what it is when the turns run in order. The counting run stores to no array but what the turn reads
again (in-place kernels): the arrays of such stores are saved before and put back after it. Both runs must come to the
same numbers, so that kernels that count by floats are built without contraction of products and sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from adjit.analysis.alias import Affine, Alias
from adjit.analysis.carried import Amount, Carried
from adjit.analysis.distinct import Distinct
from adjit.analysis.item_nests import axes_of
from adjit.analysis.numbered_turns import turn_of, turns_of
from adjit.analysis.recorded import Followed, Recorded, followed
from adjit.analysis.slices import Slices
from adjit.ir.builder import Builder
from adjit.ir.core import (
    ONE,
    ZERO,
    Atom,
    Block,
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
from adjit.ir.nests import copy_into
from adjit.ir.notes import Counted
from adjit.ir.types import FLOAT64, INT64, Array, Scalar, Type
from adjit.ir.visit import Rewriter, defined, free, used, walk
from adjit.transform.clean import clean
from adjit.transform.scan import scan


def counted_records(function: Function) -> Function:
    """The function with counted records (see the module)."""
    if not any(isinstance(s, Ensure) for s in walk(function.body)):
        return function
    counting = _Counting(function)
    body = counting.block(function.body)
    return clean(replace(function, body=body), keep_raising=True) if counting.changed else function


def counts_by_floats(function: Function) -> bool:
    """Whether floats decide how much the function records, so that two of its kernels must come to the same floats."""
    notes = (s.note for s in walk(function.body) if isinstance(s, Loop))
    return any(isinstance(n, Counted) and n.by_floats for n in notes)


class _Counting(Rewriter):
    def __init__(self, function: Function):
        super().__init__()
        self._alias, self._affine = Alias(function), Affine.of(function)
        self._distinct = Distinct(function, self._alias)
        self.changed = False

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        if isinstance(stmt, Loop) and stmt.parallel:
            if any(isinstance(s, Ensure) for s in walk(stmt.body)):
                return self._counted(stmt) or (stmt,)
            return (stmt,)
        return (self.rebuild(stmt),)

    def _counted(self, loop: Loop) -> Block | None:
        """What is in the nest's place, with as many axes as can be; None where it cannot be counted."""
        axes = axes_of(loop)
        for depth in range(len(axes), 0, -1):
            nest = axes[:depth]
            found = _followed(nest[-1])
            if found is None or not all(_is_plain(one) for one in nest):
                continue
            work = _Work(nest, found)
            made = work.slice(self._alias, self._affine, self._distinct) if work.separate() else None
            if made is not None:
                self.changed = True
                return self._written(work, made)
        return None

    def _written(self, work: _Work, slice_: Block) -> Block:
        """The counting run, what follows from it, and the recording run."""
        b = Builder(work.span, simplify=True)
        counts = work.counts(b)
        copies = [(a, b.alloc_like(f"{a.name}_before", a)) for a in work.written(self._alias)]
        for array, copy in copies:
            copy_into(b, copy, array)
        b.append(Rewriter({}, fresh).rebuild(work.counting(slice_, counts)))
        for array, copy in copies:
            copy_into(b, array, copy)
        work.room(b, counts)
        b.append(work.recording(counts))
        return b.block()


def _is_plain(loop: Loop) -> bool:
    return loop.index is not None and loop.index.type == INT64 and loop.stop is None


def _followed(loop: Loop) -> Followed | None:
    carried = Carried(loop)
    ties = {k for k in range(len(loop.params)) if carried.of(k) is None}
    return followed(loop, carried, ties | _with_room(loop))


def _with_room(loop: Loop) -> set[int]:
    """Cursors among what the loop carries after which its turns make room in a record, however they move."""
    sources: dict[Atom, tuple[Atom, ...]] = {}
    for s in walk(loop.body):
        match s:
            case Let(op="add" | "nonneg"):
                sources[s.target] = s.args
            case Loop():
                sources.update(
                    (x, (i,)) for p, r, i in zip(s.params, s.results, s.inits, strict=True) for x in (p, r)
                )
            case If():
                sources.update((r, (x,)) for r, x in zip(s.results, s.then_values, strict=True))
            case _:
                pass
    reached: set[Atom] = set()
    found: list[Atom] = [s.need for s in walk(loop.body) if isinstance(s, Ensure)]
    while found:
        a = found.pop()
        if a not in reached:
            reached.add(a)
            found += sources.get(a, ())
    return {k for k, p in enumerate(loop.params) if p.type == INT64 and p in reached}


def _by_floats(block: Block) -> bool:
    """Whether floating-point operations are among the statements."""
    return any(
        isinstance(s, Let)
        and any(isinstance(a.type, Scalar) and a.type.is_float for a in (s.target, *s.args))
        for s in walk(block)
    )


class _Work:
    """One nest, and what is written in its place. The carried values that `found` has are the same in all its loops."""

    def __init__(self, nest: list[Loop], found: Followed):
        self._nest, self._found = nest, found
        self._outer, self._last, self.span = nest[0], nest[-1], nest[0].span
        self._cursors = [r.cursor for r in found.records]
        carried = Carried(self._outer)
        inner = [carried.trips(one) for one in nest[1:]]
        self._trips: list[Amount] = [turns_of(self._outer), *(t for t in inner if t is not None)]
        self._extents: list[Atom] = []
        self._live: list[int] = []
        self._stored: list[Store] = []

    def separate(self) -> bool:
        """Whether nothing between the loops reads the cursors."""
        gone = {one.params[k] for one in self._nest[:-1] for k in _gone(self._found)}
        return used(self._between()).isdisjoint(gone)

    # the counting run

    def slice(self, alias: Alias, affine: Affine, distinct: Distinct) -> Block | None:
        """What of a turn's body counts; None where it cannot be run before the others."""
        last, kept = self._last, self._found.kept
        slices = Slices(last, alias, affine, distinct)
        read = frozenset[Sym]().union(
            *(alias.roots(s.array) for s in walk(self._outer.body) if isinstance(s, Load))
        )
        stored = [s.array for s in walk(last.body) if isinstance(s, Store)]
        unread = frozenset(a for a in stored if alias.roots(a) and alias.roots(a).isdisjoint(read))
        live: set[int] = set()
        while True:
            wanted = [last.nexts[k] for k in (*self._cursors, *live)]
            found = slices.with_stores(wanted, frozenset(self._found.versions) | unread)
            if found is None or any(id(s) in slices.stored for s in kept):
                return None
            body, needed = found
            heads = needed | used(self._between())
            more = {
                k
                for one in self._nest
                for k, p in enumerate(one.params)
                if p in heads and k not in self._cursors
            }
            if more <= live:
                break
            live |= more
        if any(isinstance(last.params[k].type, Array) for k in live):
            return None
        self._live, self._stored = sorted(live), list(slices.stored.values())
        return body

    def _between(self) -> Block:
        return tuple(s for one in self._nest[:-1] for s in one.body[:-1])

    def written(self, alias: Alias) -> list[Sym]:
        """The arrays that the counting run stores to."""
        roots = frozenset[Sym]().union(*(alias.roots(s.array) for s in self._stored))
        made = defined(self._outer.body)
        names = {s for s in free(self._outer.body) if isinstance(s.type, Array)} - made
        return sorted((s for s in names if not alias.roots(s).isdisjoint(roots)), key=lambda s: s.uid)

    def counts(self, b: Builder) -> Sym:
        """Where the counts go, a row for each cursor."""
        self._extents = [trips(b) for trips in self._trips]
        items: Atom = self._extents[0]
        for n in self._extents[1:]:
            items = b.op("mul", items, n)
        self._items = items
        return b.alloc(
            "counts", Array(INT64, 2, "C"), (const(len(self._cursors)), b.op("add", items, ONE)), ZERO
        )

    def counting(self, body: Block, counts: Sym) -> Loop:
        """The run that counts."""
        last = self._last
        rewriter = Rewriter({last.params[k]: ZERO for k in self._cursors})
        body = rewriter.block(body)
        b = Builder(self._outer.span, simplify=True)
        place = b.op("add", self._turn(b), ONE)
        for row, k in enumerate(self._cursors):
            b.store(counts, (const(row), place), rewriter.atom(last.nexts[k]))
        note = Counted(_by_floats(body))
        return replace(self._around((*body, *b.block()), self._live), note=note)

    def _turn(self, b: Builder) -> Atom:
        """The number of the work item."""
        turn = turn_of(b, self._outer)
        for one, n in zip(self._nest[1:], self._extents[1:], strict=True):
            turn = b.op("nonneg", b.op("add", b.op("mul", turn, n), turn_of(b, one)))
        return turn

    def _around(self, body: Block, live: Sequence[int]) -> Loop:
        """The nest's loops around a body; of what they carry those in `live`."""
        made: Loop | None = None
        for one in reversed(self._nest):
            inside = body if made is None else (*one.body[:-1], made)
            params, inits, nexts, results = (
                tuple(flow[k] for k in live) for flow in (one.params, one.inits, one.nexts, one.results)
            )
            made = replace(one, params=params, inits=inits, body=inside, nexts=nexts, results=results)
        assert made is not None
        return made

    # the record

    def room(self, b: Builder, counts: Sym) -> None:
        """The places of all turns' values, and records that have them. Raises where one is over the limit."""
        outer, n = self._outer, self._items
        totals = tuple(Sym("total", INT64) for _ in self._cursors)
        with b.collect() as some:
            scan(b, counts, len(totals), b.op("add", n, ONE))
            sums = tuple(b.load(counts, (const(row), n), "total") for row in range(len(totals)))
        b.if_(b.op("gt", n, ZERO), tuple(some), (), sums, (ZERO,) * len(totals), totals)
        ends = [outer.results[k] for k in self._cursors]
        for end, k, total in zip(ends, self._cursors, totals, strict=True):
            b.append(Let(end, "add", (outer.inits[k], total), None, b.span))
        for end, r in zip(ends, self._found.records, strict=True):
            self._check(b, r, end)
        for end, r in zip(ends, self._found.records, strict=True):
            for k in r.buffers:
                record = outer.inits[k]
                assert isinstance(record, Sym)
                b.append(Ensure(outer.results[k], record, end, b.span))

    def _check(self, b: Builder, r: Recorded, end: Atom) -> None:
        """Raise where a record that ends there is over the limit."""
        if r.limit is None:
            return
        widest = max((_itemsize(self._outer.params[k].type) for k in r.buffers), default=0)
        size = b.op("mul", b.cast(end, FLOAT64), float(widest))
        assert isinstance(size, Sym)
        raising = Raise("MemoryError", ("record", size, r.line), b.span)
        b.if_(b.op("gt", size, b.cast(r.limit, FLOAT64)), (raising,))

    # the recording run

    def recording(self, counts: Sym) -> Loop:
        """The run that records."""
        last, outer, found = self._last, self._outer, self._found
        b = Builder(outer.span, simplify=True)
        turn = self._turn(b)
        env: dict[Sym, Atom] = {s: outer.results[k] for s, k in found.versions.items()}
        for row, k in enumerate(self._cursors):
            start = b.load(counts, (const(row), turn), "start")
            env[last.params[k]] = b.op("nonneg", b.op("add", outer.inits[k], start), hint="cursor")
        body = (*b.block(), *_Recording(found, env).block(last.body))
        gone = _gone(found)
        return self._around(body, [k for k in range(len(last.params)) if k not in gone])


class _Recording(Rewriter):
    """Writes a body whose records have room for all that it records."""

    def __init__(self, found: Followed, env: dict[Sym, Atom]):
        super().__init__(env)
        self._found = found

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        versions = self._found.versions
        match stmt:
            case Ensure() if stmt.target in versions:
                return ()
            case If() if stmt.cond in self._found.checks:
                return ()
            case Loop():
                live = [k for k, p in enumerate(stmt.params) if p not in versions]
                params, inits, nexts, results = (
                    tuple(flow[k] for k in live)
                    for flow in (stmt.params, stmt.inits, stmt.nexts, stmt.results)
                )
                stmt = replace(stmt, params=params, inits=inits, nexts=nexts, results=results)
            case If():
                live = [k for k, r in enumerate(stmt.results) if r not in versions]
                results, then, els = (
                    tuple(flow[k] for k in live)
                    for flow in (stmt.results, stmt.then_values, stmt.else_values)
                )
                stmt = replace(stmt, results=results, then_values=then, else_values=els)
            case _:
                pass
        return (self.rebuild(stmt),)


def _itemsize(type_: Type) -> int:
    assert isinstance(type_, Array)
    return type_.dtype.itemsize


def _gone(found: Followed) -> set[int]:
    """What the loops no longer carry."""
    return {k for r in found.records for k in (r.cursor, *r.buffers)}
