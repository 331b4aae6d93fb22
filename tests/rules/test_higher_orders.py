"""Third and fourth derivatives at 0, where many a slope is zero: every nesting of modes agrees with the Taylor series."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjit as aj

pytestmark = pytest.mark.usefixtures("uncompiled")

NESTINGS: tuple[tuple[Any, ...], ...] = (
    (aj.grad, aj.jacfwd, aj.jacfwd),
    (aj.jacfwd, aj.jacfwd, aj.jacfwd),
    (aj.grad, aj.grad, aj.grad),
    (aj.jacfwd, aj.grad, aj.jacfwd),
    (aj.grad, aj.jacfwd, aj.jacfwd, aj.jacfwd),
    (aj.jacfwd, aj.jacfwd, aj.grad, aj.grad),
    (aj.hessian, aj.jacfwd, aj.jacfwd),
)

# of the series at 0, the third and fourth derivative
CASES: list[tuple[str, Callable[[float], float], tuple[float, float]]] = [
    ("x**3", lambda x: x**3, (6.0, 0.0)),
    ("x**4", lambda x: x**4, (0.0, 24.0)),
    ("x**4.0", lambda x: x**4.0, (0.0, 24.0)),
    ("np.power", lambda x: np.power(x, 4), (0.0, 24.0)),
    ("product", lambda x: x * x * x * x, (0.0, 24.0)),
    ("square", lambda x: np.square(x) * x, (6.0, 0.0)),
    ("sin", lambda x: math.sin(x) * x, (0.0, -4.0)),
    ("expm1", lambda x: math.expm1(x) * x, (3.0, 4.0)),
    ("tan", lambda x: math.tan(x) ** 3, (6.0, 0.0)),
    ("asin", lambda x: math.asin(x) ** 3, (6.0, 0.0)),
    ("atan2", lambda x: math.atan2(x, 1.0) * x * x, (6.0, 0.0)),
    ("hypot", lambda x: math.hypot(x, 1.0) * x, (3.0, 0.0)),
    ("log1p", lambda x: math.log1p(x) ** 2, (-6.0, 22.0)),
    ("pow", lambda x: (1.0 + x) ** x, (-3.0, 20.0)),
    ("pow of a square", lambda x: (2.0 * x + 1) ** (x * x), (12.0, -48.0)),
    ("sinc", lambda x: np.sinc(x), (0.0, math.pi**4 / 5)),
    ("tanh", lambda x: math.tanh(x) ** 2, (0.0, -16.0)),
    ("cosh", lambda x: (math.cosh(x) - 1) ** 2, (0.0, 6.0)),
    ("erf", lambda x: math.erf(x) ** 2, (0.0, -64 / math.pi)),
    ("logaddexp", lambda x: np.logaddexp(x, 0.0), (0.0, -0.125)),
    ("quotient", lambda x: x / (1 + x) * x, (-6.0, 24.0)),
    ("max", lambda x: max(x * x * x + 1, 0.0), (6.0, 0.0)),
    ("abs", lambda x: abs(x - 1) ** 3, (-6.0, 0.0)),
]


@pytest.mark.parametrize(("f", "want"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_where_lower_derivatives_vanish(f: Callable[[float], float], want: tuple[float, float]) -> None:
    for nesting in NESTINGS:
        g: Any = f
        for operator in nesting:
            g = operator(g)
        order = len(nesting) + nesting.count(aj.hessian)
        assert g(0.0) == pytest.approx(want[order - 3], rel=1e-12, abs=1e-12), [o.__name__ for o in nesting]


@pytest.mark.parametrize("f", [lambda x: (math.sqrt(x) - 1.0) ** 2, lambda x: (np.cbrt(x) - 1.0) ** 3])
def test_where_a_first_adjoint_vanishes(f: Callable[[float], float]) -> None:
    """(sqrt(x) - 1)^2 and (cbrt(x) - 1)^3 at 1: a plain 0 in place of a product would lose a term."""
    want = (-0.75, 1.875) if f(4.0) == 1.0 else (6 / 27, -8 / 9)
    for nesting in NESTINGS:
        g: Any = f
        for operator in nesting:
            g = operator(g)
        order = len(nesting) + nesting.count(aj.hessian)
        assert g(1.0) == pytest.approx(want[order - 3], rel=1e-12), [o.__name__ for o in nesting]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_zero_still_wins_over_an_infinite_slope() -> None:
    """The root of 0 x passes 0 at every x, and so do its derivatives."""
    f = lambda x: np.sqrt(x * 0.0) * 3.0 + x * x
    for nesting in NESTINGS:
        g: Any = f
        for operator in nesting:
            g = operator(g)
        assert g(np.float64(0.0)) == 0.0
        assert g(np.float64(2.0)) == 0.0
