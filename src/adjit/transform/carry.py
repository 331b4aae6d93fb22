"""Carries in a scalar what the next turn of an innermost loop reads.

    for j descending: t = load a[j]; u = load a[j-1]; ...; store a[j] = x; store a[j-1] = y
    ->  c = load a[first]; for j carry (t = c): u = load a[j-1]; ...; store a[j] = x; store a[j-1] = y; next y

The element at j-1 of one turn is the element at j of the next. The stores stay. In adjoint code (in a reversed
Gauss-Seidel sweep `du[i, j-1]` is what the next turn starts from) what a turn loads is carried too; in primal code only
what it stores, where the loop is in order anyway: a store and a load of the same element cost more than an addition
(the first loop of Thomas' algorithm takes three quarters of the time). Numbers stay what they are, to the bit.
"""

from __future__ import annotations

from dataclasses import replace

from adjit.analysis.alias import Affine, Alias
from adjit.analysis.ranges import lower_bounds
from adjit.analysis.regions import Regions
from adjit.ir.builder import Builder, const_of
from adjit.ir.core import (
    Atom,
    Call,
    Const,
    Function,
    Load,
    Loop,
    Raise,
    Stmt,
    Store,
    Sym,
    Whole,
    const,
    fresh,
)
from adjit.ir.types import INT64, Scalar
from adjit.ir.visit import Rewriter, defined, walk

_Access = tuple[Load | None, Store | None]


class _Carry(Rewriter):
    def __init__(self, function: Function, stored: bool):
        super().__init__()
        self._stored = stored
        self._again: dict[int, list[Load]] = {}  # of a load: those of the same element after it
        self.alias = Alias(function)
        self.regions = Regions(function)
        self.affine = Affine(self.regions.definition, lower_bounds(function))

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        if not isinstance(stmt, Loop):
            return (self.rebuild(stmt),)
        plain = stmt.index is not None and stmt.stop is None and isinstance(stmt.step, Const)
        plain = plain and not stmt.parallel
        if plain and not any(isinstance(s, Loop | Call | Whole) for s in walk(stmt.body)):
            return self._innermost(stmt)
        return (self.rebuild(stmt),)

    def _innermost(self, stmt: Loop) -> tuple[Stmt, ...]:
        before = Builder(stmt.span, simplify=True)
        for array, accesses in self._arrays(stmt).items():
            stmt = self._carry(stmt, array, accesses, before)
        return tuple(s for old in (*before.block(), stmt) for s in (self.rebuild(old),))

    def _arrays(self, stmt: Loop) -> dict[Sym, list[_Access]]:
        """Arrays all of whose accesses in the body are at its top, at places that are surely apart."""
        inner = {*stmt.params, *defined(stmt.body)}
        nested = {
            r
            for s in walk(stmt.body)
            if isinstance(s, Load | Store) and not any(s is t for t in stmt.body)
            for r in self.alias.roots(s.array)
        }
        found: dict[Sym, list[_Access]] = {}
        bad: set[Sym] = set()
        for s in stmt.body:
            if not isinstance(s, Load | Store):
                continue
            array = s.array
            others = [a for a in found if a != array]
            mine = self.alias.roots(array)
            if array in inner or not mine.isdisjoint(nested):
                bad.add(array)
            bad |= {a for b in others if not mine.isdisjoint(self.alias.roots(b)) for a in (array, b)}
            if not self._note(found.setdefault(array, []), s):
                bad.add(array)
        stored = {a for a, acc in found.items() if any(st is not None for _, st in acc)}
        return {a: acc for a, acc in found.items() if a not in bad and a in stored}

    def _note(self, accesses: list[_Access], s: Load | Store) -> bool:
        for k, (load, store) in enumerate(accesses):
            other = load or store
            assert other is not None
            pairs = list(zip(other.index, s.index, strict=True))
            if all(self.affine.same(a, b) for a, b in pairs):
                if store is not None:
                    return False
                if isinstance(s, Load):
                    assert load is not None
                    self._again.setdefault(id(load), []).append(s)
                else:
                    accesses[k] = (load, s)
                return True
            if not any(self.affine.apart(a, b) for a, b in pairs):
                return False
        accesses.append((s, None) if isinstance(s, Load) else (None, s))
        return True

    def _carry(self, stmt: Loop, array: Sym, accesses: list[_Access], before: Builder) -> Loop:
        for load, _ in accesses:
            if load is None or self._may_not_be_reached(load, stmt):
                continue
            for other_load, other_store in accesses:
                other = other_store or other_load
                assert other is not None
                if other is load or not self._next_is(stmt, load.index, other.index):
                    continue
                if self._stored and other_store is None:
                    continue
                value = other_store.value if other_store is not None else other_load.target  # type: ignore[union-attr]
                if value.type != load.target.type:
                    continue
                stmt = self._carried(stmt, load, value, before)
                break
        return stmt

    def _may_not_be_reached(self, load: Load, stmt: Loop) -> bool:
        """Whether the first turn may raise before it loads: then it may be no element at all."""
        at = next(k for k, s in enumerate(stmt.body) if s is load)
        return any(isinstance(s, Raise) for s in walk(stmt.body[:at]))

    def _next_is(self, stmt: Loop, index: tuple[Atom, ...], other: tuple[Atom, ...]) -> bool:
        """Whether `index` in the next turn is `other` in this one."""
        assert isinstance(stmt.step, Const)
        moved = False
        inner = {*stmt.params, *defined(stmt.body)}
        for a, b in zip(index, other, strict=True):
            base_a, off_a = self.affine.split(a)
            base_b, off_b = self.affine.split(b)
            if base_a != base_b:
                return False
            if base_a == stmt.index:
                moved = True
                off_a += stmt.step.integer
            elif base_a is not None and base_a in inner:
                return False
            if off_a != off_b:
                return False
        return moved

    def _carried(self, stmt: Loop, load: Load, value: Atom, before: Builder) -> Loop:
        assert stmt.lo is not None and stmt.hi is not None and isinstance(stmt.step, Const)
        param, zero = load.target, _zero(load.target)
        some = before.op("lt" if stmt.step.value > 0 else "gt", stmt.lo, stmt.hi)  # type: ignore[operator]
        with before.collect() as then:
            index = tuple(self._first(a, stmt, before) for a in load.index)
            first = before.load(load.array, index, load.target.name)
        start = fresh(param)
        again = self._again.get(id(load), [])
        gone = {id(s) for s in (load, *again)}
        self.env.update((s.target, param) for s in again)
        before.if_(some, tuple(then), (), (first,), (zero,), (start,))
        return replace(
            stmt,
            params=(*stmt.params, param),
            inits=(*stmt.inits, start),
            body=tuple(s for s in stmt.body if id(s) not in gone),
            nexts=(*stmt.nexts, value),
            results=(*stmt.results, fresh(param)),
        )

    def _first(self, a: Atom, stmt: Loop, b: Builder) -> Atom:
        base, offset = self.affine.split(a)
        if base == stmt.index:
            assert stmt.lo is not None
            return b.op("add", b.cast(stmt.lo, INT64), offset) if offset else stmt.lo
        if base is None:
            return const(offset)
        return b.op("add", base, offset) if offset else base


def _zero(s: Sym) -> Const:
    assert isinstance(s.type, Scalar)
    return const(False) if s.type.is_bool else const_of(0.0, s.type)


def carry(function: Function, stored: bool = False) -> Function:
    """Carried elements in scalars (see the module); `stored`: only of what a turn stores."""
    c = _Carry(function, stored)
    return replace(function, body=c.block(function.body))
