"""Generated text as plain Python raises nowhere where compiled code gives infinity, NaN or zero."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numba import njit

import adjit as aj
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
    assert space["adjoint"](0.0, -1)[2] == math.inf
    for f in (lambda x: power(x, -1), njit(lambda x: x**-1)):
        with pytest.raises(ZeroDivisionError):
            f(0.0)
    assert power(2, 10) == 1024
    assert isinstance(power(2, 10), int)
    assert power(-8 + 0j, 0.5) == (-8 + 0j) ** 0.5
    for a, b in ((0.0, -1.0), (1e200, 2.0), (0.5, 3.0)):
        assert power(a, b) == njit(lambda x, y: x**y)(a, b)


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
