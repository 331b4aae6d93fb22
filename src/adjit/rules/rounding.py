"""Rounding (piecewise constant), and operations on a float's parts: sign, exponent, neighbours."""

from __future__ import annotations

from adjit.ir.core import Atom
from adjit.rules.base import Point, Rule, at

_BETWEEN = at(1.3, -2.7, 0.2)
_FLAT = "slope 0 everywhere, at the jumps too"


def _copysign(p: Point) -> Atom:
    """|x| with a sign: at x = 0 it passes 0 as `abs` does."""
    return p.mul(p.op("sign", p[0]), p.op("copysign", p.const(1.0), p[1]))


def _direction(p: Point) -> Atom:
    """conj(z)/abs(z), part by part, since squares may leave the range; 0 at 0."""
    z, r = p.raw(0), p.out
    real, imag = p.div(p.op("real", z), r), p.div(p.op("imag", z), r)
    return p.op("select", p.op("eq", r, 0.0), 0.0, p.op("complex", real, p.neg(imag)))


RULES = (
    Rule("floor", 1, ("numpy.floor", "math.floor"), samples=_BETWEEN, convention=_FLAT),
    Rule("ceil", 1, ("numpy.ceil", "math.ceil"), samples=_BETWEEN, convention=_FLAT),
    Rule("trunc", 1, ("numpy.trunc", "math.trunc"), samples=_BETWEEN, convention=_FLAT),
    Rule(
        "rint", 1, ("numpy.rint", "numpy.round", "numpy.around", "round"), samples=_BETWEEN, convention=_FLAT
    ),
    Rule(
        "round_to",
        2,
        ("numpy.round", "numpy.around", "round"),
        samples=at((1.337, 2), (-27.31, 1)),
        convention=_FLAT,
    ),
    Rule("sign", 1, ("numpy.sign",), samples=_BETWEEN, convention=_FLAT),
    Rule("spacing", 1, ("numpy.spacing",), samples=_BETWEEN, convention=_FLAT),
    Rule(
        "abs",
        1,
        ("abs", "math.fabs", "numpy.fabs", "numpy.absolute"),
        slopes=(lambda p: p.op("sign", p[0]),),
        samples=_BETWEEN,
        convention="at 0 passes 0",
        complex_slopes=(_direction,),
        complex_samples=at(3.0 - 4.0j, -2.0j, 1e-200 + 1e-200j),
    ),
    Rule(
        "copysign",
        2,
        ("math.copysign", "numpy.copysign"),
        slopes=(_copysign, None),
        samples=at((1.5, 0.7), (-2.0, 3.0), (0.1, -4.0), (-7.0, -0.125)),
        convention="at x = 0 passes 0, as abs does; none in the sign",
    ),
    Rule(
        "ldexp",
        2,
        ("numpy.ldexp", "math.ldexp"),
        slopes=(lambda p: p.op("ldexp", p.const(1.0), p.raw(1)), None),
        samples=at((1.5, 3), (-2.0, -4), (0.7, 0)),
    ),
    Rule(
        "nextafter",
        2,
        ("math.nextafter", "numpy.nextafter"),
        slopes=(1.0, None),
        samples=at((1.5, 3.0), (-2.0, -4.0)),
    ),
)
