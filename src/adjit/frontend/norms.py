"""`np.linalg.norm` of vectors and matrices, and what is told by singular values: `cond`, `matrix_rank`."""

from __future__ import annotations

import ast
import math

import numpy as np

from adjit.frontend import calls, elements, extremes, folds, lanes
from adjit.frontend.arguments import Handler, bound, flag
from adjit.frontend.context import Lowering
from adjit.frontend.plain import spectra
from adjit.frontend.values import NONE, Elements, Static, Value, is_scalar, same_static
from adjit.ir.core import FALSE, TRUE, Atom, Const
from adjit.ir.types import FLOAT64, INT64

Given = dict[str, Value]
_VECTOR = "take a number: 0, 1, 2, 3.5, np.inf or -np.inf"
_MATRIX = "take 'fro', 'nuc', 1, -1, 2, -2, np.inf or -np.inf"


def norm(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.linalg.norm(x, ord, axis, keepdims)`: the 2-norm (of a matrix Frobenius'), or of another order.

    At a zero, where a 2-norm has no derivative, it passes 0; ties of extremes pass to the first element.
    """
    given = bound(lx, "np.linalg.norm", ("x", "ord", "axis", "keepdims"), 1)(args, kwargs, node)
    source = folds.floating(lx, elements.elements_of(lx, lanes.tuple_as_array(lx, given["x"], node), node))
    axes = folds.axes_of(lx, given.get("axis", NONE), len(source.shape), node)
    keep = flag(lx, given.get("keepdims", FALSE), "'keepdims'", node)
    order = given.get("ord", NONE)
    with lx.at(node):
        if same_static(order, NONE) or _is_word(order, "fro"):
            if _is_word(order, "fro") and len(axes) != 2:
                lx.refuse(node, "the norm 'fro' of a vector", _VECTOR)
            value = _euclid(lx, source, axes, node)
        elif len(axes) == 1:
            value = _of_vectors(lx, source, order, axes, node)
        elif len(axes) == 2:
            value = _of_matrices(lx, source, order, given.get("axis", NONE), axes, node)
        else:
            lx.refuse(node, f"a norm of an order over {len(axes)} axes", "leave the order out")
        return folds.kept(lx, value, source, axes, keep, node)


def _is_word(value: Value, word: str) -> bool:
    return isinstance(value, Static) and value.value == word


def _sizes(lx: Lowering, source: Elements, node: ast.AST) -> Elements:
    return elements.apply(lx, "abs", (source,), node, "numpy.abs")


def _euclid(lx: Lowering, source: Elements, axes: frozenset[int], node: ast.AST) -> Value:
    start = _sizes(lx, source, node) if source.dtype.is_complex else source
    squares = folds.mapped(start, lambda v: lx.let("mul", v, v), start.dtype)
    return folds.of_each(lx, np.sqrt, folds.total(lx, squares, axes, node), node)


def _order(value: Value) -> float | None:
    """The order, where it is a constant."""
    given = value.value if isinstance(value, Const | Static) else None
    return float(given) if isinstance(given, int | float) and not isinstance(given, bool) else None


def _of_vectors(lx: Lowering, source: Elements, order: Value, axes: frozenset[int], node: ast.AST) -> Value:
    kind = _order(order)
    if kind is None and not is_scalar(order):
        lx.refuse(node, "this order of a norm of vectors is not supported", _VECTOR)
    size = _sizes(lx, source, node)
    if kind == 2:
        return _euclid(lx, source, axes, node)
    if kind in (math.inf, -math.inf):
        return extremes.extreme(lx, "max" if kind > 0 else "min", size, axes, node)
    if kind == 1:
        return folds.total(lx, size, axes, node)
    if kind == 0:
        return folds.reduce(lx, "count_nonzero", source, _axis_of(axes), node)
    powers = calls.call(lx, Static(np.power), [size, order], {}, node)
    sums = folds.total(lx, elements.elements_of(lx, powers, node), axes, node)
    root = calls.call(lx, Static(np.true_divide), [Const(1.0, FLOAT64), order], {}, node)
    return calls.call(lx, Static(np.power), [sums, root], {}, node)


def _axis_of(axes: frozenset[int]) -> Given:
    return {"axis": Const(next(iter(axes)), INT64)}


def _of_matrices(
    lx: Lowering, source: Elements, order: Value, axis: Value, axes: frozenset[int], node: ast.AST
) -> Value:
    """The greatest (or least) sum of a column or a row, or a singular value, or their sum."""
    kind = _order(order)
    if kind in (1, -1, math.inf, -math.inf):
        given = folds.pair_of(axis) or tuple(sorted(axes))
        rows, columns = (a % len(source.shape) for a in given)
        summed, left = (rows, columns) if abs(kind) == 1 else (columns, rows)
        sums = folds.total(lx, _sizes(lx, source, node), frozenset((summed,)), node)
        place = frozenset((left - (left > summed),))
        name = "max" if kind > 0 else "min"
        return extremes.extreme(lx, name, elements.elements_of(lx, sums, node), place, node)
    if len(source.shape) == 2 and (kind in (2, -2) or _is_word(order, "nuc")):
        values = _singular_values(lx, elements.in_memory(lx, source, node), node)
        if kind is None:
            return folds.reduce(lx, "sum", values, {}, node)
        return folds.reduce(lx, "max" if kind > 0 else "min", values, {}, node)
    remedy = "loop over the matrices" if len(source.shape) > 2 else _MATRIX
    lx.refuse(node, "this order of a norm of matrices is not supported", remedy)


def _singular_values(lx: Lowering, matrix: Value, node: ast.AST) -> Value:
    return lanes.run(lx, spectra.singular_values, [matrix], node)


def cond(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.linalg.cond(x, p=None)` of a matrix: a quotient of singular values, or a product of two norms."""
    given = bound(lx, "np.linalg.cond", ("x", "p"), 1)(args, kwargs, node)
    matrix = lanes.array_in(lx, given["x"], node, "np.linalg.cond")
    order = given.get("p", NONE)
    if lanes.rank_of(matrix) != 2:
        lx.refuse(node, f"'np.linalg.cond' of a {lanes.rank_of(matrix)}-D array", "loop over the matrices")
    if same_static(order, NONE) or _order(order) in (2, -2):
        upside_down: Atom = TRUE if _order(order) == -2 else FALSE
        return lanes.run(lx, spectra.condition, [matrix, upside_down], node)
    inverse = calls.call(lx, Static(np.linalg.inv), [matrix], {}, node)
    pair = [norm(lx, [m, order], {}, node) for m in (matrix, inverse)]
    return calls.call(lx, Static(np.multiply), pair, {}, node)


def matrix_rank(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.linalg.matrix_rank(A, tol=None)`: how many singular values are greater than the tolerance."""
    given = bound(lx, "np.linalg.matrix_rank", ("A", "tol"), 1)(args, kwargs, node)
    matrix = lanes.array_in(lx, given["A"], node, "np.linalg.matrix_rank")
    if lanes.rank_of(matrix) > 2:
        lx.refuse(
            node, f"'np.linalg.matrix_rank' of a {lanes.rank_of(matrix)}-D array", "loop over the matrices"
        )
    if lanes.rank_of(matrix) == 1:
        return lanes.run(lx, spectra.rank_of_vector, [matrix], node)
    tolerance = given.get("tol", NONE)
    if lanes.none(tolerance):
        tolerance = lanes.run(lx, spectra.tolerance, [matrix], node)
    return lanes.run(lx, spectra.rank, [matrix, tolerance], node)


HANDLERS: dict[object, Handler] = {
    np.linalg.norm: norm,
    np.linalg.cond: cond,
    np.linalg.matrix_rank: matrix_rank,
}
