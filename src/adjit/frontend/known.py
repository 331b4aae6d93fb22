"""Functions that the frontend itself understands: builtins, array creation, adjit's own markers."""

from __future__ import annotations

import ast
import builtins
import cmath
import functools
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numba
import numpy as np
from numba.typed import List as TypedList

from adjit.frontend import (
    array_functions,
    arrays,
    calls,
    creation,
    expressions,
    folds,
    growing,
    indexing,
    inline,
    iteration,
    kernels,
    lanes,
    library,
    linear,
    list_names,
    lists,
    matrices,
    norms,
    reductions,
    statements,
)
from adjit.frontend.arguments import Handler, bound
from adjit.frontend.context import Lowering
from adjit.frontend.values import (
    Closure,
    EnumerateValue,
    FlatValue,
    IndexSpace,
    NdEnumerateValue,
    Partial,
    RangeValue,
    ReversedValue,
    SliceValue,
    Static,
    TupleValue,
    Value,
    ZipValue,
    is_array,
    is_scalar,
)
from adjit.ir.core import FALSE, ONE, TRUE, ZERO, Const, Sym, Undef, const
from adjit.ir.types import Array, Scalar


def find(obj: object) -> Handler | None:
    """The handler of a Python callable."""
    for known, handler in _TABLE.get(id(obj), ()):
        if known is obj:
            return handler
    found = array_functions.find(obj)
    if found is not None:
        return found
    module = getattr(obj, "__module__", None) or ""
    if isinstance(module, str) and module.partition(".")[0] == "adjit":
        return _MARKERS.get(getattr(obj, "__name__", ""))
    return None


def takes_elements(function: Value) -> bool:
    """Whether a function takes whole arrays an element at a time: its arguments need not be in memory."""
    obj = function.value if isinstance(function, Static) else None
    return isinstance(obj, np.ufunc) or id(obj) in _OF_ELEMENTS


def syntax(function: Value) -> Callable[[Lowering, ast.Call], Value] | None:
    """Calls that need their arguments unevaluated: sum over a generator, np.array of a nested list."""
    obj = function.value if isinstance(function, Static) else None
    if obj in (np.array, np.asarray) if callable(obj) else False:
        return creation.array_call
    if obj is builtins.sum or obj is builtins.any or obj is builtins.all:
        return reductions.reduce_call
    return None


# handlers


def _range(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if kwargs or not 1 <= len(args) <= 3:
        lx.refuse(
            node,
            "'range' takes one to three arguments",
            "write range(stop), range(start, stop) or range(start, stop, step)",
        )
    parts = [expressions.number(lx, a, node) for a in args]
    for p in parts:
        if isinstance(p, Const) and not isinstance(p.value, int):
            lx.refuse(node, "'range' takes integers", "convert it by int()")
    if len(parts) == 1:
        return RangeValue(ZERO, parts[0], ONE)
    if len(parts) == 3 and parts[2] == ZERO:
        lx.refuse(node, "'range' with step 0", "give a step that is not zero")
    return RangeValue(parts[0], parts[1], parts[2] if len(parts) == 3 else ONE)


def _prange(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """`prange` is a `range` where the dispatcher was not asked for `parallel`."""
    value = _range(lx, args, kwargs, node)
    assert isinstance(value, RangeValue)
    return replace(value, parallel=lx.frame.parallel)


def _len(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if len(args) != 1 or kwargs:
        lx.refuse(node, "'len' takes one argument", "len(x)")
    value = args[0]
    if isinstance(value, TupleValue):
        return const(len(value.items))
    if isinstance(value, Static) and isinstance(value.value, str):
        return const(len(value.value))
    if is_scalar(value) or isinstance(value, Static | Closure):
        lx.refuse(node, f"'len' of {lx.kind(value)}", "take the length of an array, a tuple or a list")
    return iteration.count(lx, value, node)


def _slice(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if kwargs or not 1 <= len(args) <= 3:
        lx.refuse(node, "'slice' with these arguments is not supported", "give one to three numbers")
    given = [None, *args, None] if len(args) == 1 else [*args, None]
    parts = [None if a is None or lanes.none(a) else expressions.number(lx, a, node) for a in given[:3]]
    return SliceValue(*parts)


def _enumerate(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    given = bound(lx, "enumerate", ("iterable", "start"), 1)(args, kwargs, node)
    return EnumerateValue(given["iterable"], expressions.number(lx, given.get("start", ZERO), node))


def _zip(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if kwargs or not args:
        lx.refuse(
            node,
            "'zip' with these arguments is not supported",
            "zip(x, y, ...), which ends with the shortest",
        )
    return ZipValue(tuple(args))


def _reversed(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if kwargs or len(args) != 1 or isinstance(args[0], ZipValue | EnumerateValue):
        lx.refuse(node, "'reversed' of this is not supported", "loop over a descending range")
    if isinstance(args[0], TupleValue):
        return TupleValue(args[0].items[::-1])
    return ReversedValue(args[0])


def _identity_of(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if not args:
        lx.refuse(node, "an argument is missing", "pass it")
    return args[0]


def _tuple(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if not args:
        return TupleValue(())
    return TupleValue(tuple(expressions.items_of(lx, args[0], node)))


def _list(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if not args and not kwargs:
        return growing.made(lx, node, [])
    if kwargs or len(args) != 1:
        lx.refuse(node, "'list' takes one argument", "list(x)")
    return lists.list_from(lx, args[0], node)


def _extremum(op: str) -> Handler:
    def handler(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
        return reductions.extremum(lx, op, args, kwargs, node)

    return handler


def _limits(made: type[np.finfo[Any]] | type[np.iinfo[Any]], name: str) -> Handler:
    def handler(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
        if kwargs or len(args) != 1:
            lx.refuse(node, f"'np.{name}' takes one dtype", "np.float64, or a.dtype")
        dtype = creation.dtype_of(lx, args[0], node)
        if dtype.is_float != (name == "finfo") or dtype.is_bool or dtype.is_complex:
            kinds = "float" if name == "finfo" else "int"
            lx.refuse(node, f"'np.{name}' of {dtype.name}", f"give a dtype of {kinds}s")
        return Static(made(np.dtype(dtype.name)))

    return handler


def _frexp(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if kwargs or len(args) != 1:
        lx.refuse(node, "'math.frexp' takes one argument", "math.frexp(x)")
    parts = inline.call_library(lx, library.frexp, [expressions.number(lx, args[0], node)], node)
    assert isinstance(parts, TupleValue)
    mantissa, exponent = parts.items
    if not lx.frame.plain:  # Numba's is the int of C
        whole = expressions.number(lx, exponent, node)
        exponent = calls.convert(lx, whole, lx.dtype(np.dtype(np.int32), node), "numpy.int32", node)
    return TupleValue((mantissa, exponent))


def _over_elements(cls: type[FlatValue] | type[NdEnumerateValue], name: str) -> Handler:
    def handler(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
        if kwargs or len(args) != 1 or not isinstance(args[0], Sym) or not is_array(args[0]):
            lx.refuse(node, f"'{name}' with these arguments is not supported", "loop over the indices")
        return cls(args[0])

    return handler


def _nditer(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    lx.refuse(node, "'np.nditer' is not supported", "loop over the indices, or with np.ndenumerate")


def _round(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if kwargs or not 1 <= len(args) <= 2:
        lx.refuse(node, "'round' with these arguments is not supported", "round(x) or round(x, n)")
    return calls.apply_rule(lx, round, tuple(expressions.number(lx, a, node) for a in args), node)


def _pow(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if kwargs or len(args) != 2:
        lx.refuse(node, "'pow' with these arguments is not supported", "pow(x, y), or x ** y")
    return expressions.binary(lx, ast.Pow(), args[0], args[1], node)


def _divmod(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if kwargs or len(args) != 2:
        lx.refuse(node, "'divmod' takes two arguments", "divmod(x, y)")
    quotient = expressions.binary(lx, ast.FloorDiv(), args[0], args[1], node)
    return TupleValue((quotient, expressions.binary(lx, ast.Mod(), args[0], args[1], node)))


def _log(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if kwargs or not 1 <= len(args) <= 2:
        lx.refuse(
            node, "'math.log' with these arguments is not supported", "math.log(x) or math.log(x, base)"
        )
    parts = [calls.apply_rule(lx, math.log, (expressions.number(lx, a, node),), node) for a in args]
    return parts[0] if len(parts) == 1 else expressions.binary(lx, ast.Div(), parts[0], parts[1], node)


def _complex_log(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if kwargs or not 1 <= len(args) <= 2:
        lx.refuse(
            node, "'cmath.log' with these arguments is not supported", "cmath.log(z) or cmath.log(z, base)"
        )
    parts = [calls.apply_rule(lx, cmath.log, (expressions.number(lx, a, node),), node) for a in args]
    return parts[0] if len(parts) == 1 else expressions.binary(lx, ast.Div(), parts[0], parts[1], node)


def _polar(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if kwargs or len(args) != 1:
        lx.refuse(node, "'cmath.polar' takes one argument", "cmath.polar(z)")
    x = (expressions.number(lx, args[0], node),)
    return TupleValue((calls.apply_rule(lx, abs, x, node), calls.apply_rule(lx, cmath.phase, x, node)))


_GROUPS = {int: "is_int", float: "is_float", complex: "is_complex", bool: "is_bool"}


def _isinstance(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if len(args) != 2:
        lx.refuse(node, "'isinstance' takes two arguments", "isinstance(x, float)")
    classes = args[1].items if isinstance(args[1], TupleValue) else (args[1],)
    found = False
    for cls in classes:
        obj = cls.value if isinstance(cls, Static) else None
        if not isinstance(obj, type):
            lx.refuse(
                node,
                f"'isinstance' with {lx.kind(cls)} is not supported",
                "name a class: float, int, bool, complex, tuple, np.ndarray",
            )
        found = found or _is_instance(lx, args[0], obj, node)
    return TRUE if found else FALSE


def _is_instance(lx: Lowering, value: Value, cls: type, node: ast.AST) -> bool:
    match value:
        case Sym() | Const() | Undef() if isinstance(value.type, Array):
            return cls is np.ndarray or cls is object
        case Sym() | Const() | Undef():
            if not isinstance(value.type, Scalar) or not value.type.known:
                lx.refuse(
                    node,
                    "'isinstance' of a computed number is not supported",
                    "pass a bool or a string that says what it is",
                )
            if cls is int and value.type.is_bool:
                return True
            if cls in _GROUPS:
                return bool(getattr(value.type, _GROUPS[cls]))
            if issubclass(cls, np.generic):
                return issubclass(np.dtype(value.type.name).type, cls)
            return cls is object
        case TupleValue():
            return issubclass(value.cls or tuple, cls)
        case Static():
            return isinstance(value.value, cls)
        case _:
            lx.refuse(
                node,
                f"'isinstance' of {lx.kind(value)} is not supported",
                "ask it of a number, an array or a tuple",
            )


def _print(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    lx.refuse(node, "'print' cannot be differentiated", "print outside of the function")


def _partial(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if not args:
        lx.refuse(node, "'partial' needs a function", "partial(f, ...)")
    for value in (*args, *kwargs.values()):
        list_names.refuse_shown(lx, value, node)
    return Partial(args[0], tuple(args[1:]), dict(kwargs))


def _copy(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if kwargs or len(args) != 1 or not isinstance(args[0], Sym) or not is_array(args[0]):
        lx.refuse(node, "'np.copy' with these arguments is not supported", "pass one array")
    return arrays.copy(lx, args[0], None, node)


def _ndindex(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    items = args[0].items if len(args) == 1 and isinstance(args[0], TupleValue) else args
    if not items or kwargs:
        lx.refuse(
            node,
            "'np.ndindex' with these arguments is not supported",
            "np.ndindex(n, m) or np.ndindex(a.shape)",
        )
    return IndexSpace(tuple(expressions.number(lx, i, node) for i in items))


def _dtype_call(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if kwargs or len(args) != 1:
        lx.refuse(node, "'np.dtype' with these arguments is not supported", "np.dtype(np.float64)")
    return Static(np.dtype(creation.dtype_of(lx, args[0], node).name))


def _size(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if kwargs or len(args) != 1 or not isinstance(args[0], Sym) or not is_array(args[0]):
        lx.refuse(node, "'np.size' with these arguments is not supported", "pass one array")
    return arrays.size_of(lx, args[0])


def _shape(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if kwargs or len(args) != 1 or not isinstance(args[0], Sym) or not is_array(args[0]):
        lx.refuse(node, "'np.shape' with these arguments is not supported", "pass one array")
    return TupleValue(arrays.shape_of(lx, args[0]))


# adjit's own markers


def _stop_gradient(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if kwargs or len(args) != 1:
        lx.refuse(node, "'stop_gradient' takes one argument", "stop_gradient(x)")
    return _stopped(lx, args[0], node)


def _stopped(lx: Lowering, value: Value, node: ast.AST) -> Value:
    if isinstance(value, TupleValue):
        return TupleValue(tuple(_stopped(lx, item, node) for item in value.items), value.cls)
    if isinstance(value, Sym) and isinstance(value.type, Array):
        return arrays.copy(lx, value, None, node, through="stop_gradient")
    if isinstance(value, Sym) and isinstance(value.type, Scalar):
        return lx.let("stop_gradient", value, type=value.type)
    return value


def _checkpointed(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if not args:
        lx.refuse(node, "'checkpointed' needs a range or a condition", "checkpointed(range(n))")
    return args[0]


def _atomic(op: str) -> Handler:
    def handler(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
        if kwargs or len(args) != 3:
            lx.refuse(node, "an atomic update takes an array, an index and a value", "atomic_add(a, i, v)")
        array, index, value = args
        old = expressions.number(lx, indexing.load(lx, array, index, node), node)
        new = lx.let(op, old, expressions.number(lx, value, node), fn=None if op == "add" else op)
        assert isinstance(node, ast.expr)
        statements.store(lx, node, array, index, new, update=op)
        return old

    return handler


_MARKERS: dict[str, Handler] = {
    "stop_gradient": _stop_gradient,
    "checkpointed": _checkpointed,
    "atomic_add": _atomic("add"),
    "atomic_min": _atomic("min"),
    "atomic_max": _atomic("max"),
    "index": kernels.index,
}

_HANDLERS: dict[object, Handler] = {
    range: _range,
    numba.prange: _prange,
    len: _len,
    min: _extremum("min"),
    max: _extremum("max"),
    enumerate: _enumerate,
    slice: _slice,
    zip: _zip,
    reversed: _reversed,
    tuple: _tuple,
    list: _list,
    TypedList: _list,
    numba.literal_unroll: _identity_of,
    round: _round,
    pow: _pow,
    math.log: _log,
    cmath.log: _complex_log,
    cmath.polar: _polar,
    divmod: _divmod,
    isinstance: _isinstance,
    print: _print,
    functools.partial: _partial,
    math.frexp: _frexp,
    np.finfo: _limits(np.finfo, "finfo"),
    np.iinfo: _limits(np.iinfo, "iinfo"),
    np.copy: _copy,
    np.eye: creation.eye,
    np.identity: creation.identity,
    np.arange: creation.arange,
    np.linspace: creation.linspace,
    np.logspace: creation.logspace,
    np.ndenumerate: _over_elements(NdEnumerateValue, "np.ndenumerate"),
    np.nditer: _nditer,
    np.ndindex: _ndindex,
    np.dtype: _dtype_call,
    np.size: _size,
    np.shape: _shape,
    **{
        getattr(np, name): creation.creation(name)
        for name in ("empty", "zeros", "ones", "full", "empty_like", "zeros_like", "ones_like", "full_like")
    },
}

_HANDLERS.update(folds.HANDLERS | norms.HANDLERS | matrices.HANDLERS | linear.HANDLERS)
_HANDLERS.update(array_functions.HANDLERS)

_LISTS = frozenset(map(id, array_functions.LISTS))
_OF_ELEMENTS = frozenset(
    map(
        id,
        (
            *folds.HANDLERS,
            np.linalg.norm,
            *matrices.HANDLERS,
            *array_functions.LAZY,
            *(np.where, np.real, np.imag, np.angle, np.nan_to_num, abs),
        ),
    )
)

_TABLE: dict[int, list[tuple[object, Handler]]] = {}
for _obj, _handler in _HANDLERS.items():
    _TABLE.setdefault(id(_obj), []).append((_obj, _handler))
