"""Arrays out of several, or of one several times: concatenate, stack and their kin, repeat, tile, meshgrid.

np.concatenate((a, b))   ->   out = empty(n + m); out[:n] = a; out[n:] = b
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

import numpy as np

from adjit.frontend import arrays, broadcasting, elements, expressions, lanes, views
from adjit.frontend.arguments import Handler, bound
from adjit.frontend.context import Lowering
from adjit.frontend.plain import copies
from adjit.frontend.values import (
    NONE,
    Elements,
    Place,
    TupleValue,
    Value,
    is_array,
    is_scalar,
)
from adjit.ir.core import ONE, ZERO, Atom, Sym
from adjit.ir.types import UNKNOWN, Scalar

Given = dict[str, Value]


def parts_of(lx: Lowering, value: Value, name: str, node: ast.AST) -> list[Elements]:
    """The arrays that are joined: a tuple or list of arrays and numbers, or the rows of an array."""
    if isinstance(value, TupleValue):
        if not value.items:
            lx.refuse(node, f"'{name}' of no arrays", "pass at least one")
        items = [lanes.tuple_as_array(lx, v, node) for v in value.items]
        return [elements.elements_of(lx, v, node) for v in items]
    if isinstance(value, Sym) and value in lx.lengths:
        items = expressions.items_of(lx, value, node)
        return [elements.elements_of(lx, v, node) for v in items]
    lx.refuse(node, f"'{name}' of {lx.kind(value)}", "pass a tuple of arrays")


def joined(
    lx: Lowering, parts: Sequence[Elements], axis: int, node: ast.AST, dtype: Scalar | None = None
) -> Sym:
    """The parts one behind the other along an axis."""
    rank = len(parts[0].shape)
    if any(len(p.shape) != rank for p in parts):
        lx.refuse(node, "arrays of different numbers of dimensions are joined", "give all the same")
    shape = list(parts[0].shape)
    message = "all the input array dimensions except for the concatenation axis must match exactly"
    for part in parts[1:]:
        for d in range(rank):
            if d != axis:
                broadcasting.check_equal(lx, part.shape[d], shape[d], message, node)
        shape[axis] = expressions.integer(lx, "add", shape[axis], part.shape[axis])
    if isinstance(shape[axis], Sym):
        lx.integers.counts.add(shape[axis])  # type: ignore[arg-type]
    known = {p.dtype for p in parts}
    only = dtype or (parts[0].dtype if len(known) == 1 else UNKNOWN)

    def fill(made: Sym) -> None:
        offset: Atom = ZERO
        for part in parts:
            _put(lx, made, part, axis, offset)
            offset = expressions.integer(lx, "add", offset, part.shape[axis])

    return lanes.made(lx, tuple(shape), fill, node, only)


def _put(lx: Lowering, made: Sym, part: Elements, axis: int, offset: Atom) -> None:
    def element(places: tuple[Place, ...]) -> None:
        index = [elements.position(lx, p) for p in places]
        index[axis] = expressions.integer(lx, "add", index[axis], offset)
        lx.builder.store(made, tuple(index), part.at(places))

    elements.nest(lx, part.shape, element)


def concatenate(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.concatenate(arrays, axis=0)`; of axis None, all elements in a row."""
    given = bound(lx, "np.concatenate", ("arrays", "axis"), 1)(args, kwargs, node)
    parts = parts_of(lx, given["arrays"], "np.concatenate", node)
    if any(not p.shape for p in parts):
        lx.refuse(node, "a number is concatenated", "make it an array: np.array([v])")
    return _along(lx, parts, given.get("axis", ZERO), node)


def _along(lx: Lowering, parts: list[Elements], axis: Value, node: ast.AST) -> Sym:
    if lanes.none(axis):
        return joined(lx, [_raveled(lx, p, node) for p in parts], 0, node)
    return joined(lx, parts, lanes.axis_in(lx, axis, len(parts[0].shape), node), node)


def _raveled(lx: Lowering, part: Elements, node: ast.AST) -> Elements:
    if not part.shape:
        return elements.reshaped(part, (ONE,))
    if len(part.shape) == 1:
        return part
    return elements.whole(lx, lanes.flat(lx, lanes.array_in(lx, part, node), node))


def append(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.append(arr, values, axis=None)`."""
    given = bound(lx, "np.append", ("arr", "values", "axis"), 2)(args, kwargs, node)
    items = TupleValue((given["arr"], given["values"]))
    return _along(lx, parts_of(lx, items, "np.append", node), given.get("axis", NONE), node)


def stacked(
    lx: Lowering, parts: Sequence[Elements], axis: int, node: ast.AST, dtype: Scalar | None = None
) -> Sym:
    """Parts of one shape along a new axis."""
    message = "all input arrays must have the same shape"
    for part in parts[1:]:
        if len(part.shape) != len(parts[0].shape):
            lx.refuse(node, "arrays of different numbers of dimensions are stacked", "give all the same")
        for a, b in zip(part.shape, parts[0].shape, strict=True):
            broadcasting.check_equal(lx, a, b, message, node)
    wide = [_widened(p, axis) for p in parts]
    return joined(lx, wide, axis, node, dtype)


def _widened(part: Elements, axis: int) -> Elements:
    """The part with a new axis of extent one."""
    shape = (*part.shape[:axis], ONE, *part.shape[axis:])
    return Elements(shape, lambda p: part.at((*p[:axis], *p[axis + 1 :])), part.dtype)


def stack(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.stack(arrays, axis=0)`."""
    given = bound(lx, "np.stack", ("arrays", "axis"), 1)(args, kwargs, node)
    parts = parts_of(lx, given["arrays"], "np.stack", node)
    return stacked(lx, parts, lanes.axis_in(lx, given.get("axis", ZERO), len(parts[0].shape) + 1, node), node)


def at_least(value: Elements, rank: int) -> Elements:
    """The value with axes of extent one, as `np.atleast_1d`, `2d` and `3d` put them in."""
    n = len(value.shape)
    if n >= rank:
        return value
    shape = value.shape
    if rank == 1:
        return elements.reshaped(value, (ONE,))
    if rank == 2:
        return elements.reshaped(value, (ONE, *(shape or (ONE,))))
    by_rank = {0: (ONE, ONE, ONE), 1: (ONE, *shape, ONE), 2: (*shape, ONE)}
    at = {0: lambda p: (), 1: lambda p: (p[1],), 2: lambda p: p[:2]}[n]
    return Elements(by_rank[n], lambda places: value.at(at(places)), value.dtype)


def boxed(lx: Lowering, value: Value, node: ast.AST, dtype: Scalar | None = None) -> Elements:
    """`np.array` of a nested tuple with arrays in it: stacked, the outermost tuple along the first axis."""
    if not isinstance(value, TupleValue):
        return elements.elements_of(lx, value, node)
    return elements.whole(lx, stacked(lx, [boxed(lx, v, node, dtype) for v in value.items], 0, node, dtype))


def _kin(name: str) -> Handler:
    """`np.hstack`, `np.vstack`, `np.dstack` and `np.column_stack`."""

    def handler(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
        given = bound(lx, f"np.{name}", ("tup",), 1)(args, kwargs, node)
        parts = parts_of(lx, given["tup"], f"np.{name}", node)
        match name:
            case "hstack":
                parts = [at_least(p, 1) for p in parts]
                return joined(lx, parts, 0 if len(parts[0].shape) == 1 else 1, node)
            case "vstack":
                return joined(lx, [at_least(p, 2) for p in parts], 0, node)
            case "dstack":
                return joined(lx, [at_least(p, 3) for p in parts], 2, node)
            case _:
                columns = [_widened(p, len(p.shape)) if len(p.shape) == 1 else at_least(p, 2) for p in parts]
                return joined(lx, columns, 1, node)

    return handler


def _at_least(rank: int) -> Handler:
    """`np.atleast_1d(x)` and its kin: the array itself where it has the rank."""

    def handler(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
        if kwargs or not args:
            lx.refuse(
                node, f"'np.atleast_{rank}d' with these arguments is not supported", "pass arrays by position"
            )
        if len(args) == 1:
            return _one_at_least(lx, args[0], rank, node)
        return TupleValue(tuple(elements.solid(lx, _one_at_least(lx, a, rank, node), node) for a in args))

    return handler


def _one_at_least(lx: Lowering, value: Value, rank: int, node: ast.AST) -> Value:
    value = lanes.tuple_as_array(lx, value, node)
    if elements.ndim_of(value) >= rank:
        return value
    if isinstance(value, Sym) and is_array(value):
        return views.at_least(lx, value, rank, node)
    return at_least(elements.elements_of(lx, value, node), rank)


# copies of one


def repeat(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.repeat(a, repeats, axis=None)`: each element `repeats` times; also one count per element."""
    given = bound(lx, "np.repeat", ("a", "repeats", "axis"), 2)(args, kwargs, node)
    value = given["a"]
    if is_scalar(value):
        times = lanes.count(lx, copies.count_of, [given["repeats"]], node)
        number = expressions.number(lx, value, node)
        return elements.materialise(lx, Elements((times,), lambda _: number), node)
    array = lanes.array_in(lx, value, node, "np.repeat")
    axis_ = given.get("axis", NONE)
    array = lanes.flat(lx, array, node) if lanes.none(axis_) else array
    axis = 0 if lanes.none(axis_) else lanes.axis_in(lx, axis_, lanes.rank_of(array), node)
    n = arrays.shape_of(lx, array)[axis]
    if is_scalar(given["repeats"]):
        times = lanes.count(lx, copies.count_of, [given["repeats"]], node)
        extent = expressions.integer(lx, "mul", n, times)
        function, more = copies.repeat, [times]
    else:
        counts = lanes.array_in(lx, given["repeats"], node, "np.repeat")
        extent = lanes.count(lx, copies.total_of, [counts, n], node)
        function, more = copies.repeat_each, [counts]
    return lanes.along(lx, array, axis, function, node, extent, more=more, like=array)


def tile(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.tile(A, reps)`."""
    given = bound(lx, "np.tile", ("A", "reps"), 2)(args, kwargs, node)
    reps = given["reps"].items if isinstance(given["reps"], TupleValue) else (given["reps"],)
    times = [expressions.number(lx, r, node) for r in reps]
    value = given["A"] if is_scalar(given["A"]) else lanes.array_in(lx, given["A"], node, "np.tile")
    source = elements.elements_of(lx, value, node)
    rank = max(len(times), len(source.shape), 1)
    own = [*[ONE] * (rank - len(source.shape)), *source.shape]
    times = [*[ONE] * (rank - len(times)), *times]
    shape = tuple(expressions.integer(lx, "mul", a, b) for a, b in zip(own, times, strict=True))

    def fill(made: Sym) -> None:
        def element(places: tuple[Place, ...]) -> None:
            again, inner = places[:rank], places[rank:]
            index: list[Atom] = []
            for t, p, n in zip(again, inner, own, strict=True):
                start = expressions.integer(lx, "mul", elements.position(lx, t), n)
                index.append(expressions.integer(lx, "add", start, elements.position(lx, p)))
            at = inner[rank - len(source.shape) :]
            lx.builder.store(made, tuple(index), source.at(at))

        elements.nest(lx, (*times, *own), element)

    return lanes.made(lx, shape, fill, node, source.dtype)


def broadcast_to(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.broadcast_to(array, shape)`, as an expression: a name is bound to a copy."""
    given = bound(lx, "np.broadcast_to", ("array", "shape"), 2)(args, kwargs, node)
    items = given["shape"].items if isinstance(given["shape"], TupleValue) else (given["shape"],)
    shape = tuple(expressions.number(lx, i, node) for i in items)
    return _broadcast(
        lx, elements.elements_of(lx, lanes.tuple_as_array(lx, given["array"], node), node), shape, node
    )


def _broadcast(lx: Lowering, source: Elements, shape: tuple[Atom, ...], node: ast.AST) -> Elements:
    if len(source.shape) > len(shape):
        lx.refuse(
            node, "an array is broadcast to fewer dimensions than it has", "give its shape more extents"
        )
    own = source.shape
    message = "operands could not be broadcast together with remapped shapes"
    for have, want in zip(own, shape[len(shape) - len(own) :], strict=True):
        if have != ONE:
            broadcasting.check_equal(lx, want, have, message, node)
    return Elements(
        shape,
        lambda places: source.at(broadcasting.aligned(places, own)),
        source.dtype,
        shows=None if source.part is None else (source.part[0], "np.broadcast_to"),
    )


def broadcast_arrays(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.broadcast_arrays(a, b, ...)`: a tuple of arrays of one shape."""
    if kwargs or not args:
        lx.refuse(
            node, "'np.broadcast_arrays' with these arguments is not supported", "pass arrays by position"
        )
    sources = [elements.elements_of(lx, a, node) for a in args]
    shape, sources = broadcasting.broadcast(lx, sources, node)
    return TupleValue(tuple(elements.solid(lx, _broadcast(lx, s, shape, node), node) for s in sources))


def meshgrid(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.meshgrid(x, y, ..., indexing="xy")`: a tuple of arrays."""
    order = "xy"
    if "indexing" in kwargs:
        order = lanes.word(lx, kwargs.pop("indexing"), "'indexing'", ("xy", "ij"), node)
    if kwargs or not args:
        lx.refuse(
            node,
            "'np.meshgrid' with these arguments is not supported",
            "pass 1-D arrays by position, and indexing",
        )
    sources = [
        _raveled(lx, elements.elements_of(lx, lanes.tuple_as_array(lx, a, node), node), node) for a in args
    ]
    axes = list(range(len(sources)))
    if order == "xy" and len(axes) > 1:
        axes[:2] = [1, 0]
    shape = tuple(sources[axes.index(d)].shape[0] for d in range(len(axes)))
    made: list[Value] = []
    for source, d in zip(sources, axes, strict=True):
        grid = Elements(shape, lambda p, s=source, d=d: s.at((p[d],)), source.dtype)
        made.append(elements.materialise(lx, grid, node))
    return TupleValue(tuple(made))


HANDLERS: dict[object, Handler] = {
    np.concatenate: concatenate,
    np.append: append,
    np.stack: stack,
    **{getattr(np, name): _kin(name) for name in ("hstack", "vstack", "dstack", "column_stack")},
    np.atleast_1d: _at_least(1),
    np.atleast_2d: _at_least(2),
    np.atleast_3d: _at_least(3),
    np.repeat: repeat,
    np.tile: tile,
    np.broadcast_to: broadcast_to,
    np.broadcast_arrays: broadcast_arrays,
    np.meshgrid: meshgrid,
}

METHODS: dict[str, Handler] = {"repeat": repeat}
LAZY = (np.broadcast_to,)
LISTS = (np.concatenate, np.append, np.stack, np.hstack, np.vstack, np.dstack, np.column_stack)
