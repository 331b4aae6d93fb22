"""Stores at strided places in host code: slices with steps, and loops over multiples of an index, are kernels in every mode."""

from __future__ import annotations

import math

import numpy as np
import pytest

import adjit as aj

from .modes import every_mode
from .places import same, to_device


@pytest.fixture(autouse=True)
def _uncompiled(uncompiled):
    """What runs on the CPU for comparison runs as plain Python."""


X = np.linspace(0.3, 1.7, 12)
U = np.linspace(-1.0, 1.2, 72).reshape(9, 8)


def every_second(x):
    v = x * 1.0
    v[::2] *= v[::2]
    return np.sum(v * v * x)


def from_another(x, y):
    v = x * 1.0
    k = (len(v) + 1) // 3
    v[1::3] = np.sin(y[:k])
    return np.sum(v * v * x)


def backwards(x):
    v = x * 1.0
    v[::-1] *= x
    v[-2::-2] += x[: len(v[-2::-2])] ** 2
    v[8:1:-3] *= v[8:1:-3] * x[1:4]
    return np.sum(v * v * x)


def pairs(x):
    v = x * 1.0
    for i in range(len(x) // 2):
        v[2 * i + 1] = math.sin(v[2 * i]) * x[i]
    return np.sum(v * v * x)


def red_black(x):
    """Each half reads the other one."""
    v = x * 1.0
    for _ in range(3):
        v[1:-1:2] = 0.5 * (v[:-2:2] + v[2::2]) * v[1:-1:2]
        v[2:-1:2] = 0.5 * (v[1:-2:2] + v[3::2]) * v[2:-1:2]
    return np.sum(v * v * x)


def two_axes(u):
    v = u * 1.0
    for _ in range(2):
        v[1:-1:2, 1:-1:2] = v[:-2:2, 1:-1:2] * v[2::2, 1:-1:2]
        v[::2, ::-1] *= v[::2, ::-1]
        v[::3] += v[0] * 1.0
    return np.sum(v * v * u)


def halves(x):
    v = x * 1.0
    v[::2], v[1::2] = v[::2] * x[0], v[::2] * v[1::2]
    return np.sum(v * v * x)


def a_view(x):
    v = x.reshape(-1, 2) * 1.0
    w = v.reshape(-1)
    w[::2] *= w[::2] * x[::2]
    even = w[2::2]
    for i in range(len(even) // 2):
        even[2 * i] = even[2 * i] * x[i] + even[2 * i + 1]
    return np.sum(w * v.reshape(-1))


def rows_in_one_axis(u):
    """Row i of a matrix that is kept in one axis."""
    n, m = u.shape
    v = np.zeros(n * m)
    for i in range(n):
        for j in range(m):
            v[i * m + j] = u[i, j] * u[i, j]
    for i in range(n):
        for j in range(m):
            v[i * m + j] *= v[i * m + j] + u[i, (j + 1) % m]
    return np.sum(v * v)


def blocks(x):
    """Three elements a turn, the last first."""
    v = x * 1.0
    for i in range(len(x) // 3):
        for k in range(2, -1, -1):
            v[3 * i + k] = v[3 * i + k] * x[i + k] + 0.1 * v[3 * i + 2 - k] * 0.0
        v[3 * i] *= v[3 * i + 2]
    return np.sum(v * v)


def overlapping_blocks(x):
    """Turns meet: each is a launch of its own."""
    v = x * 1.0
    for i in range(len(x) // 3 - 1):
        for k in range(4):
            v[3 * i + k] = v[3 * i + k] * x[i]
    return np.sum(v)


CASES = {
    every_second: (X,),
    from_another: (X, X + 1.0),
    backwards: (X,),
    pairs: (X,),
    red_black: (X,),
    two_axes: (U,),
    halves: (X,),
    a_view: (X,),
    rows_in_one_axis: (U,),
    blocks: (X,),
    overlapping_blocks: (X,),
}


@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
def test_every_mode(f):
    args = CASES[f]
    every_mode(f, args, tuple(range(len(args))))


@pytest.mark.parametrize("n", [0, 1, 2, 3])
@pytest.mark.parametrize("f", [every_second, backwards, red_black], ids=lambda f: f.__name__)
def test_few_elements(f, n: int):
    x = X[:n].copy()
    try:
        want = aj.grad(f)(x)
    except ValueError:
        return  # shapes that do not fit: the host says so on both
    same(aj.grad(f)(to_device(x)), want)


@pytest.mark.parametrize(
    "f", [every_second, from_another, pairs, halves, rows_in_one_axis], ids=lambda f: f.__name__
)
def test_no_sum_is_atomic(f):
    assert "wide_atomics=False" in aj.grad(f).source(*to_device(CASES[f]))


def test_turns_that_meet_stay_refused():
    def next_but_one(x):
        v = x * 1.0
        for i in range(1, len(x) // 2):
            v[2 * i] = v[2 * i - 2] * x[i]
        return np.sum(v)

    def any_step(x, s):
        v = x * 1.0
        for i in range(len(x) // 3):
            v[s * i] = v[s * i] * x[i]
        return np.sum(v)

    for f, args in ((next_but_one, (X,)), (any_step, (X, 2))):
        with pytest.raises(aj.UnsupportedError, match="turns may meet in 'v'"):
            aj.grad(f)(*to_device(args))
