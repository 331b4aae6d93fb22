"""Error functions, the gamma family, and the helpers their derivatives need.

The helpers (`digamma`, `polygamma`, `spherical_bessel`) live in `adjit.rules.special_functions`; each family is
closed under differentiation, so derivatives of any order exist.
"""

from __future__ import annotations

import math

from adjit.ir.core import Atom, Const, const
from adjit.ir.types import INT64
from adjit.rules.base import Point, Rule, at

_SCALE = 2.0 / math.sqrt(math.pi)
_REAL = at(0.3, -1.2, 2.5, 1e-4)
_GAMMA = at(0.3, 1.7, 4.5, 12.0, -0.6, -2.3)


def _gauss(p: Point, scale: float) -> Atom:
    return p.mul(scale, p.op("exp", p.neg(p.mul(p[0], p[0]))))


def _shift(p: Point, order: Atom, by: int) -> Atom:
    """order + by, an int; folded where the order is a constant."""
    if isinstance(order, Const) and isinstance(order.value, int):
        return const(order.value + by)
    return p.op("add", order, Const(by, INT64))


def _spherical_bessel(p: Point) -> Atom:
    """(2n + 1) j_n' = n j_{n-1} - (n + 1) j_{n+1}: no division by z (DLMF 10.51.2)."""
    n, z = p.raw(0), p[1]
    rise = p.mul(p.as_float(_shift(p, n, 1)), p.wide("spherical_bessel", _shift(p, n, 1), z))
    if isinstance(n, Const) and n.value == 0:
        return p.neg(rise)
    fall = p.mul(p.as_float(n), p.wide("spherical_bessel", _shift(p, n, -1), z))
    return p.div(p.sub(fall, rise), p.add(p.mul(2.0, p.as_float(n)), 1.0))


RULES = (
    Rule("erf", 1, ("math.erf",), slopes=(lambda p: _gauss(p, _SCALE),), samples=_REAL),
    Rule("erfc", 1, ("math.erfc",), slopes=(lambda p: _gauss(p, -_SCALE),), samples=_REAL),
    Rule(
        "gamma",
        1,
        ("math.gamma",),
        slopes=(lambda p: p.mul(p.out, p.wide("digamma", p[0])),),
        samples=_GAMMA,
        convention="at the poles 0, -1, -2, ... the slope is nan",
        reference="DLMF 5.2.2",
    ),
    Rule(
        "lgamma",
        1,
        ("math.lgamma",),
        slopes=(lambda p: p.wide("digamma", p[0]),),
        samples=_GAMMA,
        convention="at the poles 0, -1, -2, ... the slope is nan",
        reference="DLMF 5.2.2",
    ),
    Rule(
        "digamma",
        1,
        template="digamma({0})",
        helpers=("digamma",),
        slopes=(lambda p: p.wide("polygamma", const(1), p[0]),),
        samples=_GAMMA,
        convention="at the poles nan",
        reference="Abramowitz & Stegun 6.3.18",
    ),
    Rule(
        "polygamma",
        2,
        template="polygamma({0}, {1})",
        helpers=("positive_zeta", "hurwitz_zeta", "polygamma"),
        slopes=(None, lambda p: p.wide("polygamma", _shift(p, p.raw(0), 1), p[1])),
        samples=at((1, 0.3), (1, 4.5), (2, 1.7), (3, 12.0), (1, -0.6), (2, -2.3)),
        convention="at the poles inf",
        reference="Abramowitz & Stegun 6.4.11",
    ),
    Rule(
        "spherical_bessel",
        2,
        template="spherical_bessel({0}, {1})",
        helpers=("spherical_bessel",),
        slopes=(None, _spherical_bessel),
        samples=at((0, 0.3), (1, 1e-4), (1, -4.5), (2, 0.7), (3, 12.0), (1, 0.0)),
        reference="DLMF 10.51.2, 10.53.1",
    ),
)
