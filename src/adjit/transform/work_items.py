"""Writes one nest of parallel turns as a kernel, and the host's launch of it.

Nests of up to three loops with nothing between them are one kernel with as many axes; the first item of an axis is
the loop's first turn. Sums, products, minima and maxima that the nest carries are totals: a work item takes every so
many turns of the nest, in order, the work-group combines what its items come to, and the host the groups.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass

from adjit.analysis.alias import Affine, Alias
from adjit.analysis.carried import Count, Reduction, Same
from adjit.analysis.device_turns import DeviceTurns, NotItemsError, Turns
from adjit.analysis.places import places_of
from adjit.analysis.trips import trip_count
from adjit.ir.builder import Builder, const_of
from adjit.ir.core import (
    ONE,
    ZERO,
    Alloc,
    Atom,
    Block,
    Call,
    Const,
    Function,
    Let,
    Load,
    Loop,
    Slice,
    Span,
    Stmt,
    Store,
    Sym,
    View,
    fresh,
)
from adjit.ir.types import BOOL, INT64, Array, Scalar, Type
from adjit.ir.visit import Rewriter, defined, free, walk
from adjit.transform.atomics import with_atomics
from adjit.transform.kernel_body import Kernel, Total

_BELOW = Const(-1, INT64)
AXES = 3
"""Axes of a launch at most."""


@dataclass(frozen=True)
class Nest:
    """Loops, outermost first, the statements between their heads, and what each loop's turns are.

    before: of those statements the ones that the host runs once, as the ends of the loops need them.
    """

    loops: tuple[Loop, ...]
    between: Block
    turns: tuple[Turns, ...]
    before: Block = ()

    @property
    def last(self) -> Loop:
        """The innermost loop."""
        return self.loops[-1]

    def items(self) -> tuple[Sym, ...]:
        """The number of the work item along each axis: the loop's index where every item is a turn of the index from 0.

        The order of turns is free, so that a range that goes down to 0 is one that goes up, unless something is
        counted.
        """
        counted = any(isinstance(k, Count) for t in self.turns for k in t.kinds)
        found: list[Sym] = []
        for one in self.loops:
            assert one.index is not None
            up = (one.lo, one.step) == (ZERO, ONE)
            down = (one.hi, one.step) == (_BELOW, _BELOW) and not counted
            found.append(one.index if up or down else Sym(one.index.name, INT64))
        return tuple(found)


class KernelWriter:
    """Makes the kernels of one function; they are collected in `kernels`."""

    def __init__(
        self,
        function: Function,
        alias: Alias,
        affine: Affine,
        turns: DeviceTurns,
        positive: frozenset[Sym],
        fresh_name: Callable[[str], str],
    ):
        self.kernels: list[Kernel] = []
        self._function, self._alias, self._affine, self._turns = function, alias, affine, turns
        self._positive, self._fresh_name = positive, fresh_name
        self._known = frozenset(places_of(walk(function.body), ()))

    # nests

    def nest(self, loop: Loop, on_host: Callable[[Atom], bool]) -> Block:
        """The host's statements in place of the nest that begins with `loop`. Raises NotItemsError."""
        nest = self._collapsed(loop)
        for s in walk(loop.body):
            if isinstance(s, Alloc) and not all(isinstance(n, Const) for n in s.shape):
                raise NotItemsError(f"it makes the array '{s.target.name}', whose size is not a constant", s)
            if isinstance(s, Load | Store) and on_host(s.array):
                raise NotItemsError(
                    f"it reads or writes '{s.array.name}', which host code reads and writes too", s
                )
        return self._written(nest)

    def _collapsed(self, loop: Loop) -> Nest:
        loops, between, turns = [loop], list[Stmt](), [self._turns.of(loop)]
        before: list[Stmt] = []
        if any(isinstance(k, Count) for k in turns[0].kinds):
            return Nest((loop,), (), tuple(turns))
        while len(loops) < AXES:
            found = _only_loop(loops[-1])
            if found is None:
                break
            heads, inner = found
            inside = defined((*between, *heads)) | {x for one in loops for x in (one.index, *one.params)}
            first = _invariant(heads, inside)
            inside -= defined(tuple(first))
            if any(a in inside for a in (inner.lo, inner.hi, inner.step)):
                break
            try:
                more = self._turns.of(inner)
            except NotItemsError:
                break
            if any(isinstance(k, Count) for k in more.kinds):
                break
            loops.append(inner)
            before += first
            between += [s for s in heads if s not in first]
            turns.append(more)
        return Nest(tuple(loops), tuple(between), tuple(turns), tuple(before))

    def _written(self, nest: Nest) -> Block:
        loop, b = nest.loops[0], Builder(nest.loops[0].span, simplify=True)
        for s in nest.before:
            b.append(s)
        extents: list[Atom] = []
        for one in nest.loops:
            assert one.lo is not None and one.hi is not None and one.step is not None
            extents.append(trip_count(b, one.lo, one.hi, one.step))
        names = "nmk" if len(extents) > 1 else "n"
        counts = tuple(Sym(f"{names[k]}_items", INT64) for k in range(len(extents)))
        kinds = nest.turns[0].kinds
        summed = [k for k, kind in enumerate(kinds) if isinstance(kind, Reduction)]
        body = self._with_updates(nest)
        if summed:
            partial = self._with_totals(b, nest, body, counts, tuple(extents), summed)
        else:
            partial = ()
            items = nest.items()
            env = self._same(nest)
            block = (*self._counted(b, nest, items[0], env), *self._indices(nest, items), *body)
            self._launch(b, nest, Rewriter(env).block(block), counts, items, tuple(extents))
        self._results(b, nest, tuple(extents), dict(zip(summed, partial, strict=True)))
        return b.block() if loop.index is not None else ()

    def _with_updates(self, nest: Nest) -> Block:
        """The body of a work item, its updates atomic where others may meet it."""
        known = [t.meet for t in nest.turns]
        roots = frozenset[Sym]().union(*(self._alias.roots(a) for m in known for a in m or ()))
        anywhere = None in known
        block = (*nest.between, *nest.last.body)
        own = {r for s in walk(block) if isinstance(s, Alloc) for r in self._alias.roots(s.target)}

        def meets(store: Store) -> bool:
            mine = self._alias.roots(store.array)
            return not mine <= own and (anywhere or not mine.isdisjoint(roots))

        return with_atomics(block, meets, self._affine, nest.last.nexts)

    def _indices(self, nest: Nest, items: tuple[Sym, ...]) -> Block:
        """Each loop's index from the number of its turn."""
        made: list[Stmt] = []
        for one, i in zip(nest.loops, items, strict=True):
            assert one.index is not None and one.lo is not None and one.step is not None
            if i is one.index:
                continue
            step = one.step
            moved = i
            if step != ONE:
                moved = Sym(i.name, INT64)
                made.append(Let(moved, "mul", (i, step), None, one.span))
            made.append(Let(one.index, "add", (one.lo, moved), None, one.span))
        return tuple(made)

    def _same(self, nest: Nest) -> dict[Sym, Atom]:
        """What no turn changes, as it was before the loop."""
        env: dict[Sym, Atom] = {}
        for one, turns in zip(nest.loops, nest.turns, strict=True):
            for p, init, kind in zip(one.params, one.inits, turns.kinds, strict=True):
                if isinstance(kind, Same):
                    env[p] = env.get(init, init) if isinstance(init, Sym) else init
        return env

    def _counted(self, b: Builder, nest: Nest, turn: Sym, env: dict[Sym, Atom]) -> Block:
        """Counters, from the number of the turn."""
        made: list[Stmt] = []
        loop = nest.loops[0]
        for p, init, kind in zip(loop.params, loop.inits, nest.turns[0].kinds, strict=True):
            if isinstance(kind, Count):
                moved = Sym(p.name, INT64)
                made.append(Let(moved, "mul", (turn, kind.by(b)), None, loop.span))
                made.append(Let(p, "add", (init, moved), None, loop.span))
        return tuple(made)

    # totals

    def _with_totals(
        self,
        b: Builder,
        nest: Nest,
        body: Block,
        counts: tuple[Sym, ...],
        extents: tuple[Atom, ...],
        summed: list[int],
    ) -> tuple[Sym, ...]:
        loop, last = nest.loops[0], nest.last
        assert loop.index is not None
        turn, first, items = Sym("turn", INT64), Sym("first", INT64), Sym("items", INT64)
        axes = nest.items()
        env = self._same(nest)
        total: Atom = counts[0]
        outer = Builder(loop.span)
        for n in counts[1:]:
            total = outer.let("mul", total, n, type=INT64, name="turns")
        walk = _Walk(outer, turn, first, items, counts, axes)
        block = (*walk.places, *self._counted(b, nest, turn, env), *self._indices(nest, axes), *body)
        neutral = tuple(_neutral(nest.turns[0].kinds[k], loop.inits[k]) for k in summed)
        results = tuple(Sym(loop.params[k].name, loop.params[k].type) for k in summed)
        params, nexts = tuple(last.params[k] for k in summed), tuple(last.nexts[k] for k in summed)
        rewriter = Rewriter(env)
        turns = Loop(
            turn, first, total, items, (*walk.params, *params), (*walk.inits, *neutral),
            (*rewriter.block(block), *walk.steps), (*walk.nexts, *rewriter.atoms(nexts)),
            (*walk.results, *results), None, loop.span,
        )  # fmt: skip
        totals = tuple(
            Total(kind.op, kind.fn, p.type, n)
            for kind, p, n in zip((nest.turns[0].kinds[k] for k in summed), params, neutral, strict=True)
            if isinstance(kind, Reduction) and isinstance(p.type, Scalar) and isinstance(n, Const | Sym)
        )
        made = (*outer.block(), turns)
        more = {turn, first, items, *walk.known}
        return self._launch(b, nest, made, counts, (first, items), extents, totals, results, more)

    # launches

    def _launch(
        self,
        b: Builder,
        nest: Nest,
        body: Block,
        counts: tuple[Sym, ...],
        items: tuple[Sym, ...],
        extents: tuple[Atom, ...],
        totals: tuple[Total, ...] = (),
        results: tuple[Sym, ...] = (),
        more: set[Sym] | None = None,
    ) -> tuple[Sym, ...]:
        loop = nest.loops[0]
        own = {*counts, *items}
        body = _with_casts_before(b, body, own)
        read = free(body) | {t.neutral for t in totals if isinstance(t.neutral, Sym)}
        given = tuple(sorted(read - own, key=lambda s: s.uid))
        line = f"line {loop.span.line}" if loop.span.line > 0 else ""
        note = f"{line}: {loop.note}" if line and loop.note else line or str(loop.note or "")
        name = self._fresh_name(self._function.name)
        function = Function(name, (*counts, *items, *given), body, results, note, loop.span)
        positive = self._positive | {*counts, *items, *(more or ())}
        self._add(function, counts, items, given, totals, positive)
        partial = tuple(fresh(r) for r in results)
        b.append(Call(partial, name, (*extents, *given), loop.span))
        return partial

    def _add(
        self,
        function: Function,
        counts: tuple[Sym, ...],
        items: tuple[Sym, ...],
        given: tuple[Sym, ...],
        totals: tuple[Total, ...],
        positive: frozenset[Sym],
    ) -> None:
        roots = [self._alias.roots(s) for s in given if isinstance(s.type, Array)]
        restrict = len(frozenset[Sym]().union(*roots)) == sum(map(len, roots))
        self.kernels.append(
            Kernel(
                function.name,
                function,
                counts,
                items,
                given,
                totals,
                positive,
                self._known,
                restrict,
                function.span,
            )
        )

    def single(self, group: Block, read: tuple[Sym, ...]) -> Block:
        """A kernel of one work item that runs the statements; `read`: what the host asks for."""

        def never(_: Store) -> bool:
            return False

        body = with_atomics(group, never, self._affine)
        span = group[0].span
        if read:
            return self._reading(body, read, span)
        given = tuple(sorted(free(body), key=lambda s: s.uid))
        name = self._fresh_name(self._function.name)
        line = f"line {span.line}" if span.line > 0 else ""
        function = Function(name, given, body, (), line, span)
        self._add(function, (), (), given, (), self._positive)
        return (Call((), name, given, span),)

    def _reading(self, body: Block, read: tuple[Sym, ...], span: Span) -> Block:
        """As totals of one turn of one work item."""
        count, turn, first, items = (Sym(n, INT64) for n in ("n_items", "turn", "first", "items"))
        params, results = tuple(map(fresh, read)), tuple(map(fresh, read))
        zeros = tuple(const_of(False if s.type == BOOL else 0, s.type) for s in read)
        loop = Loop(turn, first, count, items, params, zeros, body, read, results, None, span)
        totals = tuple(
            Total("first", None, s.type, z)
            for s, z in zip(read, zeros, strict=True)
            if isinstance(s.type, Scalar)
        )
        given = tuple(sorted(free(body), key=lambda s: s.uid))
        name = self._fresh_name(self._function.name)
        line = f"line {span.line}" if span.line > 0 else ""
        function = Function(name, (count, first, items, *given), (loop,), results, line, span)
        positive = self._positive | {count, first, items, turn}
        self._add(function, (count,), (first, items), given, totals, positive)
        return (Call(read, name, (ONE, *given), span),)

    # what is left after the loop

    def _results(self, b: Builder, nest: Nest, extents: tuple[Atom, ...], partial: dict[int, Sym]) -> None:
        loop = nest.loops[0]
        for k, (kind, init, r) in enumerate(zip(nest.turns[0].kinds, loop.inits, loop.results, strict=True)):
            match kind:
                case Same() if isinstance(r.type, Array):
                    assert isinstance(init, Sym)
                    b.append(View(r, init, (Slice(),) * r.type.ndim, span=loop.span))
                case Same():
                    b.append(Let(r, "stop_gradient", (init,), None, loop.span))
                case Count():
                    moved = b.let("mul", kind.by(b), extents[0], type=INT64)
                    b.append(Let(r, "add", (init, moved), None, loop.span))
                case Reduction() if kind.op in ("add", "mul"):
                    b.append(Let(r, kind.op, (init, partial[k]), kind.fn, loop.span))
                case Reduction():
                    b.append(Let(r, "stop_gradient", (partial[k],), None, loop.span))


class _Walk:
    """The places along the axes of turns that a work item takes, `items` apart; the last axis is the fastest.

    Divisions are made once, before the loop: from turn to turn the places are stepped, with carries. places: (in the
    loop) the places, by the axes' names; steps: what comes after the turn. params, inits, nexts, results: what the loop
    carries for it. known: symbols that are places.
    """

    def __init__(
        self,
        outer: Builder,
        turn: Sym,
        first: Sym,
        items: Sym,
        counts: tuple[Sym, ...],
        axes: tuple[Sym, ...],
    ):
        self.params: tuple[Sym, ...] = ()
        self.inits: tuple[Atom, ...] = ()
        self.nexts: tuple[Atom, ...] = ()
        self.results: tuple[Sym, ...] = ()
        self.steps: Block = ()
        span = outer.span
        if len(axes) == 1:
            self.places = (Let(axes[0], "nonneg", (turn,), None, span),)
            self.known = {axes[0]}
            return
        sides = [
            outer.let("max", n, ONE, type=INT64, name="side") for n in counts
        ]  # there may be no turns at all
        self.inits, strides = (
            _digits(outer, n, sides, axes, what) for n, what in ((first, "at"), (items, "step"))
        )
        self.params = tuple(Sym(f"{a.name}_at", INT64) for a in axes)
        self.results = tuple(Sym(f"{a.name}_end", INT64) for a in axes)
        self.places = tuple(
            Let(a, "nonneg", (p,), None, span) for a, p in zip(axes, self.params, strict=True)
        )
        b = Builder(span)
        nexts: list[Atom] = []
        carry: Atom | None = None
        for k in range(len(axes) - 1, -1, -1):
            name = f"{axes[k].name}_next"
            at: Atom = b.let("add", self.params[k], strides[k], type=INT64, name=name)
            if carry is not None:
                at = b.let("add", at, carry, type=INT64, name=name)
            if k > 0:
                over = b.let("ge", at, counts[k], type=BOOL, name="over")
                carry = b.let("cast", over, type=INT64, name="carry")
                less = b.let("sub", at, counts[k], type=INT64, name="less")
                at = b.let("select", over, less, at, type=INT64, name=name)
            nexts.insert(0, at)
        self.nexts, self.steps = tuple(nexts), b.block()
        self.known = {
            *axes,
            *self.params,
            *(a for a in (*self.inits, *strides, *nexts) if isinstance(a, Sym)),
        }


def _digits(
    b: Builder, number: Sym, counts: Sequence[Atom], axes: tuple[Sym, ...], what: str
) -> tuple[Atom, ...]:
    """A number of turns as places along the axes."""
    made: list[Atom] = []
    rest: Atom = number
    for k in range(len(axes) - 1, 0, -1):
        made.insert(0, b.let("mod", rest, counts[k], type=INT64, name=f"{axes[k].name}_{what}"))
        rest = b.let("floordiv", rest, counts[k], type=INT64, name="rest")
    return (rest, *made)


def _neutral(kind: object, init: Atom) -> Atom:
    """What a work item starts a total from."""
    assert isinstance(kind, Reduction)
    if kind.op in ("min", "max", "and_", "or_"):
        return init
    return const_of(0 if kind.op == "add" else 1, init.type)


class _Casts(Rewriter):
    """Takes out casts of numbers from the host."""

    def __init__(self, outside: Set[Sym]):
        super().__init__()
        self._outside = outside
        self.found: dict[tuple[Atom, Type], Let] = {}

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        stmt = self.rebuild(stmt)
        if not isinstance(stmt, Let) or stmt.op != "cast" or stmt.args[0] not in self._outside:
            return (stmt,)
        first = self.found.setdefault((stmt.args[0], stmt.target.type), stmt)
        self.env[stmt.target] = first.target
        return ()


def _with_casts_before(b: Builder, body: Block, own: Set[Sym]) -> Block:
    """The body with casts of the host's numbers made by the host: a float32 kernel is given a float32."""
    casts = _Casts(free(body) - own)
    body = casts.block(body)
    for cast in casts.found.values():
        b.append(cast)
    return body


_INTEGERS = frozenset({"dim", "add", "sub", "mul", "neg", "min", "max", "nonneg"})


def _invariant(heads: Sequence[Stmt], inside: Set[Sym | None]) -> list[Stmt]:
    """Sums and products of integers that are the same in every turn; they cannot fail."""
    found: list[Stmt] = []
    known = set(inside)
    for s in heads:
        if isinstance(s, Let) and s.op in _INTEGERS and s.target.type == INT64 and known.isdisjoint(s.args):
            found.append(s)
            known.discard(s.target)
    return found


def _only_loop(loop: Loop) -> tuple[list[Stmt], Loop] | None:
    """What stands before the one loop that a loop's body is, and that loop, if it carries what the outer one does."""
    *heads, inner = loop.body or (None,)
    if not isinstance(inner, Loop) or inner.index is None or not all(isinstance(s, Let) for s in heads):
        return None
    through = loop.params == inner.inits and loop.nexts == inner.results
    return (list(heads), inner) if through else None  # type: ignore[arg-type]
