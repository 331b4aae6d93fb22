"""References to an array's memory by other axes or another shape: transposes, new axes, reshape.

Everything here is a `View` of the IR, so that what is written through one name is seen through the other. Whether
a reshape of memory that is not contiguous copies is decided once layouts are known (see `transform.reshape`).
"""

from __future__ import annotations

import ast
from collections.abc import Callable

import numpy as np

from adjit.frontend import arrays, creation, expressions, indexing
from adjit.frontend.arguments import Handler, bound
from adjit.frontend.context import Lowering
from adjit.frontend.values import (
    NONE,
    SliceValue,
    Static,
    TupleValue,
    Value,
    is_array,
    is_scalar,
    same_static,
)
from adjit.ir.core import FALSE, ONE, ZERO, Atom, Const, If, Slice, Sym, View, const
from adjit.ir.types import BOOL, INT64, Array

Axes = tuple[int | None, ...]
Method = Callable[[Lowering, Sym, list[Value], dict[str, Value], ast.AST], Value]

_WRONG_SIZE = "total size of new array must be unchanged"
_TWO_UNKNOWN = "multiple negative shape values"
_NOT_ONE = "cannot select an axis to squeeze out which has size not equal to one"


def rearranged(lx: Lowering, array: Sym, axes: Axes, node: ast.AST) -> Sym:
    """The array with its axes in another order, and new ones of extent 1 where `axes` has None."""
    type_ = array.type
    assert isinstance(type_, Array)
    if axes == tuple(range(type_.ndim)):
        return array
    target = Sym(array.name, Array(type_.dtype, len(axes), "?", type_.readonly))
    lx.builder.append(View(target, array, (), axes, span=lx.span(node)))
    own = lx.builder.shapes.get(array) or arrays.shape_of(lx, array)
    lx.builder.shapes[target] = tuple(ONE if k is None else own[k] for k in axes)
    return target


def transposed(lx: Lowering, array: Sym, node: ast.AST) -> Sym:
    """`array.T`."""
    return rearranged(lx, array, tuple(range(_ndim(array)))[::-1], node)


def with_new_axes(lx: Lowering, owner: Value, parts: tuple[Value, ...], node: ast.AST) -> Value:
    """`owner[parts]` where some part is None: what the other parts select, with axes added to it."""
    others = tuple(p for p in parts if not indexing.is_new(p))
    array = indexing.load(lx, owner, TupleValue(others), node) if others else owner
    if not isinstance(array, Sym) or not is_array(array):
        lx.refuse(node, "an axis is added to one element", "index the array without None")
    axes: list[int | None] = []
    old = iter(range(_ndim(array)))
    spelled = sum(isinstance(p, SliceValue) for p in parts)
    for p in parts:
        if indexing.is_new(p):
            axes.append(None)
        elif isinstance(p, SliceValue):
            axes.append(next(old))
        elif isinstance(p, Static):  # an Ellipsis
            axes += [next(old) for _ in range(_ndim(array) - spelled)]
    return rearranged(lx, array, (*axes, *old), node)


# methods


def _transpose(lx: Lowering, array: Sym, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if "axes" in kwargs and not args:
        args = [kwargs["axes"]]
    elif kwargs:
        lx.refuse(node, "'transpose' with these arguments is not supported", "give the axes")
    if len(args) == 1 and same_static(args[0], NONE):
        args = []
    if len(args) == 1 and isinstance(args[0], TupleValue):
        args = list(args[0].items)
    if not args:
        return transposed(lx, array, node)
    axes = [_axis(lx, a, _ndim(array), node) for a in args]
    if sorted(axes) != list(range(_ndim(array))):
        given = ", ".join(map(str, axes))
        lx.refuse(
            node, f"the axes ({given}) of an array of {_ndim(array)} dimensions", "give every axis once"
        )
    return rearranged(lx, array, tuple(axes), node)


def _swapaxes(lx: Lowering, array: Sym, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    given = bound(lx, "swapaxes", ("axis1", "axis2"), 2)(args, kwargs, node)
    a, b = (_axis(lx, given[name], _ndim(array), node) for name in ("axis1", "axis2"))
    axes = list(range(_ndim(array)))
    axes[a], axes[b] = b, a
    return rearranged(lx, array, tuple(axes), node)


def _moveaxis(lx: Lowering, array: Sym, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    given = bound(lx, "np.moveaxis", ("source", "destination"), 2)(args, kwargs, node)
    source, destination = (_axes(lx, given[n], _ndim(array), node) for n in ("source", "destination"))
    if len(source) != len(destination):
        lx.refuse(
            node, "'np.moveaxis' with as many sources as destinations is what is supported", "give as many"
        )
    axes = [k for k in range(_ndim(array)) if k not in source]
    for to, old in sorted(zip(destination, source, strict=True)):
        axes.insert(to, old)
    return rearranged(lx, array, tuple(axes), node)


def _expand_dims(
    lx: Lowering, array: Sym, args: list[Value], kwargs: dict[str, Value], node: ast.AST
) -> Value:
    given = bound(lx, "np.expand_dims", ("axis",), 1)(args, kwargs, node)
    count = len(given["axis"].items) if isinstance(given["axis"], TupleValue) else 1
    new = _axes(lx, given["axis"], _ndim(array) + count, node)
    old = iter(range(_ndim(array)))
    axes = tuple(None if k in new else next(old) for k in range(_ndim(array) + count))
    return rearranged(lx, array, axes, node)


def _squeeze(lx: Lowering, array: Sym, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    given = bound(lx, "squeeze", ("axis",), 0)(args, kwargs, node)
    if same_static(given.get("axis", NONE), NONE):
        dropped = _of_extent_one(lx, array, node)
    else:
        dropped = _axes(lx, given["axis"], _ndim(array), node)
    for k in dropped:
        _raise_if(lx, lx.let("ne", lx.extent(array, k), ONE, type=BOOL), _NOT_ONE, node)
    if len(dropped) == _ndim(array):
        return _seen_as(lx, array, (), "either", node)
    index = tuple(ZERO if k in dropped else Slice() for k in range(_ndim(array)))
    type_ = array.type
    assert isinstance(type_, Array)
    kept = Array(type_.dtype, type_.ndim - len(dropped), "?", type_.readonly)
    with lx.at(node):
        return lx.builder.view(array, index, kept) if dropped else array


def _of_extent_one(lx: Lowering, array: Sym, node: ast.AST) -> tuple[int, ...]:
    """The axes whose extent is one, where that is known of each: it is a constant, or an argument's."""
    found: list[int] = []
    for k, extent in enumerate(lx.builder.shapes.get(array) or arrays.shape_of(lx, array)):
        if not lx.is_known(extent):
            lx.refuse(node, "'squeeze' without an axis: the rank depends on the extents", "give the axis")
        if lx.is_one(extent):
            found.append(k)
    return tuple(found)


_NEW_AXES: dict[int, Callable[[int], Axes]] = {
    1: lambda ndim: (None,),
    2: lambda ndim: (None, *range(ndim)) if ndim else (None, None),
    3: lambda ndim: ((None, None, None), (None, 0, None), (0, 1, None))[ndim],
}


def at_least(lx: Lowering, array: Sym, rank: int, node: ast.AST) -> Sym:
    """`np.atleast_1d`, `2d` and `3d` of an array."""
    ndim = _ndim(array)
    return array if ndim >= rank else rearranged(lx, array, _NEW_AXES[rank](ndim), node)


def _reshape(lx: Lowering, array: Sym, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    _in_index_order(lx, kwargs.pop("order", Static("C")), node)
    given = [*args, *(kwargs.pop(name) for name in ("shape", "newshape") if name in kwargs)]
    if kwargs or not given:
        lx.refuse(node, "'reshape' with these arguments is not supported", "give the shape")
    wanted = creation.shape_arg(lx, given[0] if len(given) == 1 else TupleValue(tuple(given)), node)
    with lx.at(node):
        return _seen_as(lx, array, _extents(lx, array, wanted, node), "refuse", node)


def _ravel(lx: Lowering, array: Sym, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    given = bound(lx, "ravel", ("order",), 0)(args, kwargs, node)
    _in_index_order(lx, given.get("order", Static("C")), node)
    with lx.at(node):
        return _seen_as(lx, array, (arrays.size_of(lx, array),), "copy", node)


def _contiguous(
    lx: Lowering, array: Sym, args: list[Value], kwargs: dict[str, Value], node: ast.AST
) -> Value:
    if args or kwargs:
        lx.refuse(node, "'np.ascontiguousarray' with these arguments is not supported", "pass one array")
    with lx.at(node):
        return _seen_as(lx, array, arrays.shape_of(lx, array), "copy", node)


def _in_index_order(lx: Lowering, order: Value, node: ast.AST) -> None:
    if not same_static(order, Static("C")):
        lx.refuse(node, "the argument 'order' is not supported", "leave it out")


# shapes


def _seen_as(lx: Lowering, array: Sym, shape: tuple[Atom, ...], in_numba: str, node: ast.AST) -> Sym:
    """The array's elements in another shape; `in_numba`: `View.elsewhere` in a dispatcher."""
    type_ = array.type
    assert isinstance(type_, Array)
    elsewhere = "either" if lx.frame.plain else in_numba
    target = Sym(
        array.name, Array(type_.dtype, len(shape), "C" if type_.layout == "C" else "?", type_.readonly)
    )
    lx.builder.append(View(target, array, (), None, shape, elsewhere, lx.span(node)))
    lx.builder.shapes[target] = shape
    return target


def _extents(lx: Lowering, array: Sym, wanted: tuple[Atom, ...], node: ast.AST) -> tuple[Atom, ...]:
    """The extents asked for, a negative one found from the others; raises ValueError where they do not fit.

    A number that is not known to be an extent may turn out to be negative.
    """
    for a in wanted:
        if isinstance(a, Const) and type(a.value) is not int:
            lx.refuse(node, f"an array's shape needs integers, got {a.value}", "convert it by int()")
    size = arrays.size_of(lx, array)
    signs = [_negative(lx, a) for a in wanted]
    if sum(s == const(True) for s in signs) > 1:
        lx.refuse(node, "a shape with two unknown extents", "give all extents but one")
    if all(s == FALSE for s in signs):
        shape = wanted
    else:
        shape = _inferred(lx, size, wanted, signs, node)
    product: Atom = ONE
    for a in shape:
        product = expressions.integer(lx, "mul", product, a)
    if product != size:
        _raise_if(lx, lx.let("ne", product, size, type=BOOL), _WRONG_SIZE, node)
    return shape


def _negative(lx: Lowering, a: Atom) -> Atom:
    """Whether the extent stands for an unknown one, as a bool."""
    if isinstance(a, Const):
        return const(a.integer < 0)
    return FALSE if lx.integers.negative(a) is False else lx.let("lt", a, ZERO, type=BOOL)


def _inferred(
    lx: Lowering, size: Atom, wanted: tuple[Atom, ...], signs: list[Atom], node: ast.AST
) -> tuple[Atom, ...]:
    known: Atom = ONE
    count: Atom = ZERO
    for a, sign in zip(wanted, signs, strict=True):
        count = expressions.integer(lx, "add", count, _choose(lx, sign, ONE, ZERO))
        known = expressions.integer(lx, "mul", known, _choose(lx, sign, ONE, a))
    if not isinstance(count, Const) and sum(s != FALSE for s in signs) > 1:
        _raise_if(lx, lx.let("gt", count, ONE, type=BOOL), _TWO_UNKNOWN, node)
    if not isinstance(known, Const) or known == ZERO:
        divisor: Atom = lx.let("max", known, ONE, type=INT64, fn="max")
        if lx.frame.plain:  # NumPy infers nothing beside an extent of 0; Numba finds 0
            _raise_if(lx, _both(lx, lx.let("eq", known, ZERO, type=BOOL), count), _WRONG_SIZE, node)
    else:
        divisor = known
    found = expressions.integer(lx, "floordiv", size, divisor)
    return tuple(_choose(lx, sign, found, a) for a, sign in zip(wanted, signs, strict=True))


def _both(lx: Lowering, test: Atom, count: Atom) -> Atom:
    if isinstance(count, Const):
        return test
    return lx.let("and_", test, lx.let("gt", count, ZERO, type=BOOL), type=BOOL)


def _choose(lx: Lowering, test: Atom, a: Atom, b: Atom) -> Atom:
    if isinstance(test, Const):
        return a if test.value else b
    return lx.let("select", test, a, b)


def _raise_if(lx: Lowering, test: Atom, message: str, node: ast.AST) -> None:
    failure = lx.failure(message, node)
    lx.builder.append(If(test, (failure,), (), span=lx.span(node)))


# arguments


def _ndim(array: Sym) -> int:
    assert isinstance(array.type, Array)
    return array.type.ndim


def _axes(lx: Lowering, value: Value, ndim: int, node: ast.AST) -> tuple[int, ...]:
    """Constant axes: one, or a tuple of different ones."""
    items = value.items if isinstance(value, TupleValue) else (value,)
    axes = tuple(_axis(lx, item, ndim, node) for item in items)
    if len(set(axes)) != len(axes):
        lx.refuse(node, "an axis is given twice", "give each axis once")
    return axes


def _axis(lx: Lowering, value: Value, ndim: int, node: ast.AST) -> int:
    axis = expressions.number(lx, value, node)
    if not isinstance(axis, Const) or type(axis.value) is not int:
        lx.refuse(node, "an axis that is computed while the program runs", "give the axis as a literal")
    if not -ndim <= axis.value < ndim:
        lx.refuse(
            node,
            f"axis {axis.value} of an array of {ndim} dimensions",
            f"take one from {-ndim} to {ndim - 1}",
        )
    return axis.value % ndim


def _function(name: str, method: Method) -> Handler:
    """`np.name(array, ...)`."""

    def handler(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
        given = dict(kwargs)
        first, rest = (given.pop("a", None), args) if not args else (args[0], args[1:])
        if first is None or is_scalar(first) or not isinstance(first, Sym) or not is_array(first):
            what = "no array" if first is None else lx.kind(first)
            lx.refuse(node, f"'np.{name}' of {what} is not supported", "pass an array")
        if first in lx.lists:
            lx.refuse(node, f"'np.{name}' of a list is not supported", "make it an array: np.array(...)")
        return method(lx, first, rest, given, node)

    return handler


_METHODS: dict[str, Method] = {
    "transpose": _transpose,
    "swapaxes": _swapaxes,
    "reshape": _reshape,
    "ravel": _ravel,
    "squeeze": _squeeze,
}
_FUNCTIONS: dict[str, Method] = {
    **_METHODS,
    "moveaxis": _moveaxis,
    "expand_dims": _expand_dims,
    "ascontiguousarray": _contiguous,
}
HANDLERS: dict[object, Handler] = {
    getattr(np, name): _function(name, method) for name, method in _FUNCTIONS.items()
}
METHODS: dict[str, Handler] = {name: _function(name, method) for name, method in _METHODS.items()}
