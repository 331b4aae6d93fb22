"""Integers of a program that follow from its arguments alone: extents, ranges, numbers of parts.

Nothing is run: what depends on loops, branches or memory is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from adjit.ir.core import Alloc, Atom, Const, Function, If, Let, Loop, Slice, Stmt, Sym, View
from adjit.ir.types import Array
from adjit.ir.visit import inner_targets, targets, walk

_OPERATIONS: Mapping[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "neg": lambda a: -a,
    "abs": abs,
    "min": min,
    "max": max,
    "minimum": min,
    "maximum": max,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "and_": lambda a, b: a & b,
    "or_": lambda a, b: a | b,
    "not_": lambda a: not a,
    "nonneg": lambda a: a,
    "cast": lambda a: a,
    "pos": lambda a: a,
    "select": lambda c, a, b: a if c else b,
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
}


class Evaluate:
    """Integers and shapes of one function. values: what is known of symbols: numbers, arrays, shapes."""

    def __init__(self, function: Function, values: Mapping[Sym, object]):
        self._values = dict(values)
        self._made: dict[Sym, Stmt] = {
            t: s for s in walk(function.body) for t in (*targets(s), *inner_targets(s))
        }
        self._assumed: dict[Sym, tuple[int, ...] | None] = {}

    def given(self, values: Mapping[Sym, object]) -> Evaluate:
        """The same, with more values."""
        other = object.__new__(Evaluate)
        other._values, other._made = {**self._values, **values}, self._made
        other._assumed = {}
        return other

    def integer(self, a: Atom | None) -> int | None:
        """The integer, or None where it does not follow from the values."""
        if isinstance(a, Const):
            return int(a.value) if isinstance(a.value, bool | int) else None
        if not isinstance(a, Sym):
            return None
        value = self._values.get(a)
        if value is not None:
            return int(value) if isinstance(value, bool | int | np.integer | np.bool_) else None
        stmt = self._made.get(a)
        if not isinstance(stmt, Let):
            return None
        if stmt.op == "dim":
            return self._extent(stmt.args[0], stmt.args[1])
        operation = _OPERATIONS.get(stmt.op)
        args = [self.integer(x) for x in stmt.args]
        if operation is None or any(x is None for x in args) or not stmt.target.type.known:
            return None
        if stmt.op in ("floordiv", "mod") and args[1] == 0:
            return None
        return int(operation(*args))

    def turns(self, loop: Loop) -> int | None:
        """How often the body of a counted loop runs."""
        if loop.index is None or loop.stop is not None:
            return None
        return self.count(loop.lo, loop.hi, loop.step)

    def count(self, lo: Atom | None, hi: Atom | None, step: Atom | None) -> int | None:
        """The length of a range."""
        ends = [self.integer(a) for a in (lo, hi, step)]
        if ends[0] is None or ends[1] is None or not ends[2]:
            return None
        return len(range(ends[0], ends[1], ends[2]))

    def size(self, a: Atom) -> int | None:
        """Bytes of an array's elements."""
        shape = self.shape(a)
        if shape is None or not isinstance(a.type, Array):
            return None
        size = a.type.dtype.itemsize
        for n in shape:
            size *= n
        return size

    def shape(self, a: Atom) -> tuple[int, ...] | None:
        """An array's extents."""
        if not isinstance(a, Sym):
            return None
        value = self._values.get(a)
        if isinstance(value, np.ndarray | tuple):
            return value.shape if isinstance(value, np.ndarray) else value
        stmt = self._made.get(a)
        found: list[int | None]
        match stmt:
            case Alloc():
                found = [self.integer(n) for n in stmt.shape]
            case View(shape=tuple()):
                found = [self.integer(n) for n in stmt.shape or ()]
            case View(axes=tuple()):
                found = [1 if k is None else self._extent(stmt.array, k) for k in stmt.axes or ()]
            case View() if all(i == Slice() for i in stmt.index if isinstance(i, Slice)):
                kept = [k for k, i in enumerate(stmt.index) if isinstance(i, Slice)]
                found = [self._extent(stmt.array, k) for k in kept]
            case If():
                k = stmt.results.index(a)
                return self._same(self.shape(stmt.then_values[k]), stmt.else_values[k])
            case Loop() if a in stmt.params or a in stmt.results:
                return self._of_loop(stmt, (stmt.params if a in stmt.params else stmt.results).index(a))
            case _:
                return None
        return None if any(n is None for n in found) else tuple(n for n in found if n is not None)

    def _of_loop(self, loop: Loop, k: int) -> tuple[int, ...] | None:
        """The shape of an array that a loop carries: it is that of before, if one turn does not change it."""
        p = loop.params[k]
        if p not in self._assumed:
            self._assumed[p] = self.shape(loop.inits[k])
            found = self._same(self._assumed[p], loop.nexts[k])
            del self._assumed[p]
            return found
        return self._assumed[p]

    def _same(self, shape: tuple[int, ...] | None, a: Atom) -> tuple[int, ...] | None:
        return None if shape is None or self.shape(a) != shape else shape

    def _extent(self, array: Atom, axis: Atom | int) -> int | None:
        shape = self.shape(array)
        k = axis if isinstance(axis, int) else self.integer(axis)
        return None if shape is None or k is None else shape[k]
