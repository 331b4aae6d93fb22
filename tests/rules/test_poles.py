"""Poles of slopes: first and second derivatives are infinite there, with the sign that they have beside."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

import adjit as aj

pytestmark = [pytest.mark.usefixtures("uncompiled"), pytest.mark.filterwarnings("ignore::RuntimeWarning")]

# a function, its pole, and where beside it is defined
POLES: list[tuple[str, Callable[[float], float], float, float]] = [
    ("log", lambda x: np.log(x), 0.0, 1.0),
    ("log2", lambda x: np.log2(x), 0.0, 1.0),
    ("log10", lambda x: np.log10(x), 0.0, 1.0),
    ("log1p", lambda x: np.log1p(x), -1.0, 1.0),
    ("asin at 1", lambda x: math.asin(x), 1.0, -1.0),
    ("asin at -1", lambda x: math.asin(x), -1.0, 1.0),
    ("acos at 1", lambda x: math.acos(x), 1.0, -1.0),
    ("acos at -1", lambda x: math.acos(x), -1.0, 1.0),
    ("acosh", lambda x: math.acosh(x), 1.0, 1.0),
    ("atanh at 1", lambda x: np.arctanh(x), 1.0, -1.0),
    ("atanh at -1", lambda x: np.arctanh(x), -1.0, 1.0),
    ("reciprocal", lambda x: np.reciprocal(x), 0.0, 1.0),
    ("quotient", lambda x: np.divide(1.0, x), 0.0, 1.0),
    ("x**-0.5", lambda x: np.power(x, -0.5), 0.0, 1.0),
    ("x**-2", lambda x: np.power(x, -2.0), 0.0, 1.0),
    ("0**x", lambda x: np.power(0.0, x), -1.0, 1.0),
]


@pytest.mark.parametrize(("f", "pole", "side"), [c[1:] for c in POLES], ids=[c[0] for c in POLES])
def test_derivatives_at_a_pole(f: Callable[[float], float], pole: float, side: float) -> None:
    beside = pole + 1e-6 * side
    first, second = (math.copysign(math.inf, g(f)(beside)) for g in (aj.grad, aj.hessian))
    if f(beside) < math.inf:
        assert abs(aj.grad(f)(beside)) > 100 and abs(aj.hessian(f)(beside)) > 1e6  # or it is no pole
    assert aj.grad(f)(pole) == aj.jvp(f, (pole,), (1.0,))[1] == first
    assert aj.hessian(f)(pole) == aj.jacfwd(aj.jacfwd(f))(pole) == second
    twice = aj.grad(aj.grad(f))(pole)  # inf - inf, or inf behind a factor that is 0, is nan
    assert twice == second or math.isnan(twice)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_compiled_elementwise(dtype: type, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADJIT_UNCOMPILED", "0")

    def angles(x):
        return np.sum(np.arccos(x))

    x = np.array([1.0, 0.5, -1.0], dtype)
    want = [-math.inf, -0.5 * 0.75**-1.5, math.inf]
    product = aj.hvp(angles, x, np.ones(3, dtype))
    np.testing.assert_allclose(product, want, rtol=1e-6)
    assert product.dtype == dtype


def root_of(x, p):
    return x**p


@pytest.mark.parametrize(
    "f", [lambda x: math.sqrt(x), lambda x: np.cbrt(x), lambda x: x**1.5, lambda x: root_of(x, 1.5)]
)
def test_roots_pass_zero_in_every_order(f: Callable[[float], float]) -> None:
    g = f
    for _ in range(3):
        g = aj.jacfwd(g)
        assert g(0.0) == 0.0


def test_a_power_of_zero_where_it_is_flat() -> None:
    for y in (0.0, 0.5, 1.0, 2.0):
        assert aj.grad(lambda y: np.power(0.0, y))(y) == 0.0
        assert aj.grad(lambda x, y: np.power(x, y), wrt=1)(0.0, y) == 0.0
