"""What arrays and numbers are: real or complex, numbers or arrays; shapes that meet, grids of indices, blocks."""

from __future__ import annotations

import ast

import numpy as np

from adjit.frontend import arrays, broadcasting, creation, elements, expressions, fancy, joining, lanes
from adjit.frontend.arguments import Handler, bound
from adjit.frontend.context import Lowering
from adjit.frontend.values import NONE, Elements, Place, Static, TupleValue, Value, is_scalar
from adjit.ir.core import FALSE, ONE, TRUE, ZERO, Atom, const
from adjit.ir.types import BOOL, INT64

Given = dict[str, Value]


def _object(name: str, real: bool) -> Handler:
    """`np.isrealobj(x)` and `np.iscomplexobj(x)`: the type says it."""

    def handler(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
        given = bound(lx, f"np.{name}", ("x",), 1)(args, kwargs, node)
        dtype = elements.dtype_of(lanes.tuple_as_array(lx, given["x"], node))
        if not dtype.known:
            lx.refuse(node, f"'np.{name}' of numbers whose type is not known yet", "ask an argument")
        return FALSE if dtype.is_complex == real else TRUE

    return handler


def _each(name: str, real: bool) -> Handler:
    """`np.isreal(x)` and `np.iscomplex(x)`: whether an imaginary part is zero."""

    def handler(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
        given = bound(lx, f"np.{name}", ("x",), 1)(args, kwargs, node)
        value = lanes.tuple_as_array(lx, given["x"], node)
        if not elements.is_whole(value):
            imag = lx.let("imag", expressions.number(lx, value, node), fn="numpy.imag")
            return lx.let("eq" if real else "ne", imag, ZERO, type=BOOL)
        part = elements.apply(lx, "imag", (value,), node, "numpy.imag")
        return elements.binary(lx, "eq" if real else "ne", part, ZERO, node)

    return handler


def isscalar(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.isscalar(element)`: a number or a string."""
    (value,) = bound(lx, "np.isscalar", ("element",), 1)(args, kwargs, node).values()
    word = isinstance(value, Static) and isinstance(value.value, str)
    return TRUE if word or is_scalar(value) else FALSE


def broadcast_shapes(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.broadcast_shapes(shape, ...)`: a tuple of ints."""
    if kwargs:
        lx.refuse(node, "'np.broadcast_shapes' with keywords", "pass shapes by position")
    boxes = [Elements(creation.shape_arg(lx, a, node), lambda _: ZERO, INT64) for a in args]
    return TupleValue(broadcasting.broadcast(lx, boxes, node)[0])


def indices(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.indices(dimensions)`: the index along each axis, one behind the other."""
    given = bound(lx, "np.indices", ("dimensions", "dtype", "sparse"), 1)(args, kwargs, node)
    lanes.refuse_given(lx, "indices", given, ("sparse",), node)
    shape = creation.shape_arg(lx, given["dimensions"], node)
    kind = given.get("dtype", NONE)
    dtype = INT64 if lanes.none(kind) else creation.dtype_of(lx, kind, node)
    along = [Elements(shape, lambda p, d=d: elements.position(lx, p[d]), INT64) for d in range(len(shape))]
    return joining.stacked(lx, [elements.cast(lx, e, dtype, node) for e in along], 0, node)


def ix_(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.ix_(i, j, ...)`: index arrays, each along an axis of its own; masks stand for indices."""
    if kwargs or not args:
        lx.refuse(node, "'np.ix_' with these arguments is not supported", "pass 1-D arrays by position")
    made: list[Value] = []
    for k, value in enumerate(args):
        row = lanes.row_in(lx, value, "np.ix_", node, "flatten it: x.flatten()")
        if lanes.dtype_of(row) == BOOL:
            (row,) = fancy.nonzero(lx, row, node)
        (n,) = arrays.shape_of(lx, row)
        whole = elements.whole(lx, row)

        def at(places: tuple[Place, ...], k: int = k, whole: Elements = whole) -> Atom:
            return whole.at((places[k],))

        shape = (*[ONE] * k, n, *[ONE] * (len(args) - 1 - k))
        made.append(elements.materialise(lx, Elements(shape, at, whole.dtype), node))
    return TupleValue(tuple(made))


def diag_indices(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.diag_indices(n, ndim=2)`: the same indices for each axis."""
    given = bound(lx, "np.diag_indices", ("n", "ndim"), 1)(args, kwargs, node)
    n = expressions.number(lx, given["n"], node)
    rank = lanes.constant(lx, given.get("ndim", const(2)), "'ndim' of 'np.diag_indices'", node)
    row = Elements((n,), lambda p: elements.position(lx, p[0]), INT64)
    return TupleValue((elements.materialise(lx, row, node),) * rank)


def diag_indices_from(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.diag_indices_from(arr)` of an array whose extents are equal."""
    given = bound(lx, "np.diag_indices_from", ("arr",), 1)(args, kwargs, node)
    array = lanes.array_in(lx, given["arr"], node, "np.diag_indices_from")
    n, *others = arrays.shape_of(lx, array)
    if not others:
        lx.refuse(node, "'np.diag_indices_from' of a 1-D array", "take np.arange(len(x))")
    for m in others:
        broadcasting.check_equal(lx, m, n, "All dimensions of input must be of equal length", node)
    return diag_indices(lx, [n, const(lanes.rank_of(array))], {}, node)


def block(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.block(nested)`: lists are joined along the last axis, lists of lists along the one before, and so on."""
    (nested,) = bound(lx, "np.block", ("arrays",), 1)(args, kwargs, node).values()
    depth = _depth(lx, nested, node)
    rank = max(depth, *(elements.ndim_of(leaf) for leaf in _leaves(nested)))

    def joined(value: Value, level: int) -> Elements:
        if not isinstance(value, TupleValue):
            part = elements.elements_of(lx, value, node)
            return elements.reshaped(part, (*[ONE] * (rank - len(part.shape)), *part.shape))
        parts = [joined(v, level - 1) for v in value.items]
        return elements.whole(lx, joining.joined(lx, parts, rank - level, node))

    return elements.copied(lx, joined(nested, depth), node) if depth == 0 else joined(nested, depth)


def _depth(lx: Lowering, value: Value, node: ast.AST) -> int:
    if not isinstance(value, TupleValue):
        return 0
    depths = {_depth(lx, v, node) for v in value.items}
    if len(depths) != 1:
        remedy = "nest all arrays as deep, in lists that are not empty"
        lx.refuse(node, "'np.block' of lists of different depths", remedy)
    return 1 + depths.pop()


def _leaves(value: Value) -> list[Value]:
    return [leaf for v in value.items for leaf in _leaves(v)] if isinstance(value, TupleValue) else [value]


HANDLERS: dict[object, Handler] = {
    np.isrealobj: _object("isrealobj", True),
    np.iscomplexobj: _object("iscomplexobj", False),
    np.isreal: _each("isreal", True),
    np.iscomplex: _each("iscomplex", False),
    np.isscalar: isscalar,
    np.broadcast_shapes: broadcast_shapes,
    np.indices: indices,
    np.ix_: ix_,
    np.diag_indices: diag_indices,
    np.diag_indices_from: diag_indices_from,
    np.block: block,
}
LISTS = (np.block,)
