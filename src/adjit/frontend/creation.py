"""Arrays that a program makes: np.zeros and its kin, np.array, np.arange, np.linspace, np.eye."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import numpy as np
from numba.core import types as nb_types

from adjit.frontend import arrays, elements, expressions, inline, iteration, joining, library, lists, stores
from adjit.frontend.arguments import Handler, bound, flag
from adjit.frontend.context import Lowering
from adjit.frontend.values import NONE, Static, TupleValue, Value, is_array, is_scalar, same_static
from adjit.ir.core import ONE, TRUE, ZERO, Atom, Const, Sym, const
from adjit.ir.spellings import MADE
from adjit.ir.types import BOOL, COMPLEX128, FLOAT64, INT64, UNKNOWN, Array, Scalar

Arguments = dict[str, Value]


def creation(name: str) -> Handler:
    """The handler of `np.<name>`: empty, zeros, ones, full or a `_like` form."""
    first = ("a",) if name.endswith("_like") else ("shape",)
    names = (
        (*first, "fill_value", "dtype", "order") if name.startswith("full") else (*first, "dtype", "order")
    )
    required = 2 if name.startswith("full") else 1

    def handler(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
        return create(lx, name, bound(lx, f"np.{name}", names, required)(args, kwargs, node), node)

    return handler


def dtype_of(lx: Lowering, value: Value, node: ast.AST) -> Scalar:
    """A dtype argument: a NumPy or Numba scalar type, a dtype, `float`, `int`, `bool`, a name."""
    obj = value.value if isinstance(value, Static) else None
    python = {float: FLOAT64, int: INT64, bool: BOOL, complex: COMPLEX128}
    if isinstance(obj, type) and obj in python:
        return python[obj]
    if isinstance(obj, nb_types.Number | nb_types.Boolean):
        return lx.dtype(np.dtype("bool" if isinstance(obj, nb_types.Boolean) else str(obj)), node)
    if isinstance(obj, np.dtype | str) or (isinstance(obj, type) and issubclass(obj, np.generic)):
        try:
            found = np.dtype(obj)
        except TypeError:
            lx.refuse(node, f"{obj!r} is not a dtype", "give one such as np.float64")
        return lx.dtype(found, node)
    lx.refuse(node, f"{lx.kind(value)} is not a dtype", "give one such as np.float64")


def shape_arg(lx: Lowering, value: Value, node: ast.AST) -> tuple[Atom, ...]:
    """A shape: an int or a tuple of ints."""
    items = value.items if isinstance(value, TupleValue) else (value,)
    return tuple(expressions.number(lx, item, node) for item in items)


def zero_of(dtype: Scalar, value: int) -> Const:
    """0 or 1 in a dtype."""
    if dtype.is_bool:
        return Const(bool(value), BOOL)
    if dtype.is_complex:
        return Const(complex(value), dtype)
    return Const(float(value) if dtype.is_float else value, dtype)


def create(lx: Lowering, name: str, given: Arguments, node: ast.AST) -> Value:
    """np.empty, zeros, ones, full and their `_like` forms; `given` holds the bound arguments."""
    if "order" in given and not same_static(given["order"], Static("C")):
        lx.refuse(node, "the argument 'order' is not supported", "leave it out")
    dtype_arg = given.get("dtype", NONE)
    dtype = None if same_static(dtype_arg, NONE) else dtype_of(lx, dtype_arg, node)
    like: Sym | None = None
    if name.endswith("_like"):
        value = given["a"]
        if is_scalar(value) or not isinstance(value, Sym):
            lx.refuse(node, f"'{name}' of {lx.kind(value)} is not supported", "pass an array")
        like, shape = value, arrays.shape_of(lx, value)
        assert isinstance(value.type, Array)
        dtype = dtype or value.type.dtype
    else:
        shape = shape_arg(lx, given["shape"], node)
    fill: Atom | None = None
    if name.startswith("full"):
        if elements.ndim_of(given["fill_value"]):
            return _filled(lx, shape, given["fill_value"], dtype, node)
        fill = expressions.number(lx, given["fill_value"], node)
        dtype = dtype or (fill.type if isinstance(fill, Sym) and isinstance(fill.type, Scalar) else UNKNOWN)
    dtype = dtype or FLOAT64
    if name.startswith(("zeros", "ones")):
        one = name.startswith("ones")
        fill = zero_of(dtype, int(one)) if dtype.known else const(int(one))
    layout = "C" if like is None else "?"
    return lx.builder.alloc("a", Array(dtype, len(shape), layout), shape, fill, like)


def _filled(lx: Lowering, shape: tuple[Atom, ...], value: Value, dtype: Scalar | None, node: ast.AST) -> Sym:
    """An array filled with an array: of this row, say."""
    type_ = Array(dtype or elements.dtype_of(value), len(shape), "C")
    made = lx.builder.alloc("a", type_, shape)
    with lx.builder.filling(made):
        stores.assign(lx, elements.whole(lx, made), value, node)
    return made


def eye(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """np.eye(N, M, k, dtype) and np.identity(n, dtype)."""
    given = bound(lx, "np.eye", ("N", "M", "k", "dtype"), 1)(args, kwargs, node)
    return _diagonal(lx, given, node)


def identity(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """np.identity(n, dtype)."""
    given = bound(lx, "np.identity", ("n", "dtype"), 1)(args, kwargs, node)
    return _diagonal(lx, {"N": given.pop("n"), **given}, node)


def _diagonal(lx: Lowering, given: Arguments, node: ast.AST) -> Value:
    rows = expressions.number(lx, given["N"], node)
    columns = given.get("M", NONE)
    shape = (rows, rows if same_static(columns, NONE) else expressions.number(lx, columns, node))
    dtype = _dtype_or(lx, given, FLOAT64, node)
    array = lx.builder.alloc("a", Array(dtype, 2, "C"), shape, zero_of(dtype, 0))
    offset = given.get("k", ZERO)
    if shape[0] == shape[1] and offset == ZERO:
        arrays.counted(lx, rows, lambda k: lx.builder.store(array, (k, k), zero_of(dtype, 1)))
    else:
        inline.call_library(lx, library.eye, [array, offset], node)
    return array


def _dtype_or(lx: Lowering, given: Arguments, otherwise: Scalar, node: ast.AST) -> Scalar:
    dtype = given.get("dtype", NONE)
    return otherwise if same_static(dtype, NONE) else dtype_of(lx, dtype, node)


def arange(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """np.arange(stop) and np.arange(start, stop, step, dtype)."""
    given = bound(lx, "np.arange", ("start", "stop", "step", "dtype"), 1)(args, kwargs, node)
    if "start" in kwargs:
        lx.refuse(node, "'np.arange' takes its first argument by position", "leave 'start=' out")
    start, stop = expressions.number(lx, given["start"], node), given.get("stop", NONE)
    start, stop = (ZERO, start) if same_static(stop, NONE) else (start, expressions.number(lx, stop, node))
    step = given.get("step", NONE)
    step = ONE if same_static(step, NONE) else expressions.number(lx, step, node)
    if all(isinstance(p.type, Scalar) and p.type.is_int for p in (start, stop, step)) and step != ZERO:
        if isinstance(step, Const):
            return _integers(lx, iteration.RangeValue(start, stop, step), given, node)
    n = expressions.number(lx, inline.call_library(lx, library.arange_count, [start, stop, step], node), node)
    made = lx.builder.alloc("a", Array(_dtype_or(lx, given, UNKNOWN, node), 1, "C"), (n,))
    with lx.builder.filling(made):
        inline.call_library(lx, library.arange, [made, start, step], node)
    return made


def _integers(lx: Lowering, bounds: iteration.RangeValue, given: Arguments, node: ast.AST) -> Value:
    n = iteration.count(lx, bounds, node)
    array = lx.builder.alloc("a", Array(_dtype_or(lx, given, INT64, node), 1, "C"), (n,))

    def element(k: Sym) -> None:
        value = expressions.number(lx, iteration.item(lx, bounds, k, node), node)
        lx.builder.store(array, (k,), value)

    arrays.counted(lx, n, element)
    return array


def linspace(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """np.linspace(start, stop, num=50, endpoint=True)."""
    given = bound(lx, "np.linspace", ("start", "stop", "num", "endpoint"), 2)(args, kwargs, node)
    start, stop = (expressions.number(lx, given[k], node) for k in ("start", "stop"))
    num = expressions.number(lx, given.get("num", const(50)), node)
    made = lx.builder.alloc("a", Array(UNKNOWN, 1, "C"), (num,))
    ends = flag(lx, given.get("endpoint", TRUE), "'endpoint'", node)
    with lx.builder.filling(made):
        inline.call_library(lx, library.linspace if ends else library.spaced, [made, start, stop, num], node)
    return made


def logspace(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """np.logspace(start, stop, num=50, endpoint=True, base=10.0)."""
    given = bound(lx, "np.logspace", ("start", "stop", "num", "endpoint", "base"), 2)(args, kwargs, node)
    base = given.pop("base", Const(10.0, FLOAT64))
    return expressions.binary(lx, ast.Pow(), base, linspace(lx, [], given, node), node)


# np.array


def array_call(lx: Lowering, node: ast.Call) -> Value:
    """np.array: lists in its argument are read as tuples."""
    if not node.args or len(node.args) > 2 or any(k.arg != "dtype" for k in node.keywords):
        lx.refuse(
            node, "'np.array' with these arguments is not supported", "allocate with np.empty and fill it"
        )
    value = nested(lx, node.args[0])
    dtypes = [*node.args[1:], *(k.value for k in node.keywords)]
    dtype = dtype_of(lx, expressions.evaluate(lx, dtypes[0]), node) if dtypes else None
    if ast.unparse(node.func).endswith("asarray") and is_array(value) and not lx.is_list(value):
        element = value.type if isinstance(value, Sym) else None
        if isinstance(element, Array) and (dtype is None or dtype == element.dtype):
            return value
    return array_of(lx, value, dtype, node)


def nested(lx: Lowering, node: ast.expr) -> Value:
    """A list of lists of values as a tuple of tuples."""
    if isinstance(node, ast.List | ast.Tuple) and not any(isinstance(e, ast.Starred) for e in node.elts):
        return TupleValue(tuple(nested(lx, e) for e in node.elts))
    return expressions.evaluate(lx, node)


def array_of(lx: Lowering, value: Value, dtype: Scalar | None, node: ast.AST) -> Value:
    """np.array(x): a copy of an array, or the numbers of a (nested) tuple or list."""
    if isinstance(value, Sym) and is_array(value):
        fresh = isinstance(node, ast.Call) and isinstance(node.args[0], ast.ListComp)
        if value in lx.lists and dtype is None and fresh:
            lx.lists.discard(value)
            return value
        return arrays.copy(lx, value, dtype, node)
    if isinstance(value, TupleValue):
        if all(is_scalar(item) for item in value.items):
            items = _numbers(lx, value.items, node) if dtype is None else list(value.items)
            made = lists.list_of(lx, items, node, dtype or UNKNOWN)
            assert isinstance(made, Sym)
            lx.lists.discard(made)
            return made
        return _box(lx, value, dtype, node)
    lx.refuse(node, f"'np.array' of {lx.kind(value)} is not supported", "allocate with np.empty and fill it")


def _box(lx: Lowering, value: TupleValue, dtype: Scalar | None, node: ast.AST) -> Value:
    """np.array of tuples of tuples, all of one length at each depth."""
    shape, level = [], [value]
    while all(isinstance(v, TupleValue) and v.items for v in level):
        rows = [v.items for v in level if isinstance(v, TupleValue)]
        if any(len(r) != len(rows[0]) for r in rows):
            break
        shape.append(len(rows[0]))
        level = [item for row in rows for item in row]
    if any(elements.is_whole(item) for item in level):
        return elements.in_memory(lx, joining.boxed(lx, value, node, dtype), node)
    if not all(is_scalar(item) for item in level):
        lx.refuse(
            node, "'np.array' of this nested tuple is not supported", "allocate with np.empty and fill it"
        )
    type_ = Array(dtype or UNKNOWN, len(shape), "C")
    array = lx.builder.alloc("a", type_, tuple(const(n) for n in shape))
    items = _numbers(lx, level, node) if dtype is None else level
    with lx.builder.filling(array):
        for index, item in zip(np.ndindex(*shape), items, strict=True):
            lx.builder.store(array, tuple(const(i) for i in index), expressions.number(lx, item, node))
    return array


def _numbers(lx: Lowering, items: Sequence[Value], node: ast.AST) -> list[Value]:
    """The items as NumPy's own numbers: Python's are int64 and float64 in an array, whatever they are beside."""
    if not lx.frame.plain or all(isinstance(item, Const) for item in items):
        return list(items)
    return [lx.let("cast", expressions.number(lx, item, node), fn=MADE) for item in items]
