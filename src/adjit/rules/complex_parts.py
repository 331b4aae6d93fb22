"""Complex numbers, their parts, and conjugation: what joins real and complex numbers.

With cotangents paired by Re(ct * t), `real` gives ct + 0j to its operand, `imag` gives -1j * ct, `conj` gives
conj(ct), `complex(a, b)` gives Re(ct) to a and -Im(ct) to b.
"""

from __future__ import annotations

from adjit.ir.core import Atom
from adjit.rules.base import Point, Rule, at

_PLANE = at(3.0 - 4.0j, -2.0j, 1e-3 + 300j)
_PAIRS = at((1.5, 0.7), (-2.0, 3.0), (0.0, -7.0))


def _angle(p: Point) -> Atom:
    """-1j/z, 0 at 0, as `atan2` has it."""
    z = p.raw(0)
    return p.op("select", p.op("eq", z, 0.0), 0.0, p.div(-1j, z))


def _rect(p: Point) -> Atom:
    phase = p.raw(1)
    return p.op("complex", p.op("cos", phase), p.op("sin", phase))


def _turned(p: Point, ct: Atom, k: int) -> Atom:
    """-1j * ct of a real cotangent."""
    return p.op("complex", 0.0, p.neg(ct))


def _joined(p: Point, dots: tuple[Atom | None, ...]) -> Atom:
    zero = p.real(0.0)
    return p.op("complex", *(zero if t is None else t for t in dots))


def _part(p: Point, ct: Atom, k: int) -> Atom:
    return p.op("real", ct) if k == 0 else p.neg(p.op("imag", ct))


RULES = (
    Rule(
        "real",
        1,
        template="({0}).real",
        aliases=("numpy.real",),
        slopes=(1.0,),
        samples=at(1.5, -2.0),
        complex_slopes=(1.0,),
        complex_samples=_PLANE,
    ),
    Rule(
        "imag",
        1,
        template="({0}).imag",
        aliases=("numpy.imag",),
        samples=at(1.5, -2.0),
        complex_slopes=(-1j,),
        tangent=lambda p, t: p.op("imag", _given(t)),
        cotangent=_turned,
        complex_samples=_PLANE,
    ),
    Rule(
        "conj",
        1,
        ("numpy.conjugate",),
        slopes=(1.0,),
        samples=at(1.5, -2.0),
        complex_slopes=(1.0,),
        tangent=lambda p, t: p.op("conj", _given(t)) if p.is_complex else _given(t),
        cotangent=lambda p, ct, k: p.op("conj", ct),
        complex_samples=_PLANE,
    ),
    Rule(
        "complex",
        2,
        ("complex",),
        samples=_PAIRS,
        complex_slopes=(1.0, 1j),
        tangent=_joined,
        cotangent=_part,
    ),
    Rule(
        "angle",
        1,
        ("numpy.angle",),
        samples=at(1.5, -2.0),
        complex_slopes=(_angle,),
        complex_samples=_PLANE,
        complex_spellings=("cmath.phase",),
        convention="at 0 passes 0",
    ),
    Rule(
        "rect",
        2,
        template="cmath.rect({0}, {1})",
        complex_spellings=("cmath.rect",),
        samples=_PAIRS,
        complex_slopes=(_rect, lambda p: p.mul(1j, p.out)),
    ),
)


def _given(dots: tuple[Atom | None, ...]) -> Atom:
    (t,) = dots
    assert t is not None
    return t
