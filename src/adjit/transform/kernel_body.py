"""What one launch on a device runs: a function for each work item, cut out of a host function."""

from __future__ import annotations

from dataclasses import dataclass

from adjit.ir.core import Const, Function, Span, Sym
from adjit.ir.types import Scalar


@dataclass(frozen=True)
class Total:
    """A number that the work items make together, by `op` (spelled `fn`), each starting from `neutral`.

    neutral: a constant, or a parameter of the kernel that changes nothing when it is combined once more.
    """

    op: str
    fn: str | None
    type: Scalar
    neutral: Const | Sym


@dataclass(frozen=True)
class Kernel:
    """A function that work items run.

    function: its parameters are `counts`, `items`, `given`; its results are what this work item adds to the totals.
    counts: how many work items there are along each axis, outermost first. items: the number of this one, along each.
    given: scalars and arrays from the host. With totals there is one axis, and a work item takes every so many turns:
    `items` are the first turn and the number of work items. nonnegative: integers that are proven not to be negative.
    places: those that are places or extents. restrict: whether no two arrays share memory.
    """

    name: str
    function: Function
    counts: tuple[Sym, ...]
    items: tuple[Sym, ...]
    given: tuple[Sym, ...]
    totals: tuple[Total, ...]
    nonnegative: frozenset[Sym]
    places: frozenset[Sym]
    restrict: bool
    span: Span
