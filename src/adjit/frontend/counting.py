"""Indices and counts, which carry no derivatives, and sums of weights in bins, which do; comparisons of arrays."""

from __future__ import annotations

import ast

import numpy as np

from adjit.frontend import arrays, broadcasting, creation, elements, expressions, fancy, folds, lanes, stores
from adjit.frontend.arguments import Handler, bound, flag
from adjit.frontend.context import Lowering
from adjit.frontend.plain import counts, spaces
from adjit.frontend.values import NONE, Axis, Elements, Place, TupleValue, Value, is_scalar
from adjit.ir.core import FALSE, ONE, TRUE, ZERO, Atom, Const, Sym, const
from adjit.ir.types import BOOL, FLOAT64, INT64, Array

Given = dict[str, Value]


def nonzero(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.nonzero(a)`: one array of indices for each axis."""
    given = bound(lx, "np.nonzero", ("a",), 1)(args, kwargs, node)
    array = lanes.array_in(lx, given["a"], node, "np.nonzero")
    return TupleValue(tuple(fancy.nonzero(lx, array, node)))


def flatnonzero(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.flatnonzero(a)`."""
    given = bound(lx, "np.flatnonzero", ("a",), 1)(args, kwargs, node)
    array = lanes.array_in(lx, given["a"], node, "np.flatnonzero")
    return fancy.nonzero(lx, lanes.flat(lx, array, node), node)[0]


def argwhere(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.argwhere(a)`: a row of indices for each element that is not zero."""
    given = bound(lx, "np.argwhere", ("a",), 1)(args, kwargs, node)
    found = fancy.nonzero(lx, lanes.array_in(lx, given["a"], node, "np.argwhere"), node)
    shape = (*arrays.shape_of(lx, found[0]), const(len(found)))
    made = lx.builder.alloc("at", Array(INT64, 2, "C"), shape)
    for d, index in enumerate(found):
        column = elements.part(lx, made, (Axis(ZERO, ONE, shape[0]), const(d)))
        stores.assign(lx, column, index, node)
    return made


def where(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.where(cond)`, the indices; `np.where(cond, x, y)`, the chosen values."""
    if len(args) == 1 and not kwargs:
        return nonzero(lx, [elements.solid(lx, args[0], node)], {}, node)
    if len(args) != 3 or kwargs:
        lx.refuse(node, "'np.where' with these arguments is not supported", "give cond, x and y")
    if not any(elements.is_whole(a) for a in args):
        from adjit.frontend import calls

        return calls.apply_rule(lx, np.where, tuple(expressions.number(lx, a, node) for a in args), node)
    test = args[0]
    if elements.dtype_of(test) != BOOL:
        test = elements.binary(lx, "ne", test, ZERO, node)
    return elements.apply(lx, "select", (test, *args[1:]), node)


# bins


def bincount(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.bincount(x, weights=None, minlength=0)`."""
    given = bound(lx, "np.bincount", ("x", "weights", "minlength"), 1)(args, kwargs, node)
    items = lanes.row_in(lx, given["x"], "np.bincount", node, "flatten it: x.flatten()")
    dtype = lanes.dtype_of(items)
    if dtype.known and not dtype.is_int:
        lx.refuse(node, f"'np.bincount' of {dtype.name}", "convert it: x.astype(np.int64)")
    n = lanes.count(lx, counts.bins_of, [items, given.get("minlength", ZERO)], node)
    if lanes.none(given.get("weights", NONE)):
        made = lx.builder.alloc("counts", Array(INT64, 1, "C"), (n,), ZERO)
        lanes.run(lx, counts.bincount, [made, items], node)
        return made
    weights = lanes.row_in(lx, given["weights"], "np.bincount", node, "flatten it: x.flatten()")
    made = lx.builder.alloc("sums", Array(FLOAT64, 1, "C"), (n,), Const(0.0, FLOAT64))
    lanes.run(lx, counts.bincount_weights, [made, items, weights], node)
    return made


def histogram(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.histogram(a, bins=10, range=None, density=None, weights=None)`: what is in each bin, and the edges.

    Counts have no derivative; sums of weights have one in the weights, as elements stay in their bins.
    """
    given = bound(lx, "np.histogram", ("a", "bins", "range", "density", "weights"), 1)(args, kwargs, node)
    dense = not lanes.none(given.get("density", NONE)) and flag(lx, given["density"], "'density'", node)
    counted, edges = _histogram(lx, given, node)
    if dense:
        return TupleValue((lanes.run(lx, spaces.density, [counted, edges], node), edges))
    return TupleValue((counted, edges))


def _histogram(lx: Lowering, given: Given, node: ast.AST) -> tuple[Value, Value]:
    items = lanes.flat(lx, lanes.array_in(lx, given["a"], node, "np.histogram"), node)
    weights = given.get("weights", NONE)
    more = [] if lanes.none(weights) else [lanes.flat(lx, lanes.array_in(lx, weights, node), node)]
    bins = given.get("bins", const(10))
    if not is_scalar(bins):
        edges = lanes.row_in(lx, bins, "np.histogram", node, "flatten it: x.flatten()")
        lanes.run(lx, counts.check_edges, [edges], node)
        n = expressions.integer(lx, "sub", arrays.shape_of(lx, edges)[0], ONE)
        function = counts.histogram_edges_weights if more else counts.histogram_edges
        return _counted(lx, n, function, [items, edges, *more], bool(more), node), edges
    limits = given.get("range", NONE)
    found = lanes.run(lx, counts.range_of, [items], node) if lanes.none(limits) else limits
    low, high = (expressions.number(lx, v, node) for v in expressions.items_of(lx, found, node))
    n = expressions.number(lx, bins, node)
    lanes.run(lx, counts.check_range, [n, low, high], node)
    function = counts.histogram_weights if more else counts.histogram
    made = _counted(lx, n, function, [items, n, low, high, *more], bool(more), node)
    return made, creation.linspace(lx, [low, high, expressions.integer(lx, "add", n, ONE)], {}, node)


def _counted(
    lx: Lowering, n: Atom, function: object, args: list[Value], weighted: bool, node: ast.AST
) -> Sym:
    dtype = FLOAT64 if weighted else INT64
    made = lx.builder.alloc("counts", Array(dtype, 1, "C"), (n,), folds.neutral(dtype, 0))
    lanes.run(lx, function, [made, *args], node)  # type: ignore[arg-type]
    return made


# comparisons


def _close(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST, name: str) -> Elements:
    given = bound(lx, name, ("a", "b", "rtol", "atol", "equal_nan"), 2)(args, kwargs, node)
    pair = [elements.elements_of(lx, given[k], node) for k in ("a", "b")]
    a, b = broadcasting.stretched(lx, pair, node)
    shape, (a, b) = broadcasting.broadcast(lx, (a, b), node)
    more = [given.get("rtol", Const(1e-5, FLOAT64)), given.get("atol", Const(1e-8, FLOAT64))]
    more.append(given.get("equal_nan", FALSE))

    def at(places: tuple[Place, ...]) -> Atom:
        pair = [s.at(broadcasting.aligned(places, s.shape)) for s in (a, b)]
        return lanes.number(lx, counts.close, [*pair, *more], node)

    return Elements(shape, at, BOOL)


def isclose(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.isclose(a, b, rtol=1e-5, atol=1e-8, equal_nan=False)`."""
    return _close(lx, args, kwargs, node, "np.isclose")


def allclose(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.allclose(a, b, rtol=1e-5, atol=1e-8, equal_nan=False)`."""
    found = _close(lx, args, kwargs, node, "np.allclose")
    return found.at(()) if not found.shape else folds.reduce(lx, "all", found, {}, node)


def array_equal(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.array_equal(a1, a2)`: false where the shapes differ."""
    given = bound(lx, "np.array_equal", ("a1", "a2"), 2)(args, kwargs, node)
    a, b = (lanes.readable(lx, given[k], node) for k in ("a1", "a2"))
    if len(a.shape) != len(b.shape):
        return FALSE
    alike: Atom = TRUE
    for n, m in zip(a.shape, b.shape, strict=True):
        same = lx.integers.same(n, m)
        if same is False:
            return FALSE
        if not same:
            equal = lx.let("eq", n, m, type=BOOL)
            alike = equal if alike == TRUE else lx.let("and_", alike, equal, type=BOOL)

    def compared() -> Value:
        pairs = Elements(a.shape, lambda p: lx.let("eq", a.at(p), b.at(p), type=BOOL), BOOL)
        return folds.reduce(lx, "all", pairs, {}, node)

    return compared() if alike == TRUE else lx.branch(alike, compared, lambda: FALSE, node)


def isin(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.isin(element, test_elements, assume_unique=False, invert=False)`."""
    names = ("element", "test_elements", "assume_unique", "invert")
    given = bound(lx, "np.isin", names, 2)(args, kwargs, node)
    items = lanes.array_in(lx, given["element"], node, "np.isin")
    test = lanes.flat(lx, lanes.array_in(lx, given["test_elements"], node, "np.isin"), node)
    more = [test, expressions.truth(lx, given.get("invert", FALSE), node)]
    row = lanes.flat(lx, items, node)
    made = lanes.made(
        lx,
        arrays.shape_of(lx, row),
        lambda out: lanes.run(lx, counts.is_in, [out, row, *more], node),
        node,
        BOOL,
    )
    if lanes.rank_of(items) == 1:
        return made
    return elements.materialise(lx, lanes.boxed(lx, made, arrays.shape_of(lx, items)), node)


HANDLERS: dict[object, Handler] = {
    np.nonzero: nonzero,
    np.flatnonzero: flatnonzero,
    np.argwhere: argwhere,
    np.where: where,
    np.bincount: bincount,
    np.histogram: histogram,
    np.isclose: isclose,
    np.allclose: allclose,
    np.array_equal: array_equal,
    np.isin: isin,
}

METHODS: dict[str, Handler] = {"nonzero": nonzero}
LAZY = (np.where, np.isclose, np.allclose)
