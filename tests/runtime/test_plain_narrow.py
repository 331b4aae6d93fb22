"""Uncompiled runs read and store small integers as compiled code does."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

import adjit as aj
from adjit.runtime.plain_narrow import caster, narrow


@njit
def counted(c, u):
    for _ in range(u[0] % 5):
        w = np.empty(len(c))
        for i in range(len(c)):
            w[i] = 2.0 * c[i] * c[i]
        c = w
    return c[0]


@njit
def cast(x, h):
    q = h.astype(np.int16)
    q[0] += 77
    return x[0] * float(q[0])


def run(f, x, h):
    return aj.value_and_grad(f)(x, h)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_a_loop_of_so_many_turns(n, uncompiled):
    """(Backwards from `u[0] % 5 - 1`, which wrapped.)"""
    u = np.array([n], np.uint8)
    value, gradient = run(counted, np.array([0.7, 0.2]), u)
    assert value == pytest.approx([0.7, 2 * 0.7**2, 8 * 0.7**4][n])
    assert gradient == pytest.approx([[1.0, 4 * 0.7, 32 * 0.7**3][n], 0.0])


@pytest.mark.parametrize("h", [-2147483647, 32767, 40000, -5])
def test_a_cast_keeps_the_lowest_bits(h, uncompiled):
    q = np.array([h], np.int32).astype(np.int16) + np.int16(77)
    value, gradient = run(cast, np.array([0.5]), np.array([h], np.int32))
    assert value == 0.5 * float(q[0])
    assert gradient[0] == float(q[0])


def test_elements_are_pythons_and_stores_wrap():
    a = np.array([255, 3], np.uint8)
    seen = narrow(a)
    assert type(seen[0]) is int
    assert seen[1] - 5 == -2
    seen[1:][0] = -1
    seen[0] += 2
    assert a.tolist() == [1, 255]
    assert narrow(np.zeros(2)).__class__ is np.ndarray


def test_casts():
    assert [caster("int8")(x) for x in (127, 128, -129, 300)] == [127, -128, 127, 44]
    assert [caster("uint16")(x) for x in (-1, 65536, 7.9)] == [65535, 0, 7]


def test_results_are_numpys_own_arrays(uncompiled):
    g = np.array([1, 2], np.int8)
    same, fresh = aj.jit(lambda x, g: (g, g.astype(np.uint16)))(1.0, g)
    assert same is g
    assert type(fresh) is np.ndarray
