"""Lines of a recurrence that lie across memory are taken eight at a time, each from end to end.

    for j in range(1, n): pivot = a * p[j - 1] + b; p[j] = -a / pivot
                          for i in range(m): q[i, j] = (u[i, j] - a * q[i, j - 1]) / pivot
    ->  for j in range(1, n): pivot = a * p[j - 1] + b; p[j] = -a / pivot; kept[j - 1] = pivot
        for i in range(0, m - 7, 8): for j in range(1, n): pivot = kept[j - 1]
                                                          for r in range(8): q[i + r, j] = ...
        and the lines that are left, as they were

The inner loop steps from row to row, so each element is fetched with a cache line of its own, eight times over. Eight
rows side by side use what was fetched, and still give the processor eight chains that do not wait for each other
(alternating directions on 128 x 128: the primal takes 0.16 in place of 0.54 ms).

Only where turns of the inner loops meet in one line, if at all: every element is computed as it was, in the same order
of its line, and results keep their bits. What stands around the inner loops (the pivots) is done first; where it may
raise, the lines belong to arrays that the function made, which nobody sees then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from adjit.analysis.alias import Alias
from adjit.analysis.memory_order import MemoryOrder, moved_by
from adjit.analysis.raising import may_raise
from adjit.analysis.turns import Access, Turns
from adjit.ir.builder import Builder
from adjit.ir.core import (
    ONE,
    ZERO,
    Alloc,
    Atom,
    Block,
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
from adjit.ir.types import INT64, Array, Scalar
from adjit.ir.visit import Rewriter, defined, walk
from adjit.transform.around import Around, is_counted

_AT_ONCE = 8
"""Numbers of double precision in a cache line."""
_MOST = 60
"""Statements of lines that are written twice, at most."""


def abreast(function: Function, raising: bool = False) -> Function:
    """The function with such lines (see the module). raising: whether divisions by zero raise by themselves."""
    if not any(_around_loops(s) for s in walk(function.body)):
        return function
    return replace(function, body=_Abreast(function, raising).block(function.body))


def _around_loops(stmt: Stmt) -> bool:
    return isinstance(stmt, Loop) and is_counted(stmt) and any(isinstance(s, Loop) for s in stmt.body)


@dataclass(frozen=True)
class _Plan:
    """around: the loop. lines: those inside it, over one range from `lo` to `hi`, whose statements are `ends`.

    first: the statements around the lines if these, or what turns hand on, come before; again: those that each block
    of lines repeats; kept: what is written down for each turn in between.
    """

    around: Loop
    lines: tuple[Loop, ...]
    ends: Block
    lo: Atom
    hi: Atom
    first: Block | None
    again: Block
    kept: tuple[Sym, ...]


class _Abreast(Rewriter):
    def __init__(self, function: Function, raising: bool):
        super().__init__()
        self._raising = raising
        self._turns, self._alias = Turns(function), Alias(function)
        self._memory = MemoryOrder.of(function)
        self._made = {s.target for s in walk(function.body) if isinstance(s, Alloc)}

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        plan = self._plan(stmt) if isinstance(stmt, Loop) and _around_loops(stmt) else None
        return (self.rebuild(stmt),) if plan is None else _written(plan)

    def _plan(self, loop: Loop) -> _Plan | None:
        lines = tuple(s for s in loop.body if isinstance(s, Loop) and self._is_line_loop(s))
        rest = tuple(s for s in loop.body if not any(s is line for line in lines))
        if sum(len(line.body) for line in lines) > _MOST or not self._pays(loop, lines):
            return None
        if not self._in_lines(loop, lines) or not self._may_go_first(loop, rest, lines):
            return None
        around = Around(self._turns, loop, rest)
        found = around.range_of(lines)
        if found is None:
            return None
        lo, hi, ends = found
        again, kept = around.needed(lines)
        if not all(isinstance(s.type, Scalar) and s.type.lanes == 1 for s in kept):
            return None
        repeated = {id(s) for s in again}
        alone = not loop.results and not kept and all(id(s) in repeated or self._is_pure(s) for s in rest)
        return _Plan(loop, lines, ends, lo, hi, None if alone else rest, again, kept)

    def _is_line_loop(self, loop: Loop) -> bool:
        """Whether it is straight-line code that hands nothing from turn to turn and cannot raise."""
        if not is_counted(loop) or loop.step != ONE or loop.params:
            return False
        return all(isinstance(s, Store) or self._is_pure(s) for s in loop.body)

    def _is_pure(self, stmt: Stmt) -> bool:
        return isinstance(stmt, Load) or (isinstance(stmt, Let) and not (self._raising and may_raise(stmt)))

    def _pays(self, loop: Loop, lines: Sequence[Loop]) -> bool:
        """Whether lines lie along memory: most of what their loop moves it moves from row to row."""
        good = bad = 0
        for line in lines:
            moved = moved_by((loop.index, line.index), (*loop.body, *line.body))
            for s in line.body:
                costs = self._memory.costs(s, moved) if isinstance(s, Load | Store) else None
                if costs is not None and {loop.index, line.index} <= costs.keys():
                    good += costs[loop.index] < costs[line.index]
                    bad += costs[loop.index] > costs[line.index]
        return good > 2 * bad

    def _in_lines(self, loop: Loop, lines: Sequence[Loop]) -> bool:
        """Whether turns that meet in memory are of one line."""
        accesses = [(s, line) for line in lines for s in line.body if isinstance(s, Load | Store)]
        inside = defined(loop.body)
        return all(
            self._one_line(store, line, other, its, inside) or self._turns.apart(store, other, loop)
            for store, line in accesses
            if isinstance(store, Store)
            for other, its in accesses
        )

    def _one_line(self, a: Access, of_a: Loop, b: Access, of_b: Loop, inside: set[Sym]) -> bool:
        if a.array != b.array or a.array in inside:
            return False
        affine = self._turns.affine
        for x, y in zip(a.index, b.index, strict=True):
            (base, offset), (other, its) = affine.split(x), affine.split(y)
            if (base, other, offset) == (of_a.index, of_b.index, its):
                if affine.nonnegative(x) and affine.nonnegative(y):
                    return True
        return False

    def _may_go_first(self, loop: Loop, rest: Block, lines: Sequence[Loop]) -> bool:
        """Whether the statements around the lines touch nothing of theirs, and raise only where nobody sees it."""
        every = list(walk(rest))
        if not all(isinstance(s, Let | Load | Store | Loop | If | Raise) for s in every):
            return False
        own = [s for line in lines for s in line.body if isinstance(s, Load | Store)]
        for s in (s for s in every if isinstance(s, Load | Store)):
            for other in own:
                if isinstance(s, Store) or isinstance(other, Store):
                    if not self._turns.apart(s, other, loop):
                        return False
        if any(
            isinstance(s, Raise) or (isinstance(s, Let) and self._raising and may_raise(s)) for s in every
        ):
            return all(self._alias.roots(s.array) <= self._made for s in own if isinstance(s, Store))
        return True


def _written(plan: _Plan) -> Block:
    loop = plan.around
    b = Builder(loop.span, simplify=True)
    assert loop.lo is not None and loop.hi is not None
    begin, end = b.cast(loop.lo, INT64), b.cast(loop.hi, INT64)
    up = loop.step == ONE

    def turn(index: Sym) -> Atom:
        return b.op("sub", index, begin) if up else b.op("sub", begin, index)

    arrays: dict[Sym, Sym] = {}
    if plan.kept:
        count = b.op("max", b.op("sub", end, begin) if up else b.op("sub", begin, end), 0)
        for s in plan.kept:
            assert isinstance(s.type, Scalar)
            arrays[s] = b.alloc(s.name, Array(s.type, 1, "C"), (count,))
    if plan.first is not None:
        assert loop.index is not None
        with b.collect() as body:
            b.extend(plan.first)
            for s, array in arrays.items():
                b.store(array, (turn(loop.index),), s)
        b.loop(replace(loop, body=tuple(body)))
    ends = Rewriter({}, fresh)
    b.extend(ends.block(plan.ends))
    lo, hi = ends.atom(plan.lo), ends.atom(plan.hi)

    def across(of: Callable[[Rewriter, Loop], None]) -> Loop:
        """The loop around blocks of lines."""
        assert loop.index is not None
        index = fresh(loop.index)
        own = Rewriter({loop.index: index}, fresh)
        with b.collect() as body:
            for s, array in arrays.items():
                own.env[s] = b.load(array, (turn(index),))
            b.extend(own.block(plan.again))
            for line in plan.lines:
                of(own, line)
        return replace(loop, index=index, params=(), inits=(), body=tuple(body), nexts=(), results=())

    first = Sym("line", INT64)

    def eight(own: Rewriter, line: Loop) -> None:
        assert line.index is not None
        r = Sym("side", INT64)
        with b.collect() as body:
            its = Rewriter({**own.env, line.index: b.op("add", first, r)}, fresh)
            b.extend(its.block(line.body))
        b.loop(replace(line, index=r, lo=ZERO, hi=const(_AT_ONCE), body=tuple(body)))

    with b.collect() as block:
        b.loop(across(eight))
    last = b.op("sub", hi, _AT_ONCE - 1)
    b.loop(Loop(first, lo, last, const(_AT_ONCE), (), (), tuple(block), (), (), None, loop.span))
    done = b.op("mul", b.op("floordiv", b.op("max", b.op("sub", hi, lo), 0), _AT_ONCE), _AT_ONCE)
    left = b.op("add", lo, done)

    def others(own: Rewriter, line: Loop) -> None:
        b.extend(own.block((replace(line, lo=left, hi=hi),)))

    with b.collect() as rest:
        b.loop(across(others))
    b.if_(b.op("lt", left, hi), tuple(rest))
    return b.block()
