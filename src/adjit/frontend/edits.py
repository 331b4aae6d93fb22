"""Elements taken out of an array or put into it: `np.delete`, `np.insert`, along an axis or of all in a row.

np.delete(a, i, axis=0)       ->   a[the other rows]
np.insert(a, i, v, axis=0)    ->   out[where rows are new] = v; out[the others] = a
"""

from __future__ import annotations

import ast

import numpy as np

from adjit.frontend import arrays, elements, expressions, fancy, lanes, slices
from adjit.frontend.arguments import Handler, bound
from adjit.frontend.context import Lowering
from adjit.frontend.lanes import ALL
from adjit.frontend.plain import picks
from adjit.frontend.values import NONE, Elements, SliceValue, Value, is_scalar
from adjit.ir.core import ONE, Atom, Slice, Sym
from adjit.ir.types import BOOL, INT64, Array

Given = dict[str, Value]


def _along(lx: Lowering, given: Given, node: ast.AST, name: str) -> tuple[Sym, int]:
    array = lanes.array_in(lx, given["arr"], node, name)
    axis = given.get("axis", NONE)
    if lanes.none(axis):
        return lanes.flat(lx, array, node), 0
    return array, lanes.axis_in(lx, axis, lanes.rank_of(array), node)


def _places(lx: Lowering, obj: Value, n: Atom, name: str, node: ast.AST) -> Sym:
    """Integers that `obj` names on an axis of n: what a slice has, where a mask holds, an array of them."""
    if isinstance(obj, SliceValue):
        axis = slices.axis_of(lx, Slice(obj.start, obj.stop, obj.step), n, node)
        row = Elements((axis.extent,), lambda p: elements.index_at(lx, (axis,), p)[0], INT64)
        return elements.materialise(lx, row, node)
    row = lanes.row_in(lx, obj, name, node, "flatten it: i.flatten()")
    dtype = lanes.dtype_of(row)
    if dtype == BOOL:
        return fancy.nonzero(lx, row, node)[0]
    if dtype.known and not dtype.is_int:
        lx.refuse(node, f"'{name}' at numbers of {dtype}", "convert them: i.astype(np.int64)")
    return row


def delete(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.delete(arr, obj, axis=None)`."""
    given = bound(lx, "np.delete", ("arr", "obj", "axis"), 2)(args, kwargs, node)
    array, axis = _along(lx, given, node, "np.delete")
    n = arrays.shape_of(lx, array)[axis]
    obj = given["obj"]
    if is_scalar(obj):
        kept = lanes.run(lx, picks.without_one, [n, obj], node)
    else:
        kept = lanes.run(lx, picks.without, [n, _places(lx, obj, n, "np.delete", node)], node)
    return fancy.gather(lx, array, (*[ALL] * axis, kept), node)


def insert(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.insert(arr, obj, values, axis=None)`; at one place, `values` may be several along the axis."""
    given = bound(lx, "np.insert", ("arr", "obj", "values", "axis"), 3)(args, kwargs, node)
    array, axis = _along(lx, given, node, "np.insert")
    shape = list(arrays.shape_of(lx, array))
    n, obj = shape[axis], given["obj"]
    values = elements.elements_of(lx, lanes.tuple_as_array(lx, given["values"], node), node)
    if values.shape:
        values = elements.whole(lx, elements.copied(lx, values, node))
    if is_scalar(obj):
        values = _moved(lx, values, len(shape), axis, node)
        new = lanes.run(lx, picks.at_one, [n, obj, values.shape[axis] if values.shape else ONE], node)
    else:
        new = lanes.run(lx, picks.at_each, [n, _places(lx, obj, n, "np.insert", node)], node)
    new = lanes.array_in(lx, new, node)
    shape[axis] = expressions.integer(lx, "add", n, arrays.shape_of(lx, new)[0])
    old = lanes.run(lx, picks.without, [shape[axis], new], node)
    dtype = lanes.dtype_of(array)
    like = None if dtype.known else array
    made = lx.builder.alloc("a", Array(dtype, len(shape), "C"), tuple(shape), None, like)
    with lx.builder.filling(made):
        fancy.scatter(lx, made, (*[ALL] * axis, new), values, node)
        fancy.scatter(lx, made, (*[ALL] * axis, old), array, node)
    return made


def _moved(lx: Lowering, values: Elements, rank: int, axis: int, node: ast.AST) -> Elements:
    """The values for one place: their first axis, of as many as the array has, is the one that they stand along."""
    if not values.shape:
        return values
    if len(values.shape) > rank:
        remedy = "give as many dimensions as the array has"
        lx.refuse(node, f"'np.insert' of a {len(values.shape)}-D array into a {rank}-D one", remedy)
    own = (*[ONE] * (rank - len(values.shape)), *values.shape)
    wide = elements.reshaped(values, own)
    shape = (*own[1 : axis + 1], own[0], *own[axis + 1 :])
    return Elements(shape, lambda p: wide.at((p[axis], *p[:axis], *p[axis + 1 :])), wide.dtype)


HANDLERS: dict[object, Handler] = {np.delete: delete, np.insert: insert}
