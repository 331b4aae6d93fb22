"""Which values a pattern program computes as they are, beside what they depend on.

Needed are indices, bounds, extents, conditions that decide what runs, and what these are computed from. A branch on
floats needs its condition only where it decides something needed (`chooses`); else both of its sides run, and a
counted loop with a `break` on floats runs all of its turns. Where nothing steered is needed, no float is computed.
"""

from __future__ import annotations

from adjit.analysis.activity import Activity
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
from adjit.ir.types import Array
from adjit.ir.visit import blocks, targets, view_atoms, walk
from adjit.transform.sparsity.opened import differ
from adjit.transform.sparsity.steered import Steered


class Needed:
    """The result: `values` and the memory whose contents are needed."""

    def __init__(self, function: Function, alias: Alias, activity: Activity, steered: Steered):
        self._alias, self._activity, self._steered = alias, activity, steered
        self.values: set[Sym] = set()
        self._roots: set[Sym] = set()
        for a in function.results:
            if isinstance(a.type, Array) and a.type.differentiable and not activity.active(a):
                self._want(a)  # its extents
        before = -1
        while before != len(self.values) + len(self._roots):
            before = len(self.values) + len(self._roots)
            self._block(function.body)

    def __call__(self, a: Atom) -> bool:
        return isinstance(a, Sym) and a in self.values

    def contents(self, array: Atom) -> bool:
        """Whether what the array holds is needed."""
        return not self._alias.roots(array).isdisjoint(self._roots)

    def chooses(self, stmt: If | Loop) -> bool:
        """Whether what the branch, or the loop's end, decides is needed."""
        if any(map(self.__call__, stmt.results)) or any(self._acts(s) for b in blocks(stmt) for s in walk(b)):
            return True
        if isinstance(stmt, If):
            pairs = zip(stmt.then_values, stmt.else_values, stmt.results, strict=True)
        else:
            pairs = zip(stmt.params, stmt.nexts, stmt.results, strict=True)
            if any(self(p) and self._steered(p) for p in stmt.params):
                return True
        return any(
            differ(a, b) and isinstance(r.type, Array) and self._activity.active(r) for a, b, r in pairs
        )

    def all_turns(self, stmt: Loop) -> bool:
        """Whether all turns of a loop run that may end before, by the values of floats."""
        bounds = self._steered.any(stmt.lo, stmt.hi, stmt.step)
        return stmt.index is not None and not bounds and self._steered(stmt.stop) and not self.chooses(stmt)

    def matters(self, stmt: Stmt) -> bool:
        """Whether anything in the statement has dependences or is needed."""
        for s in walk((stmt,)):
            if isinstance(s, Store) and (self._activity.active(s.array) or self.contents(s.array)):
                return True
            if isinstance(s, Whole | RefAppend | RefSet | Raise):
                return True
            if any(self._activity.active(t) or t in self.values for t in targets(s)):
                return True
        return False

    def _acts(self, stmt: Stmt) -> bool:
        match stmt:
            case Store():
                return self.contents(stmt.array)
            case Whole():
                return any(map(self.contents, stmt.outs))
            case RefAppend() | RefSet():
                return True
            case Alloc():
                return self._steered.any(*stmt.shape)
            case Loop():
                bounds = self._steered.any(stmt.lo, stmt.hi, stmt.step)
                ends = self._steered(stmt.stop) and (stmt.index is None or self.chooses(stmt))
                return bounds or ends
            case _:
                return False

    def _want(self, *atoms: Atom | None) -> None:
        self.values.update(a for a in atoms if isinstance(a, Sym))

    def _want_contents(self, array: Atom) -> None:
        self._want(array)
        self._roots |= self._alias.roots(array)

    def _block(self, block: Block) -> None:
        for stmt in reversed(block):
            self._stmt(stmt)

    def _stmt(self, stmt: Stmt) -> None:
        active = self._activity.active
        match stmt:
            case Let() if self(stmt.target):
                self._want(*(a for a in stmt.args if not (stmt.op == "dim" and active(a))))
            case Load():
                if active(stmt.target) or self(stmt.target):
                    self._want(*stmt.index)
                if self(stmt.target):
                    self._want_contents(stmt.array)
            case Store():
                if active(stmt.array) or self.contents(stmt.array):
                    self._want(*stmt.index)
                if self.contents(stmt.array):
                    self._want(stmt.array, stmt.value)
            case View():
                self._made(stmt.target, (stmt.array,), view_atoms(stmt))
            case Alloc():
                like = () if stmt.like is None or active(stmt.like) else (stmt.like,)
                self._made(stmt.target, like, stmt.shape)
                if self(stmt.target):
                    self._want(stmt.like)
                if self.contents(stmt.target):
                    self._want(stmt.target, stmt.fill)
            case Ensure():
                self._made(stmt.target, (stmt.array,), (stmt.need,))
            case RefGet():
                self._made(stmt.target, (stmt.references,), (stmt.position,))
            case RefAppend() | RefSet():
                if self(stmt.references):
                    self._want(stmt.array)
                if isinstance(stmt, RefSet) and (active(stmt.array) or self(stmt.references)):
                    self._want(stmt.position)
            case Whole():
                if any(map(self.contents, stmt.outs)):
                    self._want(*stmt.outs)
                    for a in stmt.args:
                        self._want_contents(a)
            case Loop():
                self._loop(stmt)
            case If():
                self._if(stmt)
            case _:
                pass

    def _made(self, target: Sym, sources: tuple[Atom, ...], numbers: tuple[Atom, ...]) -> None:
        if self(target):
            self._want(*sources)
        if self(target) or self._activity.active(target):
            self._want(*numbers)

    def _loop(self, stmt: Loop) -> None:
        for p, i, n, r in zip(stmt.params, stmt.inits, stmt.nexts, stmt.results, strict=True):
            if self(r) or self(p):
                self._want(p, i, n)
        if self.matters(stmt):
            self._want(stmt.lo, stmt.hi, stmt.step)
            if not self.all_turns(stmt):
                self._want(stmt.stop)
        self._block(stmt.body)

    def _if(self, stmt: If) -> None:
        for a, b, r in zip(stmt.then_values, stmt.else_values, stmt.results, strict=True):
            if self(r):
                self._want(a, b)
        if self.matters(stmt) and (not self._steered(stmt.cond) or self.chooses(stmt)):
            self._want(stmt.cond)
        self._block(stmt.then)
        self._block(stmt.els)
