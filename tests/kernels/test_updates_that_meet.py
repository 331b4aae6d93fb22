"""What an array held before turns of a parallel loop met in updates of it: no turn can put it back, so it is recorded."""

from __future__ import annotations

import numpy as np
import pytest
from numba import prange

import adjit as aj

X, W = np.array([0.5, -1.0, 2.0, 0.25]), np.array([1.0, 3.0, -0.5, 2.0])
K = np.array([2, 0, 2, 2])


@aj.kernel
def spread(v, k, w):
    i = aj.index()
    aj.atomic_add(v, k[i], 0.5 * w[i])


def before_and_after(x, w, k):
    v = x * 1.0
    s = np.sum(v * v)
    spread(v, k, w, ndrange=len(w))
    return s + np.sum(v**3)


def over_time(x, w, k):
    v, s = x * 1.0, 0.0
    for t in range(3):
        s += np.sum(v**2) * (t + 1.0)
        spread(v, k, w * x, ndrange=len(w))
        v *= 0.9
    return s + np.sum(v**3)


def argument(x, w, k):
    s = np.sum(x * x * w)
    spread(x, k, w, ndrange=len(w))
    return s * np.sum(x)


def greatest(x, w, k):
    v = x * 1.0
    s = np.sum(v**3)
    for i in prange(len(w)):
        aj.atomic_max(v, k[i], w[i] * 1.0)
    return s + 0.0 * len(v)


def difference(f, at, args, k):
    moved = [[a.copy() for a in args] for _ in range(2)]
    for sign, m in zip((1.0, -1.0), moved, strict=True):
        m[at][k] += sign * 1e-6
    high, low = (f(*m, K) for m in moved)
    return (high - low) / 2e-6


@pytest.mark.parametrize("f", [before_and_after, over_time, argument, greatest], ids=lambda f: f.__name__)
def test_gradients_are_those_of_differences(f, uncompiled):
    plain = aj.jit(f)
    got = aj.grad(f, wrt=(0, 1))(X.copy(), W.copy(), K)
    _, pullback = aj.vjp(f, X.copy(), W.copy(), K)
    for at in range(2):
        want = [difference(plain, at, (X, W), k) for k in range(4)]
        np.testing.assert_allclose(got[at], want, rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(pullback(1.0)[at], want, rtol=1e-7, atol=1e-8)


def test_what_a_library_read_before_is_refused(uncompiled):
    def program(a, w, k):
        p = a @ a
        for i in prange(len(w)):
            aj.atomic_add(a, (k[i] % 2, 0), w[i])
        return np.sum(p * p)

    def with_a_copy(a, w, k):
        b = a.copy()
        p = b @ b
        for i in prange(len(w)):
            aj.atomic_add(a, (k[i] % 2, 0), w[i])
        return np.sum(p * p)

    a = np.array([[1.0, 2.0], [0.5, -1.0]])
    with pytest.raises(aj.UnsupportedError, match=r"work items may meet in 'a'.*needs what it held before"):
        aj.grad(program)(a.copy(), W, K)
    got = aj.grad(with_a_copy)(a.copy(), W, K)
    p = a @ a
    np.testing.assert_allclose(got, 2 * (p @ a.T + a.T @ p))
