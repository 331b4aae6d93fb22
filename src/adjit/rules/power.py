"""`x ** y`. The exponent decides the form, so that no slope is NaN where the power itself is smooth.

A constant exponent is specialised when the derivative is built: x**2 has slope 2*x, x**0.5 that of a
root. With an exponent known only at run time the slope in x is y * x**(y - 1), right for negative bases
under integer-valued exponents and at x = 0 for y = 1, 2, ...
"""

from __future__ import annotations

import math

from adjit.ir.core import Atom, Const
from adjit.ir.types import INT64
from adjit.rules.base import Point, Rule, at


def _base(p: Point) -> Atom | float | None:
    """The slope in x."""
    exponent = p.raw(1)
    if isinstance(exponent, Const) and not isinstance(exponent.value, complex):
        return _constant_exponent(p, exponent.value)
    x, y = p[0], p[1]
    slope = p.mul(y, p.op("pow", x, p.sub(y, 1.0)))
    concave = p.both(p.op("ge", y, 0.0), p.op("lt", y, 1.0))
    return p.where(p.both(p.op("eq", x, 0.0), concave), 0.0, slope)


def _constant_exponent(p: Point, n: float) -> Atom | float | None:
    if n == 0:
        return None
    if n == 1:
        return 1.0
    if n == 2:
        return p.mul(2.0, p[0])
    if n == 3:
        return p.mul(3.0, p.mul(p[0], p[0]))
    if n == -1:
        return p.neg(p.mul(p.out, p.out))
    if n == 0.5:
        return _root(p, p.div(0.5, p.out))
    if n < 0:
        return p.mul(n, p.div(p.out, p[0]))
    if math.isfinite(n) and n == int(n) and not p.is_complex:  # Numba gives complex64 ** int complex128
        return p.mul(n, p.op("pow", p[0], Const(int(n) - 1, INT64)))
    slope = p.mul(n, p.op("pow", p[0], n - 1))
    return _root(p, slope) if n < 1 else slope


def _root(p: Point, slope: Atom) -> Atom:
    """The slope of x**n, 0 < n < 1: it passes 0 at x = 0, as sqrt does."""
    return p.where(p.op("eq", p[0], 0.0), 0.0, slope)


def _exponent(p: Point) -> Atom | float | None:
    """The slope in y: out * log(x); at x = 0 it is 0 from y = 0 on."""
    base = p.raw(0)
    if isinstance(base, Const) and not isinstance(base.value, complex) and base.value > 0:
        return None if base.value == 1 else p.mul(math.log(base.value), p.out)
    flat = p.both(p.op("eq", p[0], 0.0), p.op("ge", p[1], 0.0))
    return p.where(flat, 0.0, p.mul(p.out, p.op("log", p[0])))


def _real(value: complex) -> float | None:
    """A constant's value, None where that is no real number."""
    if isinstance(value, complex):
        return value.real if value.imag == 0 else None
    return value


def _complex_base(p: Point) -> Atom | complex | None:
    """The slope in x, complex: y * x**(y - 1), with the same conventions at x = 0."""
    exponent = p.raw(1)
    n = _real(exponent.value) if isinstance(exponent, Const) else None
    if n is not None:
        return _constant_exponent(p, n)
    x, y = p[0], p[1]
    slope = p.mul(y, p.op("pow", x, p.sub(y, 1.0)))
    real = p.op("real", y)
    concave = p.both(p.op("ge", real, 0.0), p.op("lt", real, 1.0))
    return p.where(p.both(p.op("eq", x, 0.0), concave), 0.0, slope)


def _complex_exponent(p: Point) -> Atom | complex | None:
    """The slope in y, complex: out * log(x); at x = 0 it is 0 where y has no negative real part."""
    base = p.raw(0)
    value = _real(base.value) if isinstance(base, Const) else None
    if value is not None and value > 0:
        return None if value == 1 else p.mul(math.log(value), p.out)
    flat = p.both(p.op("eq", p[0], 0.0), p.op("ge", p.op("real", p[1]), 0.0))
    return p.where(flat, 0.0, p.mul(p.out, p.op("log", p[0])))


RULES = (
    Rule(
        "pow",
        2,
        ("math.pow", "numpy.power", "numpy.pow", "numpy.float_power", "pow"),
        symbol="**",
        slopes=(_base, _exponent),
        samples=at((1.5, 0.7), (0.2, 3.0), (0.1, -2.5), (7.0, 1.0), (2.5, 0.5), (30.0, 2.0)),
        convention=(
            "x**0 has slope 0 in x; at x = 0, slope 1 if y = 1, 0 if 0 < y < 1 (as sqrt), inf if y < 0, "
            "and in y 0 if y >= 0, -inf if y < 0; in y at x < 0 nan"
        ),
        complex_slopes=(_complex_base, _complex_exponent),
        complex_samples=at(
            (1.5 - 2j, 0.7 + 0.2j), (-0.2 + 1j, 3.0), (2.0, 1j), (-3j, 2 - 1j), (-1.5 + 0.1j, -2.0)
        ),
    ),
)
