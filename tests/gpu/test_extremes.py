"""The greatest and the least, and where they are, on devices: values and derivatives as in order, at ties and with NaNs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numba import prange

import adjit as aj

from .modes import every_mode
from .places import same, to_device


@pytest.fixture(autouse=True)
def _uncompiled(uncompiled):
    """What runs on the CPU for comparison runs as plain Python."""


X = np.array([0.5, -1.5, 2.0, 1.0, 2.0, -1.5])
U = np.linspace(-1.0, 1.2, 42).reshape(7, 6)


def of_squares(x):
    m = -1e9
    for i in prange(len(x)):
        m = max(m, x[i] * x[i])
    return m


def last_at_ties(x):
    m = x[0]
    for i in range(1, len(x)):
        m = max(x[i], m)
    return m * m


def two_axes(u):
    m, least = -1e9, 1e9
    for i in prange(u.shape[0]):
        for j in range(u.shape[1]):
            m = max(m, u[i, j])
            least = min(least, u[i, j] * u[0, 0])
    return m**2 * least


def of_row_sums(u):
    """Beside a sum, of what an inner loop adds up."""
    m, s = -1e9, 0.0
    for i in prange(u.shape[0]):
        r = 0.0
        for j in range(u.shape[1]):
            r += u[i, j] ** 2
        m = max(m, r)
        s += r * u[i, 0]
    return m * s


def of_arrays(x):
    return np.max(x) * np.min(x * x) + x[np.argmin(x)] ** 2 + np.max(x[1::2]) + np.ptp(x)


def with_a_start(x):
    return np.max(x, initial=3.0) + np.min(x, initial=0.1, where=x > 0.0) * np.max(x, initial=-3.0)


def along_axes(u):
    return np.sum(np.max(u, axis=1) ** 2) + np.max(u) + np.sum(np.min(u, axis=0) * u)


def in_time(x):
    v = x * 1.0
    for _ in range(3):
        v = v / np.max(np.abs(v)) + x
    return np.sum(v * x)


def stored_too(x):
    """What the turns store stays with them."""
    y = np.zeros(len(x))
    m = 0.0
    for i in prange(len(x)):
        y[i] = x[i] * x[i]
        m = max(m, math.sin(x[i]))
    return np.sum(y) * m


def downwards(x):
    m = 10.0
    for i in range(len(x) - 1, -1, -2):
        m = min(m, x[i] * 2.0)
    return m * m


def by_branches(x):
    """As people write it: the number, and its place."""
    m, at = x[0], 0
    for i in range(len(x)):
        if x[i] > m:
            m = x[i]
            at = i
    least = 100.0
    for i in range(len(x)):
        if x[i] * x[i] < least:
            least = x[i] * x[i]
    return m * m * x[at - 1] + least


def of_some(x):
    m = 0.0
    for i in prange(len(x)):
        if x[i] > 0.6:
            m = max(m, x[i] * x[i] - x[i])
    return m


def beside_nothing_else(u):
    """The greatest along both axes, by branches."""
    m = u[0, 0]
    for i in range(u.shape[0]):
        for j in range(u.shape[1]):
            v = u[i, j] * u[1, j]
            if v > m:
                m = v
    return m * m


CASES = {
    of_squares: (X,),
    last_at_ties: (X,),
    two_axes: (U,),
    of_row_sums: (U,),
    of_arrays: (X,),
    with_a_start: (X,),
    along_axes: (U,),
    in_time: (X,),
    stored_too: (X,),
    downwards: (X,),
    by_branches: (X,),
    of_some: (X,),
    beside_nothing_else: (U,),
}


@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
def test_every_mode(f):
    every_mode(f, CASES[f])


@pytest.mark.parametrize("form", ["first", "last", "array"])
def test_which_of_many_equal_ones(form: str):
    """Among thousands the derivative goes to one element, the same one as in order."""

    def first(x):
        m = -1.0
        for i in prange(len(x)):
            m = max(m, x[i])
        return m

    def last(x):
        m = -1.0
        for i in prange(len(x)):
            m = max(x[i], m)
        return m

    def array(x):
        return np.max(x)

    f = {"first": first, "last": last, "array": array}[form]
    x = np.zeros(5000)
    x[[1203, 1204, 4001]] = 2.0
    same(aj.grad(f)(to_device(x)), aj.grad(f)(x))
    want = np.zeros(5000)
    want[4001 if form == "last" else 1203] = 1.0
    same(aj.grad(f)(to_device(x)), want)


def test_values_that_no_turn_beats():
    def capped(x, m):
        for i in prange(len(x)):
            m = max(m, x[i])
        return m * m

    for m in (5.0, 2.0):  # greater than all, and a tie
        same(aj.grad(capped, wrt=(0, 1))(to_device(X), m), aj.grad(capped, wrt=(0, 1))(X, m))
    empty = np.zeros(0)
    same(aj.grad(capped, wrt=(0, 1))(to_device(empty), 3.0), (empty, 6.0))


def test_the_first_nan_is_the_greatest():
    def array(x):
        return np.max(x * 2.0)

    x = np.array([1.0, np.nan, 3.0, np.nan])
    value, gradient = aj.value_and_grad(array)(to_device(x))
    assert math.isnan(value)
    same(gradient, aj.grad(array)(x))
    same(gradient, np.array([0.0, 2.0, 0.0, 0.0]))


def test_places():
    def place(x):
        return np.argmax(x) + 10 * np.argmin(x)

    assert aj.jit(place)(to_device(X)) == 12
    assert aj.jit(place)(to_device(np.arange(6))) == 5


def test_the_same_bits_every_time():
    def spread(x):
        m = 0.0
        for i in prange(len(x)):
            m = max(m, math.exp(x[i]) * x[i])
        return m

    x = np.sin(np.arange(6001.0))
    runs = [aj.value_and_grad(spread)(to_device(x)) for _ in range(3)]
    assert len({repr(v) for v, _ in runs}) == 1 and len({g.get().tobytes() for _, g in runs}) == 1
    same(runs[0], aj.value_and_grad(spread)(x))


def test_what_an_outer_loop_looks_at():
    """Carried by the outer loop too, which reads what it is after each run: the inner loop alone is a total."""

    def looked_at(x):
        m, k = 0.0, 0.0
        for t in range(2):
            for i in prange(len(x)):
                m = max(m, x[i] * (t + 1))
            k += m
        return k

    same(aj.jit(looked_at)(to_device(X)), aj.jit(looked_at)(X))
    tangent = np.arange(6.0)
    same(aj.jvp(looked_at, (to_device(X),), (to_device(tangent),)), aj.jvp(looked_at, (X,), (tangent,)))
    with pytest.raises(aj.UnsupportedError, match="this loop over elements of device arrays is no kernel"):
        aj.grad(looked_at)(to_device(X))  # no turn of its reverse sweep runs over arrays


def test_products_are_refused():
    def product(x):
        p = 1.0
        for i in prange(len(x)):
            p *= x[i]
        return p

    with pytest.raises(aj.UnsupportedError, match="each turn needs 'p' of the one before"):
        aj.grad(product)(to_device(X))
