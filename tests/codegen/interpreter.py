"""The meaning of the IR, run directly: what generated text is compared with."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from adjit.analysis.numba_types import OPERATORS, callable_of
from adjit.ir.core import (
    Alloc,
    Atom,
    Block,
    Const,
    Custom,
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
    Slice,
    Stmt,
    Store,
    Sym,
    Undef,
    View,
    Whole,
)
from adjit.rules import linear


class Poison:
    """The value of Undef: may be passed on, never used."""


class Interpreter:
    """Runs one function on Python and NumPy values."""

    def __init__(self) -> None:
        self.env: dict[Sym, Any] = {}

    def run(self, f: Function, *args: Any) -> tuple[Any, ...]:
        self.env.update(zip(f.params, args, strict=True))
        self.block(f.body)
        return tuple(self.value(a) for a in f.results)

    def value(self, a: Atom | None) -> Any:
        match a:
            case Sym():
                return self.env[a]
            case Const():
                name = a.type.name
                return a.value if name in ("int64", "float64", "bool") else np.dtype(name).type(a.value)
            case Undef():
                return Poison()
            case None:
                return None

    def used(self, a: Atom) -> Any:
        got = self.value(a)
        assert not isinstance(got, Poison), f"{a} is undefined and used"
        return got

    def index(self, items: tuple[Atom | Slice, ...]) -> Any:
        parts = tuple(
            slice(*(self.value(p) for p in (i.start, i.stop, i.step)))
            if isinstance(i, Slice)
            else self.used(i)
            for i in items
        )
        return parts

    def view(self, stmt: View, array: Any) -> Any:
        if stmt.axes is not None:
            old = [k for k in stmt.axes if k is not None]
            return array.transpose(old)[tuple(None if k is None else slice(None) for k in stmt.axes)]
        if stmt.shape is not None:
            return array.reshape([self.used(a) for a in stmt.shape])
        return array[self.index(stmt.index)]

    def block(self, block: Block) -> None:
        for stmt in block:
            self.stmt(stmt)

    def bind(self, into: tuple[Sym, ...], values: tuple[Atom, ...]) -> None:
        got = [self.value(v) for v in values]
        self.env.update(zip(into, got, strict=True))

    def stmt(self, stmt: Stmt) -> None:
        env = self.env
        match stmt:
            case Let():
                env[stmt.target] = self.let(stmt)
            case Load():
                env[stmt.target] = self.used(stmt.array)[self.index(stmt.index)]
            case Store():
                self.used(stmt.array)[self.index(stmt.index)] = self.used(stmt.value)
            case View():
                array = self.used(stmt.array)
                env[stmt.target] = self.view(stmt, array)
            case Alloc():
                shape = tuple(self.used(a) for a in stmt.shape)
                fill = 0 if stmt.fill is None else self.used(stmt.fill)
                env[stmt.target] = np.full(shape, fill, stmt.target.type.dtype.name)
            case Ensure():
                array, need = self.used(stmt.array), self.used(stmt.need)
                if array.size < need:
                    array = np.concatenate([array, np.zeros(need - array.size, array.dtype)])
                env[stmt.target] = array
            case RefNew():
                env[stmt.target] = []
            case RefAppend():
                self.used(stmt.references).append(self.used(stmt.array))
            case RefGet():
                env[stmt.target] = self.used(stmt.references)[self.used(stmt.position)]
            case Whole():
                args = tuple(self.used(a) for a in stmt.args)
                linear.evaluate(stmt.op, tuple(self.used(s) for s in stmt.outs), args)
            case Loop():
                self.loop(stmt)
            case If():
                taken = self.used(stmt.cond)
                self.block(stmt.then if taken else stmt.els)
                self.bind(stmt.results, stmt.then_values if taken else stmt.else_values)
            case Custom():
                self.block(stmt.body)
                self.bind(stmt.results, stmt.values)
            case Raise():
                raise ValueError(*stmt.args)

    def loop(self, loop: Loop) -> None:
        self.bind(loop.params, loop.inits)
        turns: Any = iter(int, 1)
        if loop.index is not None:
            turns = range(*(self.used(b) for b in (loop.lo, loop.hi, loop.step) if b is not None))
        for turn in turns:
            if loop.index is not None:
                self.env[loop.index] = turn
            self.block(loop.body)
            stop = loop.stop is not None and self.used(loop.stop)
            self.bind(loop.params, loop.nexts)
            if stop:
                break
        self.bind(loop.results, loop.params)

    def let(self, let: Let) -> Any:
        args = [self.used(a) for a in let.args]
        match let.op:
            case "cast":
                return np.dtype(let.target.type.name).type(args[0])
            case "dim":
                return args[0].shape[args[1]]
            case "select":
                return args[1] if args[0] else args[2]
            case "szmul":
                return args[0] * args[1] if args[0] != 0 else args[0]
            case "fdiv":
                with np.errstate(all="ignore"):
                    return np.divide(args[0], args[1])
            case op if let.fn is None and op in OPERATORS:
                return OPERATORS[op](*args)
            case op:
                function = callable_of(let.fn or op)
                assert function is not None, op
                return function(*args)


def run(f: Function, *args: Any) -> tuple[Any, ...]:
    """The function's results."""
    return Interpreter().run(f, *args)


__all__ = ["Interpreter", "operator", "run"]
