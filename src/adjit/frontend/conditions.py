"""`where=` of reductions: the elements that a condition chooses, the others replaced by what changes nothing."""

from __future__ import annotations

import ast

from adjit.frontend import broadcasting, elements
from adjit.frontend.context import Lowering
from adjit.frontend.values import Elements, Place, Value
from adjit.ir.core import FALSE, ONE, TRUE, ZERO, Atom, Const, const
from adjit.ir.types import BOOL, INT64


def mask_of(lx: Lowering, name: str, source: Elements, where: Value, node: ast.AST) -> Elements:
    """The condition, broadcast to the array's shape."""
    if elements.dtype_of(where) != BOOL:
        lx.refuse(node, f"'where' of 'np.{name}' that is not a mask", "compare: where=w != 0")
    mask = elements.elements_of(lx, where, node)
    pair = broadcasting.stretched(lx, [mask, source], node)
    shape, (mask, _) = broadcasting.broadcast(lx, pair, node)
    if len(shape) > len(source.shape):
        lx.refuse(node, f"'where' of 'np.{name}' with more dimensions than the array", "index the array")
    for n, m in zip(shape, source.shape, strict=True):
        broadcasting.check_equal(lx, n, m, "the condition 'where' has another shape than the array", node)
    mask = elements.once(lx, mask, source.shape, node)
    return Elements(source.shape, lambda p: mask.at(broadcasting.aligned(p, mask.shape)), BOOL)


def chosen(lx: Lowering, source: Elements, mask: Elements, neutral: int, node: ast.AST) -> Elements:
    """The array with a neutral number (0, or 1) where the condition does not hold."""
    dtype = source.dtype
    other: Const = const(neutral)
    if dtype == BOOL:
        other = TRUE if neutral else FALSE
    elif dtype.is_complex:
        other = Const(complex(neutral), dtype)
    elif dtype.known and not dtype.is_int:
        other = Const(float(neutral), dtype)
    picked = elements.apply(lx, "select", (mask, source, other), node)
    return Elements(source.shape, picked.at, source.dtype)


def ones(lx: Lowering, mask: Elements) -> Elements:
    """1 where the condition holds, else 0."""

    def at(places: tuple[Place, ...]) -> Atom:
        return lx.let("select", mask.at(places), ONE, ZERO, type=INT64)

    return Elements(mask.shape, at, INT64)
