"""Reductions of whole arrays, over all axes or some: sums, means, extremes, `any` and `all`, norms.

    np.sum(a * b)          ->    total = 0; for i in range(n): total += a[i] * b[i]
    np.sum(a, axis=0)      ->    out = zeros(m); for i in range(n): for j in range(m): out[j] += a[i, j]
    np.max(x)              ->    k = where the greatest is; x[k]

The least and the greatest are found without derivatives and then read, so that the derivative goes to that one element.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable

import numpy as np

from adjit.frontend import broadcasting, calls, elements, expressions
from adjit.frontend.arguments import Handler, bound, flag
from adjit.frontend.context import DeadPath, Lowering
from adjit.frontend.values import NONE, Elements, Place, Static, TupleValue, Value, same_static
from adjit.ir.core import FALSE, ONE, TRUE, ZERO, Atom, Const, If, Raise, Sym, const
from adjit.ir.types import BOOL, INT64, UINT64, UNKNOWN, Array, Scalar

_TAKES = {
    "sum": ("axis", "dtype", "out", "keepdims", "initial", "where"),
    "prod": ("axis", "dtype", "out", "keepdims", "initial", "where"),
    "mean": ("axis", "dtype", "out", "keepdims", "where"),
    "var": ("axis", "dtype", "out", "ddof", "keepdims"),
    "std": ("axis", "dtype", "out", "ddof", "keepdims"),
    "min": ("axis", "out", "keepdims"),
    "max": ("axis", "out", "keepdims"),
    "any": ("axis", "out", "keepdims", "where"),
    "all": ("axis", "out", "keepdims", "where"),
    "argmin": ("axis", "out", "keepdims"),
    "argmax": ("axis", "out", "keepdims"),
    "ptp": ("axis", "out", "keepdims"),
    "count_nonzero": ("axis", "keepdims"),
}
"""What each function takes after the array, in NumPy's order."""


def function(name: str) -> Handler:
    """The handler of `np.<name>`."""

    def handler(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
        given = bound(lx, f"np.{name}", ("a", *_TAKES[name]), 1)(args, kwargs, node)
        return reduce(lx, name, given.pop("a"), given, node)

    return handler


def method(
    lx: Lowering, owner: Value, name: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST
) -> Value:
    """`owner.name(...)`."""
    given = bound(lx, name, _TAKES[name], 0)(args, kwargs, node)
    return reduce(lx, name, owner, given, node)


def reduce(lx: Lowering, name: str, value: Value, given: dict[str, Value], node: ast.AST) -> Value:
    """The reduction of an array; a number, or an array of the axes that are left."""
    for key in ("dtype", "out"):
        if not same_static(given.get(key, NONE), NONE):
            lx.refuse(node, f"the argument '{key}' of 'np.{name}' is not supported", "leave it out")
    if isinstance(value, TupleValue):
        lx.refuse(node, f"'np.{name}' of a tuple", "make it an array: np.array(...)")
    source = elements.elements_of(lx, value, node)
    axes = _axes(lx, given.get("axis", NONE), len(source.shape), node)
    keep = flag(lx, given.get("keepdims", FALSE), "'keepdims'", node)
    ddof = expressions.number(lx, given.get("ddof", ZERO), node)
    with lx.at(node):
        if "where" in given:
            value = _chosen(lx, name, source, given["where"], axes, node)
        else:
            value = _reduced(lx, name, source, axes, ddof, node)
        if not same_static(given.get("initial", NONE), NONE):
            op = ast.Add() if name == "sum" else ast.Mult()
            value = expressions.binary(lx, op, value, given["initial"], node)
        return _kept(lx, value, source, axes, keep, node)


def _chosen(
    lx: Lowering, name: str, source: Elements, where: Value, axes: frozenset[int], node: ast.AST
) -> Value:
    """The reduction of the elements where a condition holds: elsewhere stands what changes nothing."""
    if elements.dtype_of(where) != BOOL:
        lx.refuse(node, f"'where' of 'np.{name}' that is not a mask", "compare: where=w != 0")
    neutral_ = {"prod": 1, "all": 1}.get(name, 0)
    other = neutral(source.dtype, neutral_) if source.dtype.known else const(neutral_)
    if source.dtype == BOOL:
        other = TRUE if neutral_ else FALSE
    chosen = elements.apply(lx, "select", (where, source, other), node)
    if len(chosen.shape) > len(source.shape):
        lx.refuse(node, f"'where' of 'np.{name}' with more dimensions than the array", "index the array")
    for n, m in zip(chosen.shape, source.shape, strict=True):
        broadcasting.check_equal(lx, n, m, "the condition 'where' has another shape than the array", node)
    chosen = Elements(source.shape, chosen.at, source.dtype)
    if name != "mean":
        return _reduced(lx, name, chosen, axes, ZERO, node)
    flags = elements.apply(lx, "select", (where, ONE, ZERO), node)
    ones = Elements(source.shape, lambda p: flags.at(broadcasting.aligned(p, flags.shape)), INT64)
    if not source.dtype.known:
        lx.refuse(node, "'where' of 'np.mean' of this array", "take np.sum(a, where=m) / np.count_nonzero(m)")
    sums = [total(lx, s, axes, node) for s in (chosen, ones)]
    value = calls.call(lx, Static(np.true_divide), sums, {}, node)
    if not source.dtype.differentiable:
        return value
    return elements.solid(
        lx, elements.cast(lx, elements.elements_of(lx, value, node), source.dtype, node), node
    )


def _reduced(
    lx: Lowering, name: str, source: Elements, axes: frozenset[int], ddof: Atom, node: ast.AST
) -> Value:
    """The reduced array, without the axes that were reduced."""
    match name:
        case "sum" | "prod":
            return total(lx, source, axes, node, "add" if name == "sum" else "mul")
        case "mean":
            return _over(lx, total(lx, source, axes, node), _count(lx, source, axes), node)
        case "var":
            return _variance(lx, source, axes, ddof, node)
        case "std":
            return of_each(lx, np.sqrt, _variance(lx, source, axes, ddof, node), node)
        case "min" | "max" | "argmin" | "argmax":
            return _extreme(lx, name, source, axes, node)
        case "ptp":
            source = read_twice(lx, source, node)
            most, least = (_extreme(lx, n, source, axes, node) for n in ("max", "min"))
            return expressions.binary(lx, ast.Sub(), most, least, node)
        case "any" | "all":
            return _logical(lx, source, axes, "or_" if name == "any" else "and_", node)
        case _:
            flags = _mapped(
                source, lambda v: lx.let("cast", expressions.truth(lx, v, node), type=INT64), INT64
            )
            return total(lx, flags, axes, node)


def _axes(lx: Lowering, value: Value, rank: int, node: ast.AST) -> frozenset[int]:
    """The axes to reduce, all of them where none are named."""
    if same_static(value, NONE):
        return frozenset(range(rank))
    found: set[int] = set()
    for item in value.items if isinstance(value, TupleValue) else (value,):
        if not isinstance(item, Const) or not isinstance(item.value, int):
            lx.refuse(node, "an axis that is not a constant", "write the number of the axis")
        axis = int(item.value)
        if not -rank <= axis < rank:
            lx.refuse(node, f"the axis {axis} of an array of {rank} dimensions")
        found.add(axis % rank)
    return frozenset(found)


def _kept(
    lx: Lowering, value: Value, source: Elements, axes: frozenset[int], keep: bool, node: ast.AST
) -> Value:
    """With `keepdims`, the reduced axes come back with extent one."""
    if not keep:
        return value
    inner = elements.elements_of(lx, value, node)
    rank = len(source.shape)
    shape = tuple(ONE if d in axes else source.shape[d] for d in range(rank))

    def at(places: tuple[Place, ...]) -> Atom:
        return inner.at(tuple(p for d, p in enumerate(places) if d not in axes))

    return Elements(shape, at, inner.dtype)


def _count(lx: Lowering, source: Elements, axes: frozenset[int]) -> Atom:
    """How many elements are reduced to one."""
    size: Atom = ONE
    for d in sorted(axes):
        size = expressions.integer(lx, "mul", size, source.shape[d])
    return size


def _mapped(source: Elements, f: Callable[[Atom], Atom], dtype: Scalar) -> Elements:
    return Elements(source.shape, lambda places: f(source.at(places)), dtype)


def read_twice(lx: Lowering, source: Elements, node: ast.AST) -> Elements:
    """The source, in memory if its elements must be computed."""
    if source.part is not None or not source.shape:
        return source
    return elements.whole(lx, elements.materialise(lx, source, node))


def of_each(lx: Lowering, f: Callable[..., object], value: Value, node: ast.AST) -> Value:
    """A function of a number, or of each element."""
    return calls.call(lx, Static(f), [value], {}, node)


def _over(lx: Lowering, value: Value, count: Atom, node: ast.AST) -> Value:
    """`value / count`; of nothing it is NaN, not an error."""
    return calls.call(lx, Static(np.true_divide), [value, count], {}, node)


# sums


def total(lx: Lowering, source: Elements, axes: frozenset[int], node: ast.AST, op: str = "add") -> Value:
    """The sum (or product) over some axes; of small integers it is one of integers of 64 bits."""
    if source.dtype.is_int and source.dtype not in (INT64, UINT64):
        wide = UINT64 if source.dtype.name.startswith("u") else INT64
        source = elements.cast(lx, source, wide, node)
    start = neutral(source.dtype, 0 if op == "add" else 1)

    def add(places: tuple[Place, ...], carried: tuple[Atom, ...]) -> tuple[Atom, ...]:
        v = source.at(places)
        if carried[0] is start and not start.type.known:  # no loop: there is one element, whose type it takes
            return (v,)
        return (lx.let(op, carried[0], v, name=elements.hint(carried[0])),)

    if len(axes) == len(source.shape):
        return elements.fold(lx, source.shape, (start,), add)[0]
    return _each(lx, source, axes, start, op, node)


def _each(lx: Lowering, source: Elements, axes: frozenset[int], start: Const, op: str, node: ast.AST) -> Sym:
    """A sum for each place of the other axes, added up in the order of memory."""
    left = [d for d in range(len(source.shape)) if d not in axes]
    like: Sym | None = None
    dtype = start.type
    if not dtype.known:
        like = elements.materialise(lx, source, node)
        source = elements.whole(lx, like)
    shape = tuple(source.shape[d] for d in left)
    fill = Const(start.value, INT64) if like is not None else start
    out = lx.builder.alloc("total", Array(dtype, len(left), "C"), shape, fill, like)

    def add(places: tuple[Place, ...]) -> None:
        index = tuple(elements.position(lx, places[d]) for d in left)
        lx.builder.store(out, index, lx.let(op, lx.builder.load(out, index), source.at(places)))

    elements.nest(lx, source.shape, add)
    return out


def neutral(dtype: Scalar, value: float) -> Const:
    """Where a sum or product starts: a number of the elements' type, which may be open."""
    if dtype == UINT64:
        return Const(value, UINT64)
    if dtype.is_bool or dtype.is_int:
        return const(value)
    if dtype.is_complex:
        return Const(complex(value), dtype)
    return Const(float(value), dtype) if dtype.known else Const(value, UNKNOWN)


def _variance(lx: Lowering, source: Elements, axes: frozenset[int], ddof: Atom, node: ast.AST) -> Value:
    source = read_twice(lx, source, node)
    count = _count(lx, source, axes)
    mean = _over(lx, total(lx, source, axes, node), count, node)
    if isinstance(mean, Elements):
        mean = elements.materialise(lx, mean, node)
    centre = _kept(lx, mean, source, axes, True, node)
    away = elements.apply(lx, "sub", (source, centre), node, elements.UFUNCS["sub"])

    def squared(v: Atom) -> Atom:
        if source.dtype.is_complex:
            v = calls.apply_rule(lx, abs, (v,), node)  # type: ignore[assignment]
        return lx.let("mul", v, v)

    squares = _mapped(away, squared, UNKNOWN if source.dtype.is_complex else away.dtype)
    return _over(lx, total(lx, squares, axes, node), expressions.integer(lx, "sub", count, ddof), node)


def norm(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """`np.linalg.norm(x, ord, axis, keepdims)`: the 2-norm (of a matrix Frobenius'), of vectors 1, inf and -inf too."""
    given = bound(lx, "np.linalg.norm", ("x", "ord", "axis", "keepdims"), 1)(args, kwargs, node)
    source = elements.elements_of(lx, given["x"], node)
    axes = _axes(lx, given.get("axis", NONE), len(source.shape), node)
    keep = flag(lx, given.get("keepdims", FALSE), "'keepdims'", node)
    kind = _order(lx, given.get("ord", NONE), len(axes), node)
    size = elements.apply(lx, "abs", (source,), node, "numpy.abs")
    with lx.at(node):
        if kind == 1:
            value = total(lx, size, axes, node)
        elif kind in (math.inf, -math.inf):
            value = _extreme(lx, "max" if kind > 0 else "min", size, axes, node)
        else:
            start = size if source.dtype.is_complex else source
            squares = _mapped(start, lambda v: lx.let("mul", v, v), start.dtype)
            value = of_each(lx, np.sqrt, total(lx, squares, axes, node), node)
        return _kept(lx, value, source, axes, keep, node)


def _order(lx: Lowering, value: Value, axes: int, node: ast.AST) -> float:
    if same_static(value, NONE):
        return 2
    given = value.value if isinstance(value, Const | Static) else None
    if given == "fro" and axes == 2:
        return 2
    if axes == 1 and given in (1, 2, math.inf, -math.inf):
        return float(given)  # type: ignore[arg-type]
    lx.refuse(
        node, "this order of a norm is not supported", "take 1, 2 or inf of a vector, or 'fro' of a matrix"
    )


# the least and the greatest


def _extreme(lx: Lowering, name: str, source: Elements, axes: frozenset[int], node: ast.AST) -> Value:
    least = name.endswith("min")
    where = name.startswith("arg")
    if where and len(axes) not in (1, len(source.shape)):
        lx.refuse(node, f"'{name}' over several axes")
    inner = tuple(sorted(axes))
    _refuse_nothing(lx, source, axes, name, node)
    shape = tuple(source.shape[d] for d in inner)
    left = [d for d in range(len(source.shape)) if d not in axes]

    def found(outer: tuple[Place, ...]) -> Atom:
        """The number for one place of the other axes."""

        def places(ours: tuple[Place, ...]) -> tuple[Place, ...]:
            both = dict(zip(left, outer, strict=True)) | dict(zip(inner, ours, strict=True))
            return tuple(both[d] for d in range(len(source.shape)))

        def step(ours: tuple[Place, ...], carried: tuple[Atom, ...]) -> tuple[Atom, ...]:
            v, best, *at = source.at(places(ours)), *carried
            better = lx.let("lt" if least else "gt", v, best, type=BOOL)
            if not source.dtype.is_int:  # the first NaN is it, and stays
                better = lx.let("or_", better, lx.let("ne", v, v, type=BOOL), type=BOOL)
                better = lx.let("and_", better, lx.let("eq", best, best, type=BOOL), type=BOOL)
            here = [elements.position(lx, p) for p in ours]
            pairs = zip(here, at, strict=True)
            return (
                lx.let("select", better, v, best),
                *(lx.let("select", better, h, a, type=INT64, name="at") for h, a in pairs),
            )

        first = source.at(places(tuple(Place(ZERO) for _ in inner)))
        _, *at = elements.fold(lx, shape, (first, *(ZERO for _ in inner)), step)
        if where:
            return _flat(lx, at, shape)
        return source.at(places(tuple(Place(a) for a in at)))

    if not left:
        return found(())
    dtype = INT64 if where else source.dtype
    rest = Elements(tuple(source.shape[d] for d in left), found, dtype)
    return elements.materialise(lx, rest, node)


def _flat(lx: Lowering, index: list[Atom], shape: tuple[Atom, ...]) -> Atom:
    total_: Atom = ZERO
    for i, n in zip(index, shape, strict=True):
        total_ = expressions.integer(lx, "add", expressions.integer(lx, "mul", total_, n), i)
    return total_


def _refuse_nothing(lx: Lowering, source: Elements, axes: frozenset[int], name: str, node: ast.AST) -> None:
    """NumPy raises where there is no element to choose."""
    size = _count(lx, source, axes)
    message = f"zero-size array to reduction operation {name} which has no identity"
    if name.startswith("arg"):
        message = f"attempt to get {name} of an empty sequence"
    failure = Raise("ValueError", (message,), lx.span(node))
    if isinstance(size, Const):
        if size.value == 0:
            lx.builder.append(failure)
            raise DeadPath
        return
    lx.builder.append(If(lx.let("eq", size, ZERO, type=BOOL), (failure,), (), span=lx.span(node)))


def _logical(lx: Lowering, source: Elements, axes: frozenset[int], op: str, node: ast.AST) -> Value:
    start = FALSE if op == "or_" else TRUE
    inner = tuple(sorted(axes))
    left = [d for d in range(len(source.shape)) if d not in axes]

    def found(outer: tuple[Place, ...]) -> Atom:
        def step(ours: tuple[Place, ...], carried: tuple[Atom, ...]) -> tuple[Atom, ...]:
            both = dict(zip(left, outer, strict=True)) | dict(zip(inner, ours, strict=True))
            v = expressions.truth(lx, source.at(tuple(both[d] for d in range(len(source.shape)))), node)
            return (lx.let(op, carried[0], v, type=BOOL),)

        return elements.fold(lx, tuple(source.shape[d] for d in inner), (start,), step)[0]

    if not left:
        return found(())
    rest = Elements(tuple(source.shape[d] for d in left), found, BOOL)
    return elements.materialise(lx, rest, node)


HANDLERS: dict[object, Handler] = {
    **{getattr(np, name): function(name) for name in _TAKES},
    np.amin: function("min"),
    np.amax: function("max"),
    np.linalg.norm: norm,
}
