"""Stores of whole arrays into memory that is there already: `x[1:] = y`, `x += y`."""

from __future__ import annotations

import ast
from dataclasses import replace

from adjit.frontend import broadcasting, elements
from adjit.frontend.context import Lowering
from adjit.frontend.values import Axis, Elements, Place, Value
from adjit.ir.core import ONE, ZERO, Atom, Const
from adjit.ir.types import Array


def fitted(lx: Lowering, source: Elements, shape: tuple[Atom, ...], message: str, node: ast.AST) -> Elements:
    """The source of a store into this shape: extents of one may stand in front, the others must fit.

    What has no axes is a number, read before the store may change it.
    """
    while len(source.shape) > len(shape):
        if not lx.is_one(source.shape[0]):
            lx.refuse(
                node,
                f"{lx.kind(source)} is assigned to {len(shape)} dimensions",
                "it must not have more axes: index or reshape it",
            )
        inner = source.at
        source = Elements(source.shape[1:], lambda p, at=inner: at((Place(ZERO), *p)), source.dtype)
    (source,) = broadcasting.stretched(lx, [source], node, shape)
    own = list(source.shape)
    for k, extent in enumerate(shape[len(shape) - len(own) :]):
        if own[k] != ONE and not lx.integers.same(own[k], extent):
            if lx.is_one(own[k]):
                own[k] = ONE
            else:
                broadcasting.check_equal(lx, own[k], extent, message, node)
    if own:
        return replace(source, shape=tuple(own))
    with lx.at(node):
        number = source.at(())
    return Elements((), lambda _: number, source.dtype)


def assign(lx: Lowering, target: Elements, value: Value, node: ast.AST, update: str = "") -> None:
    """`target[...] = value`: numbers and smaller arrays are broadcast. update: see `ir.core.Store`."""
    assert target.part is not None
    base, items = target.part
    source = elements.elements_of(lx, value, node)
    source = fitted(lx, source, target.shape, "cannot assign slice from input of different size", node)
    source = elements.once(lx, source, target.shape, node)
    axes = elements.axes_of(items)
    bounds = [_bounds(lx, a) for a in axes]
    fortran = isinstance(base.type, Array) and base.type.layout == "F"
    order = range(len(axes))[::-1] if fortran else None

    def element(places: tuple[Place, ...]) -> None:
        v = source.at(broadcasting.aligned(places, source.shape))
        lx.builder.store(base, elements.index_at(lx, items, places), v, update)

    with lx.at(node):
        if not axes:
            element(())
        else:
            starts, stops = [b[0] for b in bounds], [b[1] for b in bounds]
            elements.nest(lx, target.shape, element, starts, stops, order, bool(source.shape))


def _bounds(lx: Lowering, axis: Axis) -> tuple[int, Atom]:
    """Where the index of a loop over a part of an axis runs: along the axis itself, where its start is a constant."""
    if axis.step == ONE and isinstance(axis.start, Const):
        start = int(axis.start.value.real)
        return start, axis.stop or elements.shifted(lx, axis.extent, start)
    return 0, axis.extent


def refuse_narrowing(lx: Lowering, target: Elements, value: Value, node: ast.AST) -> None:
    """NumPy does not update integers in place with floats (an assignment cuts them)."""
    if target.dtype.known and target.dtype.is_int and elements.dtype_of(value).is_float:
        lx.refuse(node, "an array of integers is updated in place with floats", "make it an array of floats")
