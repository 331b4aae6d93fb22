"""Globals and closure values follow the plain call: a compiled dispatcher keeps what it was compiled with."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit, prange

import adjit as aj

H = 2.0
K = 2.0
G = 2.0
P = 2.0


@njit
def inner(x):
    return x * H


@njit
def outer(x):
    return inner(x) * x


@njit
def late(x):
    return x * x * K


@njit
def alone(x):
    return x * G


@pytest.fixture(autouse=True)
def uncompiled(monkeypatch):
    monkeypatch.setenv("ADJIT_UNCOMPILED", "1")


def test_a_compiled_callee_keeps_its_global(monkeypatch):
    assert outer(3.0) == 18.0
    monkeypatch.setitem(globals(), "H", 7.0)
    assert outer(3.0) == 18.0
    assert aj.value_and_grad(outer)(3.0) == (18.0, 12.0)
    assert aj.value_and_grad(lambda x: inner(x))(3.0) == (6.0, 2.0)


def test_a_dispatcher_that_is_not_compiled_yet_reads_the_new_global(monkeypatch):
    assert aj.value_and_grad(late)(3.0) == (18.0, 12.0)
    monkeypatch.setitem(globals(), "K", 7.0)
    assert aj.value_and_grad(late)(3.0) == (63.0, 42.0)
    assert late(3.0) == 63.0
    monkeypatch.setitem(globals(), "K", 1.0)
    assert aj.value_and_grad(late)(3.0) == (late(3.0), 42.0)


def test_a_compiled_dispatcher_keeps_its_closure_value():
    def make(c):
        @njit
        def f(x):
            return x * c * G

        return f

    f = make(3.0)
    assert f(2.0) == 12.0
    assert aj.value_and_grad(f)(2.0) == (12.0, 6.0)


def test_replaced_defaults_and_code_are_noticed():
    def f(x, c=2.0):
        return x * c

    def h(x):
        return f(x)

    gf, gh = aj.grad(f), aj.grad(h)
    assert (gf(1.0), gh(1.0)) == (2.0, 2.0)
    f.__defaults__ = (5.0,)
    assert (gf(1.0), gh(1.0), aj.grad(f)(1.0)) == (5.0, 5.0, 5.0)

    def cube(x):
        return x * x * x

    def square(x):
        return x * x

    assert aj.grad(square)(2.0) == 4.0
    square.__code__ = cube.__code__
    assert aj.value_and_grad(square)(2.0) == (8.0, 12.0)


def test_compilations_that_froze_different_values_are_refused(monkeypatch):
    @njit
    def f(x):
        return x * x * G

    assert f(1.5) == 4.5
    monkeypatch.setitem(globals(), "G", 3.0)
    assert f(1) == 3.0
    with pytest.raises(aj.UnsupportedError, match="'G' had different values when Numba compiled 'f'"):
        aj.grad(f)(1.5)


def test_replaced_keyword_defaults_are_noticed():
    def g(x, *, c=2.0):
        return x * c

    def h(x):
        return g(x)

    assert (aj.grad(g)(1.0), aj.grad(h)(1.0)) == (2.0, 2.0)
    g.__kwdefaults__ = {"c": 5.0}
    assert (aj.grad(g)(1.0), aj.grad(h)(1.0)) == (5.0, 5.0)


def test_pure_refuses_a_captured_array_that_recursion_writes():
    scratch = np.zeros(2)

    def fill(a, x, n):
        if n == 0:
            return
        a[n] = x
        fill(a, x, n - 1)

    def f(x):
        fill(scratch, x, 1)
        return x * scratch[1]

    with pytest.raises(aj.UnsupportedError, match="an array that is captured or a default value"):
        aj.vjp(aj.pure(f), 1.5)


def test_a_parallel_dispatcher_keeps_what_it_froze(monkeypatch):
    @njit(parallel=True)
    def f(x):
        s = 0.0
        for i in prange(x.shape[0]):
            t = x[i]
            for _ in range(2):
                t = t * P
            s += t
        return s

    x = np.ones(4)
    assert f(x) == 16.0
    monkeypatch.setitem(globals(), "P", 5.0)
    assert f(x) == 16.0
    np.testing.assert_array_equal(aj.grad(f)(x), np.full(4, 4.0))
