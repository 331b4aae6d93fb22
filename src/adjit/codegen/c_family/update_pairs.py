"""Atomic sums to two elements side by side, which some devices make in one operation."""

from __future__ import annotations

from adjit.ir.core import Block, Const, Let, Store
from adjit.ir.types import FLOAT32, Array


def update_pairs(block: Block) -> dict[int, int]:
    """Which sum to a float32 element goes together with which later one of the block, by their numbers.

    Between them are operations on numbers only, so that the first may wait for the second.
    """
    found: dict[int, int] = {}
    waiting: int | None = None
    for k, stmt in enumerate(block):
        if isinstance(stmt, Let):
            continue
        first = block[waiting] if waiting is not None else None
        if isinstance(stmt, Store) and _sums(stmt):
            if waiting is not None and isinstance(first, Store) and _side_by_side(first, stmt):
                found[waiting] = k
                waiting = None
            else:
                waiting = k
        else:
            waiting = None
    return found


def _sums(stmt: Store) -> bool:
    type = stmt.array.type
    return stmt.update == "add" and isinstance(type, Array) and type.dtype == FLOAT32


def _side_by_side(a: Store, b: Store) -> bool:
    i, j = a.index[-1], b.index[-1]
    if (
        a.array != b.array
        or a.index[:-1] != b.index[:-1]
        or not isinstance(i, Const)
        or not isinstance(j, Const)
    ):
        return False
    return i.integer >= 0 and j.integer >= 0 and abs(i.integer - j.integer) == 1
