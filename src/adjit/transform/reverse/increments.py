"""Recognises `a[i] = a[i] + e - f ...`: the element's adjoint stays where it is, only e and f receive.

t = load a[i]; u = t + e; v = u - f; store a[i] = v   (u, v read once; nothing writes a[i] in between)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from adjit.ir.core import Atom, Let, Load, Store, Sym

if TYPE_CHECKING:
    from adjit.transform.reverse.sweep import Sweep


@dataclass(frozen=True)
class Increment:
    """The terms added to (+1) or taken from (-1) the element."""

    terms: tuple[tuple[Atom, int], ...]


def find_increment(sweep: Sweep, store: Store) -> Increment | None:
    """The increment that the store makes, if it is one."""
    terms: list[tuple[Atom, int]] = []
    return Increment(tuple(terms)) if _descend(sweep, store, store.value, terms) else None


def _descend(sweep: Sweep, store: Store, a: Atom, terms: list[tuple[Atom, int]]) -> bool:
    if not isinstance(a, Sym):
        return False
    region, _ = sweep.regions.place[id(store)]
    stmt = sweep.regions.definition.get(a)
    if stmt is None or sweep.regions.where[a][0] is not region:
        return False
    if isinstance(stmt, Load):
        return a.type == store.array.type.dtype and _same_place(sweep, stmt, store)  # type: ignore[union-attr]
    if not isinstance(stmt, Let) or stmt.op not in ("add", "sub") or sweep.trees.count(a) != 1:
        return False
    if stmt.target.type != store.array.type.dtype:  # type: ignore[union-attr]
        return False
    x, y = stmt.args
    for inner, other, sign in ((x, y, 1 if stmt.op == "add" else -1), (y, x, 1)):
        if inner is y and stmt.op == "sub":
            return False
        more: list[tuple[Atom, int]] = []
        if _descend(sweep, store, inner, more):
            terms += [*more, (other, sign)]
            return True
    return False


def _same_place(sweep: Sweep, load: Load, store: Store) -> bool:
    region, at = sweep.regions.place[id(load)]
    _, end = sweep.regions.place[id(store)]
    if load.array != store.array:
        return False
    if not all(sweep.affine.same(i, j) for i, j in zip(load.index, store.index, strict=True)):
        return False
    return not any(sweep.clash(load, s) for s in region.block[at + 1 : end])
