"""Work arrays whose extents are read from memory that changes later, needed on one path alone and by all."""

import math

import numpy as np
import pytest

import adjit as aj


def left_early(a, r):
    w = np.zeros(r[0])
    w[2] = math.tanh(a[2])
    for i in range(len(a)):
        r[0] += 1
        return a[i] * a[r[0] % 3]
    return w[0]


def left_perhaps(a, r):
    w = np.zeros(r[0])
    w[2] = math.tanh(a[2])
    for i in range(len(a)):
        for k in range(2):
            r[0] += k
        if a[i] > 2.5:
            return a[i] * a[r[0] % 3]
    return w[0] + w[2] * a[0]


def needed_in_both_branches(a, r):
    w = np.zeros(r[0])
    w[1] = a[1] * a[1]
    r[0] = 0
    if a[0] > 0.5:
        w[0] = a[0] * w[1]
        s = w[0] * w[1]
    else:
        s = w[1] * a[2]
    return s + w[1]


@pytest.mark.parametrize("f", [left_early, left_perhaps, needed_in_both_branches], ids=lambda f: f.__name__)
@pytest.mark.parametrize("start", [0.2, 1.0, 2.0])
def test_extents_are_recorded_where_the_array_is_made(f, start, monkeypatch):
    monkeypatch.setenv("ADJIT_UNCOMPILED", "1")
    monkeypatch.setenv("ADJIT_VERIFY", "1")
    a, r = start + np.arange(3.0), np.array([3])
    aj.check_grad(f, a, r)
    _, pullback = aj.vjp(f, a.copy(), r.copy())
    assert pullback(1.0)[0].tolist() == aj.grad(f)(a.copy(), r.copy()).tolist()


def fresh_array_then_left(x, n):
    for i in range(n):
        if x[0] > 0.5:
            return x[1] * x[2]
        b = x * 2.0
        b[0] *= x[1]
        x = b
    return b[1] * b[0]


def rebound_then_left(x, n):
    b, v = x, x[:3].copy()
    for _ in range(n):
        if v[0] > 0.5:
            return v[1] * v[2]
        v = x[::2]
        b = b * x
    return np.sum(x * b) + b[1]


def chosen_and_seen(x, n):
    a, c, k, s, u = x * 2.0, np.ones(6), n, 0.0, x[1:4]
    for _ in range(4):
        k += 1
    if x[0] > -5.0:
        if k % 3 == 0:
            c, a = a, c
        s = c[k % 6]
        u = c[1:4]
    return s + np.sum(a) + c[k % 6] + u[0]


@pytest.mark.parametrize(
    "f", [fresh_array_then_left, rebound_then_left, chosen_and_seen], ids=lambda f: f.__name__
)
@pytest.mark.parametrize("shift", [0.0, -0.6])
def test_arrays_that_a_path_does_not_make(f, shift, monkeypatch):
    monkeypatch.setenv("ADJIT_UNCOMPILED", "1")
    monkeypatch.setenv("ADJIT_VERIFY", "1")
    x = np.array([0.713, 1.317, -0.429, 0.931, 0.617, 0.373]) + shift
    aj.check_grad(f, x.copy(), 2)
    assert aj.vjp(f, x.copy(), 2)[1](1.0)[0].tolist() == aj.grad(f)(x.copy(), 2).tolist()


def bound_on_one_path(u, v):
    d = v.copy()
    if u[0] < 0.5:
        if len(v) > 3:
            return u[0]
        d = u
    s = 0.0
    for i in range(3):
        s += d[0] * u[i] * len(d)
    return s


def test_extents_of_what_a_path_does_not_make_are_read_where_it_is(monkeypatch):
    """Moved out of the loop, the extent was read before the early return (UnboundLocalError in plain Python)."""
    monkeypatch.setenv("ADJIT_UNCOMPILED", "1")
    for first in (0.4, 1.2):
        u, v = np.array([first, 0.4, 0.6, 0.8]), np.array([0.3, 0.7, 0.5, 0.2])
        assert aj.value_and_grad(bound_on_one_path)(u, v)[0] == bound_on_one_path(u, v)
        aj.check_grad(bound_on_one_path, u, v)
