"""Single steps of programs on devices: orders and running sums, which a device's library makes whole.

    order = ordered(x)    ->    order = empty(n); whole order = argsort(x, 0)
    s = np.cumsum(x)      ->    s = empty(n); whole s = cumsum(x, 0, 1)

On the CPU these are loops (`frontend.plain`), whose turns need each other. Inside of kernels and parallel loops they
are loops on devices too: of one work item.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from types import FunctionType

from adjit.frontend import arrays, elements, expressions, fancy, folds, inline, lanes
from adjit.frontend.context import Lowering
from adjit.frontend.plain import at_once, orders, sets
from adjit.frontend.values import Elements, Place, Static, TupleValue, Value
from adjit.ir.core import FALSE, ONE, ZERO, Atom, Sym, Whole, const
from adjit.ir.types import INT64, Array, Scalar
from adjit.rules.linear.orders import summed


def on_device(lx: Lowering) -> bool:
    """Whether what is lowered here is a step of a program on a device, and not of one of its work items."""
    return bool(lx.steps) and not lx.parallel_loops


def argsort(lx: Lowering, array: Sym, axis: int, node: ast.AST) -> Sym:
    """The places of the elements along an axis, in order."""
    with lx.at(node):
        shape = arrays.shape_of(lx, array)
        order = lx.builder.alloc("order", Array(INT64, len(shape), "C"), shape)
        lx.builder.append(Whole((order,), "argsort", (array, const(axis)), lx.span(node)))
    return order


def taken(lx: Lowering, array: Sym, order: Sym, axis: int, node: ast.AST) -> Sym:
    """A new array of the elements at those places along an axis."""

    def at(places: tuple[Place, ...]) -> Atom:
        index: list[Atom] = [elements.position(lx, p) for p in places]
        index[axis] = lx.builder.load(order, tuple(index))
        return lx.builder.load(array, tuple(index))

    shape = arrays.shape_of(lx, array)
    return elements.materialise(lx, Elements(shape, at, lanes.dtype_of(array)), node)


def cumsum(lx: Lowering, array: Sym, axis: int, node: ast.AST) -> Sym:
    """The running sum along an axis."""
    dtype = lanes.dtype_of(array)
    made = summed(dtype) if dtype.known else Scalar("?")
    with lx.at(node):
        shape = arrays.shape_of(lx, array)
        sums = lx.builder.alloc("sums", Array(made, len(shape), "C"), shape)
        lx.builder.append(Whole((sums,), "cumsum", (array, const(axis), ONE), lx.span(node)))
    return sums


def _nonzero(lx: Lowering, args: list[Value], node: ast.AST) -> Value:
    """The places that are not zero: the k-th is where the running count of such comes to k."""
    whole = elements.elements_of(lx, args[0], node)

    def one(places: tuple[Place, ...]) -> Atom:
        return lx.let("select", expressions.truth(lx, whole.at(places), node), ONE, ZERO, type=INT64)

    ones = elements.materialise(lx, Elements(whole.shape, one, INT64), node, INT64)
    counts = cumsum(lx, lanes.flat(lx, ones, node), 0, node)
    total = expressions.number(lx, folds.reduce(lx, "sum", elements.whole(lx, ones), {}, node), node)
    if isinstance(total, Sym):
        lx.integers.counts.add(total)

    def place(places: tuple[Place, ...]) -> Atom:
        rank = expressions.integer(lx, "add", elements.position(lx, places[0]), ONE)
        return lanes.number(lx, orders.bisect, [counts, rank, FALSE], node)

    found = elements.materialise(lx, Elements((total,), place, INT64), node, INT64)
    if len(whole.shape) == 1:
        return TupleValue((found,))
    return TupleValue(tuple(_along_axis(lx, found, whole.shape, d, node) for d in range(len(whole.shape))))


def _along_axis(lx: Lowering, flat: Sym, shape: tuple[Atom, ...], axis: int, node: ast.AST) -> Sym:
    """Places in flat order as indices along an axis."""
    below = lanes.product(lx, shape[axis + 1 :])

    def at(places: tuple[Place, ...]) -> Atom:
        index = expressions.integer(lx, "floordiv", elements.whole(lx, flat).at(places), below)
        return index if axis == 0 else expressions.integer(lx, "mod", index, shape[axis])

    return elements.materialise(lx, Elements(arrays.shape_of(lx, flat), at, INT64), node, INT64)


def _instead(function: FunctionType) -> Callable[[Lowering, list[Value], ast.AST], Value]:
    return lambda lx, args, node: inline.call_library(lx, function, args, node)


def number(lx: Lowering, function: Callable[..., object], args: list[Value], node: ast.AST) -> Atom:
    """A number that a function of `plain` finds in device memory: by one work item."""
    if not on_device(lx):
        return lanes.number(lx, function, args, node)
    with lx.at(node):
        made = lx.builder.alloc("found", Array(INT64, 1, "C"), (ONE,))
        lanes.run(lx, at_once.put, [made, Static(function), TupleValue(tuple(args))], node)
        return lx.builder.load(made, (ZERO,))


def _ordered(lx: Lowering, args: list[Value], node: ast.AST) -> Value:
    return argsort(lx, lanes.array_in(lx, args[0], node), 0, node)


STEPS: dict[object, Callable[[Lowering, list[Value], ast.AST], Value]] = {
    orders.ordered: _ordered,
    orders.first_of_each: _instead(at_once.first_of_each),
    sets.numbers_of_each: _instead(at_once.numbers_of_each),
    fancy.nonzero: _nonzero,
}
"""What is lowered in another way on devices: functions of `frontend.plain`, and the indices of a mask."""
