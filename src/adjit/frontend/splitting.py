"""Arrays in parts: split, array_split and their kin. The parts are views."""

from __future__ import annotations

import ast
from itertools import pairwise

import numpy as np

from adjit.frontend import arrays, expressions, lanes
from adjit.frontend.arguments import Handler, bound
from adjit.frontend.context import Lowering
from adjit.frontend.lanes import ALL
from adjit.frontend.plain import picks
from adjit.frontend.rearranging import viewed
from adjit.frontend.values import SliceValue, TupleValue, Value
from adjit.ir.core import ZERO, Atom, Sym, const

Given = dict[str, Value]


def _split(name: str, axis: int | None, even: bool) -> Handler:
    """`np.split(ary, sections or indices, axis)` and its kin: a tuple of views."""

    def handler(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
        names = ("ary", "indices_or_sections", *(("axis",) if axis is None else ()))
        given = bound(lx, f"np.{name}", names, 2)(args, kwargs, node)
        array = lanes.array_in(lx, given["ary"], node, f"np.{name}")
        rank = lanes.rank_of(array)
        along = lanes.axis_in(lx, given.get("axis", ZERO), rank, node) if axis is None else axis
        along = 0 if name == "hsplit" and rank == 1 else along
        if along >= rank:
            lx.refuse(node, f"'np.{name}' of a {rank}-D array", "give it more axes: x[:, None]")
        n = arrays.shape_of(lx, array)[along]
        bounds = _bounds(lx, given["indices_or_sections"], n, even, node)
        found = []
        for low, high in pairwise(bounds):
            found.append(viewed(lx, array, [*[ALL] * along, SliceValue(low, high, None)], node))
        return TupleValue(tuple(found))

    return handler


def _bounds(lx: Lowering, value: Value, n: Atom, even: bool, node: ast.AST) -> list[Atom | None]:
    """Where the parts begin and end."""
    if isinstance(value, Sym) and value in lx.lengths:
        value = TupleValue(tuple(expressions.items_of(lx, value, node)))
    if isinstance(value, TupleValue):
        return [None, *(expressions.number(lx, v, node) for v in value.items), None]
    sections = lanes.constant(lx, value, "the number of sections", node)
    if sections <= 0:
        lx.refuse(node, "an array is split into no sections", "give at least one")
    if even:
        lanes.run(lx, picks.check_even, [n, const(sections)], node)
    inner = [lanes.count(lx, picks.section, [n, const(sections), const(k)], node) for k in range(1, sections)]
    return [None, *inner, None]


HANDLERS: dict[object, Handler] = {
    np.split: _split("split", None, True),
    np.array_split: _split("array_split", None, False),
    np.vsplit: _split("vsplit", 0, True),
    np.hsplit: _split("hsplit", 1, True),
    np.dsplit: _split("dsplit", 2, True),
}
