"""`wrt` inside a program: which arguments, and which numbers and arrays in them, a derivative is by."""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any

from adjit.frontend.context import Lowering
from adjit.frontend.values import (
    NONE,
    Closure,
    DerivativeOf,
    Partial,
    Static,
    TupleValue,
    Value,
    atoms,
    is_atom,
)
from adjit.ir.core import Const, Sym, Undef
from adjit.ir.types import Array, Scalar

Wanted = tuple[tuple[int, tuple[str, ...]], ...]
Tree = int | None | tuple[type | None, tuple["Tree", ...]]
"""Numbers of derivatives in a tree like a value; None where there is none."""


def wanted(lx: Lowering, function: Value, wrt: object, node: ast.AST) -> Wanted:
    """`wrt` as the number of an argument and the path into it, for each."""
    items = wrt if isinstance(wrt, tuple) else (wrt,)
    if not items:
        lx.refuse(node, "wrt is an empty tuple", "give positions or names: wrt=0, wrt=('x', 'p.D')")
    found = tuple(_wanted(lx, function, item, node) for item in items)
    for k, (at, path) in enumerate(found):
        for other, more in found[:k]:
            shared = min(len(path), len(more))
            if at == other and path[:shared] == more[:shared]:
                lx.refuse(node, f"wrt={wrt!r} names an argument twice", "name each argument once")
    return found


def _wanted(lx: Lowering, function: Value, item: object, node: ast.AST) -> tuple[int, tuple[str, ...]]:
    if isinstance(item, str):
        name, *parts = item.split(".")
        names = parameters(function)
        if name not in names:
            known = f"it has: {', '.join(names)}" if names else "give a position"
            lx.refuse(node, f"wrt={item!r}: {lx.kind(function)} has no such parameter", known)
        return names.index(name), tuple(parts)
    if isinstance(item, bool) or not isinstance(item, int):
        remedy = "give positions or names: wrt=0, wrt=('x', 'p.D')"
        lx.refuse(node, f"wrt={item!r} in a derivative inside a program", remedy)
    at = item + len(parameters(function)) if item < 0 else item
    if at < 0:
        lx.refuse(
            node,
            f"wrt={item}: {lx.kind(function)} has no such position",
            "give positions or names: wrt=0, wrt=('x', 'p.D')",
        )
    return at, ()


def parameters(function: Value) -> list[str]:
    """Names of a function's parameters, in order, as far as they are known."""
    match function:
        case Closure():
            a = function.node.args
            return [p.arg for p in (*a.posonlyargs, *a.args, *a.kwonlyargs)]
        case Partial():
            names = parameters(function.function)[len(function.args) :]
            return [n for n in names if n not in function.keywords]
        case DerivativeOf():
            return parameters(function.function)
        case Static():
            return _of_object(function.value)
        case _:
            return []


def _of_object(obj: Any) -> list[str]:
    if isinstance(obj, functools.partial):
        names = _of_object(obj.func)[len(obj.args) :]
        return [n for n in names if n not in obj.keywords]
    try:
        return list(inspect.signature(getattr(obj, "py_func", obj)).parameters)
    except (TypeError, ValueError):
        return []


def places(value: Value, start: int) -> Tree:
    """A tree like the value, of the numbers of its atoms from `start` on; None for what carries no derivative."""
    at = count(start)

    def build(v: Value) -> Tree:
        if isinstance(v, TupleValue):
            return v.cls, tuple(build(item) for item in v.items)
        if not is_atom(v):
            return None
        place = next(at)
        return place if may_carry(v) else None

    return build(value)


def numbers(tree: Tree) -> Iterator[int]:
    """The numbers in a tree, left to right."""
    if isinstance(tree, int):
        yield tree
    elif tree is not None:
        for item in tree[1]:
            yield from numbers(item)


def may_carry(a: Value) -> bool:
    """Whether a number or an array may carry derivatives, as far as its type is known."""
    if not isinstance(a, Sym | Const | Undef):
        return False
    type = a.type.dtype if isinstance(a.type, Array) else a.type
    return not isinstance(type, Scalar) or not type.known or type.differentiable


def part_of(lx: Lowering, value: Value, start: int, path: Sequence[str], node: ast.AST) -> tuple[Value, int]:
    """The part of an argument that a path names, and how many atoms come before it."""
    for name in path:
        fields = getattr(value.cls, "_fields", ()) if isinstance(value, TupleValue) else ()
        size = len(value.items) if isinstance(value, TupleValue) else 0
        k = fields.index(name) if name in fields else int(name) if name.isdecimal() else size
        if not isinstance(value, TupleValue) or k >= size:
            lx.refuse(
                node,
                f"wrt: there is no '{'.'.join(path)}' in {lx.kind(value)}",
                "name a field or the number of an item",
            )
        start += sum(1 for item in value.items[:k] for _ in atoms(item))
        value = value.items[k]
    return value, start


def filled(tree: Tree, leaf: Callable[[int], Value]) -> Value:
    """The tree as a value: `leaf(number)` at its leaves, None where there is no derivative."""
    if tree is None:
        return NONE
    if isinstance(tree, int):
        return leaf(tree)
    cls, items = tree
    return TupleValue(tuple(filled(item, leaf) for item in items), cls)
