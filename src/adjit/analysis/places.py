"""Integers that are places, extents, or made of such by few operations: sums of them cannot overflow."""

from __future__ import annotations

from collections.abc import Iterable

from adjit.ir.core import Const, Let, Loop, Stmt, Sym
from adjit.ir.types import INT64

_SMALL = 2**31
_SUMS = frozenset({"add", "sub", "neg", "nonneg", "min", "max", "mod", "floordiv", "cast", "stop_gradient"})


def places_of(stmts: Iterable[Stmt], known: Iterable[Sym]) -> set[Sym]:
    """Indices of loops and extents of arrays, `known`, and what small sums and single products make of them."""
    places = set(known)
    factors: set[Sym] = set()
    for stmt in stmts:
        if isinstance(stmt, Loop) and stmt.index is not None and stmt.index.type == INT64:
            places.add(stmt.index)
        if not isinstance(stmt, Let) or stmt.target.type != INT64:
            continue
        if stmt.op == "dim":
            places.add(stmt.target)
            continue
        if not all(a.type == INT64 and _known(a, places) for a in stmt.args):
            continue
        products = any(a in factors for a in stmt.args)
        if stmt.op in _SUMS:
            places.add(stmt.target)
            factors.update({stmt.target} if products else ())
        elif stmt.op == "mul" and not products:
            places.add(stmt.target)
            factors.add(stmt.target)
    return places


def _known(a: object, places: set[Sym]) -> bool:
    return -_SMALL < a.integer < _SMALL if isinstance(a, Const) else a in places
