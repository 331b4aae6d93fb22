"""Walks over the IR: uses, definitions, sub-blocks, substitution, copying with fresh symbols."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from operator import attrgetter
from typing import Any

from adjit.ir.core import (
    Alloc,
    Atom,
    Block,
    Call,
    Custom,
    Derive,
    Ensure,
    Function,
    If,
    Let,
    Load,
    Loop,
    Raise,
    RefAppend,
    RefGet,
    RefNew,
    RefSet,
    Slice,
    Stmt,
    Store,
    Sym,
    View,
    Whole,
    fresh,
)

_BLOCKS: dict[type, Callable[[Any], tuple[Block, ...]]] = {
    Loop: lambda stmt: (stmt.body,),
    If: lambda stmt: (stmt.then, stmt.els),
    Custom: lambda stmt: (stmt.body,),
    Derive: lambda stmt: (stmt.body,),
}
"""Sub-blocks by kind of statement; looked up, not matched, as targets and operands are: every walk asks for them."""


def blocks(stmt: Stmt) -> tuple[Block, ...]:
    """The statement's sub-blocks, in order."""
    found = _BLOCKS.get(type(stmt))
    return () if found is None else found(stmt)


def walk(block: Block) -> Iterator[Stmt]:
    """Every statement, outer before inner, in order."""
    for stmt in block:
        yield stmt
        found = _BLOCKS.get(type(stmt))
        if found is not None:
            for sub in found(stmt):
                yield from walk(sub)


def walk_program(function: Function) -> Iterator[Stmt]:
    """Every statement of the function and of the functions that it calls."""
    for f in (function, *function.functions):
        yield from walk(f.body)


def everywhere(function: Function, rewrite: Callable[[Function], Function]) -> Function:
    """`rewrite` of the function and of each function that it calls."""
    callees = tuple(rewrite(f) for f in function.functions)
    entry = replace(function, functions=()) if callees else function
    return replace(rewrite(entry), functions=callees)


def reachable(function: Function, functions: Iterable[Function]) -> tuple[Function, ...]:
    """Those of `functions` that the function calls, directly or through others; callers before what they call."""
    by_name = {f.name: f for f in functions}
    seen: set[str] = set()
    done: list[Function] = []

    def visit(f: Function) -> None:
        for stmt in walk(f.body):
            if isinstance(stmt, Call) and stmt.callee not in seen:
                seen.add(stmt.callee)
                visit(by_name[stmt.callee])
                done.append(by_name[stmt.callee])

    visit(function)
    return tuple(done[::-1])


def _one(stmt: Any) -> tuple[Sym, ...]:
    return (stmt.target,)


_TARGETS: dict[type, Callable[[Any], tuple[Sym, ...]]] = {
    **dict.fromkeys((Let, Load, View, Alloc, Ensure, RefNew, RefGet), _one),
    **dict.fromkeys((Loop, If, Custom, Derive, Call), attrgetter("results")),
}


def targets(stmt: Stmt) -> tuple[Sym, ...]:
    """Symbols that the statement itself defines in its own block (not those of its sub-blocks)."""
    found = _TARGETS.get(type(stmt))
    return () if found is None else found(stmt)


def inner_targets(stmt: Stmt) -> tuple[Sym, ...]:
    """Symbols defined at the head of the statement's body (a loop's index and params, a Derive's params)."""
    if isinstance(stmt, Loop):
        return ((stmt.index,) if stmt.index is not None else ()) + stmt.params
    return stmt.params if isinstance(stmt, Derive) else ()


def _slice_atoms(item: Atom | Slice) -> tuple[Atom, ...]:
    if isinstance(item, Slice):
        return tuple(a for a in (item.start, item.stop, item.step) if a is not None)
    return (item,)


def view_atoms(view: View) -> tuple[Atom, ...]:
    """What a view reads beside the array: indices, bounds of slices, extents."""
    return (*(a for item in view.index for a in _slice_atoms(item)), *(view.shape or ()))


def same_view(view: View, target: Sym, array: Sym, atom: Callable[[Atom], Atom] | None = None) -> View:
    """The same view of another array, its atoms read through `atom`."""
    if atom is None:
        return View(target, array, view.index, view.axes, view.shape, view.elsewhere, view.span)
    index = tuple([_item(i, atom) for i in view.index])
    shape = None if view.shape is None else tuple([atom(a) for a in view.shape])
    return View(target, array, index, view.axes, shape, view.elsewhere, view.span)


def _item(item: Atom | Slice, atom: Callable[[Atom], Atom]) -> Atom | Slice:
    if isinstance(item, Slice):
        return Slice(*[None if p is None else atom(p) for p in (item.start, item.stop, item.step)])
    return atom(item)


def _of_alloc(stmt: Alloc) -> tuple[Atom, ...]:
    tail = (() if stmt.fill is None else (stmt.fill,)) + (() if stmt.like is None else (stmt.like,))
    return (*stmt.shape, *tail)


def _of_loop(stmt: Loop) -> tuple[Atom, ...]:
    if stmt.index is None:
        return stmt.inits
    return (*(a for a in (stmt.lo, stmt.hi, stmt.step) if a is not None), *stmt.inits)


_OPERANDS: dict[type, Callable[[Any], tuple[Atom, ...]]] = {
    Let: attrgetter("args"),
    Load: lambda stmt: (stmt.array, *stmt.index),
    Store: lambda stmt: (stmt.array, *stmt.index, stmt.value),
    View: lambda stmt: (stmt.array, *view_atoms(stmt)),
    Alloc: _of_alloc,
    Ensure: attrgetter("array", "need"),
    RefNew: lambda stmt: (),
    RefAppend: attrgetter("references", "array"),
    RefGet: attrgetter("references", "position"),
    RefSet: attrgetter("references", "position", "array"),
    Whole: lambda stmt: (*stmt.outs, *stmt.args),
    Loop: _of_loop,
    If: lambda stmt: (stmt.cond,),
    **dict.fromkeys((Custom, Call), attrgetter("args")),
    Derive: lambda stmt: (*stmt.args, *stmt.given),
    Raise: lambda stmt: tuple(a for a in stmt.args if isinstance(a, Sym)),
}


def operands(stmt: Stmt) -> tuple[Atom, ...]:
    """Atoms read by the statement at its head (not those read inside sub-blocks, nor yields)."""
    return _OPERANDS[type(stmt)](stmt)


def yields(stmt: Stmt) -> tuple[Atom, ...]:
    """Atoms read at the ends of the statement's sub-blocks."""
    match stmt:
        case Loop():
            return (*stmt.nexts, *(() if stmt.stop is None else (stmt.stop,)))
        case If():
            return (*stmt.then_values, *stmt.else_values)
        case Custom() | Derive():
            return stmt.values
        case _:
            return ()


def used(block: Block) -> set[Sym]:
    """Every symbol read anywhere in the block."""
    found: set[Sym] = set()
    for stmt in walk(block):
        found.update([a for a in operands(stmt) if isinstance(a, Sym)])
        if type(stmt) in _BLOCKS:
            found.update([a for a in yields(stmt) if isinstance(a, Sym)])
    return found


def defined(block: Block) -> set[Sym]:
    """Every symbol defined anywhere in the block."""
    found: set[Sym] = set()
    for stmt in walk(block):
        found.update(targets(stmt))
        if type(stmt) in _BLOCKS:
            found.update(inner_targets(stmt))
    return found


def free(block: Block) -> set[Sym]:
    """Symbols read in the block but defined outside."""
    return used(block) - defined(block)


def from_outside(function: Function) -> set[Sym]:
    """Symbols that the function's body and results read, parameters among them, and the body does not define."""
    return free(function.body) | {a for a in function.results if isinstance(a, Sym)} - defined(function.body)


class Rewriter:
    """Rebuilds blocks with atoms replaced through `env`; override `stmt` to change statements.

    `define` maps a defined symbol to the one to define instead (identity by default); what it
    returns is remembered in `env`.
    """

    def __init__(self, env: dict[Sym, Atom] | None = None, define: Callable[[Sym], Sym] | None = None):
        self.env: dict[Sym, Atom] = {} if env is None else env
        self._define = define

    def atom(self, a: Atom) -> Atom:
        return self.env.get(a, a) if isinstance(a, Sym) else a

    def sym(self, s: Sym) -> Sym:
        got = self.env.get(s, s)
        assert isinstance(got, Sym), f"{s} must stay a symbol, got {got}"
        return got

    def define(self, s: Sym) -> Sym:
        if self._define is None:
            return s
        new = self._define(s)
        self.env[s] = new
        return new

    def atoms(self, atoms: tuple[Atom, ...]) -> tuple[Atom, ...]:
        env = self.env
        if env:
            for a in atoms:
                if isinstance(a, Sym) and a in env:
                    return tuple([env.get(b, b) if isinstance(b, Sym) else b for b in atoms])
        return atoms

    def block(self, block: Block) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            out.extend(self.stmt(stmt))
        return tuple(out)

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        return (self.rebuild(stmt),)

    def rebuild(self, stmt: Stmt) -> Stmt:
        """The statement with its parts rewritten; itself where that changes nothing.

        (A statement that defines nothing is always a new one: it may be put in two places, and analyses tell statements
        apart by identity. `dataclasses.replace` here would cost a third of a build.)
        """
        opt = self._opt
        match stmt:
            case Let():
                args, target = self.atoms(stmt.args), self.define(stmt.target)
                if args is stmt.args and target is stmt.target:
                    return stmt
                return Let(target, stmt.op, args, stmt.fn, stmt.span)
            case Load():
                array, index, target = self.sym(stmt.array), self.atoms(stmt.index), self.define(stmt.target)
                if array is stmt.array and index is stmt.index and target is stmt.target:
                    return stmt
                return Load(target, array, index, stmt.span)
            case Store():
                array, index, value = self.sym(stmt.array), self.atoms(stmt.index), self.atom(stmt.value)
                return Store(array, index, value, stmt.span, stmt.fills, stmt.update, stmt.wraps)
            case View():
                return same_view(stmt, self.define(stmt.target), self.sym(stmt.array), self.atom)
            case Alloc():
                shape, fill = self.atoms(stmt.shape), opt(stmt.fill)
                like = None if stmt.like is None else self.sym(stmt.like)
                return Alloc(self.define(stmt.target), shape, fill, like, stmt.span)
            case Ensure():
                array, need = self.sym(stmt.array), self.atom(stmt.need)
                return Ensure(self.define(stmt.target), array, need, stmt.span)
            case RefNew():
                return RefNew(self.define(stmt.target), stmt.span)
            case RefAppend():
                return RefAppend(self.sym(stmt.references), self.sym(stmt.array), stmt.span)
            case RefGet():
                refs, position = self.sym(stmt.references), self.atom(stmt.position)
                return RefGet(self.define(stmt.target), refs, position, stmt.span)
            case RefSet():
                refs, position = self.sym(stmt.references), self.atom(stmt.position)
                return RefSet(refs, position, self.sym(stmt.array), stmt.span)
            case Whole():
                return Whole(
                    tuple([self.sym(s) for s in stmt.outs]), stmt.op, self.atoms(stmt.args), stmt.span
                )
            case Loop():
                lo, hi, step, inits = opt(stmt.lo), opt(stmt.hi), opt(stmt.step), self.atoms(stmt.inits)
                index = None if stmt.index is None else self.define(stmt.index)
                params = tuple([self.define(p) for p in stmt.params])
                body = self.block(stmt.body)
                nexts, stop = self.atoms(stmt.nexts), opt(stmt.stop)
                results = tuple([self.define(r) for r in stmt.results])
                flows = (params, inits, body, nexts, results, stop)
                said = (stmt.at_once, stmt.parallel, stmt.note, stmt.asked, stmt.free)
                return Loop(index, lo, hi, step, *flows, stmt.span, *said)
            case If():
                cond = self.atom(stmt.cond)
                then = self.block(stmt.then)
                then_values = self.atoms(stmt.then_values)
                els = self.block(stmt.els)
                else_values = self.atoms(stmt.else_values)
                results = tuple([self.define(r) for r in stmt.results])
                return If(cond, then, els, then_values, else_values, results, stmt.span)
            case Custom():
                args = self.atoms(stmt.args)
                body = self.block(stmt.body)
                values = self.atoms(stmt.values)
                results = tuple([self.define(r) for r in stmt.results])
                return Custom(args, body, values, results, stmt.rule, stmt.span)
            case Derive():
                args, given = self.atoms(stmt.args), self.atoms(stmt.given)
                params = tuple([self.define(p) for p in stmt.params])
                body = self.block(stmt.body)
                values = self.atoms(stmt.values)
                results = tuple([self.define(r) for r in stmt.results])
                parts = (stmt.kind, args, params, body, values, results, stmt.active, stmt.heads)
                return Derive(*parts, given, stmt.span)
            case Call():
                args = self.atoms(stmt.args)
                return Call(tuple([self.define(r) for r in stmt.results]), stmt.callee, args, stmt.span)
            case Raise():
                args = tuple([self.sym(a) if isinstance(a, Sym) else a for a in stmt.args])
                return Raise(stmt.exception, args, stmt.span)

    def _opt(self, a: Atom | None) -> Atom | None:
        return None if a is None else self.atom(a)


def substitute(block: Block, env: dict[Sym, Atom]) -> Block:
    """The block with free symbols replaced; definitions stay."""
    return Rewriter(dict(env)).block(block)


def renamed(block: Block, env: dict[Sym, Atom]) -> Block:
    """A copy of the block with every definition fresh; `env` receives the mapping."""
    return Rewriter(env, fresh).block(block)


def with_own_symbols(f: Function, env: dict[Sym, Atom] | None = None) -> Function:
    """A copy of a function with fresh symbols throughout; `env` receives the mapping."""
    env = {} if env is None else env
    own = {p: fresh(p) for p in f.params}
    env.update(own)
    body = renamed(f.body, env)
    results = tuple(env.get(a, a) if isinstance(a, Sym) else a for a in f.results)
    groups = tuple(frozenset(own[p] for p in g) for g in f.overlapping)
    return replace(f, params=tuple(own.values()), body=body, results=results, overlapping=groups)


class Passing(Rewriter):
    """Passes further arguments in every call; `env` as in `Rewriter`."""

    def __init__(self, more: tuple[Atom, ...], env: Mapping[Sym, Atom] | None = None):
        super().__init__({} if env is None else dict(env))
        self._more = more

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        rebuilt = self.rebuild(stmt)
        if isinstance(rebuilt, Call):
            rebuilt = replace(rebuilt, args=(*rebuilt.args, *self._more))
        return (rebuilt,)
