"""Arrays written by a call: `np.add.at` and its kin, copyto, put; and the other methods of ufuncs.

np.add.at(a, idx, v)   ->   for i in range(len(idx)): a[idx[i]] += v[i]
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from types import BuiltinMethodType

import numpy as np

from adjit import rules
from adjit.frontend import (
    broadcasting,
    calls,
    elements,
    expressions,
    fancy,
    folds,
    indexing,
    lanes,
    scans,
    stores,
)
from adjit.frontend.arguments import Handler, bound
from adjit.frontend.context import Lowering
from adjit.frontend.plain import sums
from adjit.frontend.values import NONE, Elements, Place, Static, Value, is_array, is_scalar
from adjit.ir.core import ONE, ZERO, Atom, Sym
from adjit.ir.types import BOOL

Given = dict[str, Value]

_REDUCE: dict[np.ufunc, str] = {
    np.add: "sum", np.multiply: "prod", np.maximum: "max", np.minimum: "min",
    np.logical_and: "all", np.logical_or: "any",
}  # fmt: skip
_ACCUMULATE: dict[np.ufunc, Callable[..., object]] = {
    np.maximum: sums.running_maximum,
    np.minimum: sums.running_minimum,
}


def ufunc_method(obj: object) -> Handler | None:
    """The handler of `np.<ufunc>.at`, `reduce`, `accumulate` or `outer`."""
    owner = obj.__self__ if isinstance(obj, BuiltinMethodType) else None
    made = {"at": _at, "reduce": _reduce, "accumulate": _accumulate, "outer": _outer}
    if not isinstance(owner, np.ufunc) or obj.__name__ not in made:  # type: ignore[attr-defined]
        return None
    return made[obj.__name__](owner)  # type: ignore[attr-defined]


def _known(lx: Lowering, f: np.ufunc, count: int, node: ast.AST) -> None:
    if rules.find(f, count) is None:
        lx.refuse(node, f"'np.{f.__name__}' has no rule for {count} arguments", "write the loop")


def _at(f: np.ufunc) -> Handler:
    def handler(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
        given = bound(lx, f"np.{f.__name__}.at", ("a", "indices", "b"), f.nin + 1)(args, kwargs, node)
        _known(lx, f, f.nin, node)
        owner = given["a"]
        if not isinstance(owner, Sym) or not is_array(owner) or owner in lx.lists:
            lx.refuse(node, f"'np.{f.__name__}.at' of {lx.kind(owner)}", "pass an array")
        parts = indexing.parts_of(given["indices"])
        if not any(elements.is_whole(p) for p in parts):
            lx.refuse(node, f"'np.{f.__name__}.at' without an index array", "write a[i] += v")
        parts = tuple(elements.copied(lx, p, node) if elements.is_whole(p) else p for p in parts)
        picked = fancy.picking(lx, owner, parts, node)
        source = _operand(lx, given.get("b", ZERO), picked.shape, node)

        def element(places: tuple[Place, ...]) -> None:
            base, index = picked.index(lx, places)
            operands: list[Atom] = [lx.builder.load(base, index)]
            if f.nin == 2:
                operands.append(source.at(broadcasting.aligned(places, source.shape)))
            new = calls.apply_rule(lx, f, tuple(operands), node)
            lx.builder.store(base, index, expressions.number(lx, new, node))

        with lx.at(node):
            elements.nest(lx, picked.shape, element)
        return NONE

    return handler


def _operand(lx: Lowering, value: Value, shape: tuple[Atom, ...], node: ast.AST) -> Elements:
    source = elements.elements_of(lx, lanes.tuple_as_array(lx, value, node), node)
    if source.shape:
        source = elements.whole(lx, elements.copied(lx, source, node))
    message = "shape mismatch: value array could not be broadcast"
    return stores.fitted(lx, source, shape, message, node)


def _reduce(f: np.ufunc) -> Handler:
    def handler(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
        names = ("a", "axis", "dtype", "out", "keepdims")
        given = bound(lx, f"np.{f.__name__}.reduce", names, 1)(args, kwargs, node)
        if f not in _REDUCE:
            lx.refuse(node, f"'np.{f.__name__}.reduce' is not supported", "write the loop")
        lanes.refuse_given(lx, f"{f.__name__}.reduce", given, ("dtype", "out"), node)
        more = {"axis": given.get("axis", ZERO)}
        if "keepdims" in given:
            more["keepdims"] = given["keepdims"]
        return folds.reduce(lx, _REDUCE[f], given["a"], more, node)

    return handler


def _accumulate(f: np.ufunc) -> Handler:
    def handler(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
        given = bound(lx, f"np.{f.__name__}.accumulate", ("a", "axis"), 1)(args, kwargs, node)
        axis = given.get("axis", ZERO)
        if f is np.add or f is np.multiply:
            scan = np.cumsum if f is np.add else np.cumprod
            return scans.HANDLERS[scan](lx, [given["a"], axis], {}, node)
        if f not in _ACCUMULATE:
            lx.refuse(node, f"'np.{f.__name__}.accumulate' is not supported", "write the loop")
        array = lanes.array_in(lx, given["a"], node, "accumulate")
        along = lanes.axis_in(lx, axis, lanes.rank_of(array), node)
        return lanes.along(lx, array, along, _ACCUMULATE[f], node, like=array)

    return handler


def _outer(f: np.ufunc) -> Handler:
    def handler(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
        given = bound(lx, f"np.{f.__name__}.outer", ("a", "b"), 2)(args, kwargs, node)
        _known(lx, f, 2, node)
        a, b = (lanes.readable(lx, given[k], node) for k in ("a", "b"))
        column = elements.reshaped(a, (*a.shape, *[ONE] * len(b.shape)))
        return calls.call(lx, Static(f), [column, b], {}, node)

    return handler


def copyto(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.copyto(dst, src, where=True)`."""
    given = bound(lx, "np.copyto", ("dst", "src", "casting", "where"), 2)(args, kwargs, node)
    lanes.refuse_given(lx, "copyto", given, ("casting",), node)
    target = elements.whole(lx, lanes.array_in(lx, given["dst"], node, "np.copyto"))
    source: Value = lanes.tuple_as_array(lx, given["src"], node)
    if "where" in given:
        source = elements.apply(lx, "select", (given["where"], source, target), node)
    stores.assign(lx, target, source, node)
    return NONE


def putmask(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.putmask(a, mask, values)`, values of the shape of `a` or a number."""
    given = bound(lx, "np.putmask", ("a", "mask", "values"), 3)(args, kwargs, node)
    target = elements.whole(lx, lanes.array_in(lx, given["a"], node, "np.putmask"))
    for key in ("mask", "values"):
        if elements.ndim_of(given[key]) not in (
            (len(target.shape),) if key == "mask" else (0, len(target.shape))
        ):
            lx.refuse(
                node, f"'np.putmask' with a {key} of other dimensions", "give as many as there are elements"
            )
    mask = given["mask"]
    for value in (mask, given["values"]):
        _check_shape(lx, value, target, node)
    if elements.dtype_of(mask) != BOOL:
        mask = elements.binary(lx, "ne", mask, ZERO, node)
    chosen = elements.apply(lx, "select", (mask, given["values"], target), node)
    stores.assign(lx, target, chosen, node)
    return NONE


def _check_shape(lx: Lowering, value: Value, target: Elements, node: ast.AST) -> None:
    """Raise ValueError where an array has another shape than the target: nothing is stretched."""
    if not elements.ndim_of(value):
        return
    for n, m in zip(elements.elements_of(lx, value, node).shape, target.shape, strict=True):
        broadcasting.check_equal(lx, n, m, "putmask: mask and data must be the same size", node)


def put(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.put(a, ind, v)` of a 1-D array: `a[ind] = v`."""
    given = bound(lx, "np.put", ("a", "ind", "v"), 3)(args, kwargs, node)
    owner = lanes.array_in(lx, given["a"], node, "np.put")
    if lanes.rank_of(owner) != 1:
        lx.refuse(node, f"'np.put' of a {lanes.rank_of(owner)}-D array", "write a[i, j] = v")
    index, value = (lanes.tuple_as_array(lx, given[k], node) for k in ("ind", "v"))
    if is_scalar(index):
        lx.builder.store(owner, (expressions.number(lx, index, node),), expressions.number(lx, value, node))
    else:
        fancy.scatter(lx, owner, (index,), value, node)
    return NONE


def put_along_axis(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.put_along_axis(arr, indices, values, axis)`."""
    given = bound(lx, "np.put_along_axis", ("arr", "indices", "values", "axis"), 4)(args, kwargs, node)
    owner = lanes.array_in(lx, given["arr"], node, "np.put_along_axis")
    indices = elements.copied(lx, lanes.array_in(lx, given["indices"], node), node)
    axis = lanes.axis_in(lx, given["axis"], lanes.rank_of(owner), node)
    if lanes.rank_of(indices) != lanes.rank_of(owner):
        lx.refuse(
            node,
            "'np.put_along_axis' with indices of other dimensions than the array",
            "give as many: idx[:, None]",
        )
    chosen, target = elements.whole(lx, indices), elements.whole(lx, owner)
    for d, (a, b) in enumerate(zip(chosen.shape, target.shape, strict=True)):
        if d != axis:
            broadcasting.check_equal(lx, a, b, "shape mismatch: indexing arrays could not be broadcast", node)
    source = _operand(lx, given["values"], chosen.shape, node)
    base, before = lx.prefix(owner)

    def element(places: tuple[Place, ...]) -> None:
        index = [elements.position(lx, p) for p in places]
        index[axis] = chosen.at(places)
        lx.builder.store(base, (*before, *index), source.at(broadcasting.aligned(places, source.shape)))

    with lx.at(node):
        elements.nest(lx, chosen.shape, element)
    return NONE


HANDLERS: dict[object, Handler] = {
    np.copyto: copyto,
    np.putmask: putmask,
    np.put: put,
    np.put_along_axis: put_along_axis,
}
METHODS: dict[str, Handler] = {"put": put}
LAZY = (np.copyto,)
