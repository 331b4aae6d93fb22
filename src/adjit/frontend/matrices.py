"""Products of arrays: `@`, `np.dot` and its kin. Two vectors are folded; with a matrix the product is the library's.

x @ y  (vectors)       ->    total = 0; for i in range(n): total += x[i] * y[i]
A @ B                  ->    out = empty(n, m); whole out = matmul(A, B)
"""

from __future__ import annotations

import ast
from importlib.util import find_spec

import numpy as np

from adjit.frontend import arrays, broadcasting, elements, expressions, folds, rearranging, views
from adjit.frontend.arguments import Handler, bound
from adjit.frontend.context import Lowering
from adjit.frontend.values import Axis, Elements, Place, Value
from adjit.ir.core import ONE, ZERO, Atom, Slice, Sym, Whole
from adjit.ir.types import INT64, Array, Scalar


def outer(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """`np.outer(a, b)` of vectors."""
    given = bound(lx, "np.outer", ("a", "b"), 2)(args, kwargs, node)
    a, b = (elements.elements_of(lx, given[k], node) for k in ("a", "b"))
    if len(a.shape) > 1 or len(b.shape) > 1:
        lx.refuse(node, "'np.outer' of arrays of more than one dimension", "ravel them first")
    column = elements.reshaped(a, (*a.shape, ONE)) if a.shape else a
    return elements.apply(lx, "mul", (column, b), node, elements.UFUNCS["mul"])


def trace(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """`np.trace(a, offset=0)` of a matrix."""
    given = bound(lx, "np.trace", ("a", "offset"), 1)(args, kwargs, node)
    offset = given.get("offset", ZERO)
    if offset != ZERO:
        array = elements.in_memory(lx, given["a"], node)
        with lx.at(node):
            found = rearranging.diagonal_of(lx, array, offset, "np.trace", node)
            return folds.total(lx, found, frozenset((0,)), node)
    a = elements.elements_of(lx, given["a"], node)
    if len(a.shape) != 2:
        lx.refuse(node, "'np.trace' of an array that is not a matrix", "write the loop")
    rows, columns = a.shape
    n = rows if lx.integers.same(rows, columns) else lx.let("min", rows, columns, type=INT64, fn="min")
    diagonal = Elements((n,), lambda p: a.at((p[0], p[0])), a.dtype)
    with lx.at(node):
        return folds.total(lx, diagonal, frozenset((0,)), node)


def matmul(lx: Lowering, a: Value, b: Value, node: ast.AST) -> Value:
    """`a @ b` of vectors and matrices; of more axes, one product for each place of the first ones."""
    ranks = elements.ndim_of(a), elements.ndim_of(b)
    if min(ranks) == 0:
        lx.refuse(node, "a matrix product of an array and a number", "write '*'")
    if max(ranks) > 2:
        return _stacked(lx, a, b, node)
    if ranks == (1, 1) or _without_library(a, b):
        return _folded(lx, a, b, node)
    with lx.at(node):
        return _product(lx, memory(lx, a, node), memory(lx, b, node), node)


def _product(lx: Lowering, x: Sym, y: Sym, node: ast.AST, name: str = "a") -> Sym:
    left, right = (elements.whole(lx, s).shape for s in (x, y))
    _check(lx, left[-1], right[0], node)
    dtype = x.type.dtype if x.type.dtype == y.type.dtype else Scalar("?")  # type: ignore[union-attr]
    shape = (*left[:-1], *right[1:])
    out = lx.builder.alloc(name, Array(dtype, len(shape), "C"), shape)
    lx.builder.append(Whole((out,), "matmul", (x, y), lx.span(node)))
    return out


def _check(lx: Lowering, a: Atom, b: Atom, node: ast.AST) -> None:
    broadcasting.check_equal(lx, b, a, "matmul: dimensions of the operands do not fit", node)


def _without_library(a: Value, b: Value) -> bool:
    """Whether BLAS has no such product, or there is none (Numba takes SciPy's)."""
    known = [elements.dtype_of(v) for v in (a, b)]
    return all(t.known and not t.differentiable for t in known) or find_spec("scipy") is None


def memory(lx: Lowering, value: Value, node: ast.AST) -> Sym:
    """The array in memory: where it lies, if it does, else a new one."""
    if not isinstance(value, Elements) or value.part is None:
        return elements.in_memory(lx, value, node)
    base, items = value.part
    spelled = [i for i in items if i is not None]
    if len(spelled) < len(items) or any(isinstance(i, Axis) and i.step != ONE for i in spelled):
        return elements.in_memory(lx, value, node)
    extents = elements.whole(lx, base).shape
    pairs = zip(spelled, extents, strict=True)
    index = tuple(_slice(lx, i, n) if isinstance(i, Axis) else i for i, n in pairs)
    if all(i == Slice() for i in index):
        return base
    assert isinstance(base.type, Array)
    return lx.builder.view(base, index, Array(base.type.dtype, len(value.shape), "?", base.type.readonly))


def _slice(lx: Lowering, axis: Axis, extent: Atom) -> Slice:
    if axis.start == ZERO and lx.integers.same(axis.extent, extent):
        return Slice()
    return Slice(axis.start, expressions.integer(lx, "add", axis.start, axis.extent))


def _folded(lx: Lowering, a: Value, b: Value, node: ast.AST) -> Value:
    """The product by loops."""
    x, y = elements.elements_of(lx, a, node), elements.elements_of(lx, b, node)
    x, y = folds.read_twice(lx, x, node), folds.read_twice(lx, y, node)
    _check(lx, x.shape[-1], y.shape[0], node)
    n = x.shape[-1]
    rows, columns = x.shape[:-1], y.shape[1:]
    left, right = elements.reshaped(x, (*x.shape, *[ONE] * len(columns))), y
    if rows:
        right = elements.reshaped(y, (ONE, *y.shape))
    products = elements.apply(lx, "mul", (left, right), node, elements.UFUNCS["mul"])
    products = Elements((*rows, n, *columns), products.at, products.dtype)
    with lx.at(node):
        return folds.total(lx, products, frozenset((len(rows),)), node, widens=False)


def _stacked(lx: Lowering, a: Value, b: Value, node: ast.AST) -> Value:
    """One product for each place of the axes before the last two, which are broadcast."""
    if _without_library(a, b):
        lx.refuse(
            node, "a product of integer matrices of more than two dimensions", "loop over the first axes"
        )
    with lx.at(node):
        x, y = memory(lx, a, node), memory(lx, b, node)
        shapes = [elements.whole(lx, s).shape for s in (x, y)]
        left, right = (s[-2:] for s in shapes)
        _check(lx, left[-1], right[0], node)
        rows, columns = left[:-1], right[1:]
        outer_, stacks = broadcasting.broadcast(lx, [_places(s[:-2]) for s in shapes], node)
        dtype = x.type.dtype if x.type.dtype == y.type.dtype else Scalar("?")  # type: ignore[union-attr]
        shape = (*outer_, *rows, *columns)
        out = lx.builder.alloc("a", Array(dtype, len(shape), "C"), shape)

        def one(places: tuple[Place, ...]) -> None:
            parts = [
                _matrix(lx, s, broadcasting.aligned(places, k.shape))
                for s, k in zip((x, y), stacks, strict=True)
            ]
            part = _matrix(lx, out, places)
            lx.builder.append(Whole((part,), "matmul", tuple(parts), lx.span(node)))

        elements.nest(lx, outer_, one)
    return out


def _places(shape: tuple[Atom, ...]) -> Elements:
    """A box, of whose elements nobody asks."""
    return Elements(shape, lambda _: ZERO, INT64)


def _matrix(lx: Lowering, array: Sym, places: tuple[Place, ...]) -> Sym:
    """`array[places]`, a view."""
    assert isinstance(array.type, Array)
    rank = array.type.ndim - len(places)
    if not places:
        return array
    index = (*(elements.position(lx, p) for p in places), *[Slice()] * rank)
    return lx.builder.view(array, index, Array(array.type.dtype, rank, "?", array.type.readonly))


def dot(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """`np.dot(a, b)`."""
    given = bound(lx, "np.dot", ("a", "b"), 2)(args, kwargs, node)
    a, b = given["a"], given["b"]
    ranks = elements.ndim_of(a), elements.ndim_of(b)
    if 0 in ranks:
        return expressions.binary(lx, ast.Mult(), a, b, node)
    if max(ranks) > 2:
        lx.refuse(node, "'np.dot' of arrays of more than two dimensions", "write '@', or loops")
    return matmul(lx, a, b, node)


def matmul_call(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """`np.matmul(a, b)`."""
    given = bound(lx, "np.matmul", ("a", "b"), 2)(args, kwargs, node)
    return matmul(lx, given["a"], given["b"], node)


def inner(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """`np.inner(a, b)`: sums of products along the last axes."""
    given = bound(lx, "np.inner", ("a", "b"), 2)(args, kwargs, node)
    a, b = given["a"], given["b"]
    ranks = elements.ndim_of(a), elements.ndim_of(b)
    if max(ranks) > 2:
        lx.refuse(
            node, "'np.inner' of arrays of more than two dimensions", "take np.tensordot(a, b, (-1, -1))"
        )
    if ranks[1] == 2:
        b = views.transposed(lx, elements.in_memory(lx, b, node), node)
    return dot(lx, [a, b], {}, node)


def _in_a_row(lx: Lowering, value: Value, node: ast.AST) -> Sym:
    array = elements.in_memory(lx, value, node)
    return array if elements.ndim_of(array) == 1 else arrays.flattened(lx, array, node)


def vdot(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """`np.vdot(a, b)`: the sum of products, of the conjugate of the first, in the order of the last axis first."""
    given = bound(lx, "np.vdot", ("a", "b"), 2)(args, kwargs, node)
    a, b = given["a"], given["b"]
    if min(elements.ndim_of(v) for v in (a, b)) == 0:
        lx.refuse(node, "'np.vdot' of a number", "write '*'")
    if elements.ndim_of(a) != 1 or elements.ndim_of(b) != 1:
        a, b = (_in_a_row(lx, v, node) for v in (a, b))
    if not elements.dtype_of(a).is_float:
        a = folds.of_each(lx, np.conjugate, a, node) if elements.dtype_of(a).is_complex else a
    return matmul(lx, a, b, node)


HANDLERS: dict[object, Handler] = {
    np.outer: outer,
    np.trace: trace,
    np.dot: dot,
    np.matmul: matmul_call,
    np.inner: inner,
    np.vdot: vdot,
}
