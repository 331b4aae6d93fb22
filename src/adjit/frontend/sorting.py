"""Sorting and what is built on it: sort, argsort, partition, medians, percentiles, unique, searches.

The permutation is found without derivatives; values are read through it, so that each derivative goes to the element
that stands there.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

import numpy as np

from adjit.frontend import arrays, device_steps, elements, expressions, fancy, lanes, stores
from adjit.frontend.arguments import Handler, bound, flag
from adjit.frontend.context import Lowering
from adjit.frontend.plain import orders, sets
from adjit.frontend.values import NONE, Elements, Place, TupleValue, Value, is_scalar
from adjit.ir.core import FALSE, ZERO, Atom, Const, Sym, const
from adjit.ir.types import FLOAT64, INT64

Given = dict[str, Value]


def _axis(lx: Lowering, given: Given, array: Sym, default: int | None, node: ast.AST) -> tuple[Sym, int]:
    """The array and the axis; of no axis, all elements in a row."""
    axis = given.get("axis", NONE if default is None else const(default))
    if lanes.none(axis):
        return lanes.flat(lx, array, node), 0
    return array, lanes.axis_in(lx, axis, lanes.rank_of(array), node)


def _kind(lx: Lowering, name: str, given: Given, node: ast.AST) -> None:
    if not lanes.none(given.get("kind", NONE)):
        lanes.word(lx, given["kind"], f"the kind of '{name}'", _KINDS, node)
    lanes.refuse_given(lx, name, given, ("order", "stable"), node)


_KINDS = ("quicksort", "mergesort", "stable", "heapsort")
_SORT = ("a", "axis", "kind", "order")


def sort(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.sort(a, axis=-1)`: a sorted copy."""
    given = bound(lx, "np.sort", _SORT, 1)(args, kwargs, node)
    _kind(lx, "sort", given, node)
    array, axis = _axis(lx, given, lanes.array_in(lx, given["a"], node, "np.sort"), -1, node)
    return _in_order(lx, array, axis, node)


def _in_order(lx: Lowering, array: Sym, axis: int, node: ast.AST) -> Sym:
    """A sorted copy."""
    if device_steps.on_device(lx):
        return device_steps.taken(lx, array, device_steps.argsort(lx, array, axis, node), axis, node)
    return lanes.along(lx, array, axis, orders.put_sorted, node, like=array)


def _order(lx: Lowering, array: Sym, axis: int, node: ast.AST) -> Sym:
    """The permutations that sort along an axis."""
    if device_steps.on_device(lx):
        return device_steps.argsort(lx, array, axis, node)
    return lanes.along(lx, array, axis, orders.put_order, node, dtype=INT64)


def sort_method(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`a.sort(axis=-1)`: in place."""
    given = bound(lx, "sort", _SORT, 1)(args, kwargs, node)
    _kind(lx, "sort", given, node)
    array = lanes.array_in(lx, given["a"], node, "sort")
    axis = lanes.axis_in(lx, given.get("axis", const(-1)), lanes.rank_of(array), node)
    if device_steps.on_device(lx):
        stores.assign(lx, elements.whole(lx, array), _in_order(lx, array, axis, node), node)
        return NONE
    lanes.over_lanes(lx, (array,), axis, lambda part: lanes.run(lx, orders.sort_in_place, [part], node), node)
    return NONE


def argsort(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.argsort(a, axis=-1)`; equal elements keep their order."""
    given = bound(lx, "np.argsort", _SORT, 1)(args, kwargs, node)
    _kind(lx, "argsort", given, node)
    array, axis = _axis(lx, given, lanes.array_in(lx, given["a"], node, "np.argsort"), -1, node)
    if lanes.rank_of(array) == 1:
        return lanes.run(lx, orders.ordered, [array], node)
    return _order(lx, array, axis, node)


def _partition(name: str) -> Handler:
    """`np.partition(a, kth, axis=-1)` and `np.argpartition`: all of it is sorted, which is one of the right answers."""

    def handler(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
        given = bound(lx, f"np.{name}", ("a", "kth", "axis"), 2)(args, kwargs, node)
        array, axis = _axis(lx, given, lanes.array_in(lx, given["a"], node, f"np.{name}"), -1, node)
        if is_scalar(given["kth"]):
            extent = arrays.shape_of(lx, array)[axis]
            lanes.run(lx, orders.check_kth, [given["kth"], extent], node)
        if name == "partition":
            return _in_order(lx, array, axis, node)
        return _order(lx, array, axis, node)

    return handler


# medians and percentiles


def median(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.median(a, axis=None, keepdims=False)`."""
    given = bound(lx, "np.median", ("a", "axis", "out", "overwrite_input", "keepdims"), 1)(args, kwargs, node)
    return _one_of_each(lx, "median", given, orders.median, [], node)


def nanmedian(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.nanmedian(a, axis=None, keepdims=False)`."""
    given = bound(lx, "np.nanmedian", ("a", "axis", "out", "overwrite_input", "keepdims"), 1)(
        args, kwargs, node
    )
    return _one_of_each(lx, "nanmedian", given, orders.nanmedian, [], node)


def _one_of_each(
    lx: Lowering, name: str, given: Given, function: object, more: list[Value], node: ast.AST
) -> Value:
    lanes.refuse_given(lx, name, given, ("out", "method", "weights", "interpolation"), node)
    array = lanes.array_in(lx, given["a"], node, f"np.{name}")
    source, axis = _axis(lx, given, array, None, node)
    value = lanes.reduced(lx, source, axis, function, node, more)  # type: ignore[arg-type]
    if not flag(lx, given.get("keepdims", FALSE), "'keepdims'", node):
        return value
    shape = list(arrays.shape_of(lx, array))
    all_ = lanes.none(given.get("axis", NONE))
    kept = [const(1) if all_ or d == axis else e for d, e in enumerate(shape)]
    return elements.reshaped(elements.elements_of(lx, value, node), tuple(kept))


def _quantile(name: str, factor: float, skip: bool) -> Handler:
    """`np.quantile(a, q, axis=None)` and its kin."""
    names = ("a", "q", "axis", "out", "overwrite_input", "method", "keepdims")

    def handler(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
        given = bound(lx, f"np.{name}", names, 2)(args, kwargs, node)
        if not lanes.none(given.get("method", NONE)):
            lanes.word(lx, given.pop("method"), f"the method of 'np.{name}'", ("linear",), node)
        scale = Const(factor, FLOAT64)
        if is_scalar(given["q"]):
            one = orders.nanpercentile if skip else orders.percentile
            return _one_of_each(lx, name, given, one, [given["q"], scale], node)
        lanes.refuse_given(lx, name, given, ("out", "keepdims"), node)
        array = lanes.array_in(lx, given["a"], node, f"np.{name}")
        source, _ = _axis(lx, given, array, None, node)
        if lanes.rank_of(source) > 1:
            lx.refuse(node, f"'np.{name}' of several q along an axis", "call it for each q")
        q = lanes.array_in(lx, given["q"], node, f"np.{name}")
        if skip:
            source = lanes.array_in(lx, lanes.run(lx, orders.numbers_of, [source], node), node)
        more = [source, q, scale]
        fill = lambda out: lanes.run(lx, orders.put_percentiles, [out, *more], node)  # noqa: E731
        return lanes.made(lx, arrays.shape_of(lx, q), fill, node, FLOAT64)

    return handler


# searches


def unique(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.unique(ar, return_index, return_inverse, return_counts)`: the different elements, in order."""
    flags = ("return_index", "return_inverse", "return_counts")
    given = bound(lx, "np.unique", ("ar", *flags, "axis", "equal_nan"), 1)(args, kwargs, node)
    lanes.refuse_given(lx, "unique", given, ("axis",), node)
    array = lanes.array_in(lx, given["ar"], node, "np.unique")
    row = lanes.flat(lx, array, node)
    index, inverse, counts = (flag(lx, given.get(f, FALSE), f"'{f}'", node) for f in flags)
    if not (index or inverse or counts):
        return lanes.run(lx, orders.unique, [row], node)
    at, order = expressions.items_of(lx, lanes.run(lx, sets.places_of_each, [row], node), node)
    found: list[Value] = [elements.solid(lx, fancy.gather(lx, row, (at,), node), node)]
    if index:
        found.append(at)
    if inverse or counts:
        numbers = lanes.run(lx, sets.numbers_of_each, [row, order], node)
        which, times = expressions.items_of(lx, numbers, node)
        if inverse:
            found.append(_shaped(lx, lanes.array_in(lx, which, node), array, node))
        found += [times] if counts else []
    return TupleValue(tuple(found))


def _shaped(lx: Lowering, row: Sym, array: Sym, node: ast.AST) -> Value:
    """The elements of a row in the shape of an array."""
    if lanes.rank_of(array) == 1:
        return row
    return elements.materialise(lx, lanes.boxed(lx, row, arrays.shape_of(lx, array)), node)


def lexsort(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.lexsort(keys)`: the order by the last key, of equal ones by the key before, and so on."""
    (keys,) = bound(lx, "np.lexsort", ("keys",), 1)(args, kwargs, node).values()
    if isinstance(keys, TupleValue) and keys.items and not is_scalar(keys.items[0]):
        rows = [lanes.row_in(lx, k, "np.lexsort", node, "sort rows of it") for k in keys.items]
        order = lanes.run(lx, orders.ordered, [rows[0]], node)
        for row in rows[1:]:
            order = lanes.run(lx, sets.lexsorted, [order, row], node)
        return order
    lx.refuse(node, "'np.lexsort' of keys that are not a tuple of 1-D arrays", "write np.lexsort((b, a))")


def searchsorted(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.searchsorted(a, v, side="left")`."""
    given = bound(lx, "np.searchsorted", ("a", "v", "side", "sorter"), 2)(args, kwargs, node)
    lanes.refuse_given(lx, "searchsorted", given, ("sorter",), node)
    right = False
    if "side" in given:
        right = lanes.word(lx, given["side"], "the side", ("left", "right"), node) == "right"
    array = _sorted(lx, given["a"], "np.searchsorted", node)
    return _each(lx, array, given["v"], const(right), node)


def _count(lx: Lowering, function: Callable[..., object], args: list[Value], node: ast.AST) -> Atom:
    """A number that is never negative."""
    found = device_steps.number(lx, function, args, node)
    if isinstance(found, Sym):
        lx.integers.counts.add(found)
    return found


def _sorted(lx: Lowering, value: Value, name: str, node: ast.AST) -> Sym:
    array = lanes.array_in(lx, value, node, name)
    if lanes.rank_of(array) != 1:
        lx.refuse(node, f"'{name}' in an array of several dimensions", "pass a 1-D array")
    return array


def _each(lx: Lowering, array: Sym, value: Value, right: Atom, node: ast.AST) -> Value:
    """Where each of the values belongs."""
    if is_scalar(value):
        return _count(lx, orders.bisect, [array, value, right], node)
    if isinstance(value, TupleValue):
        value = lanes.array_in(lx, value, node)
    sought = elements.elements_of(lx, value, node)

    def at(places: tuple[Place, ...]) -> Atom:
        return lanes.number(lx, orders.bisect, [array, sought.at(places), right], node)

    return elements.materialise(lx, Elements(sought.shape, at, INT64), node)


def digitize(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.digitize(x, bins, right=False)`; the bins may fall."""
    given = bound(lx, "np.digitize", ("x", "bins", "right"), 2)(args, kwargs, node)
    bins = _sorted(lx, given["bins"], "np.digitize", node)
    right = expressions.truth(lx, given.get("right", FALSE), node)
    left = lx.negate(right)
    direction = lanes.number(lx, orders.monotonic, [bins], node)
    falls = lx.let("lt", direction, ZERO)
    value = given["x"]
    if is_scalar(value):
        return _count(lx, orders.bin_of, [bins, value, left, falls], node)
    sought = elements.elements_of(lx, lanes.array_in(lx, value, node), node)

    def at(places: tuple[Place, ...]) -> Atom:
        return lanes.number(lx, orders.bin_of, [bins, sought.at(places), left, falls], node)

    return elements.materialise(lx, Elements(sought.shape, at, INT64), node)


HANDLERS: dict[object, Handler] = {
    np.sort: sort,
    np.argsort: argsort,
    np.partition: _partition("partition"),
    np.argpartition: _partition("argpartition"),
    np.median: median,
    np.nanmedian: nanmedian,
    np.percentile: _quantile("percentile", 1.0, False),
    np.quantile: _quantile("quantile", 100.0, False),
    np.nanpercentile: _quantile("nanpercentile", 1.0, True),
    np.nanquantile: _quantile("nanquantile", 100.0, True),
    np.unique: unique,
    np.lexsort: lexsort,
    np.searchsorted: searchsorted,
    np.digitize: digitize,
}

METHODS: dict[str, Handler] = {"sort": sort_method, "argsort": argsort, "searchsorted": searchsorted}
LISTS = (np.lexsort,)
