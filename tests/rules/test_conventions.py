"""The table of points without a derivative: what each slope gives there, compiled by Numba.

Gates: "Points without a derivative" of the design, and that ties go to the operand that the code returns.
"""

from __future__ import annotations

import math

import numba
import numpy as np
import pytest

from adjit import rules
from adjit.ir.core import Const
from adjit.ir.types import FLOAT32, FLOAT64, INT64, Scalar
from tests.rules.straight import call, compiled, derivative, evaluate

INF, NAN = math.inf, math.nan


def _slopes(op: str, args: tuple[float, ...], dtype: Scalar = FLOAT64) -> list[float]:
    """One slope per active float operand at a point."""
    program = call(rules.get(op), args, dtype)
    inputs = [np.dtype(s.type.name).type(a) for s, a in zip(program.params, args, strict=True)]
    active = [
        k for k, s in enumerate(program.params) if s.type.is_float and rules.get(op).slope(k) is not None
    ]
    return [float(compiled(derivative(program, k))(*inputs)[0]) for k in active]


_TABLE = [
    ("sqrt", (0.0,), [0.0]),
    ("sqrt", (-0.0,), [0.0]),
    ("cbrt", (0.0,), [0.0]),
    ("abs", (0.0,), [0.0]),
    ("abs", (-0.0,), [0.0]),
    ("copysign", (0.0, -1.0), [0.0]),
    ("copysign", (-2.0, -0.0), [1.0]),
    ("hypot", (0.0, 0.0), [0.0, 0.0]),
    ("hypot", (0.0, -2.0), [0.0, -1.0]),
    ("hypot", (3e-200, 4e-200), [0.6, 0.8]),
    ("atan2", (0.0, 0.0), [0.0, 0.0]),
    ("atan2", (3e-200, 4e-200), [0.16e200, -0.12e200]),
    ("atan2", (3e200, 4e200), [0.16e-200, -0.12e-200]),
    ("log", (0.0,), [INF]),
    ("log1p", (-1.0,), [INF]),
    ("asin", (1.0,), [INF]),
    ("acos", (-1.0,), [-INF]),
    ("acosh", (1.0,), [INF]),
    ("atanh", (1.0,), [INF]),
    ("asinh", (1e200,), [1e-200]),
    ("acosh", (1e200,), [1e-200]),
    ("div", (1.0, 0.0), [INF, -INF]),
    ("fdiv", (0.0, 0.0), [INF, NAN]),
    ("reciprocal", (0.0,), [-INF]),
    ("pow", (0.0, 0.0), [0.0, 0.0]),
    ("pow", (0.0, 1.0), [1.0, 0.0]),
    ("pow", (0.0, 2.0), [0.0, 0.0]),
    ("pow", (0.0, 0.5), [0.0, 0.0]),
    ("pow", (0.0, -1.0), [-INF, -INF]),
    ("pow", (2.0, 0.0), [0.0, math.log(2.0)]),
    ("pow", (-2.0, 3.0), [12.0, NAN]),
    ("pow", (0.0, 0), [0.0]),
    ("pow", (0.0, 1), [1.0]),
    ("pow", (0.0, 2), [0.0]),
    ("pow", (-2.0, 3), [12.0]),
    ("pow", (-2.0, -1), [-0.25]),
    ("logaddexp", (-INF, -INF), [0.0, 0.0]),
    ("logaddexp", (-INF, 1.0), [0.0, 1.0]),
    ("logaddexp", (INF, 1.0), [1.0, 0.0]),
    ("logaddexp", (NAN, 1.0), [NAN, NAN]),
    ("sinc", (0.0,), [0.0]),
    ("gamma", (-1.0,), [NAN]),
    ("lgamma", (-2.0,), [NAN]),
    ("mod", (6.0, 2.0), [1.0, -3.0]),
    ("mod", (-6.0, 4.0), [1.0, 2.0]),
    ("fmod", (-6.0, 4.0), [1.0, 1.0]),
    ("mod", (0.3, 0.1), [1.0, -2.0]),  # 0.3 / 0.1 rounds to 3 less an ulp; the code took off 2
    ("select", (True, NAN, 1.0), [1.0, 0.0]),
    ("select", (False, NAN, 1.0), [0.0, 1.0]),
    ("nan_to_num", (NAN,), [0.0]),
    ("min", (NAN, 1.0), [1.0, 0.0]),
    ("min", (1.0, NAN), [1.0, 0.0]),
    ("max", (NAN, 1.0), [1.0, 0.0]),
    ("max", (1.0, NAN), [1.0, 0.0]),
    ("minimum", (NAN, 1.0), [1.0, 0.0]),
    ("minimum", (1.0, NAN), [0.0, 1.0]),
    ("maximum", (NAN, 1.0), [1.0, 0.0]),
    ("maximum", (1.0, NAN), [0.0, 1.0]),
    ("fmin", (NAN, 1.0), [0.0, 1.0]),
    ("fmin", (1.0, NAN), [1.0, 0.0]),
    ("fmax", (NAN, 1.0), [0.0, 1.0]),
    ("fmax", (1.0, NAN), [1.0, 0.0]),
    ("szmul", (0.0, 3.0), [3.0, 0.0]),
]


@pytest.mark.parametrize(("op", "args", "want"), _TABLE, ids=lambda v: str(v))
def test_slopes_at_singular_points(op: str, args: tuple[float, ...], want: list[float]) -> None:
    np.testing.assert_allclose(_slopes(op, args), want, rtol=1e-14)


@pytest.mark.parametrize("slope", [INF, -INF, NAN, 2.0])
@pytest.mark.parametrize("dtype", [FLOAT64, FLOAT32], ids=str)
def test_a_zero_cotangent_wins(slope: float, dtype: Scalar) -> None:
    program = call(rules.get("szmul"), (0.0, slope), dtype)
    kind = np.dtype(dtype.name).type
    assert compiled(program)(kind(0.0), kind(slope))[0] == 0.0
    assert math.isnan(compiled(program)(kind(NAN), kind(1.0))[0])


@pytest.mark.parametrize("op", ["min", "max", "minimum", "maximum", "fmin", "fmax"])
@pytest.mark.parametrize("first", [0.0, -0.0])
def test_a_tie_passes_to_the_operand_returned(op: str, first: float) -> None:
    """Signed zeros tell which operand Numba returns."""
    args = (first, -first)
    returned = compiled(call(rules.get(op), args, FLOAT64))(*args)[0]
    is_first = math.copysign(1.0, returned) == math.copysign(1.0, first)
    assert _slopes(op, args) == ([1.0, 0.0] if is_first else [0.0, 1.0])
    assert _slopes(op, (2.0, 2.0)) == ([1.0, 0.0] if is_first else [0.0, 1.0])


@pytest.mark.parametrize(("n", "want"), [(0, 0.0), (1, 0.0), (2, 2.0), (3, 0.0), (0.5, 0.0)])
def test_second_derivative_of_a_power_at_zero(n: float, want: float) -> None:
    at_run_time = derivative(derivative(call(rules.get("pow"), (0.0, n), FLOAT64), 0), 0)
    assert compiled(at_run_time)(0.0, n)[0] == want
    exponent = Const(n, INT64 if isinstance(n, int) else FLOAT64)
    constant = derivative(derivative(call(rules.get("pow"), (0.0, exponent), FLOAT64), 0), 0)
    assert compiled(constant)(0.0)[0] == want


@pytest.mark.parametrize("n", [0.0, 1.0, 2.0, 0.5, 1 / 3, -1.0, -0.5, -2.0, 3.5])
def test_constant_and_run_time_exponents_agree_at_zero(n: float) -> None:
    constant = derivative(call(rules.get("pow"), (0.0, Const(n, FLOAT64)), FLOAT64), 0)
    assert compiled(constant)(0.0)[0] == _slopes("pow", (0.0, n))[0]


def test_an_infinite_slope_behind_a_zero_tangent() -> None:
    """d/dx sqrt(x - x) is 0, not nan."""
    value = evaluate(call(rules.get("szmul"), (0.0, INF), FLOAT64), (0.0, INF))
    assert value == 0.0


def test_numba_agrees_with_python_on_min_and_max() -> None:
    @numba.njit
    def both(a: float, b: float) -> tuple[float, float]:
        return min(a, b), max(a, b)

    for a, b in [(0.0, -0.0), (-0.0, 0.0), (NAN, 1.0), (1.0, NAN)]:
        np.testing.assert_array_equal(both(a, b), (min(a, b), max(a, b)))
        np.testing.assert_array_equal(np.signbit(both(a, b)), np.signbit((min(a, b), max(a, b))))
