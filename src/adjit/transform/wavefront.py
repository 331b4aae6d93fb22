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
are compared; all else that is stored to must be apart. Cursors, which grow by the same number each turn, begin in every
row where the row before would have left them; what else turns hand on, and no element needs (the sum of all changes),
is computed after the four rows, in its order, from what each element has written down for it. Where a row divides by
a number that is the same everywhere, that is looked at first; if it is zero, the loops run as they were, and raise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from adjit.analysis.raising import may_raise
from adjit.analysis.turns import Access, Turns
from adjit.ir.builder import Builder, const_of
from adjit.ir.core import (
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
)
from adjit.ir.types import INT64, Scalar
from adjit.ir.visit import Rewriter, defined, operands, targets, used, walk
from adjit.transform.around import Around, is_counted
from adjit.transform.four_rows import ROWS, Chain, Cursor, Plan, written

_MOST = 48
"""Statements of an inner loop that is written seven times, at most."""
_FARTHEST = 4
"""Places that a row may be behind the one before."""


def wavefront(function: Function, raising: bool = False) -> Function:
    """The function with such sweeps (see the module). raising: whether divisions by zero raise by themselves."""
    if not any(_inner(s) for s in walk(function.body)):
        return function
    return replace(function, body=_Wavefront(function, raising).block(function.body))


def _inner(stmt: Stmt) -> Loop | None:
    """The one inner loop of two counted ones."""
    if not isinstance(stmt, Loop) or not is_counted(stmt):
        return None
    found = [s for s in stmt.body if isinstance(s, Loop)]
    return found[0] if len(found) == 1 and is_counted(found[0]) else None


class _Wavefront(Rewriter):
    def __init__(self, function: Function, raising: bool):
        super().__init__()
        self._raising = raising
        self._turns = Turns(function)

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        plan = self._plan(stmt) if isinstance(stmt, Loop) else None
        return (self.rebuild(stmt),) if plan is None else written(plan)

    def _plan(self, rows: Loop) -> Plan | None:
        row = _inner(rows)
        if row is None or len(row.body) > _MOST:
            return None
        flows = self._flows(rows, row)
        rest = tuple(s for s in rows.body if s is not row)
        around = Around(self._turns, rows, rest)
        body, guards, zeros = self._parted(row.body)
        if flows is None or any(isinstance(s, Store) for s in rest) or any(self._parted(rest)[1:]):
            return None
        if not all(isinstance(s, Let | Load) for s in rest):
            return None
        cursors, others = flows
        chain = _chain_of(row, body, others)
        found, (again, kept) = around.range_of((row,)), around.needed((replace(row, body=body, inits=()),))
        straight = replace(row, body=tuple(s for s in body if s not in chain.body))
        if not all(isinstance(s, Let | Load | Store) for s in straight.body) or not self._waits(straight):
            return None
        if not all(isinstance(s, Let | If) for s in walk(chain.body)):
            return None
        if not all(isinstance(s.type, Scalar) and s.type.lanes == 1 for s in chain.inputs):
            return None
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
        return Plan(rows, straight, lo, hi, ends, again, behind, cursors, chain, false)

    def _flows(self, rows: Loop, row: Loop) -> tuple[tuple[Cursor, ...], list[tuple[int, int]]] | None:
        """What the loops hand from turn to turn, cursors and others; None if it does not go through both alike."""
        found: list[Cursor] = []
        others: list[tuple[int, int]] = []
        for k, p in enumerate(rows.params):
            after = rows.nexts[k]
            at = row.results.index(after) if isinstance(after, Sym) and after in row.results else None
            if at is None or row.inits[at] != p or not isinstance(p.type, Scalar):
                return None
            base, by = self._turns.affine.split(row.nexts[at])
            if p.type == INT64 and base == row.params[at] and by != 0:
                found.append(Cursor(k, at, by))
            else:
                others.append((k, at))
        alike = (
            len({at for _, at in others} | {c.inner for c in found}) == len(row.params) == len(rows.params)
        )
        return (tuple(found), others) if alike else None

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
        if not 1 <= distance < ROWS:
            return 0
        if not ahead:
            return None
        return max(0, -(-(next(iter(ahead)) + 1) // distance))


def _chain_of(row: Loop, body: Block, others: list[tuple[int, int]]) -> Chain:
    """What of a row's turn hangs on what it is handed and is no cursor."""
    outer, inner = tuple(k for k, _ in others), tuple(at for _, at in others)
    params = {row.params[at] for at in inner}
    hanging = set(params)
    found: list[Stmt] = []
    for s in body:
        if not hanging.isdisjoint(used((s,))):
            found.append(s)
            hanging.update(targets(s))
    nexts = tuple(row.nexts[at] for at in inner)
    made = defined(body) - defined(tuple(found))
    inputs = made.intersection((*used(tuple(found)), *nexts))
    return Chain(outer, inner, tuple(found), nexts, tuple(sorted(inputs, key=lambda s: s.uid)))
