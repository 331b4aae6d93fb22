"""`np.lib.stride_tricks.sliding_window_view`: every part of some extents, read where it lies.

sliding_window_view(x, 3) @ h   ->   sum over k: x[i + k] * h[k]
"""

from __future__ import annotations

import ast

import numpy as np

from adjit.frontend import elements, expressions, lanes
from adjit.frontend.arguments import Handler, bound
from adjit.frontend.context import Lowering
from adjit.frontend.plain import picks
from adjit.frontend.values import NONE, Elements, Place, TupleValue, Value
from adjit.ir.core import Atom

Given = dict[str, Value]
_NAME = "np.lib.stride_tricks.sliding_window_view"


def sliding_window_view(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`sliding_window_view(x, window_shape, axis=None)`: the places of the window, and behind them its axes."""
    given = bound(lx, _NAME, ("x", "window_shape", "axis"), 2)(args, kwargs, node)
    array = lanes.array_in(lx, given["x"], node, _NAME)
    rank = lanes.rank_of(array)
    shape, axis = given["window_shape"], given.get("axis", NONE)
    wide = shape.items if isinstance(shape, TupleValue) else (shape,)
    items = axis.items if isinstance(axis, TupleValue) else (axis,)
    axes = list(range(rank)) if lanes.none(axis) else [lanes.axis_in(lx, a, rank, node) for a in items]
    if len(wide) != len(axes):
        lx.refuse(node, f"'{_NAME}' with {len(wide)} extents along {len(axes)} axes", "give as many")
    source = elements.whole(lx, array)
    own = list(source.shape)
    window = [expressions.number(lx, w, node) for w in wide]
    for d, w in zip(axes, window, strict=True):
        own[d] = lanes.count(lx, picks.places_of_window, [own[d], w], node)

    def at(places: tuple[Place, ...]) -> Atom:
        index = [elements.position(lx, p) for p in places[:rank]]
        for d, p in zip(axes, places[rank:], strict=True):
            index[d] = expressions.integer(lx, "add", index[d], elements.position(lx, p))
        base, before = lx.prefix(array)
        return lx.builder.load(base, (*before, *index))

    return Elements((*own, *window), at, source.dtype, shows=(array, _NAME))


HANDLERS: dict[object, Handler] = {np.lib.stride_tricks.sliding_window_view: sliding_window_view}
