"""Operations on integers and bits, and array extents: no derivative."""

from __future__ import annotations

from adjit.rules.base import Rule, at

_INTS = at((6, 3), (13, 2), (40, 4))

RULES = (
    Rule("lshift", 2, ("numpy.left_shift", "numpy.bitwise_left_shift"), symbol="<<", samples=_INTS),
    Rule("rshift", 2, ("numpy.right_shift", "numpy.bitwise_right_shift"), symbol=">>", samples=_INTS),
    Rule("and_", 2, ("numpy.bitwise_and",), symbol="&", samples=_INTS),
    Rule("or_", 2, ("numpy.bitwise_or",), symbol="|", samples=_INTS),
    Rule("xor", 2, ("numpy.bitwise_xor",), symbol="^", samples=_INTS),
    Rule(
        "invert",
        1,
        ("numpy.invert", "numpy.bitwise_not", "numpy.bitwise_invert"),
        symbol="~",
        samples=at(6, -13, 0),
    ),
    Rule("gcd", 2, ("math.gcd", "numpy.gcd"), samples=_INTS),
    Rule("lcm", 2, ("numpy.lcm",), samples=_INTS),
    Rule(
        "nonneg",  # derivative code's promise that a record's cursor is not negative
        1,
        template="{0}",
        samples=at(3, 0),
    ),
    Rule("dim", 2, template="{0}.shape[{1}]"),
)
