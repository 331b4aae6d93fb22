"""Runs an IR function directly, in Python: the reference for what the frontend and the passes produce.

Scalars are Python or NumPy numbers as they come, arrays are NumPy arrays. Works on untyped and typed IR.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from adjit.analysis.numba_types import OPERATORS
from adjit.ir.core import (
    Alloc,
    Atom,
    Block,
    Call,
    Const,
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
    Undef,
    View,
    Whole,
)
from adjit.ir.types import Array, Scalar
from adjit.rules import linear

MAX_TURNS = 10_000_000


def _fdiv(a: Any, b: Any) -> Any:
    with np.errstate(all="ignore"):
        return np.divide(a, b)


def _nonnegative(x: Any) -> Any:
    assert x >= 0, "an integer that is said not to be negative is"
    return x


OPS: dict[str, Callable[..., Any]] = {
    **OPERATORS,
    "min": min,
    "max": max,
    "fdiv": _fdiv,
    "szmul": lambda ct, s: ct * 0 if ct == 0 else ct * s,
    "select": lambda c, a, b: a if c else b,
    "stop_gradient": lambda x: x,
    "nonneg": _nonnegative,
}


class Undefined(Exception):
    """A value that no path may read was read: a fault of adjit."""


class _UndefinedValue:
    pass


_UNDEFINED = _UndefinedValue()


def _poison(array: Any) -> Any:
    """What memory holds where an undefined value was stored: a record may, but then nobody uses it."""
    return np.nan if array.dtype.kind in "fc" else np.iinfo(np.int32).min


def interpret(function: Function, args: tuple[Any, ...], strict: bool = True) -> tuple[Any, ...]:
    """The results of the function; arrays among the arguments are mutated as the program says.

    `strict`: an undefined result is a fault. Else it is poison: what an augmented sweep passes on may be undefined
    where the reverse sweep does not use it.
    """
    machine = _Machine({f.name: f for f in function.functions})
    assert len(args) == len(function.params), f"{len(function.params)} arguments are wanted"
    machine.env.update(zip(function.params, args, strict=True))
    machine.block(function.body)
    if strict:
        return tuple(machine.read(a) for a in function.results)
    flows = [(a, machine.flow(a)) for a in function.results]
    return tuple(_poison(np.empty(0, a.type.name)) if v is _UNDEFINED else v for a, v in flows)  # type: ignore[union-attr]


class _Machine:
    def __init__(self, functions: dict[str, Function]) -> None:
        self.functions = functions
        self.env: dict[Sym, Any] = {}

    def read(self, a: Atom) -> Any:
        """The atom's value; reading what is not defined is a fault."""
        value = self.flow(a)
        if value is _UNDEFINED:
            raise Undefined(str(a))
        return value

    def flow(self, a: Atom) -> Any:
        """The atom's value, possibly undefined: flows may carry what nobody reads."""
        match a:
            case Sym():
                return self.env[a]
            case Const():
                return (
                    a.value
                    if a.type.name in ("int64", "float64", "bool", "complex128")
                    else _cast(a.value, a.type)
                )
            case Undef():
                return _UNDEFINED

    def block(self, block: Block) -> None:
        for stmt in block:
            self.stmt(stmt)

    def index(self, index: tuple[Atom | Slice, ...]) -> tuple[Any, ...]:
        return tuple(
            slice(*(None if p is None else self.read(p) for p in (i.start, i.stop, i.step)))
            if isinstance(i, Slice)
            else self.read(i)
            for i in index
        )

    def view(self, stmt: View, array: Any) -> Any:
        if stmt.axes is not None:
            old = [k for k in stmt.axes if k is not None]
            new = tuple(None if k is None else slice(None) for k in stmt.axes)
            return array.transpose(old)[new]
        if stmt.shape is not None:
            assert array.flags.c_contiguous, "a reshaped view of memory that is not contiguous"
            return array.reshape([int(self.read(a)) for a in stmt.shape])
        return array[self.index(stmt.index)]

    def stmt(self, stmt: Stmt) -> None:
        match stmt:
            case Let():
                self.env[stmt.target] = self.let(stmt)
            case Load():
                self.env[stmt.target] = self.read(stmt.array)[self.index(stmt.index)]
            case Store():
                array, index = self.read(stmt.array), self.index(stmt.index)
                value = self.flow(stmt.value)
                array[index] = _poison(array) if value is _UNDEFINED else value
            case View():
                array = self.read(stmt.array)
                self.env[stmt.target] = self.view(stmt, array)
            case Alloc():
                self.env[stmt.target] = self.alloc(stmt)
            case Ensure():
                array, need = self.read(stmt.array), self.read(stmt.need)
                if len(array) < need:
                    grown = np.empty(max(need, 2 * len(array)), array.dtype)
                    grown[: len(array)] = array
                    array = grown
                self.env[stmt.target] = array
            case RefNew():
                self.env[stmt.target] = []
            case RefAppend():
                self.read(stmt.references).append(self.read(stmt.array))
            case RefGet():
                self.env[stmt.target] = self.read(stmt.references)[self.read(stmt.position)]
            case RefSet():
                self.read(stmt.references)[self.read(stmt.position)] = self.read(stmt.array)
            case Whole():
                args = tuple(self.read(a) for a in stmt.args)
                linear.evaluate(stmt.op, tuple(self.read(s) for s in stmt.outs), args)
            case Loop():
                self.loop(stmt)
            case If():
                taken = bool(self.read(stmt.cond))
                self.block(stmt.then if taken else stmt.els)
                values = stmt.then_values if taken else stmt.else_values
                self.bind(stmt.results, [self.flow(v) for v in values])
            case Custom():
                self.block(stmt.body)
                self.bind(stmt.results, [self.flow(v) for v in stmt.values])
            case Call():
                callee = self.functions[stmt.callee]
                inner = _Machine(self.functions)
                inner.bind(callee.params, [self.flow(a) for a in stmt.args])
                inner.block(callee.body)
                self.bind(stmt.results, [inner.flow(a) for a in callee.results])
            case Derive():
                raise AssertionError("an inner gradient is interpreted after transform.expand")
            case Raise():
                raise getattr(__import__("builtins"), stmt.exception)(*stmt.args)

    def bind(self, targets: tuple[Sym, ...], values: list[Any]) -> None:
        self.env.update(zip(targets, values, strict=True))

    def loop(self, stmt: Loop) -> None:
        values = [self.flow(a) for a in stmt.inits]
        turns: Any = range(MAX_TURNS)
        if stmt.index is not None:
            turns = range(*(int(self.read(a)) for a in (stmt.lo, stmt.hi, stmt.step) if a is not None))
        for k in turns:
            if stmt.index is not None:
                self.env[stmt.index] = k
            self.bind(stmt.params, values)
            self.block(stmt.body)
            values = [self.flow(a) for a in stmt.nexts]
            if stmt.stop is not None and self.read(stmt.stop):
                break
        else:
            assert stmt.index is not None, "an endless loop"
        self.bind(stmt.results, values)

    def alloc(self, stmt: Alloc) -> Any:
        type_ = stmt.target.type
        assert isinstance(type_, Array)
        fill = None if stmt.fill is None else self.read(stmt.fill)
        dtype = type_.dtype.name if type_.dtype.known else np.result_type(1.0 if fill is None else fill)
        shape = tuple(int(self.read(a)) for a in stmt.shape)
        order = "F" if stmt.like is not None and self.read(stmt.like).flags.f_contiguous else "C"
        array = np.empty(shape, dtype, order=order)
        if fill is not None:
            array[...] = fill
        elif array.dtype.kind == "f":
            array[...] = np.nan
        return array

    def let(self, stmt: Let) -> Any:
        args = [self.read(a) for a in stmt.args]
        if stmt.op == "dim":
            return len(args[0]) if isinstance(args[0], list) else args[0].shape[args[1]]
        if stmt.op == "cast":
            return _cast(args[0], stmt.target.type)
        if stmt.fn is not None:
            return _function(stmt.fn)(*args)
        if stmt.op in OPS:
            return OPS[stmt.op](*args)
        return _function(stmt.op)(*args)


def _cast(value: Any, type: Any) -> Any:
    assert isinstance(type, Scalar)
    python = {"int64": int, "float64": float, "bool": bool, "complex128": complex}
    if type.name in python:
        return python[type.name](value)
    return value if not type.known else np.dtype(type.name).type(value)


def _function(name: str) -> Callable[..., Any]:
    module, _, attribute = name.rpartition(".")
    builtins_ = {"min": min, "max": max, "abs": abs, "round": round, "pow": pow, "bool": bool}
    if not module and attribute in builtins_:
        return builtins_[attribute]
    owner = {"math": math, "numpy": np, "operator": operator}.get(module)
    found = (
        getattr(owner, attribute, None)
        if owner
        else getattr(np, attribute, None) or getattr(math, attribute, None)
    )
    assert found is not None, f"the interpreter does not know {name!r}"
    return found
