"""Which arrays hold zeros and nothing else, statement by statement: for passes that store to them what would be added.

An array is clear from where it is made of zeros, or from the function's start if it is a parameter that is given so,
until the first statement of that block that knows its name. A pass that has all of it stored before it is read says so
with `fills`: then it is made without zeros, or need not be given so.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property

from adjit.analysis.scatter import Nest, Scatters, steady_bounds
from adjit.ir.builder import Builder
from adjit.ir.core import Alloc, Atom, Block, Const, Function, Let, Loop, Stmt, Store, Sym
from adjit.ir.types import Array
from adjit.ir.visit import Rewriter, used


class ClearArrays(Rewriter):
    """Goes over a function and knows which arrays are clear."""

    def __init__(self, function: Function, clear: Iterable[Sym]):
        """clear: parameters that hold zeros."""
        super().__init__()
        self._function = function
        self.changed = False
        self._clear: dict[Sym, tuple[Atom, ...] | None] = dict.fromkeys(clear)
        self._filled: set[Sym] = set()

    @cached_property
    def scatters(self) -> Scatters:
        """The sums that the function's nests push."""
        return Scatters(self._function)

    def function(self) -> tuple[Function, frozenset[Sym]]:
        """The function, itself where nothing has `changed`, and the clear parameters that need not be."""
        function = self._function
        body = self._block(function.body, self._clear)
        after = replace(function, body=body) if self.changed else function
        return after, frozenset(p for p in function.params if p in self._filled)

    def clear_nest(self, stmt: Stmt) -> Nest | None:
        """The nest that the statement is, if it stores to an array that is clear and its ranges are known before it."""
        if not isinstance(stmt, Loop) or not self._clear:
            return None
        nest = Nest.of(stmt)
        if nest is None or not any(isinstance(s, Store) and self.is_clear(s.array) for s in nest.body):
            return None
        return nest if steady_bounds(nest) else None

    def block(self, block: Block) -> Block:
        return self._block(block, {})

    def is_clear(self, array: Sym) -> bool:
        """Whether the array holds zeros before the statement that is looked at."""
        return array in self._clear

    def shape(self, b: Builder, array: Sym) -> tuple[Atom, ...]:
        """The extents of a clear array."""
        assert isinstance(array.type, Array)
        made = self._clear[array]
        return made or tuple(b.dim(array, axis) for axis in range(array.type.ndim))

    def fills(self, array: Sym) -> None:
        """The statement that is looked at stores to all of the clear array, and reads none of it before."""
        self._filled.add(array)

    def _block(self, block: Block, clear: dict[Sym, tuple[Atom, ...] | None]) -> Block:
        outer, self._clear = self._clear, clear
        out: list[Stmt] = []
        for stmt in block:
            made = self.stmt(stmt)
            out += made
            if not made:
                continue  # it stands elsewhere
            if isinstance(stmt, Alloc) and isinstance(stmt.fill, Const) and stmt.fill.value == 0:
                self._clear[stmt.target] = stmt.shape
            elif self._clear and not (isinstance(stmt, Let) and stmt.op == "dim"):
                for array in used((stmt,)):
                    self._clear.pop(array, None)
        self._clear = outer
        filled = self._filled
        return tuple(replace(s, fill=None) if isinstance(s, Alloc) and s.target in filled else s for s in out)
