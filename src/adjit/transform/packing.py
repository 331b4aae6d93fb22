"""Which programs can carry their tangents in lanes (see `transform.forward`)."""

from __future__ import annotations

from collections.abc import Sequence

from adjit.analysis.activity import Activity
from adjit.ir.core import Alloc, Call, Custom, Function, Let, Stmt, Sym, Whole
from adjit.ir.types import Array, RefList, Scalar, Type
from adjit.ir.visit import inner_targets, targets, walk, walk_program

OPERATIONS = frozenset({"add", "sub", "mul", "szmul", "fdiv", "neg", "select", "cast"})
"""What is known on lanes: all that tangents of real numbers are made by."""


def packable(function: Function, activity: Activity, inputs: Sequence[Sym]) -> bool:
    """Whether tangents are of real numbers alone, and nothing but loops and arithmetic moves them.

    What a library or a user's rule computes wants one array for each tangent.
    """
    if function.functions:
        return False
    made = [s for stmt in walk(function.body) for s in (*inner_targets(stmt), *targets(stmt))]
    varied = [s for s in made if activity.active(s) or isinstance(s.type, RefList)]
    return all(_real(s.type) for s in (*inputs, *varied)) and not any(
        _alone(stmt, activity) for stmt in walk(function.body)
    )


def _real(type: Type) -> bool:
    return not isinstance(type, RefList) and (type.dtype if isinstance(type, Array) else type).is_float


def _alone(stmt: Stmt, activity: Activity) -> bool:
    """Whether the statement takes one tangent at a time."""
    match stmt:
        case Whole():
            return any(map(activity.active, stmt.outs))
        case Custom():
            return any(map(activity.active, stmt.args))
        case Alloc():
            return stmt.fill is not None and activity.active(stmt.fill)
        case _:
            return isinstance(stmt, Call)


def fits_lanes(function: Function) -> bool:
    """Whether every operation on lanes is known."""
    return all(
        stmt.op in OPERATIONS
        for stmt in walk_program(function)
        if isinstance(stmt, Let)
        and any(_lanes(a.type) for a in (stmt.target, *stmt.args))
        and stmt.op != "dim"
    )


def _lanes(type: Type) -> bool:
    return isinstance(type, Scalar) and type.lanes > 1
