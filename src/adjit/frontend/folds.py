"""Reductions of whole arrays, over all axes or some: sums, means, extremes, `any` and `all`.

    np.sum(a * b)          ->    total = 0; for i in range(n): total += a[i] * b[i]
    np.sum(a, axis=0)      ->    out = zeros(m); for i in range(n): for j in range(m): out[j] += a[i, j]

`extremes` has the least and the greatest, `conditions` what `where` chooses.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

import numpy as np

from adjit.frontend import calls, conditions, creation, elements, expressions, extremes, outputs
from adjit.frontend.arguments import Handler, bound, flag
from adjit.frontend.context import Lowering
from adjit.frontend.values import NONE, Elements, Place, Static, TupleValue, Value, same_static
from adjit.ir.core import FALSE, ONE, TRUE, ZERO, Atom, Const, Sym, const
from adjit.ir.spellings import FLOATING, SUMMED
from adjit.ir.types import BOOL, FLOAT64, INT64, UINT64, UNKNOWN, Array, Scalar

_TAKES = {
    "sum": ("axis", "dtype", "out", "keepdims", "initial", "where"),
    "prod": ("axis", "dtype", "out", "keepdims", "initial", "where"),
    "mean": ("axis", "dtype", "out", "keepdims", "where"),
    "var": ("axis", "dtype", "out", "ddof", "keepdims", "where"),
    "std": ("axis", "dtype", "out", "ddof", "keepdims", "where"),
    "min": ("axis", "out", "keepdims", "initial", "where"),
    "max": ("axis", "out", "keepdims", "initial", "where"),
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
    if isinstance(value, TupleValue):
        lx.refuse(node, f"'np.{name}' of a tuple", "make it an array: np.array(...)")
    source = _of_type(lx, name, elements.elements_of(lx, value, node), given.get("dtype", NONE), node)
    axes = axes_of(lx, given.get("axis", NONE), len(source.shape), node)
    keep = flag(lx, given.get("keepdims", FALSE), "'keepdims'", node)
    ddof = expressions.number(lx, given.get("ddof", ZERO), node)
    with lx.at(node):
        initial = None if same_static(given.get("initial", NONE), NONE) else given["initial"]
        if name in ("min", "max"):
            where = conditions.mask_of(lx, name, source, given["where"], node) if "where" in given else None
            if where is not None and initial is None:
                lx.refuse(node, f"'np.{name}' with 'where' has nothing to start from", "give 'initial', too")
            first = None if initial is None else expressions.number(lx, initial, node)
            value = extremes.extreme(lx, name, source, axes, node, first, where)
        elif "where" in given:
            mask = conditions.mask_of(lx, name, source, given["where"], node)
            value = _chosen(lx, name, source, mask, axes, ddof, node)
        else:
            value = _reduced(lx, name, source, axes, ddof, node)
        if initial is not None and name in ("sum", "prod"):
            value = expressions.binary(lx, ast.Add() if name == "sum" else ast.Mult(), value, initial, node)
        return outputs.stored(
            lx, kept(lx, value, source, axes, keep, node), given.get("out", NONE), f"np.{name}", node
        )


def _of_type(lx: Lowering, name: str, source: Elements, dtype: Value, node: ast.AST) -> Elements:
    """The elements in the type in which they are added up."""
    if same_static(dtype, NONE):
        return source
    wanted = creation.dtype_of(lx, dtype, node)
    if name not in ("sum", "prod") and not (wanted.is_float or wanted.is_complex):
        lx.refuse(node, f"'np.{name}' in a type of integers", "leave the argument 'dtype' out")
    return elements.cast(lx, source, wanted, node)


def _chosen(
    lx: Lowering,
    name: str,
    source: Elements,
    mask: Elements,
    axes: frozenset[int],
    ddof: Atom,
    node: ast.AST,
) -> Value:
    """The reduction of the elements where a condition holds: elsewhere stands what changes nothing."""
    if name in ("var", "std"):
        value = _chosen_variance(lx, source, mask, axes, ddof, node)
        return value if name == "var" else of_each(lx, np.sqrt, value, node)
    chosen = conditions.chosen(lx, source, mask, 1 if name in ("prod", "all") else 0, node)
    return (
        _mean(lx, chosen, mask, axes, node)
        if name == "mean"
        else _reduced(lx, name, chosen, axes, ZERO, node)
    )


def _mean(lx: Lowering, chosen: Elements, mask: Elements, axes: frozenset[int], node: ast.AST) -> Value:
    sums = [total(lx, s, axes, node) for s in (chosen, conditions.ones(lx, mask))]
    value = calls.call(lx, Static(np.true_divide), sums, {}, node)
    if not chosen.dtype.differentiable:
        return value
    return elements.solid(
        lx, elements.cast(lx, elements.elements_of(lx, value, node), chosen.dtype, node), node
    )


def _chosen_variance(
    lx: Lowering, source: Elements, mask: Elements, axes: frozenset[int], ddof: Atom, node: ast.AST
) -> Value:
    source = read_twice(lx, source, node)
    mean = _mean(lx, conditions.chosen(lx, source, mask, 0, node), mask, axes, node)
    squares = conditions.chosen(lx, _squares(lx, source, mean, axes, node), mask, 0, node)
    count = total(lx, conditions.ones(lx, mask), axes, node)
    left = calls.call(
        lx, Static(np.maximum), [expressions.binary(lx, ast.Sub(), count, ddof, node), ZERO], {}, node
    )
    return calls.call(lx, Static(np.true_divide), [total(lx, squares, axes, node), left], {}, node)


def _reduced(
    lx: Lowering, name: str, source: Elements, axes: frozenset[int], ddof: Atom, node: ast.AST
) -> Value:
    """The reduced array, without the axes that were reduced."""
    match name:
        case "sum" | "prod":
            return total(lx, source, axes, node, "add" if name == "sum" else "mul")
        case "mean":
            return _over(lx, total(lx, source, axes, node), extremes.count(lx, source, axes), node)
        case "var":
            return _variance(lx, source, axes, ddof, node)
        case "std":
            return of_each(lx, np.sqrt, _variance(lx, source, axes, ddof, node), node)
        case "min" | "max" | "argmin" | "argmax":
            return extremes.extreme(lx, name, source, axes, node)
        case "ptp":
            source = read_twice(lx, source, node)
            most, least = (extremes.extreme(lx, n, source, axes, node) for n in ("max", "min"))
            return expressions.binary(lx, ast.Sub(), most, least, node)
        case "any" | "all":
            return _logical(lx, source, axes, "or_" if name == "any" else "and_", node)
        case _:
            flags = mapped(
                source, lambda v: lx.let("cast", expressions.truth(lx, v, node), type=INT64), INT64
            )
            return total(lx, flags, axes, node)


def axes_of(lx: Lowering, value: Value, rank: int, node: ast.AST) -> frozenset[int]:
    """The axes to reduce, all of them where none are named."""
    if same_static(value, NONE):
        return frozenset(range(rank))
    found: set[int] = set()
    for item in value.items if isinstance(value, TupleValue) else (value,):
        if not isinstance(item, Const) or not isinstance(item.value, int):
            lx.refuse(node, "an axis that is not a constant", "write the number of the axis")
        axis = int(item.value)
        if not -rank <= axis < rank:
            lx.refuse(
                node,
                f"the axis {axis} of an array of {rank} dimensions",
                f"take one from {-rank} to {rank - 1}",
            )
        found.add(axis % rank)
    return frozenset(found)


def pair_of(axis: Value) -> tuple[int, int] | None:
    """Two axes in the order in which they are given."""
    items = axis.items if isinstance(axis, TupleValue) else ()
    numbers = [int(i.value.real) for i in items if isinstance(i, Const)]
    return (numbers[0], numbers[1]) if len(numbers) == 2 else None


def kept(
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


def floating(lx: Lowering, source: Elements) -> Elements:
    """The elements as floats: integers and bools in double precision."""
    if source.dtype.differentiable:
        return source
    dtype = FLOAT64 if source.dtype.known else UNKNOWN
    return mapped(source, lambda v: lx.let("cast", v, fn=FLOATING), dtype)


def mapped(source: Elements, f: Callable[[Atom], Atom], dtype: Scalar) -> Elements:
    """A function of each element."""
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


def total(
    lx: Lowering,
    source: Elements,
    axes: frozenset[int],
    node: ast.AST,
    op: str = "add",
    widens: bool = True,
) -> Value:
    """The sum (or product) over some axes; of small integers it is one of integers of 64 bits (`widens`)."""
    if widens and source.dtype.is_int and source.dtype not in (INT64, UINT64):
        wide = UINT64 if source.dtype.name.startswith("u") else INT64
        source = elements.cast(lx, source, wide, node)
    elif widens and not source.dtype.known:
        source = summed(lx, source)
    start = neutral(source.dtype, 0 if op == "add" else 1)

    def add(places: tuple[Place, ...], carried: tuple[Atom, ...]) -> tuple[Atom, ...]:
        v = source.at(places)
        if carried[0] is start and not start.type.known:  # no loop: there is one element, whose type it takes
            return (v,)
        return (lx.let(op, carried[0], v, name=elements.hint(carried[0])),)

    if len(axes) == len(source.shape):
        return elements.fold(lx, source.shape, (start,), add)[0]
    return _each(lx, source, axes, start, op, node)


def summed(lx: Lowering, source: Elements) -> Elements:
    """The elements, whose type is not known yet, in the type in which they are added up."""
    return mapped(source, lambda v: lx.let("cast", v, fn=SUMMED), UNKNOWN)


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
    count = extremes.count(lx, source, axes)
    mean = _over(lx, total(lx, source, axes, node), count, node)
    squares = _squares(lx, source, mean, axes, node)
    return _over(lx, total(lx, squares, axes, node), expressions.integer(lx, "sub", count, ddof), node)


def _squares(lx: Lowering, source: Elements, mean: Value, axes: frozenset[int], node: ast.AST) -> Elements:
    """The squared distances from the mean."""
    if isinstance(mean, Elements):
        mean = elements.materialise(lx, mean, node)
    away = elements.apply(
        lx, "sub", (source, kept(lx, mean, source, axes, True, node)), node, elements.UFUNCS["sub"]
    )

    def squared(v: Atom) -> Atom:
        if source.dtype.is_complex:
            v = calls.apply_rule(lx, abs, (v,), node)  # type: ignore[assignment]
        return lx.let("mul", v, v)

    return mapped(away, squared, UNKNOWN if source.dtype.is_complex else away.dtype)


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
}
