"""Subscripts: elements, views, tuple items."""

from __future__ import annotations

import ast

from adjit.frontend import expressions, lists, remedies, views
from adjit.frontend.context import Lowering
from adjit.frontend.fence import WRITE_THE_LOOP
from adjit.frontend.values import (
    NONE,
    FlatValue,
    SliceValue,
    Static,
    TupleValue,
    Value,
    is_array,
    is_scalar,
    kind,
    same_static,
)
from adjit.ir.core import Atom, Const, If, Raise, Slice, Sym, const
from adjit.ir.types import BOOL, Array, Scalar

Item = Atom | Slice


def place(lx: Lowering, node: ast.Subscript) -> tuple[Value, Value]:
    """The owner and the index of a subscript, evaluated in Python's order."""
    owner = expressions.evaluate(lx, node.value)
    index = expressions.evaluate(lx, node.slice)
    return owner, index


def extent(lx: Lowering, array: Sym, axis: int) -> Atom:
    """`array.shape[axis]`."""
    return lx.extent(array, axis)


def load(lx: Lowering, owner: Value, index: Value, node: ast.AST) -> Value:
    """`owner[index]`."""
    parts = index.items if isinstance(index, TupleValue) else (index,)
    if is_array(owner) and any(same_static(p, NONE) for p in parts):
        return views.with_new_axes(lx, owner, parts, node)
    if isinstance(owner, TupleValue):
        return _tuple_item(lx, owner, index, node)
    if isinstance(owner, Static) and isinstance(owner.value, list | dict | str):
        lx.refuse(node, f"{kind(owner)} is indexed", "use a tuple or a NumPy array")
    if isinstance(owner, FlatValue):
        lx.refuse(node, "'.flat' is indexed", "index the array with one index per axis")
    if not isinstance(owner, Sym) or not is_array(owner):
        lx.refuse(node, f"{kind(owner)} is indexed", "index a tuple or an array")
    base, items = resolve(lx, owner, index, node)
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
        ndim = sum(isinstance(i, Slice) for i in items)
        return lx.builder.view(base, items, Array(type_.dtype, ndim, "?", type_.readonly))


def _dtype(array: Sym) -> Scalar:
    assert isinstance(array.type, Array)
    return array.type.dtype


def is_element(items: tuple[Item, ...]) -> bool:
    """Whether the index names one element."""
    return not any(isinstance(i, Slice) for i in items)


def scalars(items: tuple[Item, ...]) -> tuple[Atom, ...]:
    """The items, none of which is a slice."""
    return tuple(i for i in items if not isinstance(i, Slice))


def resolve(lx: Lowering, owner: Sym, index: Value, node: ast.AST) -> tuple[Sym, tuple[Item, ...]]:
    """The array and one item per axis: rows of rows are resolved to their base, axes are spelled out."""
    type_ = owner.type
    assert isinstance(type_, Array)
    parts = index.items if isinstance(index, TupleValue) else (index,)
    dots = [k for k, p in enumerate(parts) if isinstance(p, Static) and p.value is Ellipsis]
    given = len(parts) - len(dots)
    if given > type_.ndim:
        indices = "1 index" if given == 1 else f"{given} indices"
        remedy = "pass a number, or an array" if type_.ndim == 0 else "leave out an index"
        lx.refuse(node, f"{indices} for an array of {type_.ndim} dimensions", remedy)
    if len(dots) > 1:
        lx.refuse(node, "an index has at most one '...'")
    at = dots[0] if dots else len(parts)
    full = [Slice()] * (type_.ndim - given)
    items = (
        *(_item(lx, p, node) for p in parts[:at]),
        *full,
        *(_item(lx, p, node) for p in parts[at + 1 :]),
    )
    base, before = lx.prefix(owner)
    return base, (*before, *items)


def _item(lx: Lowering, part: Value, node: ast.AST) -> Item:
    if isinstance(part, SliceValue):
        return Slice(part.start, part.stop, part.step)
    if is_array(part):
        dtype = part.type.dtype if isinstance(part, Sym) and isinstance(part.type, Array) else None
        what = "a boolean mask" if dtype == BOOL else "an array"
        lx.refuse(node, f"{what} is used as an index", WRITE_THE_LOOP)
    if isinstance(part, Static) and part.value is None:
        lx.refuse(node, "an axis is added by None", "index the array without it")
    if is_scalar(part):
        atom = expressions.number(lx, part, node)
        if atom.type == BOOL:
            lx.refuse(node, "a bool is used as an index", "convert it by int()")
        if isinstance(atom, Const) and not isinstance(atom.value, int):
            lx.refuse(node, f"the index {atom.value} is not an integer")
        return atom
    lx.refuse(node, f"{kind(part)} is used as an index")


# tuples


def _tuple_item(lx: Lowering, owner: TupleValue, index: Value, node: ast.AST) -> Value:
    count = len(owner.items)
    if isinstance(index, SliceValue):
        parts = (index.start, index.stop, index.step)
        if any(p is not None and not isinstance(p, Const) for p in parts):
            lx.refuse(node, "a tuple's slice must be constant")
        bounds = (int(p.value.real) if isinstance(p, Const) else None for p in parts)
        return TupleValue(owner.items[slice(*bounds)])
    k = expressions.number(lx, index, node)
    if isinstance(k, Const) and isinstance(k.value, int):
        if not -count <= k.value < count:
            lx.refuse(node, *remedies.outside(k.value, count, node))
        return owner.items[k.value]
    if isinstance(k, Const) or not count:
        lx.refuse(node, "this index of a tuple is not supported")
    return _pick(lx, owner, k, 0, node)


def _pick(lx: Lowering, owner: TupleValue, k: Atom, position: int, node: ast.AST) -> Value:
    """Item `k`, a run-time index, by a chain of branches; counted from the end where negative."""
    count = len(owner.items)
    if position == 0:
        negative = lx.let("lt", k, const(0), type=BOOL)
        k = _value(lx.branch(negative, lambda: lx.let("add", k, const(count)), lambda: k, node))
        low, high = lx.let("lt", k, const(0), type=BOOL), lx.let("ge", k, const(count), type=BOOL)
        outside = lx.let("or_", low, high, type=BOOL)
        failure = Raise("IndexError", ("tuple index out of range",), lx.span(node))
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
