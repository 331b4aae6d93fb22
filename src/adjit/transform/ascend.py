"""Loops of adjoint code run upwards where the order of their turns does not matter; sums of innermost ones in a scalar.

    for j in range(n - 1, k, -1): c = c - 1; x = record[c]; d[k, j] += x; d[i, k] += x * y[j]; a[i, j] = 0
    ->  s = 0; for j in range(k + 1, n): x = record[j - n + c]; d[k, j] += x; s += x * y[j]; a[i, j] = 0
        d[i, k] += s

A cursor may move by any number that is the same in all turns, through loops inside too (`analysis/carried.py`): where
row after row of a record is read, it moves by the length of a row.

A loop that runs upwards, without a carried cursor, and whose sum into one element is not in memory, is one that LLVM
vectorises (0.27 ns a turn in place of 3.6 for the loop above, without records). A loop around others upwards reads
memory in the order in which the processor fetches ahead (a sparse product's reverse takes half the time, that of an LU
factorisation a third). Sums change by rounding only.
"""

from __future__ import annotations

from dataclasses import replace

from adjit.analysis.carried import Amount, Carried, Count
from adjit.analysis.increments import Increment, increments
from adjit.analysis.turns import Turns, sum_of
from adjit.ir.builder import Builder, const_of
from adjit.ir.core import Atom, Const, Function, Load, Loop, Stmt, Store, Sym, const, fresh
from adjit.ir.types import INT64
from adjit.ir.visit import Rewriter, defined, substitute

_Place = tuple[tuple[Sym | None, int], ...]
"""An index as base and offset along each axis."""


def ascend(function: Function) -> Function:
    """The function with its loops upwards, and innermost ones in a form that vectorises (see the module)."""
    a = _Ascend(Turns(function))
    body = a.block(function.body)
    return replace(function, body=body, results=a.atoms(function.results))


class _Ascend(Rewriter):
    def __init__(self, turns: Turns):
        super().__init__()
        self._turns = turns

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        if isinstance(stmt, Loop) and self._turns.plain(stmt):
            return self._innermost(stmt)
        if isinstance(stmt, Loop) and not stmt.parallel and stmt.step == Const(-1, INT64):
            return self._around_others(stmt)
        return (self.rebuild(stmt),)

    def _around_others(self, loop: Loop) -> tuple[Stmt, ...]:
        before = Builder(loop.span, simplify=True)
        if self._turns.nest(loop) and self._turns.any_order(loop):
            loop = self._upwards(loop, before, nested=True)
        return tuple(self.rebuild(s) for s in (*before.block(), loop))

    def _innermost(self, loop: Loop) -> tuple[Stmt, ...]:
        before, after = Builder(loop.span, simplify=True), Builder(loop.span, simplify=True)
        kept = self._totals(loop, before, after)
        if _step(kept) < 0 and self._turns.any_order(kept):
            kept = self._upwards(kept, before)
        stmts = (*before.block(), kept, *after.block())
        return tuple(s for stmt in stmts for s in (self.rebuild(stmt),))

    # sums into one element

    def _totals(self, loop: Loop, before: Builder, after: Builder) -> Loop:
        """Increments of an element that stays the same become a carried sum."""
        while True:
            inside = defined(loop.body) | {loop.index, *loop.params}
            for one in increments(loop.body, loop.nexts):
                place = self._place(one, loop, inside)
                if place is not None:
                    loop = _summed(loop, one, place, before, after)
                    break
            else:
                return loop

    def _place(self, one: Increment, loop: Loop, inside: set[Sym | None]) -> _Place | None:
        """Which element it is that only this increment touches in any turn, if there is one."""
        place = [self._fixed(a, inside) for a in one.store.index]
        others = (
            s for s in loop.body if isinstance(s, Load | Store) and s is not one.load and s is not one.store
        )
        if one.store.array in inside or not all(self._turns.apart(one.store, s, loop) for s in others):
            return None
        found = tuple(a for a in place if a is not None)
        return found if len(found) == len(place) else None

    def _fixed(self, a: Atom, inside: set[Sym | None]) -> tuple[Sym | None, int] | None:
        """The index as base and offset; None where it changes from turn to turn."""
        base, offset = self._turns.affine.split(a)
        return None if base in inside and base is not None else (base, offset)

    # upwards

    def _upwards(self, loop: Loop, b: Builder, nested: bool = False) -> Loop:
        """The loop from its last turn to its first; itself where it carries more than counters (if innermost, sums), or
        counters while its index falls by more than one.
        """
        assert loop.lo is not None
        assert loop.hi is not None
        by_step = -_step(loop)
        carried = Carried(loop)
        counters: dict[int, Amount] = {}
        for k, (p, after) in enumerate(zip(loop.params, loop.nexts, strict=True)):
            kind = carried.of(k) if p.type == INT64 else None
            if isinstance(kind, Count) and by_step == 1:
                counters[k] = kind.by
            elif nested or sum_of(p, after, loop) is None:
                return loop
        lo, hi = (b.cast(a, INT64) for a in (loop.lo, loop.hi))
        assert loop.index is not None
        env: dict[Sym, Atom] = {}
        head = Builder(loop.span, simplify=True)
        for k, amount in counters.items():
            init, by = loop.inits[k], amount(b)
            env[loop.params[k]] = _plus(head, _plus(b, init, lo, by), loop.index, by, -1)
            turns = b.op("max", b.op("sub", lo, hi), 0)
            self.env[loop.results[k]] = _plus(b, init, turns, by)
        body = (*head.block(), *substitute(loop.body, env))
        keep = [k for k in range(len(loop.params)) if k not in counters]
        nexts = tuple(env.get(a, a) if isinstance(a, Sym) else a for a in loop.nexts)
        return Loop(
            loop.index,
            self._last(b, lo, hi, by_step),
            self._turns.affine.moved(b, lo, 1),
            const(by_step),
            tuple(loop.params[k] for k in keep),
            tuple(loop.inits[k] for k in keep),
            body,
            tuple(nexts[k] for k in keep),
            tuple(loop.results[k] for k in keep),
            None,
            loop.span,
            note=loop.note,
        )

    def _last(self, b: Builder, lo: Atom, hi: Atom, step: int) -> Atom:
        """The index of the last turn of range(lo, hi, -step); lo + 1 at least where no turn runs."""
        end = self._turns.affine.moved(b, hi, 1)
        return end if step == 1 else b.op("add", end, b.op("mod", b.op("sub", lo, end), step))


def _step(loop: Loop) -> int:
    """By how much the index grows with each turn; 0 if that is not a constant."""
    return loop.step.integer if isinstance(loop.step, Const) else 0


def _summed(loop: Loop, one: Increment, place: _Place, before: Builder, after: Builder) -> Loop:
    """The loop with the increment's sum in a carried value, which is added to the element afterwards."""
    assert loop.lo is not None
    assert loop.hi is not None
    dtype = one.load.target.type
    total, result = fresh(one.load.target), fresh(one.load.target)
    body = tuple(s for s in loop.body if s is not one.load and s is not one.store)
    body = substitute(body, {one.load.target: total})
    up = isinstance(loop.step, Const) and loop.step.value.real > 0
    some = before.op("lt" if up else "gt", loop.lo, loop.hi)
    with after.collect() as then:
        index = tuple(
            Const(n, INT64) if base is None else after.op("add", base, n) if n else base for base, n in place
        )
        array = one.store.array
        after.store(array, index, after.op("add", after.load(array, index), result))
    after.if_(some, tuple(then))
    return replace(
        loop,
        params=(*loop.params, total),
        inits=(*loop.inits, const_of(0.0, dtype)),
        body=body,
        nexts=(*loop.nexts, one.store.value),
        results=(*loop.results, result),
    )


def _plus(b: Builder, x: Atom, a: Atom, by: Atom, sign: int = 1) -> Atom:
    """x + sign * a * by."""
    if isinstance(by, Const):
        times = sign * by.integer
        if abs(times) != 1:
            return b.op("add", x, b.op("mul", a, times))
        return b.op("add" if times == 1 else "sub", x, a)
    return b.op("add" if sign == 1 else "sub", x, b.op("mul", a, by))
