"""Interpolation, polynomials, convolutions, cross and Kronecker products."""

from __future__ import annotations

import ast

import numpy as np

from adjit.frontend import arrays, broadcasting, elements, expressions, joining, lanes
from adjit.frontend.arguments import Handler, bound
from adjit.frontend.context import Lowering
from adjit.frontend.plain import products
from adjit.frontend.values import NONE, Elements, Place, Value, is_scalar
from adjit.ir.core import FALSE, ONE, ZERO, Atom, Sym, const
from adjit.ir.spellings import MADE
from adjit.ir.types import FLOAT64, INT64, UNKNOWN, Scalar

Given = dict[str, Value]


def interp(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.interp(x, xp, fp, left=None, right=None)`, with derivatives in all of them."""
    given = bound(lx, "np.interp", ("x", "xp", "fp", "left", "right", "period"), 3)(args, kwargs, node)
    lanes.refuse_given(lx, "interp", given, ("period",), node)
    xp, fp = (lanes.row_in(lx, given[k], "np.interp", node, "pass a 1-D array") for k in ("xp", "fp"))
    lanes.run(lx, products.check_points, [xp, fp], node)
    (n,) = arrays.shape_of(lx, fp)
    ends: list[Value] = []
    for key, end in (("left", ZERO), ("right", expressions.integer(lx, "sub", n, ONE))):
        value = given.get(key, NONE)
        ends.append(lx.builder.load(fp, (end,)) if lanes.none(value) else value)
    if is_scalar(given["x"]):
        return lanes.number(lx, products.interp, [given["x"], xp, fp, *ends], node)
    x = lanes.readable(lx, given["x"], node)

    def at(places: tuple[Place, ...]) -> Atom:
        return lanes.number(lx, products.interp, [x.at(places), xp, fp, *ends], node)

    return Elements(x.shape, at, FLOAT64)


def polyval(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.polyval(p, x)`."""
    given = bound(lx, "np.polyval", ("p", "x"), 2)(args, kwargs, node)
    p = lanes.row_in(lx, given["p"], "np.polyval", node, "pass a 1-D array")
    if is_scalar(given["x"]):
        x = (
            lx.let("cast", expressions.number(lx, given["x"], node), fn=MADE)
            if lx.frame.plain
            else given["x"]
        )
        return lanes.number(lx, products.polyval, [p, x], node)
    x = lanes.readable(lx, given["x"], node)
    return Elements(x.shape, lambda places: lanes.number(lx, products.polyval, [p, x.at(places)], node))


def vander(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.vander(x, N=None, increasing=False)`."""
    given = bound(lx, "np.vander", ("x", "N", "increasing"), 1)(args, kwargs, node)
    x = lanes.row_in(lx, given["x"], "np.vander", node, "pass a 1-D array")
    (n,) = arrays.shape_of(lx, x)
    columns = n
    if not lanes.none(given.get("N", NONE)):
        columns = lanes.count(lx, products.check_columns, [given["N"]], node)
    increasing = expressions.truth(lx, given.get("increasing", FALSE), node)
    whole = lanes.dtype_of(x)
    dtype = Scalar(np.promote_types(whole.name, np.int64).name) if whole.known else UNKNOWN
    with lx.at(node):
        one = NONE if whole.known and whole == dtype else lx.let("cast", ONE, type=INT64, fn="numpy.int64")
    more = [x, increasing, one]
    fill = lambda out: lanes.run(lx, products.vander, [out, *more], node)  # noqa: E731
    return lanes.made(lx, (n, columns), fill, node, dtype)


def _sliding(name: str, function: object, default: str) -> Handler:
    """`np.convolve(a, v, mode)` and `np.correlate(a, v, mode)` of vectors."""

    def handler(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
        given = bound(lx, f"np.{name}", ("a", "v", "mode"), 2)(args, kwargs, node)
        mode = default
        if "mode" in given:
            mode = lanes.word(lx, given["mode"], f"the mode of 'np.{name}'", _MODES, node)
        a, v = (lanes.row_in(lx, given[k], f"np.{name}", node, "pass a 1-D array") for k in ("a", "v"))
        if name == "correlate" and (lanes.dtype_of(a).is_complex or lanes.dtype_of(v).is_complex):
            lx.refuse(node, "'np.correlate' of complex arrays", "convolve with np.conj(v[::-1])")
        lanes.run(lx, products.check_both, [a, v], node)
        code = const(_MODES.index(mode))
        extents = [arrays.shape_of(lx, s)[0] for s in (a, v)]
        n = lanes.count(lx, products.products_count, [*extents, code], node)
        return lanes.made(lx, (n,), lambda out: lanes.run(lx, function, [out, a, v, code], node), node)  # type: ignore[arg-type]

    return handler


_MODES = ("valid", "same", "full")


def cross(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.cross(a, b)` of vectors of three, along the last axis."""
    given = bound(lx, "np.cross", ("a", "b"), 2)(args, kwargs, node)
    a, b = (lanes.readable(lx, given[k], node) for k in ("a", "b"))
    for source in (a, b):
        if not source.shape:
            lx.refuse(node, "'np.cross' of a number", "pass vectors of three")
        message = "incompatible dimensions for cross product (dimension must be 3)"
        broadcasting.check_equal(lx, source.shape[-1], const(3), message, node)

    def component(source: Elements, k: int) -> Elements:
        return Elements(source.shape[:-1], lambda p: source.at((*p, Place(const(k)))), source.dtype)

    def times(i: int, j: int) -> Elements:
        pair = (component(a, i), component(b, j))
        return elements.apply(lx, "mul", pair, node, elements.UFUNCS["mul"])

    def minor(i: int, j: int) -> Elements:
        return elements.apply(lx, "sub", (times(i, j), times(j, i)), node, elements.UFUNCS["sub"])

    parts = [minor(1, 2), minor(2, 0), minor(0, 1)]
    return joining.stacked(lx, parts, len(parts[0].shape), node)


def kron(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.kron(a, b)`."""
    given = bound(lx, "np.kron", ("a", "b"), 2)(args, kwargs, node)
    a, b = (lanes.readable(lx, given[k], node) for k in ("a", "b"))
    rank = max(len(a.shape), len(b.shape))
    first, second = (elements.reshaped(s, (*[ONE] * (rank - len(s.shape)), *s.shape)) for s in (a, b))
    shape = tuple(
        expressions.integer(lx, "mul", n, m) for n, m in zip(first.shape, second.shape, strict=True)
    )

    def fill(made: Sym) -> None:
        def element(places: tuple[Place, ...]) -> None:
            index: list[Atom] = []
            for p, q, m in zip(places[:rank], places[rank:], second.shape, strict=True):
                start = expressions.integer(lx, "mul", elements.position(lx, p), m)
                index.append(expressions.integer(lx, "add", start, elements.position(lx, q)))
            value = lx.let("mul", first.at(places[:rank]), second.at(places[rank:]))
            lx.builder.store(made, tuple(index), value)

        elements.nest(lx, (*first.shape, *second.shape), element)

    return lanes.made(lx, shape, fill, node)


HANDLERS: dict[object, Handler] = {
    np.interp: interp,
    np.polyval: polyval,
    np.vander: vander,
    np.convolve: _sliding("convolve", products.convolved, "full"),
    np.correlate: _sliding("correlate", products.correlated, "valid"),
    np.cross: cross,
    np.kron: kron,
}
LAZY = (np.interp, np.polyval, np.cross, np.kron)
