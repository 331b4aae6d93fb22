"""The greatest (or least) of a loop's turns as totals: first what it is, then the first turn that reaches it.

    for i: m = max(m, f(x[i]))       ->   for i, in parallel: offered[i] = f(x[i])     (where it is not x[i] itself)
                                          top = m; for i, in parallel: top = max(top, offered[i])
                                          at = none; for i, in parallel: if offered[i] == top: at = min(at, i)
                                          if top > m: m = f(x[at])

So it runs on a device, and the derivative goes to the turn that it comes from, as in order: at ties the first, or the
last where the code says so. What else is taken from that turn (`np.argmax`) is computed there again. Loops that are
in a work item stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from adjit.analysis.alias import Affine, Alias
from adjit.analysis.carried import Carried
from adjit.analysis.device_turns import DeviceTurns
from adjit.analysis.extremes import Extreme, Turn, extreme_of
from adjit.analysis.item_nests import turn_of
from adjit.analysis.trips import trip_count
from adjit.ir.builder import Builder, const_of
from adjit.ir.core import (
    FALSE,
    ONE,
    ZERO,
    Atom,
    Block,
    Const,
    Function,
    If,
    Let,
    Load,
    Loop,
    Stmt,
    Store,
    Sym,
    View,
    const,
    fresh,
)
from adjit.ir.types import BOOL, INT64, Array, Scalar
from adjit.ir.visit import Rewriter, operands, targets, used, walk, yields
from adjit.transform.atomics import living
from adjit.transform.choices import choices

_NONE = const(2**62)
_EXACT = frozenset({"neg", "pos", "abs", "stop_gradient"})


def extremes(function: Function, derived: bool) -> Function:
    """The function with such loops as totals (see the module).

    derived: whether a derivative is taken of it; without, those stay that are totals by themselves.
    """
    function = choices(function)
    if not any(isinstance(s, Loop) and extreme_of(s) for s in walk(function.body)):
        return function
    rewriter = _Extremes(function, derived)
    body = rewriter.block(function.body)
    return replace(function, body=body, results=rewriter.atoms(function.results))


class _Extremes(Rewriter):
    def __init__(self, function: Function, derived: bool):
        super().__init__()
        self._alias = Alias(function)
        self._turns = DeviceTurns(function, self._alias, Affine.of(function))
        self._derived = derived

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        if not isinstance(stmt, Loop) or stmt.index is None:
            return (self.rebuild(stmt),)
        nest = self._turns.may_be_items(stmt)
        if nest and not self._derived:
            return (stmt,)
        found = extreme_of(stmt)
        if found is not None and not (nest and _is_total(found)):
            written = _Written(found, self._alias).statements()
            if written is not None:
                return (*self.block(written[0]), *written[1])
        return (stmt,) if nest else (self.rebuild(stmt),)


def _is_total(found: Extreme) -> bool:
    """Whether it carries no derivative."""
    value = found.turn.value
    if not value.type.differentiable:
        return True
    made = {t: s for s in found.loops[-1].body for t in targets(s)}
    let = made.get(value) if isinstance(value, Sym) else None
    return isinstance(let, Let) and let.op == "stop_gradient"


Step = Callable[[Builder, Turn, Atom, tuple[Sym, ...]], tuple[Atom, ...]]
"""What a turn carries on, from what it offers, its number, and what it was given."""


@dataclass(frozen=True)
class _Range:
    """A loop's range, known before the first loop."""

    lo: Atom
    hi: Atom
    step: Const
    trips: Atom


@dataclass(frozen=True)
class _Nest:
    """What computes what the turns offer: by loop, outermost first, its index, its range, and statements."""

    indices: tuple[Sym, ...]
    ranges: tuple[_Range, ...]
    slices: tuple[Block, ...]
    turn: Turn

    def run(self, b: Builder, inits: tuple[Atom, ...], step: Step) -> tuple[Sym, ...]:
        """All turns, as loops that carry something."""
        env: dict[Sym, Atom] = {}

        def level(d: int, carried: tuple[Atom, ...], number: Atom) -> tuple[Sym, ...]:
            index, r = fresh(self.indices[d]), self.ranges[d]
            env[self.indices[d]] = index
            params = tuple(Sym(_name(a), a.type) for a in carried)
            with b.collect() as body:
                b.extend(Rewriter(env, fresh).block(self.slices[d]))
                number = b.op("add", b.op("mul", number, r.trips), _turn(b, r, index))
                nexts: tuple[Atom, ...]
                if d + 1 < len(self.ranges):
                    nexts = level(d + 1, params, number)
                else:
                    nexts = step(b, self._offered(env), number, params)
            results = tuple(map(fresh, params))
            flows = (params, carried, tuple(body), nexts, results, None, b.span)
            b.append(Loop(index, r.lo, r.hi, r.step, *flows, parallel=True))
            return results

        return level(0, inits, ZERO)

    def _offered(self, env: dict[Sym, Atom]) -> Turn:
        turn, rewriter = self.turn, Rewriter(env)
        return replace(turn, value=rewriter.atom(turn.value), guards=rewriter.atoms(turn.guards))

    def count(self, b: Builder) -> Atom:
        """How many turns there are."""
        total: Atom = ONE
        for r in self.ranges:
            total = b.op("mul", total, r.trips)
        return total

    def again(self, b: Builder, number: Atom, wanted: tuple[Atom, ...]) -> tuple[Atom, ...]:
        """Numbers of one turn, computed where `b` stands."""
        env: dict[Sym, Atom] = {}
        places: list[Atom] = []
        for r in reversed(self.ranges[1:]):
            places.insert(0, b.op("mod", number, r.trips))
            number = b.op("floordiv", number, r.trips)
        for index, r, place in zip(self.indices, self.ranges, (number, *places), strict=True):
            moved = place if r.step == ONE else b.op("mul", place, r.step)
            env[index] = b.op("nonneg", a) if isinstance(a := b.op("add", moved, r.lo), Sym) and _up(r) else a
        for block in self.slices:
            b.extend(Rewriter(env, fresh).block(block))
        return Rewriter(env).atoms(wanted)


class _Written:
    """Writes the totals of one extreme."""

    def __init__(self, found: Extreme, alias: Alias):
        self._found, self._alias = found, alias
        self._b = Builder(found.loops[0].span, simplify=True)

    def statements(self) -> tuple[Block, Block] | None:
        """The loop without the extreme, and what computes that; None where it is not to be had so."""
        found, turn = self._found, self._found.turn
        rest, ranges = self._without(0), self._ranges()
        offered = self._slices((turn.value, *turn.guards))
        winner = self._slices((turn.value, *(a for _, a in found.with_it)))
        if rest is None or offered is None or winner is None or ranges is None:
            return None
        if not any(isinstance(s, Load) for block in offered for s in walk(block)):
            return None  # numbers of the host
        if turn.last and turn.guards:
            return None
        indices = tuple(one.index for one in found.loops if one.index is not None)
        nest = _Nest(indices, ranges, offered, turn)
        self._totals(
            nest if _exact(turn.value, found.loops[-1].body) else self._kept(nest),
            _Nest(indices, ranges, winner, turn),
        )
        idle = not rest.params and all(isinstance(s, Let | Load | View | Loop | If) for s in walk(rest.body))
        return () if idle else (rest,), self._b.block()

    # what is there

    def _ranges(self) -> tuple[_Range, ...] | None:
        carried = Carried(self._found.loops[0])
        made: list[_Range] = []
        for one in self._found.loops:
            if not isinstance(one.step, Const) or one.step.integer == 0 or one.lo is None or one.hi is None:
                return None
            if one.index is None or one.index.type != INT64:
                return None
            lo, hi = carried.fixed(one.lo), carried.fixed(one.hi)
            if lo is None or hi is None:
                return None
            ends = lo(self._b), hi(self._b)
            made.append(_Range(*ends, one.step, trip_count(self._b, *ends, one.step)))
        return tuple(made)

    def _slices(self, wanted: Iterable[Atom]) -> tuple[Block, ...] | None:
        """By loop what computes numbers of a turn; None where they hang on other turns, or on what turns write."""
        loops = self._found.loops
        written = [s.array for s in walk(loops[0].body) if isinstance(s, Store)]
        roots = frozenset[Sym]().union(*map(self._alias.roots, written))
        needed: set[Atom] = set(wanted)
        found: list[Block] = []
        for loop in reversed(loops):
            kept: list[Stmt] = []
            for s in reversed(loop.body):
                if needed.isdisjoint(targets(s)):
                    continue
                parts = list(walk((s,)))
                if s in loops or not all(isinstance(x, Let | Load | View | Loop | If) for x in parts):
                    return None
                if any(isinstance(x, Load) and self._alias.roots(x.array) & roots for x in parts):
                    return None
                needed.update(a for x in parts for a in (*operands(x), *yields(x)))
                kept.insert(0, s)
            found.insert(0, tuple(kept))
        return None if any(p in needed for one in loops for p in one.params) else tuple(found)

    def _without(self, d: int) -> Loop | None:
        """The loop, and those inside, without what is carried for the extreme; None if something else reads that."""
        loop, gone = self._found.loops[d], self._found.groups[d]
        body = loop.body
        if d + 1 < len(self._found.loops):
            inner = self._without(d + 1)
            if inner is None:
                return None
            body = tuple(inner if s is self._found.loops[d + 1] else s for s in body)

        def left(items: Sequence[Atom]) -> tuple[Atom, ...]:
            return tuple(a for k, a in enumerate(items) if k not in gone)

        nexts = left(loop.nexts)
        body = living(body, nexts)
        read = used(body) | {*nexts}
        if any(loop.params[k] in read for k in gone):
            return None
        if d + 1 < len(self._found.loops):
            inside = self._found.loops[d + 1].results
            if any(inside[k] in read for k in self._found.groups[d + 1]):
                return None
        params, results = left(loop.params), left(loop.results)
        return replace(loop, params=params, inits=left(loop.inits), body=body, nexts=nexts, results=results)  # type: ignore[arg-type]

    # what is written

    def _kept(self, nest: _Nest) -> _Nest:
        """What turns offer as numbers in an array: computed anew they might be others in the last bit."""
        b, type = self._b, nest.turn.value.type
        assert isinstance(type, Scalar)
        count = nest.count(b)
        array = b.alloc("offered", Array(type, 1, "C"), (count,))
        never = const_of(float("-inf") if nest.turn.op == "max" else float("inf"), type)

        def keep(b: Builder, turn: Turn, number: Atom, _: tuple[Sym, ...]) -> tuple[Atom, ...]:
            value: Atom = b.let("stop_gradient", turn.value, type=type)
            for g in turn.guards:
                value = b.op("select", g, value, never)
            b.store(array, (number,), value)
            return ()

        nest.run(b, (), keep)
        index, value = Sym("i", INT64), Sym("offered", type)
        turn = replace(nest.turn, value=value, guards=())
        return _Nest(
            (index,), (_Range(ZERO, count, ONE, count),), ((Load(value, array, (index,), b.span),),), turn
        )

    def _totals(self, nest: _Nest, winner: _Nest) -> None:
        b, turn = self._b, nest.turn
        init = self._init(self._found.places[0])
        type = turn.value.type
        assert isinstance(type, Scalar)

        def top(b: Builder, t: Turn, _: Atom, carried: tuple[Sym, ...]) -> tuple[Atom, ...]:
            value = b.let("stop_gradient", t.value, type=type)
            args = (value, carried[0]) if t.last else (carried[0], value)
            best: Atom = b.let(t.op, *args, type=type, fn=t.op, name=carried[0].name)
            nan: Atom = b.op("ne", value, value) if t.nans else FALSE
            for g in t.guards:
                best = b.let("select", g, best, carried[0], type=type, name=carried[0].name)
                nan = b.op("and_", g, nan)
            return (best, b.let("or_", carried[1], nan, type=BOOL)) if t.nans else (best,)

        start: Atom = b.let("stop_gradient", init, type=type, name="top")
        best, *nan = nest.run(b, (start, FALSE) if turn.nans else (start,), top)

        none = const(-1) if turn.last else _NONE

        def first(b: Builder, t: Turn, number: Atom, carried: tuple[Sym, ...]) -> tuple[Atom, ...]:
            value = b.let("stop_gradient", t.value, type=type)
            hit = b.op("eq", value, best)
            if t.nans:
                hit = b.op("select", nan[0], b.op("ne", value, value), hit)
            for g in t.guards:
                hit = b.op("and_", g, hit)
            here = b.let("select", hit, number, none, type=INT64, name="here")
            op = "max" if t.last else "min"
            return (b.let(op, carried[0], here, type=INT64, fn=op, name="at"),)

        (at,) = nest.run(b, (none,), first)
        won = b.op("ge", at, ZERO) if turn.last else b.op("gt" if turn.op == "max" else "lt", best, start)
        if turn.nans:
            number = b.op("eq", start, start)
            won = (
                b.op("and_", won, b.op("or_", nan[0], number))
                if turn.last
                else b.op("and_", b.op("or_", won, nan[0]), number)
            )
        self._chosen(won, at, winner)

    def _init(self, k: int) -> Atom:
        return self._found.loops[0].inits[k]

    def _chosen(self, won: Atom, at: Atom, winner: _Nest) -> None:
        b, found = self._b, self._found
        places = (found.places[0], *(more[0] for more, _ in found.with_it))
        with b.collect() as then:
            values = winner.again(b, at, (winner.turn.value, *(a for _, a in found.with_it)))
        results = tuple(found.loops[0].results[k] for k in places)
        inits = tuple(map(self._init, places))
        b.append(If(won, tuple(then), (), values, inits, results, b.span))


def _name(a: Atom) -> str:
    return a.name if isinstance(a, Sym) else "at" if a.type == INT64 else "any_nan"


def _turn(b: Builder, r: _Range, index: Sym) -> Atom:
    """The number of the turn, from its index."""
    loop = Loop(index, r.lo, r.hi, r.step, (), (), (), (), ())
    return turn_of(b, loop, index)


def _up(r: _Range) -> bool:
    return r.step.integer > 0 and isinstance(r.lo, Const) and r.lo.integer >= 0


def _exact(value: Atom, body: Block) -> bool:
    """Whether the number has the same bits wherever it is computed: it is loaded, or an integer."""
    made = {t: s for s in body for t in targets(s)}
    while isinstance(value, Sym):
        if not isinstance(value.type, Scalar) or not value.type.is_float:
            return True
        s = made.get(value)
        if not isinstance(s, Let) or s.op not in _EXACT:
            return isinstance(s, Load)
        value = s.args[0]
    return True
