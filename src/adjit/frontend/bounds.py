"""Elements kept in bounds or rounded: clip, round; and infinities by their sign."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from adjit.frontend import calls, elements, expressions, lanes
from adjit.frontend.arguments import Handler, bound
from adjit.frontend.context import Lowering
from adjit.frontend.values import NONE, Elements, Place, Value
from adjit.ir.core import ZERO, Atom, Const
from adjit.ir.spellings import CLIPPED
from adjit.ir.types import BOOL, FLOAT64

Given = dict[str, Value]


def clip(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.clip(a, a_min, a_max)`; at a bound the derivative passes to the element.

    Numba's is `min(max(a, a_min), a_max)` in the dtype of `a`, NumPy's has `np.minimum` and `np.maximum`.
    """
    renamed = {{"min": "a_min", "max": "a_max"}.get(k, k): v for k, v in kwargs.items()}
    given = bound(lx, "np.clip", ("a", "a_min", "a_max", "out"), 1)(args, renamed, node)
    lanes.refuse_given(lx, "clip", given, ("out",), node)
    low, high = given.get("a_min", NONE), given.get("a_max", NONE)
    if lanes.none(low) and lanes.none(high):
        lx.refuse(node, "'np.clip' without bounds", "give at least one")
    source = lanes.tuple_as_array(lx, given["a"], node)
    value = source
    plain = lx.frame.plain
    if not lanes.none(low):
        value = _bounded(lx, np.maximum if plain else max, value, lanes.tuple_as_array(lx, low, node), node)
    if not lanes.none(high):
        value = _bounded(lx, np.minimum if plain else min, value, lanes.tuple_as_array(lx, high, node), node)
    if plain or not isinstance(value, Elements) or not elements.ndim_of(source):
        return value
    return _of_dtype(lx, value, source)


_CLIPS: dict[Callable[..., Any], str] = dict(zip((np.maximum, np.minimum), CLIPPED, strict=True))


def _bounded(lx: Lowering, f: Callable[..., Any], value: Value, bound_: Value, node: ast.AST) -> Value:
    if not elements.is_whole(value) and not elements.is_whole(bound_):
        pair = tuple(expressions.number(lx, v, node) for v in (value, bound_))
        if f in _CLIPS:
            with lx.at(node):
                return lx.let(f.__name__, *pair, fn=_CLIPS[f])
        return calls.apply_rule(lx, f, pair, node)
    op = f.__name__ if isinstance(f, np.ufunc) else "max" if f is max else "min"
    return elements.apply(lx, op, (value, bound_), node, _CLIPS.get(f, op))


def _of_dtype(lx: Lowering, value: Elements, source: Value) -> Elements:
    dtype = elements.dtype_of(source)
    if not dtype.known or value.dtype == dtype:
        return value

    def at(places: tuple[Place, ...]) -> Atom:
        return lx.let("cast", value.at(places), type=dtype, fn=f"numpy.{dtype.name}")

    return Elements(value.shape, at, dtype)


def rounded(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.round(a, decimals=0)`: it has no derivative."""
    given = bound(lx, "np.round", ("a", "decimals", "out"), 1)(args, kwargs, node)
    lanes.refuse_given(lx, "round", given, ("out",), node)
    source = lanes.tuple_as_array(lx, given["a"], node)
    decimals = given.get("decimals", ZERO)
    operands = [source] if decimals == ZERO else [source, decimals]
    if not elements.is_whole(source):
        return calls.apply_rule(lx, np.round, tuple(expressions.number(lx, v, node) for v in operands), node)
    return calls.of_elements(lx, np.round, operands, node)


def _infinite(value: float) -> Handler:
    def handler(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
        if kwargs or len(args) != 1:
            lx.refuse(node, "infinities are compared with these arguments", "pass one array")
        if elements.is_whole(args[0]):
            return elements.binary(lx, "eq", args[0], Const(value, FLOAT64), node)
        return lx.let("eq", expressions.number(lx, args[0], node), Const(value, FLOAT64), type=BOOL)

    return handler


HANDLERS: dict[object, Handler] = {
    np.clip: clip,
    np.round: rounded,
    np.around: rounded,
    np.isposinf: _infinite(math.inf),
    np.isneginf: _infinite(-math.inf),
}
METHODS: dict[str, Handler] = {"clip": clip, "round": rounded}
LAZY = (np.clip, np.round, np.around)
