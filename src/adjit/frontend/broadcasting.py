"""Shapes that meet: NumPy's rules, what is stretched, what is checked as the program runs."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from adjit.frontend import elements
from adjit.frontend.context import DeadPath, Lowering
from adjit.frontend.values import Elements, Place
from adjit.ir.core import ONE, ZERO, Atom, Const, If
from adjit.ir.types import BOOL, INT64


def broadcast(
    lx: Lowering, operands: Sequence[Elements], node: ast.AST
) -> tuple[tuple[Atom, ...], list[Elements]]:
    """The common shape by NumPy's rules, and the operands with the extents spelled out that are stretched.

    Stretched are extents that are known to be one: constants, and extents of arguments. What is not known to agree is
    checked at run time; another extent that only turns out to be one there is not stretched: that raises, too.
    """
    rank = max((len(o.shape) for o in operands), default=0)
    out: list[Atom] = []
    shapes = [list(o.shape) for o in operands]
    for d in range(rank):
        at = [(s, len(s) - rank + d) for s in shapes if len(s) - rank + d >= 0]
        extents = [s[k] for s, k in at]
        if not all(lx.integers.same(e, extents[0]) for e in extents):
            for s, k in at:
                s[k] = ONE if lx.is_one(s[k]) else s[k]
        wide = [s[k] for s, k in at if s[k] != ONE]
        out.append(agreed(lx, wide, node) if wide else ONE)
    pairs = zip(operands, shapes, strict=True)
    return tuple(out), [o if list(o.shape) == s else replace(o, shape=tuple(s)) for o, s in pairs]


def stretched(
    lx: Lowering, operands: Sequence[Elements], node: ast.AST, fixed: tuple[Atom, ...] = ()
) -> list[Elements]:
    """The operands; an extent of at most one (`a[:1]`, `a[i : i + 1]`) is one beside an axis that may be longer.

    Of several extents of at most one that differ, one of them nothing makes the result nothing.
    fixed: the shape that they are stored into.
    """
    shapes = [fixed] if fixed else [o.shape for o in operands]
    least: dict[int, Atom] = {}
    out: list[Elements] = []
    for o in operands:
        shape = list(o.shape)
        for d in range(-len(shape), 0):
            if not _may_stretch(lx, shape[d]):
                continue
            if fixed:
                wide = None if lx.integers.same(shape[d], fixed[d]) else fixed[d]
            else:
                wide = next((s[d] for s in shapes if len(s) >= -d and not _one_at_most(lx, s[d])), None)
            if wide is not None:
                _check_one(lx, shape[d], wide, node)
                shape[d] = ONE
            elif d in least:
                shape[d] = ONE
            elif not all(
                e == ONE or lx.integers.same(e, shape[d]) for e in (s[d] for s in shapes if len(s) >= -d)
            ):
                shape[d] = least[d] = _least(lx, [s[d] for s in shapes if len(s) >= -d])
        if tuple(shape) != o.shape:  # in memory, as nothing may be computed where there is nothing
            source = o if o.part is not None else elements.whole(lx, elements.materialise(lx, o, node))
            o = replace(source, shape=tuple(shape))
        out.append(o)
    return out


def _least(lx: Lowering, extents: Sequence[Atom]) -> Atom:
    """The least of the extents that may be none."""
    first, *rest = (e for e in extents if _may_stretch(lx, e))
    for other in rest:
        if not lx.integers.same(first, other):
            first = lx.let("min", first, other, type=INT64, fn="min", name="count")
    return first


def _one_at_most(lx: Lowering, extent: Atom) -> bool:
    return extent == ONE or _may_stretch(lx, extent) or lx.is_one(extent)


def _may_stretch(lx: Lowering, extent: Atom) -> bool:
    """Whether an extent is known to be none or one, but not which."""
    return not isinstance(extent, Const) and lx.integers.at_most_one(extent)


def _check_one(lx: Lowering, extent: Atom, wide: Atom, node: ast.AST) -> None:
    """Raise ValueError unless an extent of at most one fits a longer one: it is one, or nothing fits nothing."""
    if extent == ONE:
        return
    failure = lx.failure("operands could not be broadcast together", node)
    with lx.at(node):
        none, other = (lx.let("ne", extent, e, type=BOOL) for e in (ONE, wide))
        lx.builder.append(If(lx.let("and_", none, other, type=BOOL), (failure,), (), span=lx.span(node)))


def agreed(lx: Lowering, extents: Sequence[Atom], node: ast.AST) -> Atom:
    """One of the extents, all of which must be equal."""
    first = next((e for e in extents if isinstance(e, Const)), extents[0])
    for other in extents:
        check_equal(lx, other, first, "operands could not be broadcast together", node)
    return first


def check_equal(
    lx: Lowering, a: Atom, b: Atom, message: str, node: ast.AST, error: str = "ValueError"
) -> None:
    """Raise an error if two extents differ, if it is not known that they do not."""
    same = lx.integers.same(a, b)
    if same:
        return
    failure = lx.failure(message, node, error)
    with lx.at(node):
        if same is False:
            lx.builder.append(failure)
            raise DeadPath
        lx.builder.append(If(lx.let("ne", a, b, type=BOOL), (failure,), (), span=lx.span(node)))
    lx.integers.learn(a, b)


def aligned(places: tuple[Place, ...], shape: tuple[Atom, ...]) -> tuple[Place, ...]:
    """The places of an operand of this shape, where the result stands at `places`."""
    own = places[len(places) - len(shape) :]
    return tuple(Place(ZERO) if e == ONE else p for p, e in zip(own, shape, strict=True))
