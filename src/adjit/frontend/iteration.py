"""What a loop runs over: how many items it has, and item k."""

from __future__ import annotations

import ast
from collections.abc import Callable

from adjit.frontend import arrays, expressions, growing, indexing
from adjit.frontend.context import Lowering
from adjit.frontend.values import (
    EnumerateValue,
    FlatValue,
    Growing,
    IndexSpace,
    NdEnumerateValue,
    RangeValue,
    ReversedValue,
    TupleValue,
    Value,
    ZipValue,
    is_array,
)
from adjit.ir.core import ONE, ZERO, Atom, Const, Sym, const
from adjit.ir.spellings import INDEX
from adjit.ir.types import INT64, Array

Bounds = tuple[Atom, Atom, Atom]


def static_items(lx: Lowering, source: Value, node: ast.AST) -> list[Value] | None:
    """The items of an iterable whose length is known when the program is built and that holds tuples."""
    match source:
        case TupleValue():
            return list(source.items)
        case EnumerateValue():
            inner = static_items(lx, source.item, node)
            if inner is None:
                return None
            numbers = (expressions.integer(lx, "add", source.start, const(k)) for k in range(len(inner)))
            return [TupleValue((n, v)) for n, v in zip(numbers, inner, strict=True)]
        case ReversedValue():
            inner = static_items(lx, source.item, node)
            return None if inner is None else inner[::-1]
        case ZipValue():
            columns = [static_items(lx, item, node) for item in source.items]
            known = [c for c in columns if c is not None]
            if len(known) == len(columns):
                return [TupleValue(row) for row in zip(*known, strict=False)]
            if known:
                lx.refuse(
                    node, "'zip' of a tuple with something of unknown length", "index the tuple in a loop"
                )
            return None
        case _:
            return None


def access(lx: Lowering, source: Value, node: ast.AST) -> tuple[Bounds, Callable[[Atom], Value]]:
    """A counted loop's bounds over an iterable, and its element for each index."""
    if isinstance(source, RangeValue):
        return (source.lo, source.hi, source.step), lambda index: index
    if isinstance(source, ReversedValue) and isinstance(source.item, RangeValue):
        inner = source.item
        if inner.step == ONE:
            lo, hi, _ = _indices(lx, inner)
            down = (expressions.integer(lx, "sub", hi, ONE), expressions.integer(lx, "sub", lo, ONE))
            return (*down, const(-1)), lambda index: index
    if isinstance(source, ReversedValue):
        length = count(lx, source.item, node)
        last = expressions.integer(lx, "sub", length, ONE)
        return (last, const(-1), const(-1)), lambda index: item(lx, source.item, index, node)
    length = count(lx, source, node)
    return (ZERO, length, ONE), lambda index: item(lx, source, index, node)


def count(lx: Lowering, source: Value, node: ast.AST) -> Atom:
    """How many items an iterable has."""
    match source:
        case RangeValue():
            return _range_count(lx, source)
        case EnumerateValue() | ReversedValue():
            return count(lx, source.item, node)
        case ZipValue() if source.items:
            least, *others = (count(lx, item, node) for item in source.items)
            for other in others:
                if other != least:
                    least = lx.let("min", least, other, fn="min", name="count")
            return least
        case Growing():
            return source.count
        case IndexSpace():
            return _product(lx, source.shape)
        case FlatValue() | NdEnumerateValue():
            return arrays.size_of(lx, source.array)
        case Sym() if isinstance(source.type, Array) and source.type.ndim > 0:
            return indexing.extent(lx, source, 0)
        case _:
            lx.refuse(
                node,
                f"a loop over {lx.kind(source)} is not supported",
                "loop over a range, an array or a tuple",
            )


def _indices(lx: Lowering, source: RangeValue) -> tuple[Atom, Atom, Atom]:
    """The bounds and the step as int64: those of a small type would wrap (`u[0] - u[1]` of two uint8)."""
    given = (source.lo, source.hi, source.step)
    lo, hi, step = (
        a if isinstance(a, Const) or a.type == INT64 else lx.let("cast", a, type=INT64, fn=INDEX)
        for a in given
    )
    return lo, hi, step


def _range_count(lx: Lowering, source: RangeValue) -> Atom:
    lo, hi, step = _indices(lx, source)
    whole = expressions.integer(lx, "sub", hi, lo)
    if source.step != ONE:
        back = expressions.integer(lx, "sub", lo, hi)
        down = expressions.integer(lx, "floordiv", back, step)
        whole = expressions.integer(lx, "sub", ZERO, down)
    if isinstance(whole, Const):
        return const(max(0, int(whole.value.real)))
    return lx.let("max", ZERO, whole, type=INT64, fn="max", name="count")


def item(lx: Lowering, source: Value, k: Atom, node: ast.AST) -> Value:
    """Item `k` of an iterable, 0 <= k < count."""
    match source:
        case RangeValue():
            lo, _, step = _indices(lx, source)
            return expressions.integer(lx, "add", lo, expressions.integer(lx, "mul", k, step))
        case EnumerateValue():
            number = expressions.integer(lx, "add", k, source.start)
            return TupleValue((number, item(lx, source.item, k, node)))
        case ReversedValue():
            last = expressions.integer(lx, "sub", count(lx, source.item, node), ONE)
            return item(lx, source.item, expressions.integer(lx, "sub", last, k), node)
        case ZipValue():
            return TupleValue(tuple(item(lx, part, k, node) for part in source.items))
        case Growing():
            return growing.item(lx, source, k, node)
        case IndexSpace():
            return TupleValue(_digits(lx, k, source.shape))
        case FlatValue():
            with lx.at(node):
                return lx.builder.load(source.array, _digits(lx, k, arrays.shape_of(lx, source.array)))
        case NdEnumerateValue():
            index = _digits(lx, k, arrays.shape_of(lx, source.array))
            with lx.at(node):
                return TupleValue((TupleValue(index), lx.builder.load(source.array, index)))
        case Sym() if is_array(source):
            with lx.at(node):
                return indexing.load(lx, source, k, node)
        case _:
            lx.refuse(
                node,
                f"a loop over {lx.kind(source)} is not supported",
                "loop over a range, an array or a tuple",
            )


def _product(lx: Lowering, shape: tuple[Atom, ...]) -> Atom:
    total: Atom = ONE
    for extent in shape:
        total = expressions.integer(lx, "mul", total, extent)
    return total


def _digits(lx: Lowering, k: Atom, shape: tuple[Atom, ...]) -> tuple[Atom, ...]:
    """The indices of element `k` of a box, the last axis running fastest."""
    if not shape:
        return ()
    items: list[Atom] = []
    for extent in reversed(shape[1:]):
        items.append(expressions.integer(lx, "mod", k, extent))
        k = expressions.integer(lx, "floordiv", k, extent)
    return (k, *reversed(items))
