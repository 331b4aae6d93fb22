"""Comparisons, predicates and logic: bools, which carry no derivative."""

from __future__ import annotations

from adjit.rules.base import Rule, at

_ORDER = at((1.5, 0.7), (-2.0, 3.0), (0.5, 0.5))
_NUMBERS = at(1.5, -2.0, 0.0)
_BOOLS = at((True, False), (True, True), (False, False))

RULES = (
    Rule("lt", 2, ("numpy.less",), symbol="<", samples=_ORDER),
    Rule("le", 2, ("numpy.less_equal",), symbol="<=", samples=_ORDER),
    Rule("gt", 2, ("numpy.greater",), symbol=">", samples=_ORDER),
    Rule("ge", 2, ("numpy.greater_equal",), symbol=">=", samples=_ORDER),
    Rule("eq", 2, ("numpy.equal",), symbol="==", samples=_ORDER),
    Rule("ne", 2, ("numpy.not_equal",), symbol="!=", samples=_ORDER),
    Rule("not_", 1, ("numpy.logical_not",), symbol="not", samples=_NUMBERS),
    Rule("logical_and", 2, ("numpy.logical_and",), samples=_BOOLS),
    Rule("logical_or", 2, ("numpy.logical_or",), samples=_BOOLS),
    Rule("logical_xor", 2, ("numpy.logical_xor",), samples=_BOOLS),
    Rule("isnan", 1, ("math.isnan", "numpy.isnan"), samples=_NUMBERS),
    Rule("isinf", 1, ("math.isinf", "numpy.isinf"), samples=_NUMBERS),
    Rule("isfinite", 1, ("math.isfinite", "numpy.isfinite"), samples=_NUMBERS),
    Rule("signbit", 1, ("numpy.signbit",), samples=_NUMBERS),
)
