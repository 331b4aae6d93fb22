"""Functions that the frontend itself understands: builtins, array creation, adjit's own markers."""

from __future__ import annotations

import ast
import builtins
import functools
import math
from collections.abc import Callable

import numba
import numpy as np

from adjit.frontend import arrays, calls, expressions, indexing, loops, statements
from adjit.frontend.context import Lowering
from adjit.frontend.values import (
    NONE,
    Closure,
    EnumerateValue,
    IndexSpace,
    Partial,
    RangeValue,
    ReversedValue,
    Static,
    TupleValue,
    Value,
    ZipValue,
    is_array,
    is_scalar,
    kind,
)
from adjit.ir.core import FALSE, ONE, TRUE, ZERO, Atom, Const, Loop, Sym, Undef, const
from adjit.ir.types import BOOL, UNKNOWN, Array, Scalar

Handler = Callable[[Lowering, list[Value], dict[str, Value], ast.AST], Value]


def find(obj: object) -> Handler | None:
    """The handler of a Python callable."""
    for known, handler in _TABLE.get(id(obj), ()):
        if known is obj:
            return handler
    module = getattr(obj, "__module__", None) or ""
    if isinstance(module, str) and module.partition(".")[0] == "adjit":
        return _MARKERS.get(getattr(obj, "__name__", ""))
    return None


def syntax(function: Value) -> Callable[[Lowering, ast.Call], Value] | None:
    """Calls that need their arguments unevaluated: sum over a generator, np.array of a nested list."""
    obj = function.value if isinstance(function, Static) else None
    if obj in (np.array, np.asarray) if callable(obj) else False:
        return _array_call
    if obj is builtins.sum or obj is builtins.any or obj is builtins.all:
        return _reduce_call
    return None


# reductions over generators


def _reduce_call(lx: Lowering, node: ast.Call) -> Value:
    name = ast.unparse(node.func)
    if node.keywords or not node.args or any(isinstance(a, ast.Starred) for a in node.args):
        lx.refuse(node, f"'{name}' with these arguments is not supported", "write the loop")
    generator = node.args[0]
    if isinstance(generator, ast.ListComp) and name == "sum":
        start = expressions.evaluate(lx, node.args[1]) if len(node.args) > 1 else ZERO
        return _sum_generator(lx, generator, expressions.number(lx, start, node))
    args = [expressions.evaluate(lx, a) for a in node.args]
    if name == "sum":
        return _sum(lx, args, node)
    items = args[0].items if isinstance(args[0], TupleValue) and len(args) == 1 else None
    if items is None:
        lx.refuse(node, f"'{name}' of {kind(args[0])} is not supported", "write the loop")
    total: Atom = TRUE if name == "all" else FALSE
    for item in items:
        flag = expressions.truth(lx, item, node)
        op = "and_" if name == "all" else "or_"
        total = flag if total in (TRUE, FALSE) else lx.let(op, total, flag, type=BOOL)
    return total


def _sum(lx: Lowering, args: list[Value], node: ast.AST) -> Value:
    total: Value = args[1] if len(args) > 1 else ZERO
    source = args[0]
    if isinstance(source, TupleValue):
        for item in source.items:
            total = expressions.binary(lx, ast.Add(), total, item, node)
        return total
    element = None if not isinstance(source, Sym) or not isinstance(source.type, Array) else source.type
    if isinstance(source, RangeValue) or (element is not None and element.ndim == 1):
        bounds, item = loops.access(lx, source, node)
        return accumulate(lx, bounds, expressions.number(lx, total, node), lambda k: item(k), node)
    lx.refuse(node, f"'sum' of {kind(source)} is not supported", "write the loop")


def accumulate(
    lx: Lowering, bounds: loops.Bounds, start: Atom, item: Callable[[Atom], Value], node: ast.AST
) -> Value:
    """`start + item(lo) + ...` by a loop."""
    index, total = Sym("k", UNKNOWN), Sym("total", UNKNOWN)
    with lx.builder.collect() as block:
        value = expressions.binary(lx, ast.Add(), total, item(index), node)
    result = Sym("total", UNKNOWN)
    following = (expressions.number(lx, value, node),)
    span = lx.span(node)
    lx.builder.append(
        Loop(index, *bounds, (total,), (start,), tuple(block), following, (result,), None, span)
    )
    return result


def _sum_generator(lx: Lowering, node: ast.GeneratorExp | ast.ListComp, start: Atom) -> Value:
    if len(node.generators) != 1 or node.generators[0].ifs or node.generators[0].is_async:
        lx.refuse(node, "this generator is not supported", "write the loop")
    if any(isinstance(part, ast.NamedExpr) for part in ast.walk(node)):
        lx.refuse(node, "':=' inside a comprehension is not supported")
    generator = node.generators[0]
    source = expressions.evaluate(lx, generator.iter)
    with arrays.inner_scope(lx, node):
        items = loops.static_items(lx, source, generator.iter)
        if items is not None:
            total: Value = start
            for value in items:
                statements.bind(lx, generator.target, value)
                total = expressions.binary(lx, ast.Add(), total, expressions.evaluate(lx, node.elt), node)
            return total
        bounds, item = loops.access(lx, source, generator.iter)

        def element(k: Atom) -> Value:
            statements.bind(lx, generator.target, item(k))
            return expressions.evaluate(lx, node.elt)

        return accumulate(lx, bounds, start, element, node)


def _array_call(lx: Lowering, node: ast.Call) -> Value:
    """np.array: lists in its argument are read as tuples."""
    if not node.args or len(node.args) > 2 or any(k.arg != "dtype" for k in node.keywords):
        lx.refuse(
            node, "'np.array' with these arguments is not supported", "allocate with np.empty and fill it"
        )
    value = _nested(lx, node.args[0])
    dtypes = [*node.args[1:], *(k.value for k in node.keywords)]
    dtype = arrays.dtype_of(lx, expressions.evaluate(lx, dtypes[0]), node) if dtypes else None
    if ast.unparse(node.func).endswith("asarray") and is_array(value):
        element = value.type if isinstance(value, Sym) else None
        if isinstance(element, Array) and (dtype is None or dtype == element.dtype):
            return value
    return arrays.array_of(lx, value, dtype, node)


def _nested(lx: Lowering, node: ast.expr) -> Value:
    if isinstance(node, ast.List | ast.Tuple) and not any(isinstance(e, ast.Starred) for e in node.elts):
        return TupleValue(tuple(_nested(lx, e) for e in node.elts))
    return expressions.evaluate(lx, node)


# arguments


def bound(lx: Lowering, name: str, names: tuple[str, ...], required: int) -> Callable[..., dict[str, Value]]:
    """Binds arguments to a library function's parameters."""

    def bind(args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> dict[str, Value]:
        given = dict(zip(names, args, strict=False))
        unknown = [k for k in kwargs if k not in names or k in given]
        if len(args) > len(names) or unknown:
            what = f"argument '{unknown[0]}'" if unknown else "this many arguments"
            lx.refuse(node, f"'{name}' with {what} is not supported")
        given.update(kwargs)
        missing = [n for n in names[:required] if n not in given]
        if missing:
            lx.refuse(node, f"'{name}' is called without '{missing[0]}'")
        return given

    return bind


def _creation(name: str) -> Handler:
    first = ("a",) if name.endswith("_like") else ("shape",)
    names = (
        (*first, "fill_value", "dtype", "order") if name.startswith("full") else (*first, "dtype", "order")
    )
    required = 2 if name.startswith("full") else 1

    def handler(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
        return arrays.create(lx, name, bound(lx, f"np.{name}", names, required)(args, kwargs, node), node)

    return handler


# handlers


def _range(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if kwargs or not 1 <= len(args) <= 3:
        lx.refuse(node, "'range' takes one to three arguments")
    parts = [expressions.number(lx, a, node) for a in args]
    for p in parts:
        if isinstance(p, Const) and not isinstance(p.value, int):
            lx.refuse(node, "'range' takes integers")
    if len(parts) == 1:
        return RangeValue(ZERO, parts[0], ONE)
    if len(parts) == 3 and parts[2] == ZERO:
        lx.refuse(node, "'range' with step 0")
    return RangeValue(parts[0], parts[1], parts[2] if len(parts) == 3 else ONE)


def _len(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if len(args) != 1 or kwargs:
        lx.refuse(node, "'len' takes one argument")
    value = args[0]
    if isinstance(value, TupleValue):
        return const(len(value.items))
    if isinstance(value, Static) and isinstance(value.value, str):
        return const(len(value.value))
    if is_scalar(value) or isinstance(value, Static | Closure):
        lx.refuse(node, f"'len' of {kind(value)}")
    return loops.count(lx, value, node)


def _extremum(op: str) -> Handler:
    def handler(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
        if kwargs:
            lx.refuse(node, f"keywords of '{op}' are not supported")
        items = list(args)
        if len(args) == 1:
            if not isinstance(args[0], TupleValue):
                lx.refuse(node, f"'{op}' of {kind(args[0])} is not supported", "write the loop")
            items = list(args[0].items)
        if not items:
            lx.refuse(node, f"'{op}' of nothing")
        total = expressions.number(lx, items[0], node)
        for other in items[1:]:
            total = lx.let(op, total, expressions.number(lx, other, node), fn=op)
        return total

    return handler


def _enumerate(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    given = bound(lx, "enumerate", ("iterable", "start"), 1)(args, kwargs, node)
    return EnumerateValue(given["iterable"], expressions.number(lx, given.get("start", ZERO), node))


def _zip(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if kwargs or not args:
        lx.refuse(node, "'zip' with these arguments is not supported")
    return ZipValue(tuple(args))


def _reversed(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if kwargs or len(args) != 1 or isinstance(args[0], ZipValue | EnumerateValue):
        lx.refuse(node, "'reversed' of this is not supported", "loop over a descending range")
    if isinstance(args[0], TupleValue):
        return TupleValue(args[0].items[::-1])
    return ReversedValue(args[0])


def _identity_of(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if not args:
        lx.refuse(node, "an argument is missing")
    return args[0]


def _tuple(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if not args:
        return TupleValue(())
    return TupleValue(tuple(expressions.items_of(lx, args[0], node)))


def _list(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if len(args) == 1 and isinstance(args[0], TupleValue):
        return arrays.list_of(lx, list(args[0].items), node)
    lx.refuse(node, "'list' of this is not supported", "allocate an array and fill it in a loop")


def _round(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if kwargs or not 1 <= len(args) <= 2:
        lx.refuse(node, "'round' with these arguments is not supported")
    return calls.apply_rule(lx, round, tuple(expressions.number(lx, a, node) for a in args), node)


def _pow(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if kwargs or len(args) != 2:
        lx.refuse(node, "'pow' with these arguments is not supported")
    return expressions.binary(lx, ast.Pow(), args[0], args[1], node)


def _divmod(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if kwargs or len(args) != 2:
        lx.refuse(node, "'divmod' takes two arguments")
    quotient = expressions.binary(lx, ast.FloorDiv(), args[0], args[1], node)
    return TupleValue((quotient, expressions.binary(lx, ast.Mod(), args[0], args[1], node)))


def _log(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if kwargs or not 1 <= len(args) <= 2:
        lx.refuse(node, "'math.log' with these arguments is not supported")
    parts = [calls.apply_rule(lx, math.log, (expressions.number(lx, a, node),), node) for a in args]
    return parts[0] if len(parts) == 1 else expressions.binary(lx, ast.Div(), parts[0], parts[1], node)


_GROUPS = {int: "is_int", float: "is_float", complex: "is_complex", bool: "is_bool"}


def _isinstance(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if len(args) != 2:
        lx.refuse(node, "'isinstance' takes two arguments")
    classes = args[1].items if isinstance(args[1], TupleValue) else (args[1],)
    found = False
    for cls in classes:
        obj = cls.value if isinstance(cls, Static) else None
        if not isinstance(obj, type):
            lx.refuse(node, f"'isinstance' with {kind(cls)} is not supported")
        found = found or _is_instance(lx, args[0], obj, node)
    return TRUE if found else FALSE


def _is_instance(lx: Lowering, value: Value, cls: type, node: ast.AST) -> bool:
    match value:
        case Sym() | Const() | Undef() if isinstance(value.type, Array):
            return cls is np.ndarray or cls is object
        case Sym() | Const() | Undef():
            if not isinstance(value.type, Scalar) or not value.type.known:
                lx.refuse(node, "'isinstance' of a computed number is not supported")
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
            lx.refuse(node, f"'isinstance' of {kind(value)} is not supported")


def _print(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    lx.refuse(node, "'print' cannot be differentiated", "print outside of the function")


def _partial(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if not args:
        lx.refuse(node, "'partial' needs a function")
    return Partial(args[0], tuple(args[1:]), dict(kwargs))


def _copy(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if kwargs or len(args) != 1 or not isinstance(args[0], Sym) or not is_array(args[0]):
        lx.refuse(node, "'np.copy' with these arguments is not supported")
    return arrays.copy(lx, args[0], None, node)


def _eye(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    dtype = {"dtype": kwargs.pop("dtype")} if "dtype" in kwargs else {}
    given = bound(lx, "np.eye", ("n",), 1)(args, kwargs, node)
    return arrays.identity(lx, {**given, **dtype}, node)


def _arange(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if not 1 <= len(args) <= 3 or any(k != "dtype" for k in kwargs):
        lx.refuse(node, "'np.arange' with these arguments is not supported")
    return arrays.arange(lx, args, kwargs.get("dtype", NONE), node)


def _ndindex(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    items = args[0].items if len(args) == 1 and isinstance(args[0], TupleValue) else args
    if not items or kwargs:
        lx.refuse(node, "'np.ndindex' with these arguments is not supported")
    return IndexSpace(tuple(expressions.number(lx, i, node) for i in items))


def _dtype_call(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if kwargs or len(args) != 1:
        lx.refuse(node, "'np.dtype' with these arguments is not supported")
    return Static(np.dtype(arrays.dtype_of(lx, args[0], node).name))


def _size(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if kwargs or len(args) != 1 or not isinstance(args[0], Sym) or not is_array(args[0]):
        lx.refuse(node, "'np.size' with these arguments is not supported")
    return arrays.size_of(lx, args[0])


def _shape(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if kwargs or len(args) != 1 or not isinstance(args[0], Sym) or not is_array(args[0]):
        lx.refuse(node, "'np.shape' with these arguments is not supported")
    return TupleValue(arrays.shape_of(lx, args[0]))


def _transpose(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if kwargs or len(args) != 1 or not isinstance(args[0], Sym) or not is_array(args[0]):
        lx.refuse(node, "'np.transpose' with these arguments is not supported")
    return arrays.attribute(lx, args[0], "T", node)


# adjit's own markers


def _stop_gradient(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if kwargs or len(args) != 1:
        lx.refuse(node, "'stop_gradient' takes one argument")
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
        lx.refuse(node, "'checkpointed' needs a range or a condition")
    return args[0]


def _atomic(op: str) -> Handler:
    def handler(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
        if kwargs or len(args) != 3:
            lx.refuse(node, "an atomic update takes an array, an index and a value")
        array, index, value = args
        old = expressions.number(lx, indexing.load(lx, array, index, node), node)
        new = lx.let(op, old, expressions.number(lx, value, node), fn=None if op == "add" else op)
        assert isinstance(node, ast.expr)
        statements.store(lx, node, array, index, new)
        return old

    return handler


_MARKERS: dict[str, Handler] = {
    "stop_gradient": _stop_gradient,
    "checkpointed": _checkpointed,
    "atomic_add": _atomic("add"),
    "atomic_min": _atomic("min"),
    "atomic_max": _atomic("max"),
}

_HANDLERS: dict[object, Handler] = {
    range: _range,
    numba.prange: _range,
    len: _len,
    min: _extremum("min"),
    max: _extremum("max"),
    enumerate: _enumerate,
    zip: _zip,
    reversed: _reversed,
    tuple: _tuple,
    list: _list,
    numba.literal_unroll: _identity_of,
    round: _round,
    pow: _pow,
    math.log: _log,
    divmod: _divmod,
    isinstance: _isinstance,
    print: _print,
    functools.partial: _partial,
    np.copy: _copy,
    np.eye: _eye,
    np.identity: _eye,
    np.arange: _arange,
    np.ndindex: _ndindex,
    np.dtype: _dtype_call,
    np.size: _size,
    np.shape: _shape,
    np.transpose: _transpose,
    **{
        getattr(np, name): _creation(name)
        for name in ("empty", "zeros", "ones", "full", "empty_like", "zeros_like", "ones_like", "full_like")
    },
}

_TABLE: dict[int, list[tuple[object, Handler]]] = {}
for _obj, _handler in _HANDLERS.items():
    _TABLE.setdefault(id(_obj), []).append((_obj, _handler))
