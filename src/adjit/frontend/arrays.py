"""Arrays that a program makes, copies and asks: creation functions, attributes, methods, local lists."""

from __future__ import annotations

import ast
from collections.abc import Callable

import numpy as np

from adjit.frontend import creation, expressions, indexing, iteration, lists, parts, remedies, views
from adjit.frontend.context import Lowering
from adjit.frontend.values import (
    NONE,
    FlatValue,
    Method,
    Static,
    TupleValue,
    Value,
)
from adjit.ir.core import ONE, ZERO, Atom, Loop, Sym, Undef, const
from adjit.ir.types import UNKNOWN, Array, Scalar

# attributes and methods


def attribute(lx: Lowering, array: Sym | Undef, name: str, node: ast.AST) -> Value:
    """`array.name`."""
    type_ = array.type
    assert isinstance(type_, Array)
    if isinstance(array, Undef):
        lx.refuse(node, "an array is read before it is assigned", "assign it on every path")
    if array in lx.lists and name != "copy":
        lx.refuse(node, *remedies.list_attribute(name))
    if name == "shape":
        return TupleValue(shape_of(lx, array))
    if name == "ndim":
        return const(type_.ndim)
    if name == "size":
        return size_of(lx, array)
    if name == "dtype":
        if not type_.dtype.known:
            lx.refuse(node, "the dtype of this array is not known yet", "give the dtype explicitly")
        return Static(np.dtype(type_.dtype.name))
    if name == "T":
        return views.transposed(lx, array, node)
    if name == "flat":
        return FlatValue(array)
    if name in parts.NAMES:
        return parts.part(lx, array, name, node)
    return method(lx, array, name, node)


def method(lx: Lowering, owner: Value, name: str, node: ast.AST) -> Value:
    """A method of a whole array, not called yet."""
    words = remedies.array_attribute(name)
    if words is not None:
        lx.refuse(node, *words)
    return Method(owner, name)


def shape_of(lx: Lowering, array: Sym) -> tuple[Atom, ...]:
    """The extents."""
    assert isinstance(array.type, Array)
    return tuple(indexing.extent(lx, array, d) for d in range(array.type.ndim))


def size_of(lx: Lowering, array: Sym) -> Atom:
    """The number of elements."""
    total: Atom = ONE
    for extent in shape_of(lx, array):
        total = expressions.integer(lx, "mul", total, extent)
    return total


def call_method(
    lx: Lowering, array: Sym, name: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST
) -> Value:
    """`array.name(*args)`."""
    if name == "copy" and not args and not kwargs:
        return lists.copied(lx, array, node) if array in lx.lists else copy(lx, array, None, node, order="C")
    if name == "flatten" and not args and not kwargs:
        return flattened(lx, array, node)
    if name == "astype" and len(args) == 1 and not kwargs:
        return copy(lx, array, creation.dtype_of(lx, args[0], node), node)
    if name == "fill" and len(args) == 1 and not kwargs:
        value = expressions.number(lx, args[0], node)
        with lx.at(node):
            nest(lx, array, lambda index: lx.builder.store(array, index, value))
        return NONE
    if name == "item" and not args and isinstance(array.type, Array) and array.type.ndim == 0:
        return lx.builder.load(array, ())
    lx.refuse(node, f"the array method '{name}' is not supported", "write the loop over its elements")


def flattened(lx: Lowering, array: Sym, node: ast.AST) -> Sym:
    """`array.flatten()`: a fresh 1-D array of the elements in index order."""
    source = FlatValue(array)
    assert isinstance(array.type, Array)
    n = iteration.count(lx, source, node)
    with lx.at(node):
        made = lx.builder.alloc(array.name, Array(array.type.dtype, 1, "C"), (n,))

        def element(k: Sym) -> None:
            value = iteration.item(lx, source, k, node)
            lx.builder.store(made, (k,), expressions.number(lx, value, node))

        with lx.builder.filling(made):
            counted(lx, n, element)
    return made


# loops made by the compiler


def counted(lx: Lowering, n: Atom, body: Callable[[Sym], None], name: str = "k", asked: bool = False) -> None:
    """`for k in range(n): body(k)`, carrying nothing. asked: see `ir.core.Loop`."""
    index = Sym(name, UNKNOWN)
    with lx.builder.collect() as block:
        body(index)
    flows = ((), (), tuple(block), (), (), None, lx.builder.span)
    lx.builder.append(Loop(index, ZERO, n, ONE, *flows, asked=asked))


def nest(lx: Lowering, array: Sym, body: Callable[[tuple[Atom, ...]], None]) -> None:
    """A loop nest over all elements of an array."""
    shape = shape_of(lx, array)

    def level(d: int, index: tuple[Atom, ...]) -> None:
        if d == len(shape):
            body(index)
        else:
            counted(lx, shape[d], lambda k: level(d + 1, (*index, k)), asked=lx.asks_for_threads)

    level(0, ())


def copy(
    lx: Lowering,
    array: Sym,
    dtype: Scalar | None,
    node: ast.AST,
    through: str | None = None,
    order: str = "K",
) -> Sym:
    """A fresh array of the same elements; `through` is an op applied to each. `order` is NumPy's: "C" or "K"."""
    type_ = array.type
    assert isinstance(type_, Array)
    dtype = dtype or type_.dtype
    fortran = type_.layout == "F" and type_.ndim > 1 and order == "K"
    target_type = Array(dtype, type_.ndim, "F" if fortran else "C")
    with lx.at(node):
        target = lx.builder.alloc(
            array.name, target_type, shape_of(lx, array), None, array if fortran else None
        )

        def element(index: tuple[Atom, ...]) -> None:
            value = lx.builder.load(array, index)
            if through is not None:
                value = lx.let(through, value, type=dtype)
            lx.builder.store(target, index, value)

        with lx.builder.filling(target):
            nest(lx, array, element)
    return target
