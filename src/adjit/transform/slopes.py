"""How a rule's slopes act on tangents and cotangents."""

from __future__ import annotations

from adjit.ir.builder import Builder
from adjit.ir.core import Atom, Const
from adjit.ir.types import Scalar
from adjit.rules import get as rule_of


def carries(op: str, k: int) -> bool:
    """Whether operand k of the operation has a slope."""
    return rule_of(op).slope(k) is not None


def scaled(b: Builder, ct: Atom, slope: Atom | float) -> Atom:
    """`ct * slope` with the strong zero; a constant finite slope needs no guard."""
    if isinstance(slope, int | float):
        if slope == 1:
            return ct
        return b.op("neg", ct) if slope == -1 else b.op("mul", ct, float(slope))
    assert isinstance(ct.type, Scalar)
    slope = b.cast(slope, ct.type)
    if isinstance(slope, Const) and not isinstance(slope.value, complex):
        return scaled(b, ct, float(slope.value))
    return b.op("szmul", ct, slope)
