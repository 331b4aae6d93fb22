"""The ranges of reversed loops.

for i in range(lo, hi, s)   ->   for i in range(last, lo - s, -s)
loops that may stop early   ->   for turn in range(turns - 1, -1, -1), and i = lo + turn * s
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from adjit.analysis.trips import trip_count
from adjit.ir.core import ONE, Atom, Const, Loop, Sym, const
from adjit.ir.types import INT64, Scalar

if TYPE_CHECKING:
    from adjit.transform.reverse.materialise import Scope
    from adjit.transform.reverse.sweep import Sweep


@dataclass
class Head:
    """The range of a reversed loop, and how the primal's index follows from its index."""

    index: Sym
    lo: Atom
    hi: Atom
    step: Atom
    first: Atom | None = None
    stride: Atom | None = None

    def bind(self, sweep: Sweep, stmt: Loop, scope: Scope) -> None:
        """Make the loop's index and turn counter available in its scope."""
        b = scope.builder
        if stmt.index is None or stmt.stop is not None:
            scope.values[stmt.params[-1]] = self.index
        if stmt.index is None:
            return
        value: Atom = self.index
        if stmt.stop is not None:
            assert self.first is not None and self.stride is not None
            value = b.op("add", self.first, b.op("mul", self.index, self.stride))
        assert isinstance(stmt.index.type, Scalar)
        scope.values[stmt.index] = b.cast(value, stmt.index.type)


def reversed_range(sweep: Sweep, stmt: Loop) -> Head:
    """The head of the loop that runs the turns of `stmt`, last first."""
    b = sweep.b
    if stmt.index is None or stmt.stop is not None:
        turns = sweep.need(stmt.results[-1])
        first = b.op("sub", turns, ONE)
        lo = step = None
        if stmt.index is not None:
            assert stmt.lo is not None and stmt.step is not None
            lo, step = b.cast(sweep.need(stmt.lo), INT64), b.cast(sweep.need(stmt.step), INT64)
        return Head(Sym("turn", INT64), first, const(-1), const(-1), lo, step)
    assert stmt.lo is not None and stmt.hi is not None and stmt.step is not None
    lo, hi, step = (b.cast(sweep.need(a), INT64) for a in (stmt.lo, stmt.hi, stmt.step))
    index = Sym(stmt.index.name, INT64)
    if isinstance(step, Const) and step.integer == 1:
        return Head(index, b.op("sub", hi, ONE), b.op("sub", lo, ONE), const(-1))
    if isinstance(step, Const) and step.integer == -1:
        return Head(index, b.op("add", hi, ONE), b.op("add", lo, ONE), const(1))
    turns = trip_count(b, lo, hi, step)
    last = b.op("add", lo, b.op("mul", b.op("sub", turns, ONE), step))
    return Head(index, last, b.op("sub", lo, step), b.op("neg", step))
