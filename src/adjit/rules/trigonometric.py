"""Circular and inverse circular functions, angles, `hypot`.

Slopes are written so that neither squares overflow nor 1 - x**2 cancels: (1 - x)*(1 + x), and
`hypot` where a sum of squares would leave the range.
"""

from __future__ import annotations

import math

from adjit.ir.core import Atom, const
from adjit.rules.base import Point, Rule, at

_TURN = at(0.3, -1.2, 2.5, -40.0, 1e-4)
_INSIDE = at(0.3, -0.7, 0.95, -1e-4)
_ANYWHERE = at(0.3, -0.7, 1e-4, 12.0, -300.0)
_PLANE = at((1.5, 0.7), (-2.0, 3.0), (0.1, -40.0), (-7.0, -0.125))

_COMPLEX = at(0.3 + 0.2j, -1.2 - 2.0j, 0.5 + 2.5j, 1e-4 - 1e-4j)

_DEGREE = math.pi / 180.0


def _asin(p: Point) -> Atom:
    return p.div(1.0, p.root(p.mul(p.sub(1.0, p[0]), p.add(1.0, p[0]))))


def _over(p: Point, numerator: Atom, r: Atom) -> Atom:
    """numerator/r, 0 at the origin."""
    return p.where(p.op("eq", r, 0.0), 0.0, p.div(numerator, r))


def _atan2_y(p: Point) -> Atom:
    r = p.op("hypot", p[0], p[1])
    return _over(p, p.div(p[1], r), r)


def _atan2_x(p: Point) -> Atom:
    r = p.op("hypot", p[0], p[1])
    return p.neg(_over(p, p.div(p[0], r), r))


def _complex_atan(p: Point) -> Atom:
    """1/(1 + z*z), without cancellation at i and -i."""
    turned = p.mul(1j, p[0])
    return p.div(1.0, p.mul(p.add(1.0, turned), p.sub(1.0, turned)))


def _complex_sinc(p: Point) -> Atom:
    """(cos(pi z) - sinc(z))/z; its series where that cancels."""
    w = p.mul(math.pi, p[0])
    square = p.mul(w, w)
    series: Atom = p.const(1.0)
    for k in range(7, 0, -1):  # the terms' ratios: sinc'(z) = pi * -w/3 * (1 - w**2/10 * (1 - ...))
        series = p.sub(1.0, p.mul(p.mul(square, (k + 1) / (k * (2 * k + 2) * (2 * k + 3))), series))
    series = p.mul(p.mul(-math.pi / 3.0, w), series)
    far = p.div(p.sub(p.op("cos", w), p.out), p[0])
    return p.where(p.op("lt", p.op("abs", w), 1.0), series, far)


def _sinc(p: Point) -> Atom:
    """sinc(x) = j0(pi x) and j0' = -j1 (DLMF 10.51.2)."""
    order = const(1)
    return p.mul(-math.pi, p.wide("spherical_bessel", order, p.mul(math.pi, p[0])))


RULES = (
    Rule(
        "sin",
        1,
        ("math.sin", "numpy.sin"),
        slopes=(lambda p: p.op("cos", p[0]),),
        samples=_TURN,
        analytic=True,
        complex_samples=_COMPLEX,
        complex_spellings=("cmath.sin",),
    ),
    Rule(
        "cos",
        1,
        ("math.cos", "numpy.cos"),
        slopes=(lambda p: p.neg(p.op("sin", p[0])),),
        samples=_TURN,
        analytic=True,
        complex_samples=_COMPLEX,
        complex_spellings=("cmath.cos",),
    ),
    Rule(
        "tan",
        1,
        ("math.tan", "numpy.tan"),
        slopes=(lambda p: p.add(1.0, p.mul(p.out, p.out)),),
        samples=_TURN,
        analytic=True,
        complex_samples=_COMPLEX,
        complex_spellings=("cmath.tan",),
    ),
    Rule(
        "asin",
        1,
        ("math.asin", "numpy.arcsin", "numpy.asin"),
        slopes=(_asin,),
        samples=_INSIDE,
        convention="at -1 and 1 the slope is inf",
        analytic=True,
        complex_samples=_COMPLEX,
        complex_spellings=("cmath.asin",),
    ),
    Rule(
        "acos",
        1,
        ("math.acos", "numpy.arccos", "numpy.acos"),
        slopes=(lambda p: p.neg(_asin(p)),),
        samples=_INSIDE,
        convention="at -1 and 1 the slope is -inf",
        analytic=True,
        complex_samples=_COMPLEX,
        complex_spellings=("cmath.acos",),
    ),
    Rule(
        "atan",
        1,
        ("math.atan", "numpy.arctan", "numpy.atan"),
        slopes=(lambda p: p.div(1.0, p.add(1.0, p.mul(p[0], p[0]))),),
        samples=_ANYWHERE,
        complex_slopes=(_complex_atan,),
        complex_samples=_COMPLEX,
        complex_spellings=("cmath.atan",),
    ),
    Rule(
        "atan2",
        2,
        ("math.atan2", "numpy.arctan2", "numpy.atan2"),
        slopes=(_atan2_y, _atan2_x),
        samples=_PLANE,
        convention="at (0, 0) passes 0",
    ),
    Rule(
        "hypot",
        2,
        ("math.hypot", "numpy.hypot"),
        slopes=(lambda p: _over(p, p[0], p.out), lambda p: _over(p, p[1], p.out)),
        samples=_PLANE,
        convention="at (0, 0) passes 0",
    ),
    Rule(
        "degrees",
        1,
        ("math.degrees", "numpy.degrees", "numpy.rad2deg"),
        slopes=(1.0 / _DEGREE,),
        samples=_ANYWHERE,
    ),
    Rule(
        "radians",
        1,
        ("math.radians", "numpy.radians", "numpy.deg2rad"),
        slopes=(_DEGREE,),
        samples=_ANYWHERE,
    ),
    Rule(
        "sinc",
        1,
        ("numpy.sinc",),
        slopes=(_sinc,),
        samples=at(0.3, -0.7, 1e-4, 0.0, 12.25, -3.6),
        complex_slopes=(_complex_sinc,),
        complex_samples=_COMPLEX,
    ),
)
