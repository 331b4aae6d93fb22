"""Activity: which values carry derivatives from the active inputs to the seeded outputs.

*Varied* values depend differentiably on an active input; *useful* ones influence a seeded output; *active* ones
are both. Scalars are tracked per symbol, memory per root (flow-insensitively: memory that holds an active value
once is active throughout, so its shadow always exists).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from adjit.analysis.alias import Alias
from adjit.analysis.complex_values import refuse_without_rule
from adjit.ir.core import (
    Alloc,
    Atom,
    Block,
    Call,
    Custom,
    Ensure,
    Function,
    If,
    Let,
    Load,
    Loop,
    Stmt,
    Store,
    Sym,
    Whole,
)
from adjit.ir.types import Array
from adjit.ir.visit import blocks, inner_targets, targets, walk
from adjit.rules import linear

Carries = Callable[[str, int], bool]


class Activity:
    """The result: `scalars` and `roots` that are active."""

    def __init__(
        self,
        function: Function,
        alias: Alias,
        inputs: Iterable[Sym],
        outputs: Iterable[Atom] | None,
        carries: Carries,
        refuse: bool = True,
    ):
        """`inputs`: active parameters. `outputs`: seeded results and arrays (None: everything is useful).

        `carries(op, k)` says whether operand k of the operation has a slope. `refuse`: whether each needs a rule.
        Raises: UnsupportedError where an operation on varied complex numbers has no rule for them.
        """
        self._alias, self._carries = alias, carries
        self._functions = {f.name: f for f in function.functions}
        self._stmts = [s for f in (function, *function.functions) for s in _outside_customs(f.body)]
        self._callee_arrays = [s for f in function.functions for s in f.params if isinstance(s.type, Array)]
        self._written = {
            id(s): tuple(a for t in walk(s.body) for a in _may_write(t))
            for s in self._stmts
            if isinstance(s, Custom)
        }
        self.varied: set[Sym] = set()
        self.varied_roots: set[Sym] = set()
        for p in inputs:
            (self.varied_roots if isinstance(p.type, Array) else self.varied).add(p)
        self._fixpoint(self._forward, self._stmts)
        self._close(self.varied_roots)
        self._fixpoint(self._forward, self._stmts)
        outputs = None if outputs is None else tuple(outputs)
        if refuse:
            refuse_without_rule(self._stmts, self._is_varied)
        if outputs is None:
            self.scalars, self.roots = self.varied, self.varied_roots
            return
        self._useful: set[Sym] = set()
        self._useful_roots: set[Sym] = set()
        for a in outputs:
            if isinstance(a, Sym):
                self._want(a)
        self._fixpoint(self._backward, self._stmts[::-1])
        self.scalars = self.varied & self._useful
        self.roots = self.varied_roots & self._useful_roots
        self._close(self.roots)

    def active(self, a: Atom) -> bool:
        """Whether the scalar, or any memory of the array, is active."""
        if not isinstance(a, Sym):
            return False
        if isinstance(a.type, Array):
            return a.type.differentiable and not self._alias.roots(a).isdisjoint(self.roots)
        return a in self.scalars

    def _fixpoint(self, visit: Callable[[Stmt], bool], stmts: list[Stmt]) -> None:
        while any([visit(s) for s in stmts]):
            pass

    def _close(self, roots: set[Sym]) -> None:
        """Memory that shares a name with active memory needs a shadow too."""
        names = [*self._callee_arrays, *(s for stmt in self._stmts for s in _array_names(stmt))]
        while True:
            before = len(roots)
            for s in names:
                mine = self._alias.roots(s)
                if not mine.isdisjoint(roots):
                    roots |= {r for r in mine if isinstance(r.type, Array) and r.type.differentiable}
            if len(roots) == before:
                return

    # varied

    def _is_varied(self, a: Atom) -> bool:
        if not isinstance(a, Sym):
            return False
        if isinstance(a.type, Array):
            return not self._alias.roots(a).isdisjoint(self.varied_roots)
        return a in self.varied

    def _mark(self, s: Sym) -> bool:
        if isinstance(s.type, Array) or s in self.varied or not s.type.differentiable:
            return False
        self.varied.add(s)
        return True

    def _mark_memory(self, array: Sym) -> bool:
        new = {r for r in self._alias.roots(array) if r.type.differentiable} - self.varied_roots
        self.varied_roots |= new
        return bool(new)

    def _forward(self, stmt: Stmt) -> bool:
        match stmt:
            case Let():
                if stmt.target in self.varied:
                    return False
                for k, a in enumerate(stmt.args):
                    if self._is_varied(a) and self._carries(stmt.op, k):
                        return self._mark(stmt.target)
                return False
            case Load():
                return self._is_varied(stmt.array) and self._mark(stmt.target)
            case Store():
                return self._is_varied(stmt.value) and self._mark_memory(stmt.array)
            case Alloc() if stmt.fill is not None:
                return self._is_varied(stmt.fill) and self._mark_memory(stmt.target)
            case Ensure():
                return self._is_varied(stmt.array) and self._mark_memory(stmt.target)
            case Whole():
                hit = [s for s, a in _carried(stmt) if self._is_varied(a)]
                return any([self._mark_memory(s) for s in hit])
            case Loop():
                hits = [
                    self._is_varied(i) or self._is_varied(n)
                    for i, n in zip(stmt.inits, stmt.nexts, strict=True)
                ]
                pairs = zip(hits, stmt.params, stmt.results, strict=True)
                return any([(h and (self._mark(p) | self._mark(r))) for h, p, r in pairs])
            case If():
                pairs = zip(stmt.then_values, stmt.else_values, stmt.results, strict=True)
                return any(
                    [(self._is_varied(a) or self._is_varied(b)) and self._mark(r) for a, b, r in pairs]
                )
            case Custom():
                if not any(map(self._is_varied, stmt.args)):
                    return False
                marks = [self._mark(r) for r in stmt.results if not isinstance(r.type, Array)]
                memory = [r for r in stmt.results if isinstance(r.type, Array)]
                return any([*marks, *(self._mark_memory(a) for a in (*memory, *self._written[id(stmt)]))])
            case Call():
                pairs = self._flows(stmt)
                return any([self._is_varied(source) and self._mark(target) for target, source in pairs])
            case _:
                return False

    def _flows(self, stmt: Call) -> list[tuple[Sym, Atom]]:
        """What flows into what in a call: arguments into parameters, the callee's results into the call's."""
        callee = self._functions[stmt.callee]
        into = (*callee.params, *stmt.results)
        return list(zip(into, (*stmt.args, *callee.results), strict=True))

    # useful

    def _want(self, a: Atom) -> bool:
        if not isinstance(a, Sym):
            return False
        if isinstance(a.type, Array):
            new = self._alias.roots(a) - self._useful_roots
            self._useful_roots |= new
            return bool(new)
        if a in self._useful:
            return False
        self._useful.add(a)
        return True

    def _wanted(self, a: Atom) -> bool:
        if not isinstance(a, Sym):
            return False
        if isinstance(a.type, Array):
            return not self._alias.roots(a).isdisjoint(self._useful_roots)
        return a in self._useful

    def _backward(self, stmt: Stmt) -> bool:
        match stmt:
            case Let():
                if not self._wanted(stmt.target):
                    return False
                return any([self._want(a) for k, a in enumerate(stmt.args) if self._carries(stmt.op, k)])
            case Load():
                return self._wanted(stmt.target) and self._want(stmt.array)
            case Store():
                return self._wanted(stmt.array) and self._want(stmt.value)
            case Alloc() if stmt.fill is not None:
                return self._wanted(stmt.target) and self._want(stmt.fill)
            case Ensure():
                return self._wanted(stmt.target) and self._want(stmt.array)
            case Whole():
                return any([self._want(a) for s, a in _carried(stmt) if self._wanted(s)])
            case Loop():
                changed = False
                flows = zip(stmt.params, stmt.inits, stmt.nexts, stmt.results, strict=True)
                for p, i, n, r in flows:
                    if not isinstance(p.type, Array) and (self._wanted(r) or self._wanted(p)):
                        changed |= self._want(i) | self._want(n) | self._want(p)
                return changed
            case If():
                changed = False
                for r, a, b in zip(stmt.results, stmt.then_values, stmt.else_values, strict=True):
                    if not isinstance(r.type, Array) and self._wanted(r):
                        changed |= self._want(a) | self._want(b)
                return changed
            case Custom():
                if not any(map(self._wanted, (*stmt.results, *self._written[id(stmt)]))):
                    return False
                return any([self._want(a) for a in stmt.args])
            case Call():
                pairs = [(t, a) for t, a in self._flows(stmt) if not isinstance(t.type, Array)]
                return any([self._wanted(target) and self._want(source) for target, source in pairs])
            case _:
                return False


def _outside_customs(block: Block) -> Iterator[Stmt]:
    """Every statement, but not those inside functions with rules of their own."""
    for stmt in block:
        yield stmt
        if not isinstance(stmt, Custom):
            for sub in blocks(stmt):
                yield from _outside_customs(sub)


def _carried(stmt: Whole) -> list[tuple[Sym, Atom]]:
    """Results and the arguments in which they have a derivative."""
    carries = linear.get(stmt.op).carries
    return [(s, a) for k, s in enumerate(stmt.outs) for j, a in enumerate(stmt.args) if carries(k, j)]


def _may_write(stmt: Stmt) -> tuple[Sym, ...]:
    """Arrays that the statement writes, or may have written by what it calls."""
    if isinstance(stmt, Call):
        return tuple(a for a in stmt.args if isinstance(a, Sym) and isinstance(a.type, Array))
    return stmt.outs if isinstance(stmt, Whole) else (stmt.array,) if isinstance(stmt, Store) else ()


def _array_names(stmt: Stmt) -> list[Sym]:
    return [s for s in (*targets(stmt), *inner_targets(stmt)) if isinstance(s.type, Array)]
