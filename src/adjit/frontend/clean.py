"""Prune what the lowering left over: carried values that never change, and whatever nothing reads.

rewrite: loop carry (p = a) ... next p -> r     ->  p and r become a
rewrite: pure statements, results and params that no effect, condition or result depends on  ->  nothing
"""

from __future__ import annotations

from dataclasses import replace

from adjit.ir.core import (
    FALSE,
    TRUE,
    Alloc,
    Atom,
    Block,
    Call,
    Const,
    Custom,
    Derive,
    Function,
    If,
    Let,
    Load,
    Loop,
    Raise,
    Stmt,
    Store,
    Sym,
    Undef,
    View,
    Whole,
)
from adjit.ir.types import BOOL
from adjit.ir.visit import Rewriter, inner_targets, operands, walk

_TRAPS = frozenset({"div", "floordiv", "mod"})


def clean(function: Function) -> Function:
    """The same function without dead statements and needless carried values."""
    while True:
        unchanged = _Unchanged()
        body = unchanged.block(function.body)
        results = unchanged.atoms(function.results)
        function = replace(function, body=body, results=results)
        if not unchanged.found:
            break
    live = _Live(function)
    return replace(function, body=live.block(function.body))


class _Unchanged(Rewriter):
    """Replaces carried values that are the same in every turn, and results equal in both branches."""

    def __init__(self) -> None:
        super().__init__({})
        self.found = False

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        if isinstance(stmt, Loop):
            return self.loop(stmt)
        if isinstance(stmt, If):
            return self.branch(stmt)
        return (self.rebuild(stmt),)

    def loop(self, stmt: Loop) -> tuple[Stmt, ...]:
        keep: list[int] = []
        for k, (p, init, after, r) in enumerate(
            zip(stmt.params, stmt.inits, stmt.nexts, stmt.results, strict=True)
        ):
            start = self.atom(init)
            same = after == p or (isinstance(after, Const) and after == start)
            if same and not isinstance(start, Undef):
                self.env[p] = self.env[r] = start
                self.found = True
            else:
                keep.append(k)
        pick = lambda xs: tuple(xs[k] for k in keep)  # noqa: E731
        short = replace(
            stmt,
            params=pick(stmt.params),
            inits=pick(stmt.inits),
            nexts=pick(stmt.nexts),
            results=pick(stmt.results),
        )
        return (self.rebuild(short),)

    def branch(self, stmt: If) -> tuple[Stmt, ...]:
        new = self.rebuild(stmt)
        assert isinstance(new, If)
        keep: list[int] = []
        for k, (a, b, r) in enumerate(zip(new.then_values, new.else_values, new.results, strict=True)):
            if a == TRUE and b == FALSE and new.cond.type == BOOL:
                a = b = new.cond
            if a == b and not isinstance(a, Undef):
                self.env[r] = a
                self.found = True
            else:
                keep.append(k)
        pick = lambda xs: tuple(xs[k] for k in keep)  # noqa: E731
        return (
            replace(
                new,
                then_values=pick(new.then_values),
                else_values=pick(new.else_values),
                results=pick(new.results),
            ),
        )


class _Live:
    """What effects and results depend on, by one worklist over symbols and statements with blocks."""

    def __init__(self, function: Function):
        self.feeds: dict[Sym, tuple[list[Atom], list[Stmt]]] = {}
        self.control: dict[Stmt, tuple[list[Atom], list[Stmt]]] = {}
        self.live: set[Sym] = set()
        self.kept: set[Stmt] = set()
        self.todo: list[Sym | Stmt] = []
        self.index(function.body, [])
        self.need([a for a in function.results])
        for stmt in walk(function.body):
            if _effect(stmt):
                self.keep(stmt)
        while self.todo:
            item = self.todo.pop()
            atoms, parents = self.feeds.get(item, ([], [])) if isinstance(item, Sym) else self.control[item]
            self.need(atoms)
            for parent in parents:
                self.keep(parent)

    def need(self, atoms: list[Atom]) -> None:
        for a in atoms:
            if isinstance(a, Sym) and a not in self.live:
                self.live.add(a)
                self.todo.append(a)

    def keep(self, stmt: Stmt) -> None:
        if stmt not in self.kept:
            self.kept.add(stmt)
            self.todo.append(stmt)

    def index(self, block: Block, parents: list[Stmt]) -> None:
        for stmt in block:
            inner = [stmt]
            match stmt:
                case Loop():
                    head = [a for a in (stmt.lo, stmt.hi, stmt.step, stmt.stop) if a is not None]
                    self.control[stmt] = (head, parents)
                    if stmt.index is not None:
                        self.feeds[stmt.index] = ([], inner)
                    rows = zip(stmt.params, stmt.inits, stmt.nexts, stmt.results, strict=True)
                    for p, init, after, r in rows:
                        self.feeds[p] = ([init, after], inner)
                        self.feeds[r] = ([init, after, p], inner)
                    self.index(stmt.body, inner)
                case If():
                    self.control[stmt] = ([stmt.cond], parents)
                    for r, a, b in zip(stmt.results, stmt.then_values, stmt.else_values, strict=True):
                        self.feeds[r] = ([a, b], inner)
                    self.index(stmt.then, inner)
                    self.index(stmt.els, inner)
                case Custom() | Derive():
                    self.control[stmt] = ([*operands(stmt), *stmt.values, *stmt.results], parents)
                    for r in (*stmt.results, *inner_targets(stmt)):
                        self.feeds[r] = ([], inner)
                    self.index(stmt.body, inner)
                case Call():
                    self.control[stmt] = ([*stmt.args, *stmt.results], parents)
                case Let() | Load() | View() | Alloc():
                    self.feeds[stmt.target] = (list(operands(stmt)), parents)
                    self.control[stmt] = ([stmt.target], parents)
                case _:
                    self.control[stmt] = (list(operands(stmt)), parents)

    def block(self, block: Block) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            new = self.stmt(stmt)
            if new is not None:
                out.append(new)
        return tuple(out)

    def stmt(self, stmt: Stmt) -> Stmt | None:
        match stmt:
            case Let() | Load() | View() | Alloc():
                return stmt if stmt.target in self.live else None
            case Loop():
                if stmt not in self.kept:
                    return None
                rows = zip(stmt.params, stmt.inits, stmt.nexts, stmt.results, strict=True)
                alive = [(p, i, n, r) for p, i, n, r in rows if p in self.live or r in self.live]
                params, inits, nexts, results = zip(*alive, strict=True) if alive else ((), (), (), ())
                body = self.block(stmt.body)
                return replace(stmt, params=params, inits=inits, nexts=nexts, results=results, body=body)
            case If():
                return self.if_(stmt)
            case Custom() | Derive():
                return replace(stmt, body=self.block(stmt.body)) if stmt in self.kept else None
            case _:
                return stmt

    def if_(self, stmt: If) -> Stmt | None:
        if stmt not in self.kept:
            return None
        rows = zip(stmt.then_values, stmt.else_values, stmt.results, strict=True)
        alive = [(a, b, r) for a, b, r in rows if r in self.live]
        then_values, else_values, results = zip(*alive, strict=True) if alive else ((), (), ())
        then, els = self.block(stmt.then), self.block(stmt.els)
        if not then and not els and not results:
            return None
        return replace(
            stmt, then=then, els=els, then_values=then_values, else_values=else_values, results=results
        )


def _effect(stmt: Stmt) -> bool:
    """Stores, raises, calls, and divisions that may raise."""
    if isinstance(stmt, Let):
        divisor = stmt.args[1] if stmt.op in _TRAPS else None
        return divisor is not None and not (isinstance(divisor, Const) and divisor.value != 0)
    return isinstance(stmt, Store | Raise | Call | Whole)
