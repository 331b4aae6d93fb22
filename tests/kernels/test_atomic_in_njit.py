"""adjit's own names in njit code that adjit does not compile: the plain operations."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit, prange

import adjit as aj


def updates(h, x):
    total = 0.0
    for i in range(len(x)):
        total += aj.atomic_add(h, i % 2, x[i])
        aj.atomic_max(h, (2,), x[i])
        aj.atomic_min(h, 3, aj.stop_gradient(x[i]))
    return total + h[0] * h[1] + h[2] - h[3]


X = np.array([1.0, -2.0, 5.0, 3.0, 0.5])


def test_njit_takes_them():
    plain, compiled = np.zeros(4), np.zeros(4)
    value = njit(updates)(compiled, X)
    assert value == updates(plain, X)
    np.testing.assert_array_equal(plain, [6.5, 1.0, 5.0, -2.0])
    np.testing.assert_array_equal(compiled, plain)


def test_the_dispatcher_is_differentiated():
    f = njit(updates)
    h = np.zeros(4)
    value, gradient = aj.value_and_grad(f, wrt=1)(h, X)
    assert value == f(np.zeros(4), X)
    # in elements that later updates give back, in the product, as the maximum; not through stop_gradient
    np.testing.assert_array_equal(gradient, [2 + 1, 1 + 6.5, 1 + 1 + 1, 6.5, 1])


def test_two_axes_and_integers():
    @njit
    def count(h, at):
        for k in range(at.shape[0]):
            aj.atomic_add(h, (at[k, 0], at[k, 1]), 1)

    h = np.zeros((2, 2), np.int64)
    count(h, np.array([[0, 1], [0, 1], [1, 0]]))
    assert h.tolist() == [[0, 2], [1, 0]]


def test_in_parallel_code_adjit_gives_what_plain_code_in_order_gives():
    def spread(h, at, x):
        for i in prange(len(x)):
            aj.atomic_add(h, at[i], x[i])
        return h[0] * h[1]

    at = np.array([0, 1, 0, 1, 1])
    in_order = njit(spread)(np.zeros(2), at, X)
    assert aj.jit(njit(parallel=True)(spread))(np.zeros(2), at, X) == pytest.approx(in_order)


def test_what_they_say_of_themselves():
    assert repr(aj.atomic_add) == "adjit.atomic_add"
    assert "one step" in aj.atomic_min.__doc__
