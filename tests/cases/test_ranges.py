"""Ranges as values: chosen by branches, made anew in loops, used after them."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit, prange

import adjit as aj

U = np.linspace(0.3, 1.1, 8)


def sweep(u, forward):
    n = u.shape[0]
    for i in range(1, n - 1) if forward else range(n - 2, 0, -1):
        u[i] = 0.5 * (u[i - 1] + u[i + 1]) * u[i]
    return u[1] * u[2] + u[5]


def alternating(u, sweeps):
    n = u.shape[0]
    for k in range(sweeps):
        if k % 2 == 0:
            order = range(1, n - 1)
        else:
            order = range(n - 2, 0, -1)
        for i in order:
            u[i] = 0.5 * (u[i - 1] + u[i + 1]) * u[i]
    return u[1] * u[2] + u[5]


def remade(u, turns):
    order = range(len(u))
    s = 0.0
    for t in range(turns):
        for i in order:
            s += u[i] * (t + 1)
        order = range(t, len(u), t + 1)
        for i, j in zip(order, range(len(u))):
            s += u[i] * u[j]
    for i in order:
        s *= u[i]
    return s + len(order)


def remade_in_numba(u, turns):
    order = range(len(u))
    s = 0.0
    for t in range(turns):
        for i in order:
            s = s * 0.5 + u[i] * (t + 1)
        order = range(t, len(u), t + 1)
    return s + len(order)


def sometimes(u, wanted):
    s = 0.0
    if wanted > 0:
        chosen = range(wanted)
    if wanted > 0:
        for i in chosen:
            s += u[i] ** 2
    return s


def while_it_moves(u, turns):
    window, k, s = range(2), 0, 0.0
    while k < turns:
        for i in window:
            s += np.sin(u[i] * (k + 1))
        window = range(k, k + 2)
        k += 1
    return s


CALLS = [
    (sweep, True),
    (sweep, False),
    (alternating, 3),
    (remade, 3),
    (remade, 0),
    (remade_in_numba, 3),
    (sometimes, 3),
    (sometimes, 0),
    (while_it_moves, 3),
    (while_it_moves, 0),
]


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize(("f", "how"), CALLS, ids=lambda v: getattr(v, "__name__", str(v)))
def test_values_and_derivatives(f, how):
    u = U.copy()
    want = f(u, how)
    v = U.copy()
    assert aj.jit(f)(v, how) == want
    np.testing.assert_array_equal(u, v)
    report = aj.check_grad(f, U.copy(), how)
    assert report.reverse < 1e-8
    assert report.forward is not None


def test_compiled():
    for forward in (True, False):
        value, gradient = aj.value_and_grad(njit(sweep))(U.copy(), forward)
        assert value == njit(sweep)(U.copy(), forward)
        np.testing.assert_allclose(gradient, aj.grad(sweep)(U.copy(), forward), rtol=1e-14)


def test_ranges_of_two_kinds():
    def mixed(u, parallel):
        order = prange(len(u)) if parallel else range(len(u))
        for i in order:
            u[i] = 2.0 * u[i]
        return u[0]

    with pytest.raises(aj.UnsupportedError, match="one branch gives a prange, the other a range"):
        aj.grad(mixed)(U.copy(), True)
