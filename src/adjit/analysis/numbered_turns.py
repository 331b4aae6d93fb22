"""How many turns a counted loop has, and which of them the index is in."""

from __future__ import annotations

from adjit.analysis.carried import Amount
from adjit.analysis.trips import trip_count
from adjit.ir.builder import Builder
from adjit.ir.core import Atom, Const, Loop, Sym
from adjit.ir.types import INT64


def turns_of(loop: Loop) -> Amount:
    """The number of turns, computed before the loop."""

    def trips(b: Builder) -> Atom:
        assert loop.lo is not None
        assert loop.hi is not None
        assert loop.step is not None
        return trip_count(b, loop.lo, loop.hi, loop.step)

    return trips


def turn_of(b: Builder, loop: Loop) -> Atom:
    """The number of the turn, from 0; where the loop counts down by 1, from its last one."""
    assert loop.index is not None
    assert loop.lo is not None
    assert loop.hi is not None
    assert isinstance(loop.step, Const)
    if loop.step.integer == -1:
        passed = b.op("sub", loop.index, b.op("add", b.cast(loop.hi, INT64), 1))
    else:
        passed = b.op("sub", loop.index, b.cast(loop.lo, INT64))
    if abs(loop.step.integer) != 1:
        passed = b.op("floordiv", passed, loop.step.integer)
    return b.op("nonneg", passed) if passed != loop.index and isinstance(passed, Sym) else passed
