"""`z.real` and `z.imag` of whole arrays: elements that are computed where they are used.

NumPy gives a view of z. Here a name stands for a copy, which is as good as long as nobody writes z, or the view: once
the program is lowered, `frontend.shown` finds out. What is stored through the view (`z.imag[1:] = v`) is stored in z.
"""

from __future__ import annotations

import ast
from dataclasses import replace

import numpy as np

from adjit.frontend import calls, elements, expressions, indexing
from adjit.frontend.arguments import Handler, bound
from adjit.frontend.context import Lowering
from adjit.frontend.values import Elements, Place, Static, Value, is_array
from adjit.ir.core import Atom, Sym, const
from adjit.ir.types import BOOL, UNKNOWN

NAMES = frozenset({"real", "imag"})

_ALL = Static(Ellipsis)
Where = tuple[Sym, str, Value]
"""Complex numbers, the name of a part of them, and an index."""


def part(lx: Lowering, owner: Value, name: str, node: ast.AST) -> Value:
    """The real or the imaginary part of an array; the real one of real numbers is the array itself."""
    source = elements.elements_of(lx, owner, node)
    dtype = source.dtype
    if dtype.known and not dtype.is_complex:
        return owner if name == "real" else _zeros(lx, source, node)
    found = elements.apply(lx, name, (source,), node, f"numpy.{name}")
    return replace(
        found, dtype=dtype.part, shows=None if source.part is None else (source.part[0], f".{name}")
    )


def _zeros(lx: Lowering, source: Elements, node: ast.AST) -> Elements:
    """The imaginary part of real numbers."""

    def at(places: tuple[Place, ...]) -> Atom:
        return const(False) if source.dtype == BOOL else calls.convert(lx, const(0), source.dtype, None, node)

    return Elements(source.shape, at, source.dtype)


def _function(name: str) -> Handler:
    """`np.real(z)` and `np.imag(z)`, of numbers too."""

    def handler(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
        (value,) = bound(lx, f"np.{name}", ("val",), 1)(args, kwargs, node).values()
        if elements.is_whole(value):
            return part(lx, value, name, node)
        return calls.apply_rule(lx, getattr(np, name), (expressions.number(lx, value, node),), node)

    return handler


HANDLERS: dict[object, Handler] = {np.real: _function("real"), np.imag: _function("imag")}
LAZY = (np.real, np.imag)


# elements, and stores


def place(lx: Lowering, target: ast.expr) -> Where | None:
    """What `z.real[index]` names, if that is a place in complex numbers: z, the name of the part, the index.

    `z.real` alone, when it is assigned, is all of it.
    """
    part_of = target.value if isinstance(target, ast.Subscript) else target
    if not isinstance(part_of, ast.Attribute):
        return None
    owner_node, name = part_of.value, part_of.attr
    if name not in NAMES or not isinstance(owner_node, ast.Name | ast.Attribute | ast.Subscript):
        return None  # what a call gives is evaluated once
    mark = lx.builder.mark()
    owner = expressions.evaluate(lx, owner_node)
    if isinstance(owner, Sym) and is_array(owner) and elements.dtype_of(owner).is_complex:
        return owner, name, indexing.index_of(lx, target) if isinstance(target, ast.Subscript) else _ALL
    lx.builder.rewind(mark)
    return None


def at(lx: Lowering, where: Where, node: ast.AST) -> Value:
    """The part of the numbers there, as it is now."""
    owner, name, index = where
    old = indexing.elements_at(lx, owner, index, node)
    if elements.is_whole(old):
        return part(lx, old, name, node)
    return calls.apply_rule(lx, getattr(np, name), (expressions.number(lx, old, node),), node)


def beside(lx: Lowering, where: Where, value: Value, node: ast.AST) -> Value:
    """The complex numbers to store there: the value, and the part that stays."""
    owner, name, index = where
    other = at(lx, (owner, "imag" if name == "real" else "real", index), node)
    pair = (value, other) if name == "real" else (other, value)
    if any(map(elements.is_whole, pair)):
        return replace(elements.apply(lx, "complex", pair, node), dtype=UNKNOWN)
    return lx.let("complex", *(expressions.number(lx, v, node) for v in pair))
