"""What depends on the values of floats: numbers, what memory holds, which memory a name refers to.

Floats come in as parameters and captured arrays. They flow through every operation, comparisons and conversions as
well, through memory, and through control: what a branch on floats chooses, what a loop with such a number of turns
leaves behind, and what is stored under either. What is not *steered* is the same for all values of the floats.
"""

from __future__ import annotations

from adjit.analysis.alias import Alias
from adjit.ir.core import (
    Alloc,
    Atom,
    Block,
    Ensure,
    Function,
    If,
    Let,
    Load,
    Loop,
    Raise,
    RefAppend,
    RefGet,
    RefSet,
    Stmt,
    Store,
    Sym,
    View,
    Whole,
)
from adjit.ir.types import Array, RefList
from adjit.ir.visit import view_atoms
from adjit.transform.sparsity.opened import differ


class Steered:
    """The result. raises: whether a `raise` stands under a condition on floats."""

    def __init__(self, function: Function, alias: Alias):
        self._alias = alias
        self._values: set[Sym] = set()
        self._roots: set[Sym] = set()
        self._lists = False
        self.raises = False
        for p in function.params:
            if isinstance(p.type, Array) and p.type.differentiable:
                self._roots |= alias.roots(p)
            elif p.type.differentiable:
                self._values.add(p)
        before = -1
        while before != self._size():
            before = self._size()
            self._block(function.body, False)

    def __call__(self, a: Atom | None) -> bool:
        """Whether a number is steered; of an array, whether its extents or what memory it refers to are."""
        return isinstance(a, Sym) and (a in self._values or (self._lists and isinstance(a.type, RefList)))

    def any(self, *atoms: Atom | None) -> bool:
        """Whether one of them is."""
        return any(map(self, atoms))

    def contents(self, array: Atom) -> bool:
        """Whether what the array holds is steered."""
        return not self._alias.roots(array).isdisjoint(self._roots)

    def turns(self, loop: Loop) -> bool:
        """Whether the loop's number of turns is steered."""
        return self.any(loop.lo, loop.hi, loop.step, loop.stop)

    def _size(self) -> int:
        return len(self._values) + len(self._roots) + self._lists

    def _mark(self, s: Sym, if_: bool) -> None:
        if if_:
            self._values.add(s)

    def _store(self, array: Atom, if_: bool) -> None:
        if if_:
            self._roots |= self._alias.roots(array)

    def _block(self, block: Block, under: bool) -> None:
        for stmt in block:
            self._stmt(stmt, under)

    def _stmt(self, stmt: Stmt, under: bool) -> None:
        match stmt:
            case Let():
                self._mark(stmt.target, self.any(*stmt.args))
            case Load():
                self._mark(stmt.target, self.any(stmt.array, *stmt.index) or self.contents(stmt.array))
            case Store():
                self._store(stmt.array, under or self.any(stmt.array, *stmt.index, stmt.value))
            case View():
                self._mark(stmt.target, self.any(stmt.array, *view_atoms(stmt)))
            case Alloc():
                self._mark(stmt.target, self.any(*stmt.shape))
                self._store(stmt.target, self(stmt.fill))
            case Ensure():
                self._mark(stmt.target, under or self.any(stmt.array, stmt.need))
            case RefAppend() | RefSet():
                self._lists |= under or self(stmt.array)
            case RefGet():
                self._mark(stmt.target, self.any(stmt.references, stmt.position))
            case Whole():
                hit = self.any(*stmt.args) or any(map(self.contents, stmt.args))
                for out in stmt.outs:
                    self._store(out, under or hit)
            case Loop():
                self._loop(stmt, under)
            case If():
                self._if(stmt, under)
            case Raise():
                self.raises |= under
            case _:
                pass

    def _loop(self, stmt: Loop, under: bool) -> None:
        if stmt.index is not None:
            self._mark(stmt.index, self.any(stmt.lo, stmt.step))
        for p, init in zip(stmt.params, stmt.inits, strict=True):
            self._mark(p, self(init))
        turns = self.turns(stmt)
        self._block(stmt.body, under or turns)
        for p, n, r in zip(stmt.params, stmt.nexts, stmt.results, strict=True):
            self._mark(p, self(n))
            self._mark(r, self(p) or self(n) or (turns and n != p))

    def _if(self, stmt: If, under: bool) -> None:
        on = self(stmt.cond)
        self._block(stmt.then, under or on)
        self._block(stmt.els, under or on)
        for r, a, b in zip(stmt.results, stmt.then_values, stmt.else_values, strict=True):
            self._mark(r, self.any(a, b) or (on and differ(a, b)))
