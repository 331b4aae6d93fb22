"""Choices between values (min, max, the ternary), conversions, and identities with a meaning.

At a tie all of Numba's min/max return the first operand (NumPy's own ufuncs do not; told apart by signed
zeros), so that operand gets the derivative. A NaN's derivative goes to the operand that is returned.
"""

from __future__ import annotations

from collections.abc import Callable

from adjit.ir.core import Atom
from adjit.rules.base import Point, Rule, at


def _choice(name: str, spelling: str, first: Callable[[Point], Atom]) -> Rule:
    """A binary choice: `first` gives the bool that says whether the first operand is returned."""
    return Rule(
        name,
        2,
        (spelling,),
        slopes=(
            lambda p: p.where(first(p), 1.0, 0.0),
            lambda p: p.where(first(p), 0.0, 1.0),
        ),
        tangent=lambda p, t: p.where(first(p), _or_zero(t[0]), _or_zero(t[1])),
        adjoints=(
            lambda p, ct: p.where(first(p), ct, 0.0),
            lambda p, ct: p.where(first(p), 0.0, ct),
        ),
        samples=at((1.5, 0.7), (-2.0, 3.0), (0.1, -40.0), (-7.0, -0.125)),
        convention="at a tie passes to the first operand, which is what the code returns",
    )


def _or_zero(tangent: Atom | None) -> Atom | float:
    return 0.0 if tangent is None else tangent


def _builtin(beats: str) -> Callable[[Point], Atom]:
    """Python's: `b if b beats a else a`; a NaN never beats."""
    return lambda p: p.op("not_", p.op(beats, p[1], p[0]))


def _propagating(wins: str) -> Callable[[Point], Atom]:
    """numpy.minimum, maximum: `a if a wins over b or a is nan else b`."""
    return lambda p: p.either(p.op(wins, p[0], p[1]), p.op("isnan", p[0]))


def _skipping(wins: str) -> Callable[[Point], Atom]:
    """numpy.fmin, fmax: `a if a wins over b or b is nan else b`."""
    return lambda p: p.either(p.op(wins, p[0], p[1]), p.op("isnan", p[1]))


RULES = (
    _choice("min", "min", _builtin("lt")),
    _choice("max", "max", _builtin("gt")),
    _choice("minimum", "numpy.minimum", _propagating("le")),
    _choice("maximum", "numpy.maximum", _propagating("ge")),
    _choice("fmin", "numpy.fmin", _skipping("le")),
    _choice("fmax", "numpy.fmax", _skipping("ge")),
    Rule(
        "select",
        3,
        template="({1} if {0} else {2})",
        aliases=("numpy.where",),  # on scalars Numba returns a 0-d array
        slopes=(
            None,
            lambda p: p.where(p.raw(0), 1.0, 0.0),
            lambda p: p.where(p.raw(0), 0.0, 1.0),
        ),
        tangent=lambda p, t: p.where(p.raw(0), _or_zero(t[1]), _or_zero(t[2])),
        adjoints=(None, lambda p, ct: p.where(p.raw(0), ct, 0.0), lambda p, ct: p.where(p.raw(0), 0.0, ct)),
        samples=at((True, 1.5, 0.7), (False, 1.5, 0.7)),
        analytic=True,
        complex_samples=at((True, 1.5 + 1j, 0.7j), (False, 1.5 + 1j, 0.7j)),
        convention="the value not selected contributes nothing, not even nan",
    ),
    Rule(
        "nan_to_num",
        1,
        ("numpy.nan_to_num",),
        slopes=(lambda p: p.where(p.op("isfinite", p[0]), 1.0, 0.0),),
        tangent=lambda p, t: p.where(p.op("isfinite", p[0]), _or_zero(t[0]), 0.0),
        adjoints=(lambda p, ct: p.where(p.op("isfinite", p[0]), ct, 0.0),),
        samples=at(1.5, -2.0),
        convention="where the value is replaced, passes 0",
    ),
    Rule("cast", 1, template="{type}({0})", slopes=(1.0,), samples=at(1.5, -2.0), complex_slopes=(1.0,)),
    Rule("stop_gradient", 1, template="{0}", aliases=("adjit.stop_gradient",), samples=at(1.5, -2.0)),
)
