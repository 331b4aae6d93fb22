"""Sums that a loop nest pushes to shifted places are pulled by those who own the places.

    for i: for j: w = da[i, j] * 0.2; db[i, j - 1] += w; db[i - 1, j] += w; da[i, j] = 0
    ->  for p: if both rows that reach row p are in the range:
                 for q: db[p, q] += da[p, q + 1] * 0.2 + da[p + 1, q] * 0.2
                 the ends of the row, element by element
               else: each row that reaches it, by itself
        for i: for j: da[i, j] = 0

Each element is loaded and stored once, neighbours are only read, and so the inner loop vectorises. Used on adjoint
code: the order in which increments are added up is not the user's. `analysis.scatter` says where it is legal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from adjit.analysis.alias import Affine
from adjit.analysis.scatter import Group, Nest, Offset, Push, Scatters, needed_for, steady_bounds
from adjit.ir.builder import Builder, const_of
from adjit.ir.core import (
    ONE,
    TRUE,
    ZERO,
    Alloc,
    Atom,
    Block,
    Const,
    Function,
    Let,
    Load,
    Loop,
    Stmt,
    Store,
    Sym,
    const,
    fresh,
)
from adjit.ir.nests import nest as over
from adjit.ir.types import INT64
from adjit.ir.visit import Rewriter, targets, used
from adjit.transform.copier import Copier

_MAX_OFFSET = 16
"""Offsets farther out would leave long ends of rows to be done one by one."""
_COSTLY = 8
"""What an operation of its own (a division, a root) costs, additions being 1."""
_CHEAP = frozenset(
    {"add", "sub", "mul", "neg", "szmul", "select", "dim", "nonneg", "cast", "pos", "conjugate"}
)


def gather(function: Function) -> Function:
    """The function with its sums pulled where that is legal and pays (see the module)."""
    g = _Gather(function)
    return replace(function, body=g.block(function.body))


class _Gather(Rewriter):
    def __init__(self, function: Function):
        super().__init__()
        self._scatters = Scatters(function)
        self._clear: dict[Sym, Alloc] = {}
        self._bare: set[Sym] = set()  # arrays whose nest fills all of them

    def block(self, block: Block) -> Block:
        """The block; an array that it made of zeros is clear until the first statement that knows its name."""
        outer, self._clear = self._clear, {}
        out: list[Stmt] = []
        for stmt in block:
            out += self.stmt(stmt)
            if isinstance(stmt, Alloc) and isinstance(stmt.fill, Const) and stmt.fill.value == 0:
                self._clear[stmt.target] = stmt
            elif self._clear and not (isinstance(stmt, Let) and stmt.op == "dim"):
                for array in used((stmt,)):
                    self._clear.pop(array, None)
        self._clear = outer
        bare = self._bare
        return tuple(replace(s, fill=None) if isinstance(s, Alloc) and s.target in bare else s for s in out)

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        made = self._pulled(stmt) if isinstance(stmt, Loop) else None
        return (self.rebuild(stmt),) if made is None else made

    def _pulled(self, loop: Loop) -> tuple[Stmt, ...] | None:
        nest = Nest.of(loop)
        if nest is None or not steady_bounds(nest):
            return None
        groups = [g for g in self._scatters.of(nest) if _pays(nest, g)]
        if not groups:
            return None
        b = Builder(loop.span, simplify=True)
        affine = self._scatters.affine
        spans = _spans(b, nest, affine)
        positive = tuple(loop.index is not None and affine.nonnegative(loop.index) for loop in nest.loops)
        for group in groups:
            stores = sum(isinstance(s, Store) and s.array == group.array for s in nest.body)
            alone = len(group.members) == stores and not group.rest
            fresh = self._clear.get(group.array) if alone else None
            if fresh is not None:
                self._bare.add(group.array)
            _Pull(b, nest, group, spans, positive, fresh).build()
        gone = {id(m.what.store) for g in groups for m in g.members}
        left = _without(loop, gone)
        return (*b.block(), left) if left is not None else b.block()


def _pays(nest: Nest, group: Group) -> bool:
    """Whether the increments overlap, near by, and are cheap enough to be computed once for each place."""
    offsets = {m.offset for m in group.members}
    if len(offsets) < 2 or any(
        abs(o - p) > _MAX_OFFSET for a in offsets for b in offsets for o, p in zip(a, b, strict=True)
    ):
        return False
    alone = sum(_cost(nest, [m for m in group.members if m.offset == offset]) for offset in offsets)
    return alone <= 3 * _cost(nest, group.members) + 6 * len(group.members)


def _cost(nest: Nest, members: list[Push]) -> int:
    needed = _made_of(nest, [a for m in members for _, a in m.what.terms])
    return sum(1 if not isinstance(s, Let) or s.op in _CHEAP else _COSTLY for s in needed)


def _made_of(nest: Nest, atoms: list[Atom]) -> list[Let | Load]:
    needed = needed_for(nest, atoms)
    assert needed is not None, "terms and bounds are steady"
    return needed


def _without(loop: Loop, gone: set[int]) -> Loop | None:
    """The nest without some of its stores; None if it does nothing more."""
    body: list[Stmt] = []
    for s in loop.body:
        if isinstance(s, Loop):
            inner = _without(s, gone)
            body += () if inner is None else (inner,)
        elif id(s) not in gone:
            body.append(s)
    if not loop.results and not any(isinstance(s, Store | Loop) for s in body):
        return None
    return replace(loop, body=tuple(body))


@dataclass(frozen=True)
class _Span:
    """start <= index < stop."""

    start: Atom
    stop: Atom


def _spans(b: Builder, nest: Nest, affine: Affine) -> list[_Span]:
    """The ranges of the nest's loops, ascending, computed before the nest."""
    ends = [a for loop in nest.loops for a in (loop.lo, loop.hi) if a is not None]
    copier = Copier(b, {})
    for s in _made_of(nest, ends):
        copier.take(s)
    own = {t for s in nest.body for t in targets(s)}
    spans: list[_Span] = []
    for loop in nest.loops:
        assert loop.lo is not None
        assert loop.hi is not None
        first, last, more = (loop.lo, loop.hi, 0) if loop.step == ONE else (loop.hi, loop.lo, 1)
        spans.append(_Span(*(_bound(copier, affine, own, a, more) for a in (first, last))))
    return spans


def _bound(copier: Copier, affine: Affine, own: set[Sym], a: Atom, more: int) -> Atom:
    """a + more, before the nest."""
    base, _ = affine.split(a)
    if isinstance(base, Sym) and base.type == INT64 and base not in own:
        return affine.moved(copier.builder, a, more)
    return _moved(copier.builder, copier.builder.cast(copier.atom(a), INT64), more)


def _moved(b: Builder, a: Atom, by: int) -> Atom:
    """a + by."""
    return a if by == 0 else b.op("add" if by > 0 else "sub", a, abs(by))


class _Pull:
    """Builds the nest that pulls one group."""

    def __init__(
        self,
        b: Builder,
        nest: Nest,
        group: Group,
        spans: list[_Span],
        positive: tuple[bool, ...],
        fresh: Alloc | None,
    ):
        """positive: by loop, whether its index is proven not to be negative. fresh: the array, if nothing is in it."""
        self._b, self._nest, self._group, self._spans = b, nest, group, spans
        self._fresh = fresh
        self._whole: Atom = TRUE  # whether the places that are pulled are all of a fresh array
        offsets = [m.offset for m in group.members]
        self._low = tuple(map(min, zip(*offsets, strict=True)))
        self._high = tuple(map(max, zip(*offsets, strict=True)))
        self._rows: dict[Offset, list[Push]] = {}
        for m in group.members:
            self._rows.setdefault(m.offset[:-1], []).append(m)
        self._loop = nest.loops[-1]
        self._positive = positive

    def build(self) -> None:
        if self._fresh is not None:
            self._clear_other(self._fresh)
        self._level(0, ())

    def _clear_other(self, alloc: Alloc) -> None:
        """The whole array is cleared here if the places that are pulled are not all of it."""
        b = self._b
        for level, axis in enumerate(self._group.axes):
            start, stop = self._ends_of(level)
            both = _both(b, b.op("eq", start, ZERO), b.op("eq", stop, alloc.shape[axis]))
            self._whole = _both(b, self._whole, both)
        with b.collect() as body:
            over(b, alloc.shape, lambda b, index, _: b.store(alloc.target, index, self._zero()))
        b.if_(b.op("not_", self._whole), tuple(body))

    def _zero(self) -> Const:
        return const_of(0.0, self._group.array.type.dtype)  # type: ignore[union-attr]

    def _ends_of(self, level: int) -> tuple[Atom, Atom]:
        """The first place along a loop's axis, and the one after the last."""
        b, span = self._b, self._spans[level]
        return _moved(b, span.start, self._low[level]), _moved(b, span.stop, self._high[level])

    def _cleared(self, place: tuple[Atom, ...], *ranges: tuple[Atom, Atom]) -> None:
        """Places of a row of a fresh array that terms are then added to."""
        b = self._b
        with b.collect() as body:
            for start, stop in ranges:
                self._turns(
                    start, stop, lambda q: b.store(self._group.array, self._place(place, q), self._zero())
                )
        b.if_(self._whole, tuple(body))

    def _level(self, level: int, place: tuple[Atom, ...]) -> None:
        """The loops over places, all but the innermost."""
        if level == len(self._spans) - 1:
            self._row(place)
            return
        b, loop = self._b, self._nest.loops[level]
        assert loop.index is not None
        p = fresh(loop.index)
        with b.collect() as body:
            self._level(level + 1, (*place, p))
        start, stop = self._ends_of(level)
        flows = ((), (), tuple(body), (), (), None)
        b.loop(Loop(p, start, stop, ONE, *flows, loop.span, parallel=loop.parallel))

    def _row(self, place: tuple[Atom, ...]) -> None:
        b, span = self._b, self._spans[-1]
        if len(self._rows) == 1:
            self._whole_row(place, {row: self._source(place, row) for row in self._rows})
            return
        every: Atom = TRUE
        for level, p in enumerate(place):
            every = self._within(every, level, p, self._high[level], self._low[level])
        with b.collect() as whole:
            inner = self._source(place, (0,) * len(place))
            self._whole_row(inner, {row: self._source(inner, row) for row in self._rows})
        with b.collect() as apart:
            if self._fresh is not None:
                self._cleared(place, self._ends_of(len(place)))
            for row, members in self._rows.items():
                present: Atom = TRUE
                for level, p in enumerate(place):
                    present = self._within(present, level, p, row[level], row[level])
                with b.collect() as one:
                    inner = self._source(place, (0,) * len(place))
                    source = self._source(inner, row)
                    for m in members:
                        build = partial(self._push, inner, source, [m])
                        self._turns(span.start, span.stop, build)
                if present == TRUE:
                    b.extend(tuple(one))
                else:
                    b.if_(present, tuple(one))
        b.if_(every, tuple(whole), tuple(apart))

    def _within(self, known: Atom, level: int, p: Atom, least: int, most: int) -> Atom:
        """`known`, and the rows from p - least to p - most are among the nest's (of p it is known that one is)."""
        b, span = self._b, self._spans[level]
        if least > self._low[level]:
            known = _both(b, known, b.op("le", _moved(b, span.start, least), p))
        if most < self._high[level]:
            known = _both(b, known, b.op("lt", p, _moved(b, span.stop, most)))
        return known

    def _source(self, place: tuple[Atom, ...], row: Offset) -> tuple[Atom, ...]:
        """The indices of the nest's row that reaches the place."""
        return tuple(self._counting(level, p, o) for level, (p, o) in enumerate(zip(place, row, strict=True)))

    def _counting(self, level: int, p: Atom, offset: int) -> Atom:
        """p - offset, which is not negative where the nest's index and places are not."""
        start = self._spans[level].start
        i = _moved(self._b, p, -offset)
        known = isinstance(start, Const) and start.integer + self._low[level] - offset >= 0
        return i if known or not self._positive[level] else self._b.op("nonneg", i)

    def _turns(self, start: Atom, stop: Atom, build: Callable[[Sym], None], parallel: bool = False) -> None:
        """A loop along the innermost axis. parallel: each turn has a place of its own."""
        b = self._b
        assert self._loop.index is not None
        j = fresh(self._loop.index)
        with b.collect() as body:
            build(j)
        flows = ((), (), tuple(body), (), (), None)
        b.loop(Loop(j, start, stop, ONE, *flows, self._loop.span, parallel=parallel and self._loop.parallel))

    def _whole_row(self, place: tuple[Atom, ...], sources: dict[Offset, tuple[Atom, ...]]) -> None:
        """All increments of a row at once, then those near its ends."""
        b, span, low, high = self._b, self._spans[-1], self._low[-1], self._high[-1]
        first, last = _moved(b, span.start, high), _moved(b, span.stop, low)
        self._turns(first, last, partial(self._pull, place, sources), parallel=True)
        if low == high:
            return
        if self._fresh is not None:
            start, stop = self._ends_of(len(place))
            self._cleared(place, (start, b.op("min", first, stop)), (b.op("max", first, last), stop))
        width = high - low
        side = Sym("side", INT64)
        with b.collect() as body:
            at_start = b.op("eq", side, ZERO)
            right = b.op("max", b.op("add", span.start, width), b.op("sub", span.stop, width))
            left = b.op("min", span.stop, b.op("add", span.start, width))
            start = b.op("select", at_start, span.start, right)
            stop = b.op("select", at_start, left, span.stop)
            self._turns(start, stop, partial(self._ends, place, sources, first, last))
        b.loop(Loop(side, ZERO, const(2), ONE, (), (), tuple(body), (), (), None, self._loop.span))

    def _ends(
        self,
        place: tuple[Atom, ...],
        sources: dict[Offset, tuple[Atom, ...]],
        first: Atom,
        last: Atom,
        j: Sym,
    ) -> None:
        """Increments from turn j whose place is not one of the row's inner ones."""
        b = self._b
        for offset in sorted({m.offset[-1] for m in self._group.members}):
            q = _moved(b, j, offset)
            outside = b.op("or_", b.op("lt", q, first), b.op("ge", q, last))
            with b.collect() as body:
                for row, members in self._rows.items():
                    self._push(place, sources[row], [m for m in members if m.offset[-1] == offset], j)
            b.if_(outside, tuple(body))

    def _push(self, place: tuple[Atom, ...], source: tuple[Atom, ...], members: list[Push], j: Sym) -> None:
        """The increments of one row from turn j, one after another."""
        b = self._b
        copier = self._copier(source, j, members)
        for m in members:
            at = self._place(place, _moved(b, j, m.offset[-1]))
            self._add(at, [(sign, copier.atom(a)) for sign, a in m.what.terms])

    def _pull(self, place: tuple[Atom, ...], sources: dict[Offset, tuple[Atom, ...]], q: Sym) -> None:
        """All increments of place q."""
        b = self._b
        terms: list[tuple[int, Atom]] = []
        for offset in dict.fromkeys(m.offset for m in self._group.members):
            members = [m for m in self._group.members if m.offset == offset]
            copier = self._copier(sources[offset[:-1]], _moved(b, q, -offset[-1]), members)
            terms += [(sign, copier.atom(a)) for m in members for sign, a in m.what.terms]
        self._add(self._place(place, q), terms, self._fresh is not None)

    def _copier(self, source: tuple[Atom, ...], j: Atom, members: list[Push]) -> Copier:
        """What the members' terms are made of, computed for one turn of the nest."""
        env: dict[Sym, Atom] = {}
        for loop, i in zip(self._nest.loops, (*source, j), strict=True):
            assert loop.index is not None
            env[loop.index] = i
        copier = Copier(self._b, env)
        for s in _made_of(self._nest, [a for m in members for _, a in m.what.terms]):
            copier.take(s)
        return copier

    def _place(self, place: tuple[Atom, ...], q: Atom) -> tuple[Atom, ...]:
        """The index of a place of the group's array."""
        found = dict(self._group.rest)
        for axis, i in zip(self._group.axes, (*place, q), strict=True):
            found[axis] = i
        return tuple(found[axis] for axis in range(len(found)))

    def _add(self, index: tuple[Atom, ...], terms: list[tuple[int, Atom]], first: bool = False) -> None:
        """Add to an element, which is known to be zero if these are the first terms that it gets."""
        b, array = self._b, self._group.array
        total: Atom | None = None if first else b.load(array, index)
        for sign, a in terms:
            if total is None:
                total = a if sign > 0 else b.op("neg", a)
            else:
                total = b.op("add" if sign > 0 else "sub", total, a)
        assert total is not None
        b.store(array, index, total, "" if first else "add")


def _both(b: Builder, x: Atom, y: Atom) -> Atom:
    if x == TRUE:
        return y
    return x if y == TRUE else b.op("and_", x, y)
