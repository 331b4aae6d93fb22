"""Functions under `numba.vectorize`: values are Numba's, derivatives those of differences."""

import math

import numpy as np
import pytest
from numba import float32, float64, njit, vectorize

import adjit as aj


@vectorize
def soft(a, b):
    if a > b:
        return a * math.exp(-b * b)
    s = 0.0
    for k in range(3):
        s += b * b * k
        if s > 1:
            break
    return s


@vectorize([float64(float64, float64)])
def mixed(a, b):
    return a * b + math.sin(a)


@vectorize([float64(float64), float32(float32)])
def of_two_types(a):
    return a * a


@njit
def in_loops_and_whole(x, b):
    y = soft(x, b)
    y[1:] += soft(x[:-1], y[1:]) * 2.0
    return np.sum(soft(x, b) * y) + soft(x[0], b)


@njit
def broadcast(x, b):
    z = mixed(x, b[:, None])
    z *= mixed(3, b[0])
    return (mixed(z[:, 1:], z[:, :1]) ** 2).sum() + mixed(z.T, 2.0)[1, 2]


def plainly(x, b):
    return np.sum(soft(x, b)) + mixed(x[0], b)


X = np.array([0.3, -1.2, 0.9, 1.7, -0.4])
PROGRAMS = [(in_loops_and_whole, (X, 0.4)), (broadcast, (X, X[:3] + 2.0)), (plainly, (X, 0.4))]


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize(("f", "args"), PROGRAMS, ids=[f.__name__ for f, _ in PROGRAMS])
def test_values_and_derivatives(f, args):
    assert math.isclose(aj.value_and_grad(f)(*args)[0], f(*args), rel_tol=1e-13)
    aj.check_grad(f, *args)


def test_compiled_on_an_array_of_integers():
    """The signature's types are those of the arguments."""

    def f(x, n):
        return np.sum(mixed(n, x))

    n = np.array([3, 4])
    value, slope = aj.value_and_grad(f)(0.5, n)
    assert math.isclose(value, 3.5 + math.sin(3) + math.sin(4))
    assert slope == 7.0


def test_refused():
    with pytest.raises(aj.UnsupportedError, match="several explicit signatures"):
        aj.grad(lambda x: np.sum(of_two_types(x)))(X)
    with pytest.raises(aj.UnsupportedError, match="assign the result"):
        aj.grad(lambda x: np.sum(soft(x, x, x)))(X)
