"""Copies of an array to which the parts of a parallel loop add, where their turns may meet in any element.

Each part has a copy of zeros. What a turn adds goes to its part's copy. An element that a turn touches by other means
than an update is touched by no other turn: its value is that of the array and of the copy together, and to store to it
clears the copy's.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from adjit.analysis.alias import Alias
from adjit.analysis.meetings import Updated
from adjit.ir.builder import Builder, const_of
from adjit.ir.core import (
    ONE,
    ZERO,
    Atom,
    Block,
    Let,
    Load,
    Loop,
    Slice,
    Stmt,
    Store,
    Sym,
)
from adjit.ir.types import INT64, Array
from adjit.ir.visit import Rewriter, operands, walk, yields


@dataclass(frozen=True)
class Copies:
    """The accesses of one array in a loop: those that are parts of updates go to the copies."""

    array: Sym
    updates: frozenset[int]
    """The ids of the loads and stores of updates."""

    @property
    def _type(self) -> Array:
        assert isinstance(self.array.type, Array)
        return self.array.type

    def size(self, b: Builder) -> Atom:
        """The number of elements."""
        total: Atom = ONE
        for axis in range(self._type.ndim):
            total = b.op("mul", total, b.dim(self.array, axis))
        return total

    def make(self, b: Builder, count: Atom) -> Sym:
        """The copies, all zero: one for each part."""
        shape = tuple(b.dim(self.array, axis) for axis in range(self._type.ndim))
        type_ = Array(self._type.dtype, self._type.ndim + 1, "C")
        zero = const_of(0, self._type.dtype)
        return b.alloc(f"{self.array.name}_of_parts", type_, (count, *shape), zero)

    def mine(self, b: Builder, copies: Sym, part: Atom) -> Sym:
        """A part's own copy."""
        rows = (part, *(Slice() for _ in range(self._type.ndim)))
        return b.view(copies, rows, Array(self._type.dtype, self._type.ndim, "C"))

    def add(self, b: Builder, copies: Sym, count: Atom, first: Atom, last: Atom) -> None:
        """Add what the copies hold to a run of the array's places, one copy after another."""
        q = Sym("part", INT64)
        ends = [(first, last)] + [(ZERO, b.dim(self.array, axis)) for axis in range(1, self._type.ndim)]

        def level(k: int, index: tuple[Atom, ...]) -> None:
            if k == len(ends):
                total = b.op("add", b.load(self.array, index), b.load(copies, (q, *index)))
                b.store(self.array, index, total)
                return
            i = Sym("ijklmnop"[k % 8], INT64)
            with b.collect() as body:
                level(k + 1, (*index, i))
            b.loop(Loop(i, *ends[k], ONE, (), (), tuple(body), (), (), None, b.span))

        with b.collect() as body:
            level(0, ())
        b.loop(Loop(q, ZERO, count, ONE, (), (), tuple(body), (), (), None, b.span))


def copies_of(loop: Loop, one: Updated, alias: Alias) -> Copies | None:
    """How the loop's parts can have copies of the array; None if they cannot."""
    assert isinstance(one.array.type, Array)
    if not one.direct or one.op != "add" or one.array.type.ndim == 0:
        return None
    body = list(walk(loop.body))
    uses: dict[Atom, int] = {}
    for s in body:
        for a in (*operands(s), *yields(s)):
            uses[a] = uses.get(a, 0) + 1
    made = {s.target: s for s in body if isinstance(s, Let | Load)}
    found: set[int] = set()
    for store in one.stores:
        load = _loaded(store, made, uses)
        if load is None:
            return None
        found |= {id(load), id(store)}
    roots = alias.roots(one.array)
    for s in body:
        for a in (*operands(s), *yields(s)):
            if not isinstance(a, Sym) or not isinstance(a.type, Array) or not roots & alias.roots(a):
                continue
            extent = isinstance(s, Let) and s.op == "dim"
            if not extent and not (isinstance(s, Load | Store) and a == one.array):
                return None  # a view, or another name of the array
    return Copies(one.array, frozenset(found))


def _loaded(store: Store, made: dict[Sym, Let | Load], uses: dict[Atom, int]) -> Load | None:
    """The load of the element that the store updates, which nothing else reads."""
    found: list[Load] = []

    def visit(a: Atom) -> None:
        stmt = made.get(a) if isinstance(a, Sym) and uses[a] == 1 else None
        if isinstance(stmt, Load) and stmt.array == store.array and stmt.index == store.index:
            found.append(stmt)
        elif isinstance(stmt, Let) and stmt.op == "add" and stmt.fn is None:
            visit(stmt.args[0])
            visit(stmt.args[1])
        elif isinstance(stmt, Let) and stmt.op == "sub" and stmt.fn is None:
            visit(stmt.args[0])

    visit(store.value)
    return found[0] if len(found) == 1 else None


def redirected(body: Block, copies: Iterable[tuple[Copies, Sym]]) -> Block:
    """A loop's body with the updates of each array in the part's own copy."""
    return _Redirect({one.array: (one, mine) for one, mine in copies}).block(body)


class _Redirect(Rewriter):
    def __init__(self, copies: dict[Sym, tuple[Copies, Sym]]):
        super().__init__()
        self._copies = copies

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        if not isinstance(stmt, Load | Store) or stmt.array not in self._copies:
            return (self.rebuild(stmt),)
        copies, mine = self._copies[stmt.array]
        if id(stmt) in copies.updates:
            rebuilt = self.rebuild(stmt)
            assert isinstance(rebuilt, Load | Store)
            return (replace(rebuilt, array=mine),)
        b = Builder(stmt.span)
        index = self.atoms(stmt.index)
        if isinstance(stmt, Load):
            self.env[stmt.target] = b.op("add", b.load(stmt.array, index), b.load(mine, index))
        else:
            b.append(self.rebuild(stmt))
            b.store(mine, index, const_of(0, mine.type.dtype))  # type: ignore[union-attr]
        return b.block()
