"""`np.pad`: an array with something around it; `np.resize`."""

from __future__ import annotations

import ast

import numpy as np

from adjit.frontend import creation, elements, expressions, lanes
from adjit.frontend.arguments import Handler, bound
from adjit.frontend.context import Lowering
from adjit.frontend.plain import copies
from adjit.frontend.values import Elements, Place, TupleValue, Value, is_scalar
from adjit.ir.core import ZERO, Atom, Sym, const

Given = dict[str, Value]

_MODES = ("constant", "edge", "wrap", "reflect", "symmetric")


def pad(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.pad(array, pad_width, mode="constant", constant_values=0)`."""
    given = bound(lx, "np.pad", ("array", "pad_width", "mode", "constant_values"), 2)(args, kwargs, node)
    source = lanes.readable(lx, given["array"], node)
    mode = "constant"
    if "mode" in given:
        mode = lanes.word(lx, given["mode"], "the mode of 'np.pad'", _MODES, node)
    widths = _widths(lx, given["pad_width"], len(source.shape), node)
    shape = tuple(
        lanes.count(lx, copies.padded, [low, n, high], node)
        for (low, high), n in zip(widths, source.shape, strict=True)
    )
    lows = [low for low, _ in widths]
    if mode == "constant":
        value = given.get("constant_values", ZERO)
        if not is_scalar(value):
            lx.refuse(node, "'np.pad' with several constants", "give one, or assign the borders")
        return _constant(lx, source, lows, shape, expressions.number(lx, value, node), node)
    code = const(_MODES.index(mode))

    def at(places: tuple[Place, ...]) -> Atom:
        index = []
        for place, low, n in zip(places, lows, source.shape, strict=True):
            k = elements.position(lx, place)
            index.append(Place(lanes.number(lx, copies.pad_place, [k, low, n, code], node)))
        return source.at(tuple(index))

    return elements.materialise(lx, Elements(shape, at, source.dtype), node)


def _constant(
    lx: Lowering, source: Elements, lows: list[Atom], shape: tuple[Atom, ...], value: Atom, node: ast.AST
) -> Sym:
    """A number all around."""

    def fill(made: Sym) -> None:
        def around(places: tuple[Place, ...]) -> None:
            lx.builder.store(made, tuple(elements.position(lx, p) for p in places), value)

        def inside(places: tuple[Place, ...]) -> None:
            steps = zip(places, lows, strict=True)
            index = tuple(expressions.integer(lx, "add", elements.position(lx, p), low) for p, low in steps)
            lx.builder.store(made, index, source.at(places))

        if source.dtype.known:
            elements.nest(lx, shape, around)
            elements.nest(lx, source.shape, inside)
        else:
            lx.refuse(node, "'np.pad' of an array whose dtype is not known yet", "give the array's dtype")

    return lanes.made(lx, shape, fill, node, source.dtype)


def _widths(lx: Lowering, value: Value, rank: int, node: ast.AST) -> list[tuple[Atom, Atom]]:
    """Before and behind, for each axis."""
    if is_scalar(value):
        width = expressions.number(lx, value, node)
        return [(width, width)] * rank
    items = value.items if isinstance(value, TupleValue) else ()
    if items and all(is_scalar(v) for v in items):
        items = (value,)
    pairs = [_pair(lx, v, node) for v in items]
    if len(pairs) == 1:
        return pairs * rank
    if len(pairs) != rank:
        lx.refuse(node, "'np.pad' with this 'pad_width' is not supported", "give a pair for each axis")
    return pairs


def _pair(lx: Lowering, value: Value, node: ast.AST) -> tuple[Atom, Atom]:
    items = value.items if isinstance(value, TupleValue) else (value,)
    if len(items) not in (1, 2):
        lx.refuse(node, "'np.pad' with this 'pad_width' is not supported", "give a pair for each axis")
    numbers = [expressions.number(lx, v, node) for v in items]
    return numbers[0], numbers[-1]


def resize(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.resize(a, new_shape)`: the elements in a row, again and again."""
    given = bound(lx, "np.resize", ("a", "new_shape"), 2)(args, kwargs, node)
    row = lanes.flat(lx, lanes.array_in(lx, given["a"], node, "np.resize"), node)
    shape = creation.shape_arg(lx, given["new_shape"], node)
    (n,) = elements.whole(lx, row).shape
    picked = lanes.boxed(lx, row, shape, n)
    return elements.materialise(lx, picked, node)


HANDLERS: dict[object, Handler] = {np.pad: pad, np.resize: resize}
LISTS = (np.pad,)
