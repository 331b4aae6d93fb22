"""Rows of a recurrence in place are swept four at once, each two places (or as many as it takes) behind the one before.

    for i in range(1, n - 1): for j in range(1, m - 1): A[i, j] = (A[i - 1, j + 1] + A[i, j - 1] + A[i, j] + ...) / 9
    ->  for i in range(1, n - 4, 4):
            for r in range(4): for p in range(6 - 2 * r): A[i + r, 1 + p] = ...            what the rows begin with
            for t in range(6, m - 2): A[i, 1 + t] = ...; A[i + 1, t - 1] = ...; A[i + 2, t - 3] = ...; ...
            for r in range(4): for p in range(m - 2 - 2 * r, m - 2): A[i + r, 1 + p] = ...  and end with
        the rows that are left, as they were

Each element waits for the one before it in its row: the processor does one addition at a time. Rows that are far enough
behind each other need nothing of each other in a turn, and it does four (a sweep over nine points takes a third of its
time). Every element is computed as it was from the same numbers, since no access of a row meets one of another row in
another order: results keep their bits. Only places that the indices of both loops name by themselves, plus constants,
are compared; all else that is stored to must be apart. What turns hand on are cursors, which grow by the same number
each turn: in every row they begin where the row before would have left them. Where a row divides by a number that is
the same everywhere, that is looked at first; if it is zero, the loops run as they were, and raise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from adjit.analysis.raising import may_raise
from adjit.analysis.turns import Access, Turns
from adjit.ir.builder import Builder, const_of
from adjit.ir.core import (
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
    Raise,
    Stmt,
    Store,
    Sym,
    const,
    fresh,
)
from adjit.ir.types import INT64
from adjit.ir.visit import Rewriter, defined, operands, walk
from adjit.transform.around import Around

_ROWS = 4
_MOST = 48
"""Statements of an inner loop that is written seven times, at most."""
_FARTHEST = 4
"""Places that a row may be behind the one before."""
_WORTH = 8
"""Turns that four rows must have together to be worth it."""


def wavefront(function: Function, raising: bool = False) -> Function:
    """The function with such sweeps (see the module). raising: whether divisions by zero raise by themselves."""
    if not any(_inner(s) for s in walk(function.body)):
        return function
    return replace(function, body=_Wavefront(function, raising).block(function.body))


def _inner(stmt: Stmt) -> Loop | None:
    """The one inner loop of two counted ones."""
    if not isinstance(stmt, Loop) or not _is_counted(stmt):
        return None
    found = [s for s in stmt.body if isinstance(s, Loop)]
    return found[0] if len(found) == 1 and _is_counted(found[0]) else None


def _is_counted(loop: Loop) -> bool:
    plain = loop.index is not None and loop.index.type == INT64 and loop.stop is None and not loop.parallel
    return plain and isinstance(loop.step, Const) and abs(loop.step.integer) == 1


@dataclass(frozen=True)
class _Cursor:
    """What both loops carry, by position, and by how much it grows in each turn of the inner one."""

    outer: int
    inner: int
    by: int


@dataclass(frozen=True)
class _Plan:
    """rows: the loop around; row: the one inside, whose range is from `lo` to `hi`, made by `ends`.

    again: what stands between the two, for each row. behind: how many places a row is behind the one before.
    guards: what must be false, made by `ends` too.
    """

    rows: Loop
    row: Loop
    lo: Atom
    hi: Atom
    ends: Block
    again: Block
    behind: int
    cursors: tuple[_Cursor, ...]
    guards: tuple[Atom, ...]


class _Wavefront(Rewriter):
    def __init__(self, function: Function, raising: bool):
        super().__init__()
        self._raising = raising
        self._turns = Turns(function)

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        plan = self._plan(stmt) if isinstance(stmt, Loop) else None
        return (self.rebuild(stmt),) if plan is None else _written(plan)

    def _plan(self, rows: Loop) -> _Plan | None:
        row = _inner(rows)
        if row is None or len(row.body) > _MOST:
            return None
        cursors = self._cursors(rows, row)
        rest = tuple(s for s in rows.body if s is not row)
        around = Around(self._turns, rows, rest)
        body, guards, zeros = self._parted(row.body)
        if cursors is None or any(isinstance(s, Store) for s in rest) or any(self._parted(rest)[1:]):
            return None
        if not all(isinstance(s, Let | Load) for s in rest) or not all(
            isinstance(s, Let | Load | Store) for s in body
        ):
            return None
        straight = replace(row, body=body)
        if not self._waits(straight):
            return None
        found, (again, kept) = around.range_of((row,)), around.needed((straight,))
        if found is None or not {rows.params[c.outer] for c in cursors}.issuperset(kept):
            return None
        lo, hi, ends = found
        made = around.steady((*guards, *zeros))
        behind = self._behind(rows, straight, {row.params[c.inner]: c.by for c in cursors})
        if made is None or behind is None or behind > _FARTHEST:
            return None
        b = Builder(row.span)
        false = (*guards, *(b.op("eq", a, const_of(0, a.type)) for a in zeros))
        known = {s.target: s for s in (*ends, *made)}
        ends = (*sorted(known.values(), key=lambda s: s.target.uid), *b.block())
        return _Plan(rows, straight, lo, hi, ends, again, behind, cursors, false)

    def _cursors(self, rows: Loop, row: Loop) -> tuple[_Cursor, ...] | None:
        """What the loops hand from turn to turn, if it is all cursors of both."""
        found: list[_Cursor] = []
        for k, p in enumerate(rows.params):
            at = row.results.index(rows.nexts[k]) if rows.nexts[k] in row.results else None
            if at is None or row.inits[at] != p or p.type != INT64:
                return None
            base, by = self._turns.affine.split(row.nexts[at])
            if base != row.params[at] or by == 0:
                return None
            found.append(_Cursor(k, at, by))
        return tuple(found) if len(found) == len(row.params) else None

    def _parted(self, block: Block) -> tuple[Block, tuple[Atom, ...], tuple[Atom, ...]]:
        """The block without branches that only raise; their conditions; what is divided by that raises by itself."""
        rest: list[Stmt] = []
        conditions: list[Atom] = []
        zeros: list[Atom] = []
        for s in block:
            if (
                isinstance(s, If)
                and not s.els
                and not s.results
                and all(isinstance(t, Raise) for t in s.then)
            ):
                conditions.append(s.cond)
                continue
            if self._raising and isinstance(s, Let) and may_raise(s):
                zeros.append(s.args[-1] if s.op != "pow" else s.target)
            rest.append(s)
        return tuple(rest), tuple(conditions), tuple(zeros)

    def _waits(self, row: Loop) -> bool:
        """Whether a turn stores what it makes of what one of the last turns has stored."""
        made = {s.target: s for s in row.body if isinstance(s, Let | Load)}
        for store in (s for s in row.body if isinstance(s, Store)):
            needed: set[Atom] = set()
            todo = [store.value]
            while todo:
                a = todo.pop()
                stmt = made.get(a) if isinstance(a, Sym) else None
                if stmt is None or a in needed:
                    continue
                needed.add(a)
                if isinstance(stmt, Load):
                    if stmt.array == store.array and self._follows(stmt, store, row):
                        return True
                else:
                    todo += operands(stmt)
        return False

    def _follows(self, load: Load, store: Store, row: Loop) -> bool:
        """Whether it loads what one of the two turns before has stored."""
        affine = self._turns.affine
        assert isinstance(row.step, Const)
        distance = 0
        for x, y in zip(load.index, store.index, strict=True):
            (base, offset), (other, its) = affine.split(x), affine.split(y)
            if base != other:
                return False
            if base == row.index:
                distance = (its - offset) * row.step.integer
            elif offset != its:
                return False
        return distance in (1, 2)

    def _behind(self, rows: Loop, row: Loop, cursors: Mapping[Sym, int]) -> int | None:
        """How many places each row must be behind the one before it; None if no number is enough."""
        accesses = [s for s in row.body if isinstance(s, Load | Store)]
        least = 0
        for one in accesses:
            for other in accesses:
                if isinstance(one, Store) or isinstance(other, Store):
                    needed = self._needed(one, other, rows, row, cursors)
                    if needed is None:
                        return None
                    least = max(least, needed)
        return least

    def _needed(
        self, first: Access, later: Access, rows: Loop, row: Loop, cursors: Mapping[Sym, int]
    ) -> int | None:
        """As `_behind`, for what a row touches by the first access and a row after it by the later one."""
        if self._turns.apart(first, later, rows):
            return 0
        if first.array != later.array or first.array in defined(rows.body):
            return None
        affine = self._turns.affine
        assert isinstance(rows.step, Const)
        assert isinstance(row.step, Const)
        below: set[int] = set()  # how many rows lie between them
        ahead: set[int] = set()  # how many places the first is ahead of the later one
        for x, y in zip(first.index, later.index, strict=True):
            (base, offset), (other, its) = affine.split(x), affine.split(y)
            if base != other or not (affine.nonnegative(x) and affine.nonnegative(y)):
                continue
            if isinstance(base, Sym) and abs(offset - its) < abs(cursors.get(base, 0)):
                return 0  # no other turn has the cursor there
            if base == rows.index:
                below.add((offset - its) * rows.step.integer)
            elif base == row.index:
                ahead.add((its - offset) * row.step.integer)
        if len(below) > 1 or len(ahead) > 1:
            return 0
        distance = next(iter(below), 1)
        if not 1 <= distance < _ROWS:
            return 0
        if not ahead:
            return None
        return max(0, -(-(next(iter(ahead)) + 1) // distance))


def _written(plan: _Plan) -> Block:
    rows, row = plan.rows, plan.row
    b = Builder(rows.span, simplify=True)
    assert isinstance(rows.step, Const)
    assert rows.lo is not None and rows.hi is not None
    assert row.index is not None and rows.index is not None
    ends = Rewriter({}, fresh)
    b.extend(ends.block(plan.ends))
    lo, hi = ends.atom(plan.lo), ends.atom(plan.hi)
    begin, end = b.cast(rows.lo, INT64), b.cast(rows.hi, INT64)
    up, right = rows.step == ONE, row.step == ONE
    behind, width = plan.behind, plan.behind * (_ROWS - 1)
    count = b.op("sub", hi, lo) if right else b.op("sub", lo, hi)
    places = b.op("max", count, 0)

    def moved(a: Atom, by: Atom, forwards: bool) -> Atom:
        return b.op("add" if forwards else "sub", a, by)

    first = fresh(rows.index)
    heads = tuple(fresh(p) for p in rows.params)

    def row_at(r: Atom) -> Rewriter:
        """What is made anew for one of four rows."""
        assert rows.index is not None
        own = Rewriter({rows.index: moved(first, r, up)}, fresh)
        for c in plan.cursors:
            turns = b.op("mul", b.op("mul", places, r), c.by)
            own.env[rows.params[c.outer]] = b.op("add", heads[c.outer], turns)
        b.extend(own.block(plan.again))
        return own

    def place(own: Rewriter, at: Atom) -> None:
        """One element of a row: the place that so many turns come before."""
        assert row.index is not None
        its = Rewriter({**own.env, row.index: moved(lo, at, right)}, fresh)
        for c in plan.cursors:
            start = own.env[rows.params[c.outer]]
            its.env[row.params[c.inner]] = b.op("add", start, b.op("mul", at, c.by))
        b.extend(its.block(row.body))

    def piece(name: str, start: Atom | None, like: Sym = row.index) -> None:
        """What each row has before (start None), or after, the turns that all four have."""
        r, t = Sym("side", INT64), fresh(like, name)
        with b.collect() as body:
            own = row_at(r)
            back = b.op("mul", r, behind)
            of = b.op("sub", width if start is None else start, back)
            bound = b.op("min", of, places)
            with b.collect() as inside:
                place(own, t)
            ends = (ZERO, bound) if start is None else (bound, places)
            b.loop(_counted(row, t, *ends, tuple(inside)))
        b.loop(Loop(r, ZERO, const(_ROWS), ONE, (), (), tuple(body), (), (), None, rows.span))

    with b.collect() as block:
        piece("before", None)
        owns = [row_at(const(r)) for r in range(_ROWS)]
        t = fresh(row.index, "place")
        with b.collect() as inside:
            for r, own in enumerate(owns):
                place(own, b.op("sub", t, r * behind))
        b.loop(_counted(row, t, const(width), places, tuple(inside)))
        piece("after", b.op("max", places, width))
        turns = b.op("mul", places, _ROWS)
        grown = {c.outer: b.op("add", heads[c.outer], b.op("mul", turns, c.by)) for c in plan.cursors}
    turns = b.op("max", b.op("sub", end, begin) if up else b.op("sub", begin, end), 0)
    taken = b.op("mul", b.op("floordiv", turns, _ROWS), _ROWS)
    worth = b.op("ge", places, width + _WORTH)
    for a in ends.atoms(plan.guards):
        worth = b.op("and_", worth, b.op("not_", a))
    taken = b.op("select", worth, taken, ZERO)
    left = moved(begin, taken, up)
    by = const(_ROWS if up else -_ROWS)
    nexts = tuple(grown[k] for k in range(len(heads)))
    between = tuple(fresh(p) for p in rows.params)
    b.loop(Loop(first, begin, left, by, heads, rows.inits, tuple(block), nexts, between, None, rows.span))
    b.loop(replace(rows, lo=left, inits=between))
    return b.block()


def _counted(row: Loop, index: Sym, lo: Atom, hi: Atom, body: Block) -> Loop:
    return Loop(index, lo, hi, ONE, (), (), body, (), (), None, row.span)
