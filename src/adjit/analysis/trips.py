"""The number of a range's turns, as the program computes it."""

from __future__ import annotations

from adjit.ir.builder import Builder
from adjit.ir.core import ONE, ZERO, Atom, Const, const
from adjit.ir.types import INT64


def trip_count(b: Builder, lo: Atom, hi: Atom, step: Atom) -> Atom:
    """`len(range(lo, hi, step))` as int64."""
    lo, hi, step = (b.cast(a, INT64) for a in (lo, hi, step))
    if isinstance(step, Const):
        far, near, by = (hi, lo, step.integer) if step.integer > 0 else (lo, hi, -step.integer)
        below = isinstance(near, Const) and near.integer < 0
        span = b.op("add", far, -near.integer) if below else b.op("sub", far, near)  # type: ignore[union-attr]
        if by == 1:
            return b.op("max", span, ZERO)
        return b.op("max", b.op("floordiv", b.op("add", span, by - 1), by), ZERO)
    span = b.op("sub", hi, lo)
    positive = b.op("gt", step, ZERO)
    rounded = b.op("sub", b.op("add", span, step), b.op("select", positive, ONE, const(-1)))
    return b.op("max", b.op("floordiv", rounded, step), ZERO)
