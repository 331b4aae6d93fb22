"""Field operations, remainders, and the primitives that only derivative code uses."""

from __future__ import annotations

from adjit.ir.core import Atom, Const
from adjit.rules.base import Point, Rule, Slope, at

_PAIRS = at((1.5, 0.7), (-2.25, 3.0), (1e-3, -40.0), (-7.0, -0.125))
_PLANE = at((1.5 - 2j, 0.7 + 0.2j), (-2.25 + 0.5j, 3.0), (1e-3, 2 - 40j), (-7j, -0.125))
_POINTS = at(1.5 - 0.4j, -2j, 1e-3 + 300j)


def _quotient(p: Point) -> Atom:
    """The integer that `mod` and `fmod` took off: (x - out)/y is within rounding of it."""
    return p.op("rint", p.div(p.sub(p.out, p[0]), p[1]))


_DIVISION: tuple[Slope, Slope] = (
    lambda p: p.div(1.0, p[1]),
    lambda p: p.neg(p.div(p.out, p[1])),
)


def _strong_tangent(p: Point, t: tuple[Atom | None, ...]) -> Atom:
    """Of szmul(ct, s): szmul(dct, s) + szmul(ct, ds), where a zero `ds` wins over an infinite `ct` as well.

    Both choices of the second term are the product: a plain 0 where `ct` is zero would have the right value, and no
    derivative (of third derivatives that would be seen).
    """
    parts = [] if t[0] is None else [p.op("szmul", t[0], p[1])]
    if t[1] is not None:
        other = p.op("szmul", t[1], p[0])
        ct = p[0]
        if not isinstance(ct, Const) or ct.value == 0:
            other = p.where(p.op("eq", ct, 0.0), p.op("szmul", ct, t[1]), other)
        parts.append(other)
    return parts[0] if len(parts) == 1 else p.add(parts[0], parts[1])


RULES = (
    Rule(
        "add",
        2,
        ("numpy.add",),
        symbol="+",
        slopes=(1.0, 1.0),
        samples=_PAIRS,
        analytic=True,
        complex_samples=_PLANE,
    ),
    Rule(
        "sub",
        2,
        ("numpy.subtract",),
        symbol="-",
        slopes=(1.0, -1.0),
        samples=_PAIRS,
        analytic=True,
        complex_samples=_PLANE,
    ),
    Rule(
        "mul",
        2,
        ("numpy.multiply",),
        symbol="*",
        slopes=(lambda p: p[1], lambda p: p[0]),
        samples=_PAIRS,
        analytic=True,
        complex_samples=_PLANE,
    ),
    Rule(
        "div",
        2,
        symbol="/",
        slopes=_DIVISION,
        samples=_PAIRS,
        convention="at y = 0 slopes are IEEE: inf or nan",
        analytic=True,
        complex_samples=_PLANE,
    ),
    Rule(
        "fdiv",  # IEEE division that never raises; what derivative code uses, under any error model
        2,
        ("numpy.divide", "numpy.true_divide"),
        slopes=_DIVISION,
        samples=_PAIRS,
        convention="at y = 0 slopes are IEEE: inf or nan",
        analytic=True,
        complex_samples=_PLANE,
    ),
    Rule(
        "mod",
        2,
        ("numpy.remainder", "numpy.mod"),
        symbol="%",
        slopes=(1.0, _quotient),
        samples=at((5.5, 2.0), (-5.5, 2.0), (5.5, -2.0), (0.3, 0.7), (1e3, 0.3)),
        convention="at a jump passes on the side of the value that the code returns",
    ),
    Rule(
        "fmod",
        2,
        ("numpy.fmod",),
        aliases=("math.fmod",),
        slopes=(1.0, _quotient),
        samples=at((5.5, 2.0), (-5.5, 2.0), (5.5, -2.0), (0.3, 0.7), (1e3, 0.3)),
        convention="at a jump passes on the side of the value that the code returns",
    ),
    Rule("floordiv", 2, ("numpy.floor_divide",), symbol="//", samples=at((5.5, 2.0), (-5.5, 2.0))),
    Rule(
        "neg",
        1,
        ("numpy.negative",),
        symbol="-",
        slopes=(-1.0,),
        samples=at(1.5, -2.0, 1e-6),
        analytic=True,
        complex_samples=_POINTS,
    ),
    Rule(
        "pos",
        1,
        ("numpy.positive",),
        symbol="+",
        slopes=(1.0,),
        samples=at(1.5, -2.0, 1e-6),
        analytic=True,
        complex_samples=_POINTS,
    ),
    Rule(
        "square",
        1,
        ("numpy.square",),
        slopes=(lambda p: p.mul(2.0, p[0]),),
        samples=at(1.5, -2.0, 1e-3, 300.0),
        analytic=True,
        complex_samples=_POINTS,
    ),
    Rule(
        "reciprocal",
        1,
        ("numpy.reciprocal",),
        slopes=(lambda p: p.neg(p.mul(p.out, p.out)),),
        samples=at(1.5, -2.0, 1e-3, 300.0),
        convention="at 0 the slope is -inf",
        analytic=True,
        complex_samples=_POINTS,
    ),
    Rule(
        "szmul",  # the strong-zero product: 0 wins over inf and nan, and keeps the dtype
        2,
        template="({0} * {1} if {0} != 0 else {0})",
        slopes=(lambda p: p[1], lambda p: p[0]),
        tangent=_strong_tangent,
        samples=_PAIRS,
        convention="0 times any slope, inf and nan too, is 0",
        analytic=True,
        complex_samples=_PLANE,
    ),
)
