"""Decides which statements print inside the expression that uses them.

A `Let` or `Load` nests into its only use when that is in the same block and on the same source line, when
nothing between could change its value or see it raise later (stores, loops, branches), and when the
expression stays modest. Each operation still happens once, on the same operands: no bit changes.

A branch that only chooses a bool is a *short circuit* and prints as `a and b` or `a or b`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from adjit.analysis.raising import RAISING
from adjit.codegen.comments import source_line
from adjit.codegen.while_form import While, as_while
from adjit.ir.core import (
    FALSE,
    TRUE,
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
    Raise,
    RefAppend,
    RefSet,
    Stmt,
    Store,
    Sym,
    Whole,
)
from adjit.ir.types import BOOL
from adjit.ir.visit import blocks, operands, targets, walk, yields

_MAX_WEIGHT = 24
_BARRIERS = (Store, Loop, If, Custom, Call, Raise, RefAppend, RefSet, Whole)
_MANY = 25
"""More arguments of a call, or results, than this are plain names: past 30 of them Numba reads no other call, and
no choice (`a if c else b`)."""

_CONTROL = (Loop, If, Custom, Call, Raise)


@dataclass(frozen=True, slots=True)
class _End:
    """Atoms that are read at the end of a block, as part of a head on `line` (0: of any line).

    They are read after `changed` have their new values. `returned`: they are what the function returns.
    """

    atoms: tuple[Atom, ...] = ()
    line: int = 0
    changed: tuple[Sym, ...] = ()
    returned: bool = False


@dataclass(frozen=True, slots=True)
class Short:
    """`cond and value`, `cond or value`."""

    word: str
    cond: Atom
    value: Atom


class Plan:
    """How a function prints: `while` forms, short circuits and nested statements."""

    def __init__(self, function: Function):
        self.whiles: dict[int, While] = {}
        self.shorts: dict[Sym, Short] = {}
        self.nested: dict[Sym, Stmt] = {}
        self._weights: dict[Sym, int] = {}
        for stmt in walk(function.body):
            if isinstance(stmt, Loop):
                form = as_while(stmt)
                if form is not None:
                    self.whiles[id(stmt)] = form
        self.uses: Counter[Sym] = Counter()
        self._use(function.results)
        self._count(function.body)
        self._block(function.body, _End(function.results, returned=True))

    def target(self, stmt: Stmt) -> Sym | None:
        """What the statement defines, if it can print as one expression."""
        if isinstance(stmt, Let | Load):
            return stmt.target
        return stmt.results[0] if isinstance(stmt, If) and self.is_short(stmt) else None

    def is_short(self, stmt: Stmt) -> bool:
        """Whether the statement is a branch that prints as `and` or `or`."""
        return isinstance(stmt, If) and len(stmt.results) == 1 and stmt.results[0] in self.shorts

    def reads(self, stmt: Stmt) -> tuple[Atom, ...]:
        """Atoms that the statement reads where it is printed, if it prints as one expression."""
        target = self.target(stmt)
        if target is not None and target in self.shorts:
            return self.shorts[target].cond, self.shorts[target].value
        return operands(stmt)

    def leaves(self, a: Atom | None) -> set[Sym]:
        """Symbols that are read where the atom is printed."""
        if not isinstance(a, Sym):
            return set()
        inner = self.nested.get(a)
        if inner is None:
            return {a}
        found: set[Sym] = set()
        for b in self.reads(inner):
            found |= self.leaves(b)
        return found

    def _count(self, block: Block) -> None:
        for stmt in block:
            self._use(operands(stmt))
            form = self.whiles.get(id(stmt))
            if form is None:
                self._use(yields(stmt))
                for sub in blocks(stmt):
                    self._count(sub)
            else:
                self._use((form.cond, *form.nexts, *(() if form.stop is None else (form.stop,))))
                self._count(form.pre)
                self._count(form.work)

    def _use(self, atoms: tuple[Atom, ...]) -> None:
        uses = self.uses
        for a in atoms:
            if isinstance(a, Sym):
                uses[a] = uses.get(a, 0) + 1

    def _block(self, block: Block, end: _End) -> None:
        """Nest within one block, inner blocks first."""
        for stmt in block:
            self._inside(stmt)
        sites = self._sites(block, end)
        users: dict[Sym, Stmt] = {}
        for stmt in block:
            for a in operands(stmt):
                if isinstance(a, Sym):
                    users.setdefault(a, stmt)
        for k, stmt in enumerate(block):
            if k in sites:
                self._nest(stmt, users)

    def _inside(self, stmt: Stmt) -> None:
        form = self.whiles.get(id(stmt))
        if isinstance(stmt, Loop) and form is not None:
            self._block(form.pre, _End((form.cond,), stmt.span.line))
            self._block(form.work, _End(() if form.stop is None else (form.stop,), 0, stmt.params))
        elif isinstance(stmt, Loop):
            self._block(stmt.body, _End(() if stmt.stop is None else (stmt.stop,), 0, stmt.params))
        elif isinstance(stmt, If):
            self._branch(stmt)
        else:
            for sub in blocks(stmt):
                self._block(sub, _End())

    def _branch(self, stmt: If) -> None:
        """The blocks of a branch; notes it where it is a short circuit."""
        short = _short(stmt)
        values = () if short is None else (short.value,)
        self._block(stmt.then, _End(values if short is not None and short.word == "and" else ()))
        self._block(stmt.els, _End(values if short is not None and short.word == "or" else ()))
        inner = (*stmt.then, *stmt.els)
        if short is not None and all(set(targets(s)) & self.nested.keys() for s in inner):
            self.shorts[stmt.results[0]] = short

    def _nest(self, stmt: Stmt, users: dict[Sym, Stmt]) -> None:
        target = self.target(stmt)
        assert target is not None
        weight = 1 + self._weight(self.reads(stmt))
        user = users.get(target)
        beside = 0 if user is None else self._weight(operands(user))
        if weight + beside <= _MAX_WEIGHT:
            self.nested[target] = stmt
            self._weights[target] = weight

    def _weight(self, atoms: tuple[Atom, ...]) -> int:
        return sum(self._weights.get(a, 0) for a in atoms if isinstance(a, Sym))

    def _sites(self, block: Block, end: _End) -> dict[int, int]:
        """For each statement that may nest, the position where it would print in the end."""
        readers: dict[Sym, int] = {a: len(block) for a in end.atoms if isinstance(a, Sym)}
        sites: dict[int, int] = {}
        for k in range(len(block) - 1, -1, -1):
            stmt = block[k]
            target = self.target(stmt)
            if target is not None and self.uses[target] == 1 and target in readers:
                at = readers[target]
                final = sites.get(at, at)
                user = block[at] if at < len(block) else None
                late = final == len(block) and self._sees(stmt, end.changed)
                if not late and self._fits(stmt, user, end) and self._movable(stmt, block[k + 1 : final]):
                    sites[k] = final
            for a in operands(stmt):
                if isinstance(a, Sym):
                    readers[a] = k
        return sites

    def _sees(self, stmt: Stmt, changed: tuple[Sym, ...]) -> bool:
        """Whether the statement itself reads one of `changed`."""
        if not changed:
            return False
        atoms = set(operands(stmt))
        if self.is_short(stmt):
            atoms |= set().union(*(self.leaves(a) for a in self.reads(stmt)))
        return any(s in atoms for s in changed)

    def _fits(self, stmt: Stmt, user: Stmt | None, end: _End) -> bool:
        """Whether the place that reads the target can hold an expression."""
        if user is None:
            if end.returned:
                return len(end.atoms) <= _MANY and (source_line(stmt.span) or "").startswith("return")
            return end.line in (0, stmt.span.line)
        if isinstance(user, Ensure | RefAppend | RefSet | Custom | Whole) or user.span.line != stmt.span.line:
            return False
        if isinstance(user, Call) and len(user.args) > _MANY:
            return False
        target = self.target(stmt)
        if isinstance(user, Let) and user.op in ("select", "szmul", "dim", "stop_gradient"):
            return user.op == "select" and user.args[0] == target
        return not isinstance(user, Loop) or target in (user.lo, user.hi, user.step)

    def _movable(self, stmt: Stmt, between: Block) -> bool:
        fixed = not isinstance(stmt, Let) or stmt.op in RAISING
        barriers = _BARRIERS if fixed else _CONTROL
        return not any(isinstance(s, barriers) and not self.is_short(s) for s in between)


def _short(stmt: If) -> Short | None:
    """The branch as `and` or `or`, if it is one."""
    if len(stmt.results) != 1 or stmt.results[0].type != BOOL:
        return None
    (then,), (els,) = stmt.then_values, stmt.else_values
    if els == FALSE and not stmt.els and isinstance(then, Sym):
        return Short("and", stmt.cond, then)
    if then == TRUE and not stmt.then and isinstance(els, Sym):
        return Short("or", stmt.cond, els)
    return None
