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
