"""Subscripts: elements, views, tuple items."""

from __future__ import annotations

import ast

import numpy as np

from adjit.frontend import (
    elements,
    expressions,
    fancy,
    growing,
    inline,
    library,
    lists,
    remedies,
    slices,
    views,
)
from adjit.frontend.context import Lowering
from adjit.frontend.values import (
    Axis,
    Elements,
    FlatValue,
    Growing,
    SliceValue,
    Static,
    TupleValue,
    Value,
    is_array,
    is_scalar,
)
from adjit.ir.core import ONE, ZERO, Atom, Const, If, Slice, Sym, const
from adjit.ir.types import BOOL, Array, Scalar

Item = Atom | Slice


def place(lx: Lowering, node: ast.Subscript) -> tuple[Value, Value]:
    """The owner and the index of a subscript, evaluated in Python's order."""
    return expressions.evaluate(lx, node.value), index_of(lx, node)


def index_of(lx: Lowering, node: ast.Subscript) -> Value:
    """The index of a subscript."""
    if isinstance(node.slice, ast.Tuple) and not any(isinstance(e, ast.Starred) for e in node.slice.elts):
        return TupleValue(tuple(_index_part(lx, e) for e in node.slice.elts))
    return expressions.lazily(lx, node.slice)


def _index_part(lx: Lowering, node: ast.expr) -> Value:
    """An item of an index: parts of index arrays are not made views, as they may have new axes."""
    part = expressions.lazily(lx, node)
    return part if isinstance(part, Elements) and part.part is not None else elements.solid(lx, part, node)


def parts_of(index: Value) -> tuple[Value, ...]:
    """What stands between the brackets."""
    return index.items if isinstance(index, TupleValue) else (index,)


def elements_at(lx: Lowering, owner: Value, index: Value, node: ast.AST) -> Value:
    """`owner[index]` for who takes arrays an element at a time: a part of an array is not made a view."""
    if not isinstance(owner, Sym) or not is_array(owner) or owner in lx.lists:
        return load(lx, owner, index, node)
    parts = parts_of(index)
    if any(elements.is_whole(p) for p in parts):
        return fancy.gather(lx, owner, parts, node)
    return section(lx, owner, parts, node)


def section(lx: Lowering, owner: Sym, parts: tuple[Value, ...], node: ast.AST) -> Value:
    """`owner[parts]` of numbers and slices: an element, or the part of the array."""
    base, items = resolve(lx, owner, tuple(p for p in parts if not is_new(p)), node)
    with lx.at(node):
        axes = [axis_item(lx, base, k, i, node) for k, i in enumerate(items)]
        if any(map(is_new, parts)):
            assert isinstance(owner.type, Array)
            return elements.part(lx, base, _with_new(axes, parts, len(items) - owner.type.ndim))
        if is_element(items):
            return lx.builder.load(base, scalars(items))
        return elements.part(lx, base, tuple(axes))


def flat_index(lx: Lowering, owner: FlatValue, index: Value, node: ast.AST) -> tuple[Atom, ...]:
    """The index of an element of `array.flat`, counted from the end where negative."""
    if not is_scalar(index):
        lx.refuse(
            node, f"'.flat' is indexed by {lx.kind(index)}", "index a.ravel(), or the array along its axes"
        )
    shape = [lx.extent(owner.array, d) for d in range(elements.ndim_of(owner.array))]
    size: Atom = ONE
    for n in shape:
        size = expressions.integer(lx, "mul", size, n)
    left = expressions.number(lx, inline.call_library(lx, library.from_start, [index, size], node), node)
    found: list[Atom] = []
    for n in shape[:0:-1]:
        found.insert(0, expressions.integer(lx, "mod", left, n))
        left = expressions.integer(lx, "floordiv", left, n)
    return (left, *found)


def is_new(part: Value) -> bool:
    """Whether a part of an index is None, which makes a new axis."""
    return isinstance(part, Static) and part.value is None


def is_part(lx: Lowering, owner: Sym, parts: tuple[Value, ...], node: ast.AST) -> bool:
    """Whether numbers and slices name a part of an array, not an element."""
    return any(map(is_new, parts)) or not is_element(resolve(lx, owner, parts, node)[1])


def _with_new(axes: list[Atom | Axis], parts: tuple[Value, ...], rows: int) -> tuple[Atom | Axis | None, ...]:
    """The items of an array's axes with None where the parts have it; `rows` of them stand before the parts."""
    dots = next((k for k, p in enumerate(parts) if isinstance(p, Static) and p.value is Ellipsis), len(parts))
    last = parts[dots + 1 :]
    end = len(axes) - sum(not is_new(p) for p in last)
    own, tail = iter(axes[rows:end]), iter(axes[end:])
    first = [None if is_new(p) else next(own) for p in parts[:dots]]
    return (*axes[:rows], *first, *own, *(None if is_new(p) else next(tail) for p in last))


def axis_item(lx: Lowering, base: Sym, axis: int, item: Item, node: ast.AST) -> Atom | Axis:
    """An index item with its slice spelled out by first element and extent."""
    if not isinstance(item, Slice):
        return item
    return slices.axis_of(lx, item, extent(lx, base, axis), node)


def extent(lx: Lowering, array: Sym, axis: int) -> Atom:
    """`array.shape[axis]`."""
    return lx.extent(array, axis)


def load(lx: Lowering, owner: Value, index: Value, node: ast.AST) -> Value:
    """`owner[index]`."""
    if isinstance(owner, TupleValue):
        return _tuple_item(lx, owner, index, node)
    if isinstance(owner, Static) and any(owner.value is s for s in (np.s_, np.index_exp)):
        return index
    if isinstance(owner, Static) and isinstance(owner.value, list | dict | str):
        lx.refuse(node, f"{lx.kind(owner)} is indexed", remedies.of_container(owner.value))
    if isinstance(owner, FlatValue):
        return lx.builder.load(owner.array, flat_index(lx, owner, index, node))
    if isinstance(owner, Growing):
        return growing.load(lx, owner, index, node)
    if not isinstance(owner, Sym) or not is_array(owner):
        lx.refuse(
            node,
            f"{lx.kind(owner)} is indexed",
            remedies.in_place_of_range(owner, "index a tuple or an array"),
        )
    parts = parts_of(index)
    if any(elements.is_whole(p) for p in parts):
        if owner in lx.lists:
            lx.refuse(node, "a list is indexed by an array", "make it an array: np.array(...)")
        return elements.solid(lx, fancy.gather(lx, owner, parts, node), node)
    if any(map(is_new, parts)):
        return views.with_new_axes(lx, owner, parts, node)
    base, items = resolve(lx, owner, parts, node)
    if owner in lx.lists and not is_element(items):
        view = lx.builder.view(base, items, Array(_dtype(base), 1, "?"))
        return lists.copied(lx, view, node)
    type_ = base.type
    assert isinstance(type_, Array)
    with lx.at(node):
        if is_element(items):
            return lx.builder.load(base, scalars(items))
        if all(i == Slice() for i in items) and items:
            return base
        lead = next(k for k, i in enumerate(items) if isinstance(i, Slice))
        if all(i == Slice() for i in items[lead:]):
            return lx.rows(base, scalars(items[:lead]))
        cut = [i for i in items if isinstance(i, Slice)]
        view = lx.builder.view(base, items, Array(type_.dtype, len(cut), "?", type_.readonly))
        for axis, slice_ in enumerate(cut):
            if _at_most_one(lx, slice_):
                lx.integers.slim(view, axis)
        return view


def _at_most_one(lx: Lowering, cut: Slice) -> bool:
    """Whether a slice has one element at most by its form: `[:1]`, `[i : i + 1]`, `[-1:]`."""
    if cut.step not in (None, ONE):
        return False
    if cut.stop is None:
        return cut.start == const(-1)
    return lx.integers.follows(cut.stop, ZERO if cut.start is None else cut.start)


def _dtype(array: Sym) -> Scalar:
    assert isinstance(array.type, Array)
    return array.type.dtype


def is_element(items: tuple[Item, ...]) -> bool:
    """Whether the index names one element."""
    return not any(isinstance(i, Slice) for i in items)


def scalars(items: tuple[Item, ...]) -> tuple[Atom, ...]:
    """The items, none of which is a slice."""
    return tuple(i for i in items if not isinstance(i, Slice))


def refuse_surplus(lx: Lowering, owner: Sym, given: int, node: ast.AST) -> None:
    """More indices than axes."""
    assert isinstance(owner.type, Array)
    rank = owner.type.ndim
    if given > rank:
        indices = "1 index" if given == 1 else f"{given} indices"
        what = "a list" if lx.is_list(owner) else f"an array of {rank} dimension{'' if rank == 1 else 's'}"
        lx.refuse(
            node, f"{indices} for {what}", "leave out an index" if rank else "pass a number, or an array"
        )


def resolve(
    lx: Lowering, owner: Sym, parts: tuple[Value, ...], node: ast.AST
) -> tuple[Sym, tuple[Item, ...]]:
    """The array and one item per axis: rows of rows are resolved to their base, axes are spelled out."""
    type_ = owner.type
    assert isinstance(type_, Array)
    dots = [k for k, p in enumerate(parts) if isinstance(p, Static) and p.value is Ellipsis]
    given = len(parts) - len(dots)
    refuse_surplus(lx, owner, given, node)
    if len(dots) > 1:
        lx.refuse(node, "an index has at most one '...'", "write ':' for the other axes")
    at = dots[0] if dots else len(parts)
    full = [Slice()] * (type_.ndim - given)
    items = (
        *(item(lx, p, node) for p in parts[:at]),
        *full,
        *(item(lx, p, node) for p in parts[at + 1 :]),
    )
    base, before = lx.prefix(owner)
    return base, (*before, *items)


def item(lx: Lowering, part: Value, node: ast.AST) -> Item:
    """A number or a slice of an index."""
    if isinstance(part, SliceValue):
        return Slice(part.start, part.stop, part.step)
    if isinstance(part, Static) and part.value is None:
        remedy = "write it where the array is computed with: y[:] = x[:, None] * z"
        lx.refuse(node, "a view with an axis added by None has a name, or is passed on", remedy)
    if is_scalar(part):
        atom = expressions.number(lx, part, node)
        if atom.type == BOOL:
            lx.refuse(node, "a bool is used as an index", "convert it by int()")
        if isinstance(atom, Const) and not isinstance(atom.value, int):
            lx.refuse(node, f"the index {atom.value} is not an integer", "convert it by int()")
        return atom
    lx.refuse(node, f"{lx.kind(part)} is used as an index", "index by numbers, slices and arrays")


# tuples


def _tuple_item(lx: Lowering, owner: TupleValue, index: Value, node: ast.AST) -> Value:
    count = len(owner.items)
    if isinstance(index, SliceValue):
        parts = (index.start, index.stop, index.step)
        if any(p is not None and not isinstance(p, Const) for p in parts):
            lx.refuse(node, "a tuple's slice must be constant", "write its bounds as numbers")
        bounds = (int(p.value.real) if isinstance(p, Const) else None for p in parts)
        return TupleValue(owner.items[slice(*bounds)])
    k = expressions.number(lx, index, node)
    if isinstance(k, Const) and isinstance(k.value, int):
        if not -count <= k.value < count:
            lx.refuse(node, *remedies.outside(k.value, count, node))
        return owner.items[k.value]
    if isinstance(k, Const) or not count:
        lx.refuse(node, "this index of a tuple is not supported", "index it by an integer")
    return _pick(lx, owner, k, 0, node)


def _pick(lx: Lowering, owner: TupleValue, k: Atom, position: int, node: ast.AST) -> Value:
    """Item `k`, a run-time index, by a chain of branches; counted from the end where negative."""
    count = len(owner.items)
    if position == 0:
        negative = lx.let("lt", k, const(0), type=BOOL)
        k = _value(lx.branch(negative, lambda: lx.let("add", k, const(count)), lambda: k, node))
        low, high = lx.let("lt", k, const(0), type=BOOL), lx.let("ge", k, const(count), type=BOOL)
        outside = lx.let("or_", low, high, type=BOOL)
        failure = lx.failure("tuple index out of range", node, "IndexError")
        lx.builder.append(If(outside, (failure,), (), span=lx.span(node)))
    if position == count - 1:
        return owner.items[position]
    here = lx.let("eq", k, const(position), type=BOOL)
    return lx.branch(
        here, lambda: owner.items[position], lambda: _pick(lx, owner, k, position + 1, node), node
    )


def _value(value: Value) -> Atom:
    assert is_scalar(value)
    return value  # pyright: ignore[reportReturnType]
