"""Slices of an axis: first element, step and extent, by Python's rules; most are plain where signs are known."""

from __future__ import annotations

import ast

from adjit.frontend import elements, expressions, library
from adjit.frontend.context import Lowering
from adjit.frontend.values import Axis, Value
from adjit.ir.core import ONE, ZERO, Atom, Const, Slice, Sym, const
from adjit.ir.types import INT64


def axis_of(lx: Lowering, s: Slice, n: Atom, node: ast.AST) -> Axis:
    """A slice of an axis of extent `n`, by Python's rules."""
    step = ONE if s.step is None else s.step
    if isinstance(step, Const) and step.value == 0:
        lx.refuse(node, "a slice with step 0", "take another step, such as 1 or -1")
    if isinstance(step, Const) and step.integer > 0:
        start = _low(lx, s.start, n)
        stop = n if s.stop is None else _high(lx, s.stop, n)
        if start is not None and stop is not None:
            if step == ONE:
                return Axis(start, ONE, _count(lx, start, stop), stop)
            return Axis(start, step, _steps(lx, start, stop, step.integer))
    if s.start is None and s.stop is None and step == const(-1):
        return Axis(expressions.integer(lx, "sub", n, ONE), step, n)
    given = [0 if p is None else p for p in (s.start, s.stop)]
    flags = [const(p is not None) for p in (s.start, s.stop)]
    args: list[Value] = [*(const(p) if isinstance(p, int) else p for p in given), *flags, step, n]
    from adjit.frontend import inline

    found = inline.call_library(lx, library.slice_range, args, node)
    start, extent = expressions.items_of(lx, found, node)
    numbers = [expressions.number(lx, v, node) for v in (start, extent)]
    lx.integers.counts.update(v for v in numbers if isinstance(v, Sym))
    if s.start is not None and s.stop is not None and lx.integers.follows(s.stop, s.start) and step == ONE:
        lx.integers.units.update(v for v in numbers[1:] if isinstance(v, Sym))
    return Axis(numbers[0], step, numbers[1])


def _low(lx: Lowering, a: Atom | None, n: Atom) -> Atom | None:
    """A slice's start for steps upwards, not below 0; it may be beyond the end. None where its sign is not known."""
    if a is None:
        return ZERO
    below = lx.integers.negative(a)
    if below is None:
        return None
    return a if not below else _clipped(lx, _from_end(lx, n, a))


def _high(lx: Lowering, a: Atom, n: Atom) -> Atom | None:
    """A slice's stop for steps upwards, not beyond the end; it may be below 0."""
    below = lx.integers.negative(a)
    if below is None:
        return None
    if below:
        return _from_end(lx, n, a)
    if lx.integers.at_most(a, n):
        return a
    return lx.let("min", a, n, type=INT64, fn="min", name="stop")


def _from_end(lx: Lowering, n: Atom, a: Atom) -> Atom:
    """`n + a`, of a negative `a`."""
    return (
        elements.shifted(lx, n, int(a.value.real))
        if isinstance(a, Const)
        else expressions.integer(lx, "add", n, a)
    )


def _count(lx: Lowering, start: Atom, stop: Atom) -> Atom:
    return _clipped(lx, expressions.integer(lx, "sub", stop, start))


def _steps(lx: Lowering, start: Atom, stop: Atom, step: int) -> Atom:
    """How many of start, start + step, ... are below the stop, which may be far below the start."""
    if isinstance(start, Const) and isinstance(stop, Const):
        return const(len(range(start.integer, stop.integer, step)))
    last = elements.shifted(lx, _count(lx, start, stop), step - 1)
    found = expressions.integer(lx, "floordiv", last, const(step))
    if isinstance(found, Sym):
        lx.integers.counts.add(found)
    return found


def _clipped(lx: Lowering, a: Atom) -> Atom:
    """`max(0, a)`."""
    below = lx.integers.negative(a)
    if below is not None:
        return ZERO if below else a
    return lx.let("max", ZERO, a, type=INT64, fn="max", name="count")
