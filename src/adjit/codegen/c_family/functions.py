"""Which C a mathematical operation of the IR is, by its key in the rules registry.

A form has `{0}`, `{1}` for the operands, already of the type that the operation computes in; `name:` is a helper
function (see `helpers`) for that type. What is not here is refused by name in kernels.
"""

from __future__ import annotations

_SAME = (
    *("exp", "exp2", "expm1", "log", "log1p", "log2", "log10", "sqrt", "cbrt"),
    *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
    *("erf", "erfc", "lgamma", "floor", "ceil", "trunc", "rint"),
)

FLOAT_FORMS: dict[str, str] = {
    **{op: f"{op}({{0}})" for op in _SAME},
    "gamma": "tgamma({0})",
    "atan2": "atan2({0}, {1})",
    "hypot": "hypot({0}, {1})",
    "copysign": "copysign({0}, {1})",
    "nextafter": "nextafter({0}, {1})",
    "fmod": "fmod({0}, {1})",
    "abs": "fabs({0})",
    "degrees": "({T})57.29577951308232 * {0}",
    "radians": "({T})0.017453292519943295 * {0}",
    "sinc": "sinc:",
    "logaddexp": "logaddexp:",
    "logaddexp2": "logaddexp2:",
}
"""Operations on floats: operands and result are of the result's type."""

ANY_FORMS: dict[str, str] = {
    "min": "least:",
    "max": "greatest:",
    "minimum": "minimum:",
    "maximum": "maximum:",
    "fmin": "fminimum:",
    "fmax": "fmaximum:",
    "szmul": "szmul:",
    "square": "square:",
    "sign": "sign:",
    "mod": "mod:",
    "floordiv": "floordiv:",
}
"""Operations on floats and on integers."""

INT_FORMS: dict[str, str] = {"abs": "abs:", "gcd": "gcd:", "fmod": "fmod:"}

TESTS: dict[str, str] = {
    "isnan": "isnan({0})",
    "isinf": "isinf({0})",
    "isfinite": "isfinite({0})",
    "signbit": "signbit({0})",
}
"""Questions about a float; of an integer they are known."""
