"""Gates: arrays in `res` of a custom rule are what they were when `fwd` returned, in loops, branches and after overwrites."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

import adjit as aj


def square_sum(v):
    s = 0.0
    for i in range(len(v)):
        s += v[i] * v[i]
    return s


def slope(res, ct):
    v, scale = res
    out = np.empty_like(v)
    for i in range(len(v)):
        out[i] = scale * ct * v[i]
    return out


norm_of_copy = aj.custom_vjp(square_sum)
norm_of_copy.defvjp(lambda v: (square_sum(v), (v.copy(), 2.0)), slope)
norm_of_view = aj.custom_vjp(square_sum)
norm_of_view.defvjp(lambda v: (square_sum(v), (v, 2.0)), slope)


def halves(v, k):
    return v[k] * v[k] * v[-1]


def halves_forward(v, k):
    places = np.array([k, len(v) - 1])
    return halves(v, k), (v, places)


def halves_backward(res, ct):
    v, places = res
    out = np.zeros(len(v))
    out[places[0]] += 2.0 * ct * v[places[0]] * v[places[1]]
    out[places[1]] += ct * v[places[0]] * v[places[0]]
    return out, None


by_index = aj.custom_vjp(halves)
by_index.defvjp(halves_forward, halves_backward)


def overwritten_afterwards(x, n):
    s = norm_of_view(x)
    x[0] = 5.0 + x[1]
    return s * x[1] + n


def own_copy(x, n):
    s = norm_of_copy(x)
    x[0] = 5.0 + x[1]
    return s * x[1] + n


def in_a_loop(x, n):
    s = 0.0
    for k in range(n):
        s += norm_of_view(x) * (k + 1)
        for i in range(len(x)):
            x[i] = 0.5 * x[i] + 0.01 * s
    return s


def of_growing_views(x, n):
    s = 0.0
    for k in range(n):
        s += norm_of_view(x[: k + 1]) * x[k]
    return s


def in_a_branch(x, n):
    s = 1.0
    for k in range(n):
        if x[k] > 1.05:
            s = s * norm_of_copy(x[k:])
        x[k] = x[k] + 0.1 * s
    return s


def in_an_open_loop(x, n):
    s, k = 0.0, 0
    while s < 40.0:
        s += norm_of_view(x) * (k + 1)
        k += 1
        x[k % n] = x[k % n] + 0.01 * s
    return s


def with_indices(x, n):
    s = 0.0
    for k in range(n):
        s += by_index(x, k)
        x[k] = 0.3 * x[k]
    return s


PROGRAMS = [
    overwritten_afterwards,
    own_copy,
    in_a_loop,
    of_growing_views,
    in_a_branch,
    in_an_open_loop,
    with_indices,
]
X = np.array([1.0, 1.5, 1.1])


def plainly(f):
    """The gradient of the plain program (custom functions are their primals there) by differences."""
    out = np.zeros_like(X)
    for i in range(len(X)):
        up, down = X.copy(), X.copy()
        up[i] += 1e-6
        down[i] -= 1e-6
        out[i] = (f(up, 3) - f(down, 3)) / 2e-6
    return out


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_gradient(f):
    g = njit(f)
    want = plainly(f)
    value, gradient = aj.value_and_grad(g)(X.copy(), 3)
    np.testing.assert_allclose(value, f(X.copy(), 3), rtol=1e-14)
    np.testing.assert_allclose(gradient, want, rtol=1e-7)


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_pullbacks(f):
    """Two pullbacks alive, each called twice; arguments overwritten before."""
    want = plainly(f)
    x, dx = X.copy(), np.zeros_like(X)
    aj.autodiff(aj.Reverse, f, aj.Duplicated(x, dx), aj.Const(3))
    np.testing.assert_allclose(dx, want, rtol=1e-7)
    x = X.copy()
    _, first = aj.vjp(f, x, 3)
    x[:] = 0.0
    _, second = aj.vjp(f, X.copy(), 3)
    for pullback in (first, second, first):
        np.testing.assert_allclose(pullback(1.0)[0], want, rtol=1e-7)


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("f", [overwritten_afterwards, in_a_loop, in_an_open_loop], ids=lambda f: f.__name__)
def test_second_derivative(f):
    v = np.array([0.3, -0.2, 0.5])
    h = 1e-6
    gradient = aj.grad(f)
    got = aj.jvp(gradient, (X.copy(), 3), (v, None))[1]
    want = (gradient(X + h * v, 3) - gradient(X - h * v, 3)) / (2 * h)
    np.testing.assert_allclose(got, want, rtol=1e-6)


def test_an_array_made_by_fwd_is_not_copied_again():
    """Outside of loops a fresh array is kept as it is."""
    assert aj.grad(own_copy).source(X, 3).count("np.empty") == aj.grad(overwritten_afterwards).source(
        X, 3
    ).count("np.empty")
