"""Writes one nest of parallel turns as a kernel, and the host's launch of it.

Nests of up to three loops with nothing between them are one kernel with as many axes; the first item of an axis is
the loop's first turn. Sums, products, minima and maxima that the nest carries are totals: a work item takes every so
many turns of the nest, in order, the work-group combines what its items come to, and the host the groups.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set

from adjit.analysis.alias import Affine, Alias
from adjit.analysis.carried import Reduction
from adjit.analysis.device_turns import DeviceTurns, NotItemsError
from adjit.analysis.item_nests import Nest, item_nest, turn_of
from adjit.analysis.places import places_of
from adjit.analysis.trips import trip_count
from adjit.ir.builder import Builder, const_of
from adjit.ir.core import (
    ONE,
    Alloc,
    Atom,
    Block,
    Call,
    Const,
    Function,
    Let,
    Load,
    Loop,
    Span,
    Stmt,
    Store,
    Sym,
    fresh,
)
from adjit.ir.types import BOOL, INT64, Array, Scalar, Type
from adjit.ir.visit import Rewriter, free, walk
from adjit.transform.atomics import with_atomics
from adjit.transform.item_sums import item_sums
from adjit.transform.kernel_body import Kernel, Total


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
        nest = item_nest(loop, self._turns)
        for s in walk(loop.body):
            if isinstance(s, Alloc) and not all(isinstance(n, Const) for n in s.shape):
                raise NotItemsError(f"it makes the array '{s.target.name}', whose size is not a constant", s)
            if isinstance(s, Load | Store) and on_host(s.array):
                raise NotItemsError(
                    f"it reads or writes '{s.array.name}', which host code reads and writes too", s
                )
        return self._written(nest)

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
            env = nest.same()
            block = (*self._indices(nest, items), *self._counted(b, nest, items, env), *body)
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

        made = with_atomics(block, meets, self._affine, nest.last.nexts)
        return item_sums(made, self._alias.roots)

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

    def _counted(self, b: Builder, nest: Nest, items: tuple[Sym, ...], env: dict[Sym, Atom]) -> Block:
        """Counters: a slot for each work item, from its number along each axis."""
        if not nest.counters:
            return ()
        inside = Builder(nest.loops[0].span)
        turns = [
            turn_of(inside, one, i) if i is one.index else i for one, i in zip(nest.loops, items, strict=True)
        ]
        env |= nest.counted(nest.amounts(b), inside, turns)
        return inside.block()

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
        env = nest.same()
        total: Atom = counts[0]
        outer = Builder(loop.span)
        for n in counts[1:]:
            total = outer.let("mul", total, n, type=INT64, name="turns")
        walk = _Walk(outer, turn, first, items, counts, axes)
        block = (*walk.places, *self._indices(nest, axes), *self._counted(b, nest, axes, env), *body)
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
                case Reduction() if kind.op in ("add", "mul"):
                    b.append(Let(r, kind.op, (init, partial[k]), kind.fn, loop.span))
                case Reduction():
                    b.append(Let(r, "stop_gradient", (partial[k],), None, loop.span))
                case _:
                    nest.after(b, k, extents[0], r)


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
