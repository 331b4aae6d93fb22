"""The verifier: every symbol defined once and before its use, arities and types right.

It runs before and after each pass in tests (`ADJIT_VERIFY=1`), and raises AssertionError: what it finds is a
fault of adjit, never of the user.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
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
)
from adjit.ir.types import BOOL, Array, RefList, Scalar
from adjit.ir.visit import inner_targets, operands, targets


class _Verifier:
    """One function. Symbols are told apart by their numbers, which hash faster: the fuzzer verifies every pass."""

    def __init__(self, typed: bool, functions: dict[str, Function]):
        self.typed = typed
        self.functions = functions
        self.seen: set[int] = set()
        self.scope: set[int] = set()
        self._known: set[int] = set()  # types, by id
        self._opened: list[list[int]] = [[]]

    def define(self, s: Sym) -> None:
        number = s.uid
        if number in self.seen:
            raise AssertionError(f"{s} is defined twice")
        if id(s.type) not in self._known:
            if self.typed and not s.type.known:
                raise AssertionError(f"{s} has no type: {s.type}")
            self._known.add(id(s.type))
        self.seen.add(number)
        self.scope.add(number)
        self._opened[-1].append(number)

    @contextmanager
    def inside(self) -> Generator[None]:
        """A block of its own: what it defines is out of scope after it."""
        self._opened.append([])
        yield
        self.scope.difference_update(self._opened.pop())

    def reads(self, atoms: tuple[Atom, ...]) -> None:
        for a in atoms:
            if isinstance(a, Sym) and a.uid not in self.scope:
                raise AssertionError(f"{a} is read but not in scope")

    def block(self, block: Block) -> None:
        scope = self.scope
        for stmt in block:
            for a in operands(stmt):
                if isinstance(a, Sym) and a.uid not in scope:
                    raise AssertionError(f"{a} is read but not in scope")
            shape = _SHAPES.get(type(stmt))
            if shape is not None:
                shape(stmt)
            if type(stmt) in _OUTER:
                self._inside(stmt)
            for s in targets(stmt):
                self.define(s)

    def same(self, pairs: list[tuple[Atom, Sym]]) -> None:
        for a, s in pairs:
            kinds = (type(a.type), type(s.type))
            assert kinds[0] is kinds[1], f"{a} flows into {s}: {a.type} into {s.type}"
            if isinstance(a.type, Array) and isinstance(s.type, Array):
                assert a.type.ndim == s.type.ndim, f"{a} flows into {s}: ranks differ"
            if self.typed and isinstance(a.type, Scalar):
                assert a.type == s.type, f"{a} flows into {s}: {a.type} into {s.type}"

    def _inside(self, stmt: Stmt) -> None:
        match stmt:
            case Loop():
                with self.inside():
                    self._body(stmt)
                    self.reads(stmt.nexts)
                    if stmt.stop is not None:
                        self.reads((stmt.stop,))
                assert len(stmt.params) == len(stmt.inits) == len(stmt.nexts) == len(stmt.results)
                for source in (stmt.inits, stmt.nexts):
                    self.same(list(zip(source, stmt.params, strict=True)))
                self.same(list(zip(stmt.params, stmt.results, strict=True)))
            case If():
                assert not self.typed or stmt.cond.type == BOOL, f"condition {stmt.cond} is not a bool"
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
                assert stmt.kind == "pull" or len(stmt.params) == len(stmt.args) == len(stmt.active)
            case Call() if stmt.callee in self.functions:
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


def _let(stmt: Let) -> None:
    assert isinstance(stmt.target.type, Scalar)


def _element(stmt: Load | Store) -> None:
    assert isinstance(stmt.array.type, Array), f"{stmt.array} is not an array"
    assert len(stmt.index) == stmt.array.type.ndim, f"{stmt.array}: wrong number of indices"


def _view(stmt: View) -> None:
    source, target = stmt.array.type, stmt.target.type
    assert isinstance(source, Array)
    assert isinstance(target, Array)
    if stmt.axes is not None:
        old = [k for k in stmt.axes if k is not None]
        assert len(stmt.axes) == target.ndim
        assert sorted(old) == list(range(source.ndim)), f"{stmt.array}: a view keeps every axis"
        assert not stmt.index
        assert stmt.shape is None
    elif stmt.shape is not None:
        assert len(stmt.shape) == target.ndim
        assert not stmt.index
        # "A": a shadow in a called function, contiguous but not by its type; "?": not typed yet
        known = source.layout in ("C", "A", "?") and target.layout in ("C", "?")
        assert stmt.elsewhere or known, f"{stmt.array} is not contiguous: {source}"
    else:
        assert len(stmt.index) == source.ndim, f"{stmt.array}: a view spells out every axis"
        assert target.ndim == sum(isinstance(i, Slice) for i in stmt.index)


def _alloc(stmt: Alloc) -> None:
    assert isinstance(stmt.target.type, Array)
    assert len(stmt.shape) == stmt.target.type.ndim


def _ensure(stmt: Ensure) -> None:
    assert isinstance(stmt.target.type, Array)
    assert stmt.target.type.ndim == 1


def _new(stmt: RefNew) -> None:
    assert isinstance(stmt.target.type, RefList)


def _reference(stmt: RefAppend | RefGet | RefSet) -> None:
    assert isinstance(stmt.references.type, RefList)


def _whole(stmt: Whole) -> None:
    assert len(set(stmt.outs)) == len(stmt.outs), f"{stmt.op}: two results of one name"
    for s in stmt.outs:
        assert isinstance(s.type, Array), f"{stmt.op}: {s} is not an array"
        assert s not in stmt.args, f"{stmt.op}: {s} is read and written"


_SHAPES: dict[type, Callable[[Any], None]] = {
    **dict.fromkeys((Load, Store), _element),
    **dict.fromkeys((RefAppend, RefGet, RefSet), _reference),
    Let: _let,
    View: _view,
    Alloc: _alloc,
    Ensure: _ensure,
    RefNew: _new,
    Whole: _whole,
}
"""What must hold of a statement by itself; looked up, not matched, as in `visit`."""

_OUTER = frozenset({Loop, If, Custom, Derive, Call})


def verify(function: Function, typed: bool = True) -> Function:
    """Check the function, and those that it calls, and give it back.

    What a function calls may not be known while its program is in the making; calls of what is known are checked.
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
