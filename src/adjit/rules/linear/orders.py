"""Orders and running sums along an axis: single steps of programs on devices.

On the CPU they are loops (`frontend.plain`), and have their derivatives from those. A device's library makes them:

    order = argsort(x, axis)              the places of the elements in order, NaN last, equal ones in their order
    s = cumsum(x, axis, step)             s_k = x_0 + ... + x_k; from the end on where the step is -1

An order has no derivative: what is read through it has. A running sum is linear; its adjoint is the one that runs the
other way, x'_k = s'_k + ... + s'_n.
"""

from __future__ import annotations

from adjit.ir.core import Atom, Const
from adjit.ir.types import INT64, UINT64, Scalar
from adjit.rules.linear.base import Dtypes, Point, Pull, Push, WholeRule, dtype_of


def summed(dtype: Scalar) -> Scalar:
    """The type of sums: small integers and bools are added up as int64."""
    if dtype.is_bool or dtype.is_int:
        return UINT64 if dtype.name.startswith("u") else INT64
    return dtype


def _sums(dtypes: Dtypes) -> Dtypes:
    return (summed(dtypes[0]),)


def _places(_: Dtypes) -> Dtypes:
    return (INT64,)


def _no_tangent(_: Push) -> None:
    """Places have none."""


def _no_adjoint(_: Pull) -> None:
    """Places have none."""


def _tangent(p: Push) -> None:
    """ds = cumsum(dx)."""
    into, dx = p.into(0), p.dot(0)
    assert into is not None and dx is not None
    p.m.whole("cumsum", (into,), dx, p.number(1), p.number(2))


def _adjoint(p: Pull) -> None:
    """x' += cumsum(s'), the other way."""
    ct, shadow = p.ct(0), p.shadow(0)
    if ct is None or shadow is None:
        return
    t = p.m.new(p.m.shape(ct), dtype_of(ct))
    p.m.whole("cumsum", (t,), ct, p.number(1), _other_way(p))
    p.m.add(shadow, t)


def _other_way(p: Point) -> Atom:
    step = p.number(2)
    assert isinstance(step, Const)
    return Const(-step.integer, step.type)


ARGSORT = WholeRule(
    "argsort",
    "order({0}, {1}, {out0})",
    (),
    _no_tangent,
    _no_adjoint,
    dtypes=_places,
    raises=False,
    any_numbers=True,
    carries=lambda k, j: False,
)
CUMSUM = WholeRule(
    "cumsum",
    "running_sum({0}, {1}, {2}, {out0})",
    (),
    _tangent,
    _adjoint,
    dtypes=_sums,
    raises=False,
    any_numbers=True,
)

RULES = (ARGSORT, CUMSUM)
