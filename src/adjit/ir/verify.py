"""The verifier: every symbol defined once and before its use, arities and types right.

It runs before and after each pass in tests (`ADJIT_VERIFY=1`), and raises AssertionError: what it finds is a
fault of adjit, never of the user.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

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
    Whole,
)
from adjit.ir.types import BOOL, Array, RefList, Scalar
from adjit.ir.visit import blocks, inner_targets, operands, targets


class _Verifier:
    def __init__(self, typed: bool, functions: dict[str, Function]):
        self.typed = typed
        self.functions = functions
        self.seen: set[Sym] = set()
        self.scope: set[Sym] = set()
        self._opened: list[list[Sym]] = [[]]

    def define(self, s: Sym) -> None:
        if s in self.seen:
            raise AssertionError(f"{s} is defined twice")
        if self.typed and not s.type.known:
            raise AssertionError(f"{s} has no type: {s.type}")
        self.seen.add(s)
        self.scope.add(s)
        self._opened[-1].append(s)

    @contextmanager
    def inside(self) -> Generator[None]:
        """A block of its own: what it defines is out of scope after it."""
        self._opened.append([])
        yield
        self.scope.difference_update(self._opened.pop())

    def read(self, a: Atom) -> None:
        if isinstance(a, Sym) and a not in self.scope:
            raise AssertionError(f"{a} is read but not in scope")

    def reads(self, atoms: tuple[Atom, ...]) -> None:
        for a in atoms:
            self.read(a)

    def block(self, block: Block) -> None:
        for stmt in block:
            self.stmt(stmt)

    def same(self, pairs: list[tuple[Atom, Sym]]) -> None:
        for a, s in pairs:
            kinds = (type(a.type), type(s.type))
            assert kinds[0] is kinds[1], f"{a} flows into {s}: {a.type} into {s.type}"
            if isinstance(a.type, Array) and isinstance(s.type, Array):
                assert a.type.ndim == s.type.ndim, f"{a} flows into {s}: ranks differ"
            if self.typed and isinstance(a.type, Scalar):
                assert a.type == s.type, f"{a} flows into {s}: {a.type} into {s.type}"

    def stmt(self, stmt: Stmt) -> None:
        self.reads(operands(stmt))
        self._shape(stmt)
        if blocks(stmt):
            self._inside(stmt)
        for s in targets(stmt):
            self.define(s)

    def _inside(self, stmt: Stmt) -> None:
        match stmt:
            case Loop():
                with self.inside():
                    self._body(stmt)
                    self.reads(stmt.nexts)
                    if stmt.stop is not None:
                        self.read(stmt.stop)
                assert len(stmt.params) == len(stmt.inits) == len(stmt.nexts) == len(stmt.results)
                for source in (stmt.inits, stmt.nexts):
                    self.same(list(zip(source, stmt.params, strict=True)))
                self.same(list(zip(stmt.params, stmt.results, strict=True)))
            case If():
                for body, values in ((stmt.then, stmt.then_values), (stmt.els, stmt.else_values)):
                    with self.inside():
                        self.block(body)
                        self.reads(values)
                    assert len(values) == len(stmt.results), "branch yields the wrong number of values"
                    self.same(list(zip(values, stmt.results, strict=True)))
            case Custom():
                with self.inside():
                    self.block(stmt.body)
                    self.reads(stmt.values)
                assert len(stmt.values) == len(stmt.results)
            case Derive():
                with self.inside():
                    self._body(stmt)
                    self.reads(stmt.values)
                assert len(stmt.params) == len(stmt.args) == len(stmt.active)
            case Call() if self.functions:
                assert stmt.callee in self.functions, f"no function {stmt.callee} in the program"
                callee = self.functions[stmt.callee]
                assert len(stmt.args) == len(callee.params), f"{stmt.callee}: wrong number of arguments"
                assert len(stmt.results) == len(callee.results), f"{stmt.callee}: wrong number of results"
                self.same(list(zip(stmt.args, callee.params, strict=True)))
                self.same(list(zip(callee.results, stmt.results, strict=True)))
            case _:
                pass

    def _body(self, stmt: Loop | Derive) -> None:
        for s in inner_targets(stmt):
            self.define(s)
        self.block(stmt.body)

    def _shape(self, stmt: Stmt) -> None:
        match stmt:
            case Let():
                assert isinstance(stmt.target.type, Scalar)
            case Load() | Store():
                assert isinstance(stmt.array.type, Array), f"{stmt.array} is not an array"
                assert len(stmt.index) == stmt.array.type.ndim, f"{stmt.array}: wrong number of indices"
            case View():
                source, target = stmt.array.type, stmt.target.type
                assert isinstance(source, Array)
                assert isinstance(target, Array)
                if stmt.axes is not None:
                    old = [k for k in stmt.axes if k is not None]
                    assert len(stmt.axes) == target.ndim
                    assert sorted(old) == list(range(source.ndim)), f"{stmt.array}: a view keeps every axis"
                    assert not stmt.index and stmt.shape is None
                elif stmt.shape is not None:
                    assert len(stmt.shape) == target.ndim
                    assert not stmt.index
                    # "A": a shadow in a called function, contiguous but not by its type
                    known = source.layout in ("C", "A") and target.layout == "C"
                    assert not self.typed or stmt.elsewhere or known, (
                        f"{stmt.array} is not contiguous: {source}"
                    )
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
            case Whole():
                assert len(set(stmt.outs)) == len(stmt.outs), f"{stmt.op}: two results of one name"
                for s in stmt.outs:
                    assert isinstance(s.type, Array), f"{stmt.op}: {s} is not an array"
                    assert s not in stmt.args, f"{stmt.op}: {s} is read and written"
            case If():
                assert not self.typed or stmt.cond.type == BOOL, f"condition {stmt.cond} is not a bool"
            case _:
                pass


def verify(function: Function, typed: bool = True) -> Function:
    """Check the function, and those that it calls, and give it back.

    A function without its program (`functions` empty) is checked on its own: what it calls is not known then.
    """
    functions = {f.name: f for f in function.functions}
    assert len(functions) == len(function.functions), "two functions of one name"
    for f in (function, *function.functions):
        v = _Verifier(typed, functions)
        for p in f.params:
            v.define(p)
        v.block(f.body)
        v.reads(f.results)
    return function
