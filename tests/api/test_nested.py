"""Operators on operators, and the first adjoint that is not finite."""

import functools

import numpy as np
import pytest

import adjit as aj

X = np.array([1.0, 2.0, 3.0])


def cubes(x):
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i] ** 3
    return s


def cube(x):
    return x * x * x


def test_gradients_of_gradients():
    assert aj.grad(aj.grad(cube))(2.0) == 12.0
    assert aj.grad(aj.grad(aj.grad(cube)))(2.0) == 6.0
    inner = aj.grad(lambda a, x: a * x * x, wrt=1)
    assert aj.grad(functools.partial(inner, 3.0))(2.0) == 6.0


def test_other_operators_on_gradients():
    value, tangent = aj.jvp(aj.grad(cubes), (X,), (np.ones(3),))
    np.testing.assert_allclose(value, 3 * X * X)
    np.testing.assert_allclose(tangent, 6 * X)
    _, pullback = aj.vjp(aj.value_and_grad(cubes), X)
    np.testing.assert_allclose(pullback((1.0, np.ones(3)))[0], 3 * X * X + 6 * X)
    np.testing.assert_allclose(aj.jit(aj.grad(cubes))(X), 3 * X * X)
    assert aj.check_grad(aj.grad(cubes), X).reverse < 1e-8


def log_sum(x):
    return np.log(x[0]) + x[1]


def test_debug_nans():
    x = np.array([0.0, 1.0])
    g = aj.grad(log_sum)
    assert g(x)[0] == np.inf
    line = log_sum.__code__.co_firstlineno + 1
    with aj.debug_nans():
        with pytest.raises(aj.CheckError, match=f"(?s)`x` is not finite.*line {line}"):
            g(x)
        np.testing.assert_array_equal(g(np.array([2.0, 1.0])), [0.5, 1.0])
        _, pullback = aj.vjp(log_sum, x)
    with pytest.raises(aj.CheckError, match="not finite"):
        pullback(1.0)
    assert g(x)[0] == np.inf
