"""Single steps of programs on devices: orders and running sums, which a device's library makes whole.

    order = ordered(x)    ->    order = empty(n); whole order = argsort(x, 0)
    s = np.cumsum(x)      ->    s = empty(n); whole s = cumsum(x, 0, 1)

On the CPU these are loops (`frontend.plain`), whose turns need each other. Inside of kernels and parallel loops they
are loops on devices too: of one work item.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from adjit.frontend import arrays, elements, lanes
from adjit.frontend.context import Lowering
from adjit.frontend.plain import orders
from adjit.frontend.values import Elements, Place, Value
from adjit.ir.core import ONE, Atom, Sym, Whole, const
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


def _ordered(lx: Lowering, args: list[Value], node: ast.AST) -> Value:
    return argsort(lx, lanes.array_in(lx, args[0], node), 0, node)


STEPS: dict[object, Callable[[Lowering, list[Value], ast.AST], Value]] = {orders.ordered: _ordered}
"""The functions of `frontend.plain` that are such steps, and what puts the step there."""
