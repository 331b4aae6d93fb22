"""The verifier: every symbol defined once and before its use, arities and types right.

It runs before and after each pass in tests (`ADJIT_VERIFY=1`), and raises AssertionError: what it finds is a
fault of adjit, never of the user.
"""

from __future__ import annotations

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
    RefAppend,
    RefGet,
    RefNew,
    Slice,
    Stmt,
    Store,
    Sym,
    View,
)
from adjit.ir.types import BOOL, Array, RefList, Scalar
from adjit.ir.visit import inner_targets, operands, targets


class _Verifier:
    def __init__(self, typed: bool, functions: dict[str, Function]):
        self.typed = typed
        self.functions = functions
        self.seen: set[Sym] = set()

    def define(self, s: Sym, scope: set[Sym]) -> None:
        assert s not in self.seen, f"{s} is defined twice"
        assert not self.typed or s.type.known, f"{s} has no type: {s.type}"
        self.seen.add(s)
        scope.add(s)

    def read(self, a: Atom, scope: set[Sym]) -> None:
        assert not isinstance(a, Sym) or a in scope, f"{a} is read but not in scope"

    def reads(self, atoms: tuple[Atom, ...], scope: set[Sym]) -> None:
        for a in atoms:
            self.read(a, scope)

    def block(self, block: Block, scope: set[Sym]) -> None:
        for stmt in block:
            self.stmt(stmt, scope)

    def same(self, pairs: list[tuple[Atom, Sym]]) -> None:
        for a, s in pairs:
            kinds = (type(a.type), type(s.type))
            assert kinds[0] is kinds[1], f"{a} flows into {s}: {a.type} into {s.type}"
            if isinstance(a.type, Array) and isinstance(s.type, Array):
                assert a.type.ndim == s.type.ndim, f"{a} flows into {s}: ranks differ"
            if self.typed and isinstance(a.type, Scalar):
                assert a.type == s.type, f"{a} flows into {s}: {a.type} into {s.type}"

    def stmt(self, stmt: Stmt, scope: set[Sym]) -> None:
        self.reads(operands(stmt), scope)
        self._shape(stmt)
        match stmt:
            case Loop():
                inner = set(scope)
                for s in inner_targets(stmt):
                    self.define(s, inner)
                self.block(stmt.body, inner)
                self.reads(stmt.nexts, inner)
                if stmt.stop is not None:
                    self.read(stmt.stop, inner)
                assert len(stmt.params) == len(stmt.inits) == len(stmt.nexts) == len(stmt.results)
                for source in (stmt.inits, stmt.nexts):
                    self.same(list(zip(source, stmt.params, strict=True)))
                self.same(list(zip(stmt.params, stmt.results, strict=True)))
            case If():
                for body, values in ((stmt.then, stmt.then_values), (stmt.els, stmt.else_values)):
                    inner = set(scope)
                    self.block(body, inner)
                    self.reads(values, inner)
                    assert len(values) == len(stmt.results), "branch yields the wrong number of values"
                    self.same(list(zip(values, stmt.results, strict=True)))
            case Custom():
                inner = set(scope)
                self.block(stmt.body, inner)
                self.reads(stmt.values, inner)
                assert len(stmt.values) == len(stmt.results)
            case Derive():
                inner = set(scope)
                for s in inner_targets(stmt):
                    self.define(s, inner)
                self.block(stmt.body, inner)
                self.reads(stmt.values, inner)
                assert len(stmt.params) == len(stmt.args) == len(stmt.active)
            case Call():
                assert stmt.callee in self.functions, f"no function {stmt.callee} in the program"
                callee = self.functions[stmt.callee]
                assert len(stmt.args) == len(callee.params), f"{stmt.callee}: wrong number of arguments"
                assert len(stmt.results) == len(callee.results), f"{stmt.callee}: wrong number of results"
                self.same(list(zip(stmt.args, callee.params, strict=True)))
                self.same(list(zip(callee.results, stmt.results, strict=True)))
            case _:
                pass
        for s in targets(stmt):
            self.define(s, scope)

    def _shape(self, stmt: Stmt) -> None:
        match stmt:
            case Load() | Store():
                assert isinstance(stmt.array.type, Array), f"{stmt.array} is not an array"
                assert len(stmt.index) == stmt.array.type.ndim, f"{stmt.array}: wrong number of indices"
            case View():
                source, target = stmt.array.type, stmt.target.type
                assert isinstance(source, Array)
                assert isinstance(target, Array)
                if stmt.transpose:
                    assert source.ndim == target.ndim
                    assert not stmt.index
                else:
                    assert len(stmt.index) == source.ndim, f"{stmt.array}: a view spells out every axis"
                    assert target.ndim == sum(isinstance(i, Slice) for i in stmt.index)
            case Alloc():
                assert isinstance(stmt.target.type, Array)
                assert len(stmt.shape) == stmt.target.type.ndim
            case Ensure():
                assert isinstance(stmt.target.type, Array)
                assert stmt.target.type.ndim == 1
            case RefNew():
                assert isinstance(stmt.target.type, RefList)
            case RefAppend() | RefGet():
                assert isinstance(stmt.references.type, RefList)
            case If():
                assert not self.typed or stmt.cond.type == BOOL, f"condition {stmt.cond} is not a bool"
            case Let():
                assert isinstance(stmt.target.type, Scalar)
            case _:
                pass


def verify(function: Function, typed: bool = True) -> Function:
    """Check the function, and those that it calls, and give it back."""
    functions = {f.name: f for f in function.functions}
    assert len(functions) == len(function.functions), "two functions of one name"
    for f in (function, *function.functions):
        v = _Verifier(typed, functions)
        scope: set[Sym] = set()
        for p in f.params:
            v.define(p, scope)
        v.block(f.body, scope)
        v.reads(f.results, scope)
    return function
