"""Exponentials, logarithms, hyperbolic functions, roots."""

from __future__ import annotations

import math

from adjit.ir.core import Atom
from adjit.rules.base import Point, Rule, Slope, at

_MODERATE = at(0.3, -1.2, 2.5, -8.0, 1e-4)
_POSITIVE = at(0.3, 1.7, 250.0, 1e-3)

_PLANE = at(0.3 + 0.2j, -1.2 - 2.0j, 0.5 + 2.5j, 1e-4 - 1e-4j)

_LN2 = math.log(2.0)
_LN10 = math.log(10.0)


def _root(p: Point, slope: Atom) -> Atom:
    """A root's slope; 0 where the root is 0."""
    return p.where(p.op("eq", p.out, 0.0), 0.0, slope)


def _sqrt(p: Point) -> Atom:
    return _root(p, p.div(0.5, p.out))


def _cbrt(p: Point) -> Atom:
    return _root(p, p.div(1.0 / 3.0, p.mul(p.out, p.out)))


def _acosh(p: Point) -> Atom:
    return p.div(1.0, p.mul(p.root(p.sub(p[0], 1.0)), p.root(p.add(p[0], 1.0))))


def _complex_asinh(p: Point) -> Atom:
    """1/sqrt(1 + z*z), without cancellation at i and -i."""
    turned = p.mul(1j, p[0])
    return p.div(1.0, p.root(p.mul(p.add(1.0, turned), p.sub(1.0, turned))))


def _share(k: int, power: str) -> Slope:
    """Operand k's share of a sum in the log domain: power(p[k] - out), with no inf - inf."""

    def slope(p: Point) -> Atom:
        infinite = p.where(p.both(p.op("isinf", p[k]), p.op("gt", p[k], 0.0)), 1.0, 0.0)
        return p.where(p.op("isinf", p.out), infinite, p.op(power, p.sub(p[k], p.out)))

    return slope


RULES = (
    Rule(
        "exp",
        1,
        ("math.exp", "numpy.exp"),
        slopes=(lambda p: p.out,),
        samples=_MODERATE,
        analytic=True,
        complex_samples=_PLANE,
        complex_spellings=("cmath.exp",),
    ),
    Rule(
        "exp2",
        1,
        ("math.exp2", "numpy.exp2"),
        slopes=(lambda p: p.mul(_LN2, p.out),),
        samples=_MODERATE,
        analytic=True,
        complex_samples=_PLANE,
    ),
    Rule(
        "expm1",  # not out + 1, which cancels for x << 0
        1,
        ("math.expm1", "numpy.expm1"),
        slopes=(lambda p: p.op("exp", p[0]),),
        samples=_MODERATE,
        analytic=True,
        complex_samples=_PLANE,
    ),
    Rule(
        "log",
        1,
        ("math.log", "numpy.log"),
        slopes=(lambda p: p.div(1.0, p[0]),),
        samples=_POSITIVE,
        convention="at 0 the slope is inf",
        analytic=True,
        complex_samples=_PLANE,
        complex_spellings=("cmath.log",),
    ),
    Rule(
        "log1p",
        1,
        ("math.log1p", "numpy.log1p"),
        slopes=(lambda p: p.div(1.0, p.add(1.0, p[0])),),
        samples=at(0.3, -0.7, 250.0, 1e-4),
        convention="at -1 the slope is inf",
        analytic=True,
        complex_samples=_PLANE,
    ),
    Rule(
        "log2",
        1,
        ("math.log2", "numpy.log2"),
        slopes=(lambda p: p.div(1.0 / _LN2, p[0]),),
        samples=_POSITIVE,
        convention="at 0 the slope is inf",
        analytic=True,
        complex_samples=_PLANE,
    ),
    Rule(
        "log10",
        1,
        ("math.log10", "numpy.log10"),
        slopes=(lambda p: p.div(1.0 / _LN10, p[0]),),
        samples=_POSITIVE,
        convention="at 0 the slope is inf",
        analytic=True,
        complex_samples=_PLANE,
        complex_spellings=("cmath.log10",),
    ),
    Rule(
        "logaddexp",
        2,
        ("numpy.logaddexp",),
        slopes=(_share(0, "exp"), _share(1, "exp")),
        samples=at((1.5, 0.7), (-2.0, 3.0), (0.1, -6.0)),
        convention="at (-inf, -inf) passes 0; an operand at inf passes 1",
    ),
    Rule(
        "logaddexp2",
        2,
        ("numpy.logaddexp2",),
        slopes=(_share(0, "exp2"), _share(1, "exp2")),
        samples=at((1.5, 0.7), (-2.0, 3.0), (0.1, -6.0)),
        convention="at (-inf, -inf) passes 0; an operand at inf passes 1",
    ),
    Rule(
        "sqrt",
        1,
        ("math.sqrt", "numpy.sqrt"),
        slopes=(_sqrt,),
        samples=_POSITIVE,
        convention="at 0 passes 0",
        analytic=True,
        complex_samples=_PLANE,
        complex_spellings=("cmath.sqrt",),
    ),
    Rule(
        "cbrt",
        1,
        ("numpy.cbrt",),
        aliases=("math.cbrt",),
        slopes=(_cbrt,),
        samples=at(0.3, -1.7, 250.0, -1e-3),
        convention="at 0 passes 0",
    ),
    Rule(
        "sinh",
        1,
        ("math.sinh", "numpy.sinh"),
        slopes=(lambda p: p.op("cosh", p[0]),),
        samples=_MODERATE,
        analytic=True,
        complex_samples=_PLANE,
        complex_spellings=("cmath.sinh",),
    ),
    Rule(
        "cosh",
        1,
        ("math.cosh", "numpy.cosh"),
        slopes=(lambda p: p.op("sinh", p[0]),),
        samples=_MODERATE,
        analytic=True,
        complex_samples=_PLANE,
        complex_spellings=("cmath.cosh",),
    ),
    Rule(
        "tanh",
        1,
        ("math.tanh", "numpy.tanh"),
        slopes=(lambda p: p.sub(1.0, p.mul(p.out, p.out)),),
        samples=at(0.3, -1.2, 2.5, 1e-4),
        analytic=True,
        complex_samples=_PLANE,
        complex_spellings=("cmath.tanh",),
    ),
    Rule(
        "asinh",
        1,
        ("math.asinh", "numpy.arcsinh", "numpy.asinh"),
        slopes=(lambda p: p.div(1.0, p.op("hypot", 1.0, p[0])),),
        samples=at(0.3, -1.2, 250.0, 1e-4),
        complex_slopes=(_complex_asinh,),
        complex_samples=_PLANE,
        complex_spellings=("cmath.asinh",),
    ),
    Rule(
        "acosh",
        1,
        ("math.acosh", "numpy.arccosh", "numpy.acosh"),
        slopes=(_acosh,),
        samples=at(1.3, 2.5, 250.0),
        convention="at 1 the slope is inf",
        analytic=True,
        complex_samples=_PLANE,
        complex_spellings=("cmath.acosh",),
    ),
    Rule(
        "atanh",
        1,
        ("math.atanh", "numpy.arctanh", "numpy.atanh"),
        slopes=(lambda p: p.div(1.0, p.mul(p.sub(1.0, p[0]), p.add(1.0, p[0]))),),
        samples=at(0.3, -0.7, 0.95, -1e-4),
        convention="at -1 and 1 the slope is inf",
        analytic=True,
        complex_samples=_PLANE,
        complex_spellings=("cmath.atanh",),
    ),
)
