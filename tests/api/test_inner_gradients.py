"""Gradients inside programs, and gradients of gradients: right values, no confusion between levels."""

from __future__ import annotations

import math

import numpy as np
import pytest

import adjit as aj

pytestmark = pytest.mark.usefixtures("uncompiled")

X = np.array([1.2, 0.8, 0.5])


def product_rule(x):
    return x * aj.grad(lambda y: x * y)(1.0)


def closure(x):
    return aj.grad(lambda y: x * y * y)(x)


def cubes(x):
    s = 0.0
    for i in range(x.shape[0]):
        value, slope = aj.value_and_grad(lambda a: a**3 * x[i])(x[i])
        s += slope + value
    return s


def quadratic(x, k):
    s = 0.0
    for i in range(x.shape[0]):
        s += k * x[i] ** 3
    return s


def squared_norm(x, k):
    g = aj.grad(quadratic)(x, k)
    s = 0.0
    for i in range(g.shape[0]):
        s += g[i] ** 2
    return s


outer_gradient = aj.grad(quadratic)


def product_of_slopes(x):
    g = outer_gradient(x, 2.0)
    return g[0] * g[1]


def newton(x):
    y = 1.0
    while abs(y * y - x) > 1e-12:
        y = 0.5 * (y + x / y)
    return y


def cubed(x):
    s = 1.0
    for _ in range(3):
        s *= x
    return s


def rosenbrock(x):
    s = 0.0
    for i in range(x.shape[0] - 1):
        s += (x[i + 1] - x[i] ** 2) ** 2 * 100 + (1 - x[i]) ** 2
    return s


def root_squared(x):
    return (math.sqrt(x) - 1.0) ** 2


def test_no_perturbation_confusion() -> None:
    """D(x -> x * D(y -> x * y)(1)) is 2x."""
    assert aj.grad(product_rule)(3.0) == 6.0


def test_closure_over_the_outer_variable() -> None:
    """D(y -> x y^2) at y = x is 2 x^2."""
    assert closure(3.0) == pytest.approx(18.0)
    assert aj.grad(closure)(3.0) == pytest.approx(12.0)
    assert aj.grad(aj.grad(closure))(3.0) == pytest.approx(4.0)


def test_inner_gradients_in_a_loop() -> None:
    """Of a^3 x at a = x with the other x held: slope 3x^3, value x^4."""
    value, gradient = aj.value_and_grad(cubes)(X)
    assert value == pytest.approx(np.sum(3 * X**3 + X**4))
    np.testing.assert_allclose(gradient, 9 * X**2 + 4 * X**3)


def test_inner_gradient_by_an_array() -> None:
    dx, dk = aj.grad(squared_norm, wrt=(0, 1))(X, 2.0)
    np.testing.assert_allclose(dx, 36 * 4 * X**3)
    assert dk == pytest.approx(2 * 2 * np.sum(9 * X**4))


def test_gradient_function_made_outside() -> None:
    want = [72 * X[0] * X[1] ** 2, 72 * X[0] ** 2 * X[1], 0.0]
    np.testing.assert_allclose(aj.grad(product_of_slopes)(X), want)


@pytest.mark.parametrize("x", [0.5, 2.0, 9.0])
def test_second_derivative_of_a_while_loop(x: float) -> None:
    assert aj.grad(newton)(x) == pytest.approx(0.5 * x**-0.5, rel=1e-9)
    second = -0.25 * x**-1.5
    assert aj.jvp(aj.grad(newton), (x,), (1.0,))[1] == pytest.approx(second, rel=1e-8)
    assert aj.grad(aj.grad(newton))(x) == pytest.approx(second, rel=1e-8)


def test_three_times_over() -> None:
    assert [g(2.0) for g in (aj.grad(cubed), aj.grad(aj.grad(cubed)), aj.grad(aj.grad(aj.grad(cubed))))] == [
        12.0,
        12.0,
        6.0,
    ]


def test_where_the_first_adjoint_vanishes() -> None:
    """(sqrt(x) - 1)^2 at 1: the first derivative is 0, the second 1/2."""
    assert aj.grad(root_squared)(1.0) == 0.0
    assert aj.grad(aj.grad(root_squared))(1.0) == pytest.approx(0.5)
    assert aj.jvp(aj.grad(root_squared), (1.0,), (1.0,))[1] == pytest.approx(0.5)


def test_hessian_products_agree() -> None:
    """Forward over reverse, reverse over reverse, and the closed form."""
    hessian = np.zeros((3, 3))
    for i in range(2):
        hessian[i, i] += 1200 * X[i] ** 2 - 400 * X[i + 1] + 2
        hessian[i + 1, i + 1] += 200
        hessian[i, i + 1] = hessian[i + 1, i] = -400 * X[i]
    v = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(aj.jvp(aj.grad(rosenbrock), (X,), (v,))[1], hessian @ v)
    np.testing.assert_allclose(aj.vjp(aj.grad(rosenbrock), X)[1](v)[0], hessian @ v)
