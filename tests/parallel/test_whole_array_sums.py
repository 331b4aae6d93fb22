"""Whole arrays summed in `prange` loops, as Numba sums them; stores that are a race are refused or run in order."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit, prange

import adjit as aj
from adjit.transform import parts
from adjit.transform.facts import Parallel


@pytest.fixture(autouse=True)
def _small_parts(uncompiled, monkeypatch):
    """Generated programs run as plain Python, in parts of a few turns that come in a scrambled order."""
    monkeypatch.setattr(parts, "GRAIN", 1)


def summed(x, w):
    acc = np.zeros(x.shape[1])
    for i in prange(x.shape[0]):
        acc += w[i] * x[i]
    return np.sum(acc * acc)


def less(x, w):
    acc = np.ones(x.shape[1])
    for i in prange(x.shape[0]):
        acc -= w[i] * x[i]
        for _ in range(2):
            acc += w[i]
    return np.sum(acc * acc)


def given(x, w, acc):
    for i in prange(x.shape[0]):
        acc += w[i] * x[i]
    return np.sum(acc * acc)


def multiplied(x, w):
    acc = np.ones(x.shape[1])
    for i in prange(x.shape[0]):
        acc *= 1.0 + 0.1 * w[i] * x[i]
    return np.sum(acc * acc)


def own(x, w):
    y = np.zeros(x.shape[0])
    for i in prange(x.shape[0]):
        row = x[i].copy()
        row += w[i] * row
        row *= 2.0
        y[i] = np.sum(row * row)
    return np.sum(y)


def numbers(x, w):
    acc = np.zeros(x.shape[1])
    for i in prange(x.shape[0]):
        acc += w[i] * w[i]
    return np.sum(acc * acc)


RNG = np.random.default_rng(0)
X, W = RNG.uniform(-1, 1, (40, 3)), RNG.uniform(-1, 1, 40)


def slope(f, args, k, d, h=1e-6):
    def at(t):
        moved = [a.copy() for a in args]
        moved[k] += t * d
        return f(*moved)

    return (at(h) - at(-h)) / (2 * h)


@pytest.mark.parametrize("f", [summed, less, given, multiplied, own, numbers], ids=lambda f: f.__name__)
@pytest.mark.parametrize("wrap", [lambda f: f, njit(parallel=True)], ids=["plain", "dispatcher"])
def test_values_and_gradients_are_those_of_the_loop_in_order(f, wrap):
    args = (X, W) if f is not given else (X, W, np.ones(3))
    g = wrap(f)
    copies = [a.copy() for a in args]
    assert aj.jit(g)(*copies) == pytest.approx(f(*[a.copy() for a in args]), rel=1e-12)
    value, gradients = aj.value_and_grad(g, wrt=(0, 1))(*[a.copy() for a in args])
    assert value == pytest.approx(f(*[a.copy() for a in args]), rel=1e-12)
    for k, gradient in enumerate(gradients):
        d = RNG.uniform(-1, 1, gradient.shape)
        assert np.sum(gradient * d) == pytest.approx(slope(f, args, k, d), rel=1e-6)
    aj.check_races(f, None, *args) if f is not multiplied else None


def test_sums_run_on_threads_and_products_in_order():
    x, w = np.ones((4000, 3)), np.ones(4000)
    (forward,) = aj.jit(numbers).explain(x, w).of(Parallel)
    assert not forward.reason and forward.parts is not None and forward.parts > 1
    assert [a.how for a in forward.accesses] == ["a copy for each part"]
    (found,) = aj.jit(multiplied).explain(x, w).of(Parallel)
    assert "whole arrays" in found.reason


# races


def sliced(x):
    acc = np.zeros(x.shape[1])
    for i in prange(x.shape[0]):
        acc[:] += x[i]
    return acc[0]


def by_element(x):
    acc = np.zeros(x.shape[1])
    for i in prange(x.shape[0]):
        for j in range(x.shape[1]):
            acc[j] += x[i, j]
    return acc[0]


def fixed(x):
    acc = np.zeros(2)
    for i in prange(x.shape[0]):
        for j in range(2):
            acc[j] += x[i, j]
    return acc[0]


def last(x):
    acc = np.zeros(x.shape[1])
    for i in prange(x.shape[0]):
        acc[:] = x[i]
    return acc[0]


@pytest.mark.parametrize("f", [sliced, by_element, fixed, last], ids=lambda f: f.__name__)
@pytest.mark.parametrize("operator", [aj.jit, aj.grad])
def test_a_certain_race_is_refused(f, operator):
    with pytest.raises(aj.UnsupportedError, match="writes the same element of 'acc'") as caught:
        operator(f)(X)
    text = str(caught.value)
    assert "^" in text and "aj.atomic_add" in text and "total += x[i]" in text


def guarded(x):
    acc = np.zeros(2)
    for i in prange(x.shape[0]):
        if i == 0:
            acc[0] += x[i, 0]
    return acc[0]


def one_turn(x):
    acc = np.zeros(x.shape[1])
    for i in prange(1):
        for j in range(x.shape[1]):
            acc[j] += x[i, j]
    return acc[0]


def empty_inside(x):
    acc = np.zeros(x.shape[1])
    for i in prange(x.shape[0]):
        for j in range(0):
            acc[j] += x[i, j]
    return acc[0] + x[0, 0]


def moving(x):
    acc = np.zeros(x.shape[0])
    for i in prange(x.shape[0]):
        for j in range(i, i + 1):
            acc[j] += x[i, 0]
    return acc[0]


def the_same_value(x):
    acc = np.zeros(2)
    v = x[0, 0]
    for _ in prange(x.shape[0]):
        acc[0] = v
    return acc[0]


@pytest.mark.parametrize(
    "f", [guarded, one_turn, empty_inside, moving, the_same_value], ids=lambda f: f.__name__
)
def test_what_is_not_certain_is_not_refused(f):
    assert aj.jit(f)(X) == pytest.approx(f(X))
    expected = np.zeros_like(X)
    expected[0, 0] = 1.0
    np.testing.assert_array_equal(aj.grad(f)(X), expected)


def test_a_race_that_depends_on_a_count_runs_in_order():
    def counted(x, m):
        acc = np.zeros(3)
        for i in prange(x.shape[0]):
            for j in range(m):
                acc[j] += x[i, j]
        return np.sum(acc * acc)

    for m in (0, 1, 3):
        assert aj.jit(counted)(X, m) == counted(X, m)
        expected = np.zeros_like(X)
        expected[:, :m] = 2 * np.sum(X, axis=0)[:m]
        np.testing.assert_allclose(aj.grad(counted)(X, m), expected, atol=1e-12)
    (found,) = aj.jit(counted).explain(X, 2).of(Parallel)
    assert "same elements of `acc`" in found.reason
