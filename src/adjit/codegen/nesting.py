"""Decides which statements print inside the expression that uses them.

A `Let` or `Load` nests into its only use when that is in the same block and on the same source line, when
nothing between could change its value or see it raise later (stores, loops, branches), and when the
expression stays modest. Each operation still happens once, on the same operands: no bit changes.
"""

from __future__ import annotations

from collections import Counter

from adjit.codegen.while_form import While, as_while
from adjit.ir.core import (
    Atom,
    Block,
    Custom,
    Ensure,
    Function,
    If,
    Let,
    Load,
    Loop,
    Raise,
    RefAppend,
    Stmt,
    Store,
    Sym,
)
from adjit.ir.visit import blocks, operands, walk, yields

_MAX_WEIGHT = 14
_RAISING = frozenset({"div", "floordiv", "mod", "pow"})
_BARRIERS = (Store, Loop, If, Custom, Raise, RefAppend)
_CONTROL = (Loop, If, Custom, Raise)


class Plan:
    """How a function prints: `while` forms and nested statements."""

    def __init__(self, function: Function):
        self.whiles: dict[int, While] = {}
        self.nested: dict[Sym, Let | Load] = {}
        self._weights: dict[Sym, int] = {}
        for stmt in walk(function.body):
            if isinstance(stmt, Loop):
                form = as_while(stmt)
                if form is not None:
                    self.whiles[id(stmt)] = form
        self.uses = self._count(function)
        self._block(function.body)

    def leaves(self, a: Atom | None) -> set[Sym]:
        """Symbols that are read where the atom is printed."""
        if not isinstance(a, Sym):
            return set()
        inner = self.nested.get(a)
        if inner is None:
            return {a}
        return set().union(*(self.leaves(b) for b in operands(inner)))

    def _count(self, function: Function) -> Counter[Sym]:
        uses: Counter[Sym] = Counter()
        uses.update(a for a in function.results if isinstance(a, Sym))
        self._count_block(function.body, uses)
        return uses

    def _count_block(self, block: Block, uses: Counter[Sym]) -> None:
        for stmt in block:
            uses.update(a for a in operands(stmt) if isinstance(a, Sym))
            form = self.whiles.get(id(stmt))
            if form is None:
                uses.update(a for a in yields(stmt) if isinstance(a, Sym))
                for sub in blocks(stmt):
                    self._count_block(sub, uses)
            else:
                ends = (form.cond, *form.nexts, *(() if form.stop is None else (form.stop,)))
                uses.update(a for a in ends if isinstance(a, Sym))
                self._count_block(form.pre, uses)
                self._count_block(form.work, uses)

    def _block(
        self, block: Block, flag: Atom | None = None, line: int = 0, changed: tuple[Sym, ...] = ()
    ) -> None:
        """Nest within one block.

        `flag` is a condition read at its end (from a head on `line`), after `changed` have their new values.
        """
        sites = self._sites(block, flag, line, changed)
        for k, stmt in enumerate(block):
            if k in sites and isinstance(stmt, Let | Load):
                self._nest(stmt, block, sites)
            form = self.whiles.get(id(stmt))
            if form is not None:
                assert isinstance(stmt, Loop)
                self._block(form.pre, form.cond, stmt.span.line)
                self._block(form.work, form.stop, 0, stmt.params)
            elif isinstance(stmt, Loop):
                self._block(stmt.body, stmt.stop, 0, stmt.params)
            else:
                for sub in blocks(stmt):
                    self._block(sub)

    def _nest(self, stmt: Let | Load, block: Block, sites: dict[int, int]) -> None:
        weight = 1 + sum(self._weights.get(a, 0) for a in operands(stmt) if isinstance(a, Sym))
        user = _reader(block, stmt.target)
        carried = 0 if user is None else sum(self._weights.get(a, 0) for a in operands(user) if a in self.nested)
        if weight + carried > _MAX_WEIGHT:
            return
        self.nested[stmt.target] = stmt
        self._weights[stmt.target] = weight

    def _sites(
        self, block: Block, flag: Atom | None, line: int, changed: tuple[Sym, ...]
    ) -> dict[int, int]:
        """For each statement that may nest, the position where it would print in the end."""
        readers: dict[Sym, int] = {flag: len(block)} if isinstance(flag, Sym) else {}
        sites: dict[int, int] = {}
        for k in range(len(block) - 1, -1, -1):
            stmt = block[k]
            if isinstance(stmt, Let | Load) and self.uses[stmt.target] == 1 and stmt.target in readers:
                at = readers[stmt.target]
                user = block[at] if at < len(block) else None
                final = sites.get(at, at)
                late = final == len(block) and any(a in changed for a in operands(stmt))
                if not late and self._fits(stmt, user, line) and self._movable(stmt, block, k, final):
                    sites[k] = final
            for a in operands(stmt):
                if isinstance(a, Sym):
                    readers[a] = k
        return sites

    def _fits(self, stmt: Let | Load, user: Stmt | None, line: int) -> bool:
        """Whether the place that reads the target can hold an expression."""
        if user is None:
            return line == 0 or line == stmt.span.line
        if isinstance(user, Ensure | RefAppend | Custom) or user.span.line != stmt.span.line:
            return False
        if isinstance(user, Let) and user.op in ("select", "szmul", "dim", "stop_gradient"):
            return user.op == "select" and user.args[0] == stmt.target
        if isinstance(user, Loop):
            return stmt.target in (user.lo, user.hi, user.step)
        return True

    def _movable(self, stmt: Let | Load, block: Block, start: int, end: int) -> bool:
        fixed = isinstance(stmt, Load) or stmt.op in _RAISING
        barriers = _BARRIERS if fixed else _CONTROL
        return not any(isinstance(s, barriers) for s in block[start + 1 : end])


def _reader(block: Block, s: Sym) -> Stmt | None:
    return next((stmt for stmt in block if s in operands(stmt)), None)
