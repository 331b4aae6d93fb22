"""Generated text as plain Python raises nowhere where compiled code gives infinity, NaN or zero."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numba import njit

import adjit as aj
from adjit import rules
from adjit.runtime.compile import load

TEXT = """from numba import njit

@njit(error_model="numpy")
def adjoint(a, b):
    def inner(x):
        return x / b
    return a / b, inner(a), a ** b

@njit
def primal(a, b):
    return a / b

@njit(error_model="numpy")
def whole(a, b):
    return a // b, a % b

@njit
def power(a, b):
    return a ** b
"""


@pytest.fixture
def space():
    return load(TEXT, compiled=False)


def test_divisions_by_zero(space):
    assert space["adjoint"](1.0, 0.0) == (math.inf, math.inf, 1.0)
    assert space["adjoint"](-1.0, 0.0)[0] == -math.inf
    assert math.isnan(space["adjoint"](0.0, 0.0)[0])
    assert space["adjoint"](1, 0)[0] == math.inf
    assert space["whole"](7, 0) == (0, 0)
    assert all(map(math.isnan, space["whole"](0.0, 0.0)))
    with pytest.raises(ZeroDivisionError):
        space["primal"](1.0, 0.0)


def test_powers(space):
    power = space["power"]
    assert power(0.0, -1.0) == math.inf
    assert math.isnan(power(-8.0, 1 / 3))
    assert power(1e200, 2.0) == math.inf
    compiled = njit(error_model="numpy")(lambda x, n: x**n)
    for f in (power, compiled, lambda x, n: space["adjoint"](x, n)[2]):
        for x in (0.0, 1e-170):
            with pytest.raises(ZeroDivisionError):
                f(x, -2)
    for x, n in ((3, -1), (-1, -1), (1, -2), (math.inf, -1), (-2.0, -3), (2.0, -1100), (0.0, -70000)):
        assert power(x, n) == compiled(x, n)
    assert power(2, 10) == 1024
    assert isinstance(power(2, 10), int)
    assert power(-8 + 0j, 0.5) == (-8 + 0j) ** 0.5
    for a, b in ((0.0, -1.0), (1e200, 2.0), (0.5, 3.0)):
        assert power(a, b) == njit(lambda x, y: x**y)(a, b)


NAMES = sorted({s for r in rules.all_rules() if r.arity == 1 for s in r.spellings if s.startswith("math.")})
POINTS = (
    0.0,
    -0.0,
    1.0,
    -1.0,
    -2.0,
    0.5,
    5e-324,
    -1e-320,
    171.7,
    -170.5,
    1e300,
    math.inf,
    -math.inf,
    math.nan,
)


def test_functions_at_poles_and_edges():
    """Where Python's raise, and where they do not: what compiled ones give."""
    values = ", ".join(f"1.0 * {name}(x)" for name in NAMES)
    powers = "math.pow(x, y), math.atan2(x, y), math.hypot(x, y), math.copysign(x, y)"
    text = f"from numba import njit\nimport math\n\n@njit\ndef each(x, y):\n    return {values}, {powers}\n"
    plain, compiled = load(text, compiled=False)["each"], load(text)["each"]
    for x, y in zip(POINTS, (*POINTS[3:], *POINTS[:3]), strict=True):
        for name, a, b in zip((*NAMES, *powers.split("), ")), plain(x, y), compiled(x, y), strict=True):
            whole = name in ("math.floor", "math.ceil", "math.trunc") and abs(x) > 2**63 and math.isfinite(x)
            same = (math.isnan(a) and math.isnan(b)) or (
                a == b and math.copysign(1, a) == math.copysign(1, b)
            )
            same = same or whole
            assert same or math.isclose(a, b, rel_tol=1e-14), (name, x, y, a, b)


def test_second_derivatives_that_overflow(uncompiled):
    for f in (
        lambda x: math.gamma(x),
        lambda x: math.lgamma(x),
        lambda x: 1.0 / x,
        lambda x: math.exp(1.0 / x),
    ):
        assert aj.hessian(f)(1e-170) in (math.inf, -math.inf)


def matern(x, width):
    total = 0.0
    for i in range(len(x)):
        for j in range(len(x)):
            r = math.sqrt((x[i] - x[j]) ** 2) / width
            total += (1.0 + r) * math.exp(-r)
    return total


def test_gradients_at_a_root_of_zero(uncompiled):
    x = np.array([0.1, 0.5, 0.9])
    dx, dw = aj.grad(matern, wrt=(0, 1))(x, 0.7)
    np.testing.assert_allclose(dx[1], 0.0, atol=1e-15)
    slope = (matern(x, 0.7 + 1e-6) - matern(x, 0.7 - 1e-6)) / 2e-6
    assert dw == pytest.approx(slope, rel=1e-8)


def test_numbers_are_pythons_own_as_compiled_ones_are(uncompiled):
    def halves(a):
        return a[0] / 2.0, len(a) > 1

    value, flag = aj.jit(halves)(np.array([3.0]))
    assert type(value) is float and type(flag) is bool
    gradient = aj.grad(lambda x, a: x * a[0], wrt=(0,))(2.0, np.array([3.0]))
    assert gradient == (3.0,) and type(gradient[0]) is float
