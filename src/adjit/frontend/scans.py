"""Along an axis: running sums and products, differences, slopes, the trapezoidal rule.

np.cumsum(x)   ->   out[0] = x[0]; for k in range(1, n): out[k] = out[k - 1] + x[k]
np.diff(x)     ->   an expression, x[1:] - x[:-1]
"""

from __future__ import annotations

import ast

import numpy as np

from adjit.frontend import creation, device_steps, elements, expressions, folds, joining, lanes
from adjit.frontend.arguments import Handler, bound
from adjit.frontend.context import Lowering
from adjit.frontend.plain import sums
from adjit.frontend.values import NONE, Elements, Place, TupleValue, Value, is_scalar
from adjit.ir.core import ONE, ZERO, Atom, Const, Sym, const
from adjit.ir.types import BOOL, FLOAT64, INT64, UNKNOWN
from adjit.rules.linear.orders import summed

Given = dict[str, Value]


def _running(name: str) -> Handler:
    """`np.cumsum(a, axis=None)`, `np.cumprod`, and their forms that skip NaN."""
    function = sums.cumsum if name.endswith("cumsum") else sums.cumprod

    def handler(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
        given = bound(lx, f"np.{name}", ("a", "axis", "dtype", "out"), 1)(args, kwargs, node)
        lanes.refuse_given(lx, name, given, ("out",), node)
        array = lanes.array_in(lx, given["a"], node, f"np.{name}")
        if name.startswith("nan"):
            array = _without_nan(lx, array, 0 if function is sums.cumsum else 1, node)
        axis_ = given.get("axis", NONE)
        array = lanes.flat(lx, array, node) if lanes.none(axis_) else array
        axis = 0 if lanes.none(axis_) else lanes.axis_in(lx, axis_, lanes.rank_of(array), node)
        kind = given.get("dtype", NONE)
        if function is sums.cumsum and device_steps.on_device(lx):
            return _whole_sum(lx, array, axis, kind, node)
        dtype = summed(lanes.dtype_of(array)) if lanes.none(kind) else creation.dtype_of(lx, kind, node)
        like = None if dtype.known else _like_sums(lx, array, node)
        return lanes.along(lx, array, axis, function, node, dtype=dtype, like=like)

    return handler


def _like_sums(lx: Lowering, array: Sym, node: ast.AST) -> Sym:
    """An array of no elements, with the type in which those of an array of an unknown type are added up."""
    places = (ZERO,) * lanes.rank_of(array)
    none = Elements((ZERO,), lambda _: lx.builder.load(array, places))
    return elements.materialise(lx, folds.summed(lx, none), node)


def _whole_sum(lx: Lowering, array: Sym, axis: int, kind: Value, node: ast.AST) -> Value:
    """A running sum that the device's library makes; `kind`: its element type, or None."""
    if lanes.none(kind):
        return device_steps.cumsum(lx, array, axis, node)
    dtype = creation.dtype_of(lx, kind, node)
    if lanes.dtype_of(array) != dtype:
        array = elements.materialise(
            lx, elements.cast(lx, elements.whole(lx, array), dtype, node), node, dtype
        )
    made = device_steps.cumsum(lx, array, axis, node)
    if summed(dtype) == dtype:
        return made
    return elements.materialise(lx, elements.cast(lx, elements.whole(lx, made), dtype, node), node, dtype)


def _without_nan(lx: Lowering, array: Sym, neutral: int, node: ast.AST) -> Sym:
    return elements.materialise(lx, masked(lx, elements.whole(lx, array), neutral), node)


def masked(lx: Lowering, source: Elements, neutral: float) -> Elements:
    """The elements, another number in place of NaN."""
    if source.dtype.is_int or source.dtype.is_bool:
        return source
    instead = lanes.literal(source.dtype, neutral)

    def at(places: tuple[Place, ...]) -> Atom:
        v = source.at(places)
        known = lx.let("eq", v, v, type=BOOL)
        return lx.let("select", known, v, instead, type=source.dtype)

    return Elements(source.shape, at, source.dtype)


# differences


def diff(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.diff(a, n=1, axis=-1)`: an expression of neighbours."""
    given = bound(lx, "np.diff", ("a", "n", "axis"), 1)(args, kwargs, node)
    source = lanes.readable(lx, given["a"], node)
    if not source.shape:
        lx.refuse(node, "'np.diff' of a number", "pass an array")
    if source.dtype.is_bool:
        lx.refuse(node, "'np.diff' of bools", "convert them: a.astype(np.int64)")
    axis = lanes.axis_in(lx, given.get("axis", const(-1)), len(source.shape), node)
    times = lanes.constant(lx, given.get("n", ONE), "'n' of 'np.diff'", node)
    if times < 0:
        lx.refuse(node, f"'np.diff' with n = {times}", "give 0 or more")
    if times == 0:
        return elements.copied(lx, source, node)
    for k in range(times):
        source = lanes.readable(lx, source, node) if k else source
        source = neighbours(lx, source, axis, node)
    return source


def neighbours(lx: Lowering, source: Elements, axis: int, node: ast.AST) -> Elements:
    """The differences of neighbours along an axis."""
    n = source.shape[axis]
    less = expressions.integer(lx, "sub", n, ONE)
    if lx.integers.negative(less) is not False:
        less = lx.let("max", const(0), less, type=INT64, fn="max", name="count")
    shape = (*source.shape[:axis], less, *source.shape[axis + 1 :])

    def moved(by: int) -> Elements:
        def at(places: tuple[Place, ...]) -> Atom:
            p = places[axis]
            return source.at((*places[:axis], Place(p.index, p.shift + by), *places[axis + 1 :]))

        return Elements(shape, at, source.dtype)

    return elements.apply(lx, "sub", (moved(1), moved(0)), node, elements.UFUNCS["sub"])


def ediff1d(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.ediff1d(ary, to_end=None, to_begin=None)`: differences of all elements in a row."""
    given = bound(lx, "np.ediff1d", ("ary", "to_end", "to_begin"), 1)(args, kwargs, node)
    array = lanes.flat(lx, lanes.array_in(lx, given["ary"], node, "np.ediff1d"), node)
    steps = neighbours(lx, elements.whole(lx, array), 0, node)
    around = [given.get(k, NONE) for k in ("to_begin", "to_end")]
    if all(lanes.none(a) for a in around):
        return steps
    before, after = ([] if lanes.none(a) else [_row(lx, a, node)] for a in around)
    return joining.joined(lx, [*before, steps, *after], 0, node, steps.dtype if steps.dtype.known else None)


def _row(lx: Lowering, value: Value, node: ast.AST) -> Elements:
    if is_scalar(value):
        return elements.reshaped(elements.elements_of(lx, value, node), (ONE,))
    return elements.whole(lx, lanes.flat(lx, lanes.array_in(lx, value, node), node))


def trapezoid(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.trapezoid(y, x=None, dx=1.0, axis=-1)`."""
    given = bound(lx, "np.trapezoid", ("y", "x", "dx", "axis"), 1)(args, kwargs, node)
    y = lanes.array_in(lx, given["y"], node, "np.trapezoid")
    axis = lanes.axis_in(lx, given.get("axis", const(-1)), lanes.rank_of(y), node)
    if axis != lanes.rank_of(y) - 1:
        lx.refuse(node, "'np.trapezoid' along an axis that is not the last", "transpose the array: y.T")
    distance: Value = given.get("dx", Const(1.0, FLOAT64))
    if not lanes.none(given.get("x", NONE)):
        x = lanes.readable(lx, given["x"], node)
        distance = elements.in_memory(lx, neighbours(lx, x, len(x.shape) - 1, node), node)
    elif not is_scalar(distance):
        distance = lanes.array_in(lx, distance, node)
    return lanes.run(lx, sums.trapezoid, [y, distance], node)


def gradient(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.gradient(f, *distances, axis=None)`: an array, or a tuple with one for each axis."""
    axis = kwargs.pop("axis", NONE)
    if not args or kwargs:
        lx.refuse(node, "'np.gradient' with these arguments is not supported", "leave 'edge_order' out")
    array = lanes.array_in(lx, args[0], node, "np.gradient")
    rank = lanes.rank_of(array)
    given = range(rank) if lanes.none(axis) else axis.items if isinstance(axis, TupleValue) else (axis,)
    axes = [a if isinstance(a, int) else lanes.axis_in(lx, a, rank, node) for a in given]
    distances = args[1:] or [Const(1.0, FLOAT64)]
    if len(distances) == 1:
        distances = distances * len(axes)
    if len(distances) != len(axes):
        lx.refuse(
            node,
            "'np.gradient' with more or fewer distances than axes",
            "give one for all, or one for each axis",
        )
    found = [_slope(lx, array, a, d, node) for a, d in zip(axes, distances, strict=True)]
    return found[0] if len(found) == 1 else TupleValue(tuple(found))


def _slope(lx: Lowering, array: Sym, axis: int, distance: Value, node: ast.AST) -> Value:
    whole = lanes.dtype_of(array)
    if whole == BOOL:
        lx.refuse(node, "'np.gradient' of bools", "convert them to numbers: a.astype(int)")
    dtype = whole if whole.is_float else FLOAT64 if whole.known else UNKNOWN
    if is_scalar(distance):
        return lanes.along(lx, array, axis, sums.gradient, node, dtype=dtype, more=[distance])
    x = lanes.array_in(lx, distance, node, "np.gradient")
    return lanes.along(lx, array, axis, sums.gradient_at, node, dtype=dtype, more=[x])


def unwrap(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.unwrap(p, discont=None, axis=-1, period=2 pi)`."""
    given = bound(lx, "np.unwrap", ("p", "discont", "axis", "period"), 1)(args, kwargs, node)
    array = lanes.array_in(lx, given["p"], node, "np.unwrap")
    axis = lanes.axis_in(lx, given.get("axis", const(-1)), lanes.rank_of(array), node)
    period = expressions.number(lx, given.get("period", Const(2 * np.pi, FLOAT64)), node)
    jump = given.get("discont", NONE)
    limit = expressions.binary(lx, ast.Div(), period, const(2), node) if lanes.none(jump) else jump
    dtype = lanes.dtype_of(array)
    dtype = dtype if dtype.is_float else FLOAT64 if dtype.known else UNKNOWN
    return lanes.along(lx, array, axis, sums.unwrap, node, dtype=dtype, more=[limit, period])


HANDLERS: dict[object, Handler] = {
    **{getattr(np, n): _running(n) for n in ("cumsum", "cumprod", "nancumsum", "nancumprod")},
    np.diff: diff,
    np.ediff1d: ediff1d,
    **{getattr(np, n): trapezoid for n in ("trapezoid", "trapz") if hasattr(np, n)},
    np.gradient: gradient,
    np.unwrap: unwrap,
}

METHODS: dict[str, Handler] = {"cumsum": _running("cumsum"), "cumprod": _running("cumprod")}
LAZY = (np.diff, np.ediff1d)
