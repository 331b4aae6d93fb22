"""Arrays that called functions return: kept in a list, their positions are returned instead.

    function f(x, n): if n == 0: a = alloc ..; yield a else: b = call f(x, m); c = alloc ..; yield c -> r; return r
    ->  function f(x, n, list, count):
            if n == 0: a = alloc ..; append; yield 0th.. else: p = call f(..); b = refget list p; ..; yield q -> s
            r = refget list s; return s

The reverse form of the caller then has the same array again, by its position, and its shadow by the same position in a
list of shadows. Only for arrays that the function (or its call of itself) allocates: what it is given, or a view,
would have two shadows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NoReturn

from adjit.errors import UnsupportedError
from adjit.ir.core import (
    Alloc,
    Atom,
    Block,
    Call,
    Function,
    If,
    RefGet,
    Span,
    Stmt,
    Sym,
)
from adjit.ir.types import INT64, Array
from adjit.ir.visit import Rewriter, targets, walk
from adjit.transform.reverse.kept import Kept

_Key = tuple[str, int]


def returned(program: Function) -> tuple[Block, Function]:
    """The statements that make the lists, and the program that works on them.

    Raises: UnsupportedError for an array that the function does not allocate itself.
    """
    kept: dict[_Key, Kept] = {}
    tracked: dict[Sym, _Key] = {}
    for f in program.functions:
        for k, a in enumerate(f.results):
            if isinstance(a.type, Array):
                element = _track(f, k, tracked)
                kept[f.name, k] = Kept.named(f.name.partition(".")[0], element)
    if not kept:
        return (), program
    head = tuple(stmt for one in kept.values() for stmt in one.made(program.span))
    callees = tuple(_Positions(f, kept, tracked).run() for f in program.functions)
    return head, replace(_Positions(program, kept, tracked).run(), functions=callees)


def _track(f: Function, k: int, tracked: dict[Sym, _Key]) -> Array:
    """Note every array that may be the result; the type of all of them."""
    definition = {s: stmt for stmt in walk(f.body) for s in targets(stmt)}
    elements: dict[Array, None] = {}
    todo: list[Atom] = [f.results[k]]
    while todo:
        a = todo.pop()
        stmt = definition.get(a) if isinstance(a, Sym) else None
        if not isinstance(a, Sym) or stmt is None or tracked.get(a, (f.name, k)) != (f.name, k):
            _refuse(f, f.span)
        if a in tracked:
            continue
        tracked[a] = (f.name, k)
        match stmt:
            case Alloc():
                assert isinstance(a.type, Array)
                elements[a.type] = None
            case If():
                j = stmt.results.index(a)
                todo += [stmt.then_values[j], stmt.else_values[j]]
            case Call() if (stmt.callee, stmt.results.index(a)) == (f.name, k):
                pass
            case _:
                _refuse(f, stmt.span)
    if len(elements) != 1:
        _refuse(f, f.span)
    return next(iter(elements))


def _refuse(f: Function, span: Span) -> NoReturn:
    name = f.name.partition(".")[0]
    raise UnsupportedError(
        f"'{name}', which calls itself, returns an array that it did not allocate: reverse mode cannot follow it",
        "return a fresh array (a copy), pass the array in and let the function fill it, or use forward mode (aj.jvp)",
        span,
    )


class _Positions(Rewriter):
    """Puts positions in place of the arrays that calls return, in one function."""

    def __init__(self, f: Function, kept: dict[_Key, Kept], tracked: dict[Sym, _Key]):
        super().__init__()
        self.f, self.kept = f, kept
        own = {s for stmt in walk(f.body) for s in targets(stmt)}
        self.tracked = {s: key for s, key in tracked.items() if s in own}
        self.position = {s: Sym(f"{s.name}_at", INT64) for s in self.tracked}

    def run(self) -> Function:
        body = self.block(self.f.body)
        results = tuple(
            self.position[a] if isinstance(a, Sym) and (self.f.name, k) in self.kept else self.atom(a)
            for k, a in enumerate(self.f.results)
        )
        return replace(self.f, body=body, results=results)

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        match stmt:
            case Alloc() if stmt.target in self.tracked:
                return self._alloc(stmt)
            case If() if any(r in self.tracked for r in stmt.results):
                return self._if(stmt)
            case Call() if any(isinstance(r.type, Array) for r in stmt.results):
                return self._call(stmt)
            case _:
                return (self.rebuild(stmt),)

    def _alloc(self, stmt: Alloc) -> tuple[Stmt, ...]:
        rebuilt = self.rebuild(stmt)
        assert isinstance(rebuilt, Alloc)
        return self.kept[self.tracked[stmt.target]].keep(rebuilt, self.position[stmt.target])

    def _if(self, stmt: If) -> tuple[Stmt, ...]:
        """The branch yields positions; its arrays are looked up after it."""
        results: list[Sym] = []
        after: list[Stmt] = []
        yields: list[list[Atom]] = [[], []]
        then, els = self.block(stmt.then), self.block(stmt.els)
        for r, *values in zip(stmt.results, stmt.then_values, stmt.else_values, strict=True):
            moved = r in self.tracked
            results.append(self.position[r] if moved else r)
            for out, v in zip(yields, values, strict=True):
                out.append(self.position[v] if moved and isinstance(v, Sym) else self.atom(v))
            if moved:
                after.append(self._again(r, self.position[r], self.tracked[r], stmt.span))
        new = If(
            self.atom(stmt.cond), then, els, tuple(yields[0]), tuple(yields[1]), tuple(results), stmt.span
        )
        return (new, *after)

    def _call(self, stmt: Call) -> tuple[Stmt, ...]:
        results: list[Sym] = []
        after: list[Stmt] = []
        for k, r in enumerate(stmt.results):
            if (stmt.callee, k) not in self.kept:
                results.append(r)
                continue
            at = self.position.get(r) or Sym(f"{r.name}_at", INT64)
            results.append(at)
            after.append(self._again(r, at, (stmt.callee, k), stmt.span))
        return (Call(tuple(results), stmt.callee, self.atoms(stmt.args), stmt.span), *after)

    def _again(self, array: Sym, at: Sym, key: _Key, span: Span) -> Stmt:
        return RefGet(array, self.kept[key].listed, at, span)


__all__ = ["returned"]
