"""Averages with weights, reductions that skip NaN, covariances."""

from __future__ import annotations

import ast
import math

import numpy as np

from adjit.frontend import arrays, broadcasting, calls, elements, folds, joining, lanes, scans
from adjit.frontend.arguments import Handler, bound, flag
from adjit.frontend.context import Lowering
from adjit.frontend.plain import averages
from adjit.frontend.values import NONE, Elements, Place, Static, Value
from adjit.ir.core import FALSE, ONE, TRUE, ZERO, Atom, Sym, const
from adjit.ir.types import BOOL, INT64

Given = dict[str, Value]


def average(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.average(a, axis=None, weights=None)`; weights have the shape of `a`, or are 1-D along the axis."""
    given = bound(lx, "np.average", ("a", "axis", "weights", "returned", "keepdims"), 1)(args, kwargs, node)
    for key in ("returned", "keepdims"):
        if key in given and flag(lx, given[key], f"'{key}'", node):
            lx.refuse(node, f"the argument '{key}' of 'np.average' is not supported", "leave it out")
    axis = given.get("axis", NONE)
    if lanes.none(given.get("weights", NONE)):
        return folds.reduce(lx, "mean", given["a"], {"axis": axis}, node)
    a = lanes.array_in(lx, given["a"], node, "np.average")
    weights = elements.whole(lx, lanes.array_in(lx, given["weights"], node, "np.average"))
    shape = arrays.shape_of(lx, a)
    if len(weights.shape) == len(shape):
        for n, m in zip(weights.shape, shape, strict=True):
            broadcasting.check_equal(lx, n, m, "Shape of weights must be consistent with shape of a", node)
    elif len(weights.shape) == 1 and not lanes.none(axis):
        along = lanes.axis_in(lx, axis, len(shape), node)
        broadcasting.check_equal(lx, weights.shape[0], shape[along], "Length of weights not compatible", node)
        row = weights.at
        weights = Elements(shape, lambda p: row((p[along],)), weights.dtype)
    else:
        lx.refuse(node, "the weights of 'np.average' have other dimensions than the array", "give as many")
    return lanes.run(lx, averages.average, [folds.floating(lx, elements.whole(lx, a)), weights, axis], node)


# without NaN


def _skipping(name: str) -> Handler:
    """`np.nansum(a, axis=None, keepdims=False)` and its kin."""
    spread = name in ("nanvar", "nanstd")
    names = ("a", "axis", "out") if name in _PLACES else ("a", "axis", "dtype", "out")
    names = (*names, *(("ddof",) if spread else ()), "keepdims")

    def handler(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
        given = bound(lx, f"np.{name}", names, 1)(args, kwargs, node)
        lanes.refuse_given(lx, name, given, ("dtype", "out"), node)
        source = lanes.readable(lx, given["a"], node)
        axes = {k: given[k] for k in ("axis", "keepdims") if k in given}
        with lx.at(node):
            if source.dtype.is_int or source.dtype.is_bool:
                more = {"ddof": given["ddof"]} if "ddof" in given else {}
                return folds.reduce(lx, name[3:], source, {**axes, **more}, node)
            if spread:
                return _spread(lx, name, source, axes, given.get("ddof", ZERO), node)
            return _skipped(lx, name, source, axes, node)

    return handler


_PLACES = {"nanmin": math.inf, "nanmax": -math.inf, "nanargmin": math.inf, "nanargmax": -math.inf}


def _skipped(lx: Lowering, name: str, source: Elements, axes: Given, node: ast.AST) -> Value:
    if name in ("nansum", "nanprod"):
        return folds.reduce(lx, name[3:], scans.masked(lx, source, int(name == "nanprod")), axes, node)
    n = _solid(lx, _count(lx, source, axes, node), node)
    if name == "nanmean":
        total = folds.reduce(lx, "sum", scans.masked(lx, source, 0), axes, node)
        return calls.call(lx, Static(np.true_divide), [total, n], {}, node)
    if name.startswith("nanarg"):
        lanes.run(lx, averages.check_some, [n], node)
    found = folds.reduce(lx, name[3:], scans.masked(lx, source, _PLACES[name]), axes, node)
    if name.startswith("nanarg"):
        return found
    return lanes.run(lx, averages.unless_none, [_solid(lx, found, node), n], node)


def _known(lx: Lowering, source: Elements, places: tuple[Place, ...]) -> tuple[Atom, Atom]:
    v = source.at(places)
    return v, lx.let("eq", v, v, type=BOOL)


def _count(lx: Lowering, source: Elements, axes: Given, node: ast.AST) -> Value:
    """How many numbers there are."""
    flags = Elements(source.shape, lambda p: lx.let("cast", _known(lx, source, p)[1], type=INT64), INT64)
    return folds.reduce(lx, "sum", flags, axes, node)


def _solid(lx: Lowering, value: Value, node: ast.AST) -> Value:
    return elements.solid(lx, value, node)


def _spread(lx: Lowering, name: str, source: Elements, axes: Given, ddof: Value, node: ast.AST) -> Value:
    kept = {**axes, "keepdims": TRUE}
    n = _solid(lx, _count(lx, source, kept, node), node)
    total = folds.reduce(lx, "sum", scans.masked(lx, source, 0), kept, node)
    mean = elements.elements_of(
        lx, _solid(lx, calls.call(lx, Static(np.true_divide), [total, n], {}, node), node), node
    )
    away = elements.apply(lx, "sub", (source, mean), node, elements.UFUNCS["sub"])

    def at(places: tuple[Place, ...]) -> Atom:
        d = away.at(places)
        known = lx.let("eq", d, d, type=BOOL)
        zero = lanes.literal(away.dtype, 0)
        return lx.let("select", known, lx.let("mul", d, d), zero, type=away.dtype)

    squares = Elements(source.shape, at, away.dtype)
    number = _solid(lx, _count(lx, source, axes, node), node)
    sums = _solid(lx, folds.reduce(lx, "sum", squares, axes, node), node)
    value = lanes.run(lx, averages.over, [sums, number, ddof], node)
    return value if name == "nanvar" else calls.call(lx, Static(np.sqrt), [value], {}, node)


# covariances


def _rows(lx: Lowering, value: Value, rowvar: bool, name: str, node: ast.AST) -> Sym:
    """A matrix whose rows are variables."""
    array = lanes.array_in(lx, value, node, name)
    rank = lanes.rank_of(array)
    if rank > 2:
        lx.refuse(node, f"'{name}' of a {rank}-D array", "make it a matrix")
    if rank == 1:
        row = joining.at_least(elements.whole(lx, array), 2)
        return elements.materialise(lx, row, node)
    found = array if rowvar else arrays.attribute(lx, array, "T", node)
    assert isinstance(found, Sym)
    return found


def _covariance(lx: Lowering, name: str, first: Value, given: Given, ddof: Value, node: ast.AST) -> Sym:
    rowvar = flag(lx, given.get("rowvar", TRUE), "'rowvar'", node)
    rows = _rows(lx, first, rowvar, name, node)
    if not lanes.none(given.get("y", NONE)):
        other = _rows(lx, given["y"], rowvar, name, node)
        both = [elements.whole(lx, r) for r in (rows, other)]
        lanes.run(lx, averages.check_observations, [b.shape[1] for b in both], node)
        rows = joining.joined(lx, both, 0, node)
    shape = arrays.shape_of(lx, rows)
    away = lanes.made(lx, shape, lambda out: lanes.run(lx, averages.centre, [out, rows], node), node)
    return lanes.array_in(lx, lanes.run(lx, averages.covariance, [away, ddof], node), node)


def _one(lx: Lowering, first: Value, given: Given, matrix: Sym) -> Value:
    """Of one vector, the covariance is a number."""
    if elements.ndim_of(first) < 2 and lanes.none(given.get("y", NONE)):
        return lx.builder.load(matrix, (ZERO, ZERO))
    return matrix


def cov(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.cov(m, y=None, rowvar=True, bias=False, ddof=None)`."""
    names = ("m", "y", "rowvar", "bias", "ddof", "fweights", "aweights", "dtype")
    given = bound(lx, "np.cov", names, 1)(args, kwargs, node)
    lanes.refuse_given(lx, "cov", given, ("fweights", "aweights", "dtype"), node)
    ddof = given.get("ddof", NONE)
    if lanes.none(ddof):
        ddof = const(0) if flag(lx, given.get("bias", FALSE), "'bias'", node) else ONE
    return _one(lx, given["m"], given, _covariance(lx, "np.cov", given["m"], given, ddof, node))


def corrcoef(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.corrcoef(x, y=None, rowvar=True)`."""
    given = bound(lx, "np.corrcoef", ("x", "y", "rowvar"), 1)(args, kwargs, node)
    matrix = _covariance(lx, "np.corrcoef", given["x"], given, ONE, node)
    found = lanes.array_in(lx, lanes.run(lx, averages.correlation, [matrix], node), node)
    return _one(lx, given["x"], given, found)


HANDLERS: dict[object, Handler] = {
    np.average: average,
    **{
        getattr(np, f"nan{n}"): _skipping(f"nan{n}")
        for n in ("sum", "prod", "mean", "var", "std", "min", "max", "argmin", "argmax")
    },
    np.cov: cov,
    np.corrcoef: corrcoef,
}
LAZY = tuple(getattr(np, f"nan{n}") for n in ("sum", "prod", "mean", "min", "max"))
