"""Launches: what runs, in which forms, and what a kernel is to each operator."""

from __future__ import annotations

import functools
import subprocess
import sys

import numpy as np
import pytest
from numba import njit

import adjit as aj

from . import programs as p
from .emulate import launch

FACTOR = 2.0


@pytest.fixture(autouse=True)
def _uncompiled(uncompiled):
    """Generated programs run as plain Python; two tests below are compiled."""


@aj.kernel
def mark(hits):
    place = aj.index(3)
    i, j, k = place
    aj.atomic_add(hits, place, 1)
    aj.atomic_add(hits, (i, j, k), 10)


@aj.kernel
def mark_1(hits):
    hits[aj.index()] += 1


@aj.kernel
def mark_2(hits, *, by=1):
    i, j = aj.index(2)
    hits[i, j] += by


@pytest.mark.parametrize("shape", [(4,), (1,), (0,), (3, 2), (0, 2), (2, 0), (2, 3, 4), (2, 0, 4), (1, 1, 1)])
@pytest.mark.parametrize("integer", [int, np.int64, np.int32])
def test_each_item_runs_once(shape, integer):
    hits = np.zeros([n + 1 for n in shape], dtype=np.int64)
    k = {1: mark_1, 2: mark_2, 3: mark}[len(shape)]
    k(hits, ndrange=tuple(map(integer, shape)))
    inside = tuple(slice(n) for n in shape)
    assert np.all(hits[inside] == (11 if len(shape) == 3 else 1))
    assert hits.sum() == hits[inside].sum()


def test_an_int_is_a_range_of_one_axis():
    hits = np.zeros(5, dtype=np.int32)
    mark_1(hits, ndrange=3)
    mark_1(hits, ndrange=np.int16(2), block=64, stream=None)
    assert list(hits) == [2, 2, 1, 0, 0]


def test_keywords_defaults_and_partials():
    hits = np.zeros((2, 2))
    mark_2(hits, ndrange=(2, 2))
    mark_2(hits, by=3, ndrange=(1, 2))
    functools.partial(mark_2, by=5, ndrange=(1, 1))(hits)
    assert hits.tolist() == [[9.0, 4.0], [1.0, 1.0]]

    def host(hits):
        mark_2(hits, by=2, ndrange=(2, 1), block=(8, 8), stream=None)

    aj.jit(host)(hits)
    assert hits.tolist() == [[11.0, 4.0], [3.0, 1.0]]


@aj.kernel
def fractions(y):
    i, j = aj.index(2)
    y[i, j] = i / 4 + 0.5 * j


def test_index_integers_are_weak():
    y = np.zeros((2, 3), dtype=np.float32)
    fractions(y, ndrange=y.shape)
    assert y.tolist() == [[0.0, 0.5, 1.0], [0.25, 0.75, 1.25]]
    assert "float64" not in aj.jit(fractions).source(y, ndrange=y.shape)


X, Y = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])


def test_autodiff_of_a_kernel():
    x, y, dx, dy = X.copy(), Y.copy(), np.zeros(3), np.array([1.0, 10.0, 100.0])
    result = aj.autodiff(
        aj.Reverse, p.scale, aj.Duplicated(y, dy), aj.Active(2.0), aj.Duplicated(x, dx), ndrange=3
    )
    assert result.gradients == (None, np.sum(X * [1, 10, 100]), None)
    assert dx.tolist() == [2.0, 20.0, 200.0] and not dy.any() and y.tolist() == [2.0, 4.0, 6.0]
    y, dx, dy = Y.copy(), np.ones(3), np.zeros(3)
    aj.autodiff(
        aj.Forward, p.scale, aj.Duplicated(y, dy), aj.Duplicated(2.0, 0.5), aj.Duplicated(x, dx), ndrange=3
    )
    assert dy.tolist() == [2.5, 3.0, 3.5]
    u, du = X.copy(), np.ones(3)
    for _ in range(2):
        aj.autodiff(aj.Reverse, p.square, aj.Duplicated(u, du), ndrange=(3,))
    assert u.tolist() == [1.0, 16.0, 81.0] and du.tolist() == [4.0, 32.0, 108.0]


def test_keywords_of_autodiff_are_const():
    u, du = X.copy(), np.ones(3)
    aj.autodiff(aj.Reverse, p.square, aj.Duplicated(u, du), ndrange=aj.Const(2))
    assert du.tolist() == [2.0, 4.0, 1.0]
    with pytest.raises(aj.ArgumentError, match="'u' is Duplicated, and given by keyword"):
        aj.autodiff(aj.Reverse, p.square, u=aj.Duplicated(u, du), ndrange=2)


def test_pure_vjp_and_jvp_of_a_kernel():
    y = Y.copy()
    (state,) = aj.pure(p.scale)(y, 2.0, X, ndrange=2)
    assert state.tolist() == [2.0, 4.0, 6.0] and y.tolist() == Y.tolist()
    (state,), pullback = aj.vjp(aj.pure(p.scale), y, 2.0, X, ndrange=2)
    dy, dalpha, dx = pullback((np.ones(3),))
    assert (dy.tolist(), dalpha, dx.tolist()) == ([0.0, 0.0, 1.0], 3.0, [2.0, 2.0, 0.0])
    pushed = aj.jvp(
        functools.partial(aj.pure(p.scale), ndrange=2), (y, 2.0, X), (np.ones(3), 1.0, np.zeros(3))
    )
    assert pushed[1][0].tolist() == [1.0, 2.0, 1.0]
    aj.check_grad(p.scale, y, 2.0, X, ndrange=3)
    aj.check_grad(p.half_sweep, p.GRID.copy(), p.GRID.copy(), 1, ndrange=p.GRID.shape)


def test_options_hold_where_a_kernel_is_called():
    configured = aj.options(p.square, boundscheck=True)
    u = X.copy()
    configured(u, ndrange=3)
    assert u.tolist() == [1.0, 4.0, 9.0]
    with pytest.raises(IndexError):
        configured(u, ndrange=4)


def test_a_kernel_is_an_argument():
    def twice(k, u):
        k(u, ndrange=len(u))
        k(u, ndrange=len(u))
        return np.sum(u)

    assert aj.grad(twice, wrt=1)(p.square, X.copy()).tolist() == [4.0, 32.0, 108.0]


# caches


def scaled_by(factor):
    @aj.kernel
    def times(u):
        u[aj.index()] *= factor

    return times


@aj.kernel
def by_global(u):
    u[aj.index()] *= FACTOR


def total(k):
    def f(u):
        v = u.copy()
        k(v, ndrange=len(v))
        return np.sum(v)

    return f


def test_two_kernels_of_one_text_are_told_apart():
    two, three = scaled_by(2.0), scaled_by(3.0)
    u = np.ones(2)
    two(u, ndrange=2)
    three(u, ndrange=2)
    assert u.tolist() == [6.0, 6.0]
    assert [aj.grad(total(k))(X.copy())[0] for k in (two, three, two)] == [2.0, 3.0, 2.0]


def test_a_global_that_changes(monkeypatch):
    f = aj.grad(total(by_global))
    assert f(X)[0] == 2.0
    monkeypatch.setitem(globals(), "FACTOR", 5.0)
    assert f(X)[0] == 5.0
    u = np.ones(1)
    by_global(u, ndrange=1)
    assert u[0] == 5.0


def test_a_closure_value_that_changes():
    factor = 2.0

    @aj.kernel
    def times(u):
        u[aj.index()] *= factor

    f = aj.grad(total(times))
    first = f(X)[0]
    factor = 7.0
    assert (first, f(X)[0]) == (2.0, 7.0)


MODULE = """
import numpy as np, adjit as aj

FACTOR = {factor}

@aj.kernel
def times(u):
    i = aj.index()
    u[i] = u[i] * FACTOR

def f(u):
    v = u.copy()
    times(v, ndrange=len(v))
    return np.sum(v)
"""
RUN = """
import sys; sys.path.insert(0, {folder!r})
import numpy as np, cached_kernel
import adjit as aj
from adjit.runtime import cache
stored = []
store = cache.store
cache.store = lambda *a: (stored.append(a[0]), store(*a))
u = np.ones(2)
cached_kernel.times(u, ndrange=2)
print(u[0], aj.grad(cached_kernel.f)(np.ones(2))[0], len(stored))
"""


def test_a_second_process_takes_programs_from_the_disk(tmp_path, monkeypatch):
    monkeypatch.delenv("ADJIT_UNCOMPILED")
    monkeypatch.setenv("ADJIT_CACHE_DIR", str(tmp_path / "cache"))

    def run(factor: float) -> str:
        (tmp_path / "cached_kernel.py").write_text(MODULE.format(factor=factor), encoding="utf-8")
        code = RUN.format(folder=str(tmp_path))
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        return done.stdout.strip()

    assert [run(3.0), run(3.0), run(4.0)] == ["3.0 3.0 2", "3.0 3.0 0", "4.0 4.0 2"]


def test_many_items_with_loops_of_their_own_need_no_heap(monkeypatch):
    monkeypatch.delenv("ADJIT_UNCOMPILED")
    n = 1_000_000
    x, count = np.linspace(0.1, 2.0, n), np.arange(n) % 5
    gradient = aj.grad(p.iterated)(x, count)
    some = np.array([0, 1, 2, 3, 4, n - 1])
    np.testing.assert_allclose(gradient[some], aj.grad(p.iterated)(x[some], count[some]), rtol=1e-13)


def test_the_emulation_knows_device_functions():
    y = np.zeros(2)
    launch(p.scale, y, 3.0, np.ones(2), ndrange=2)
    assert y.tolist() == [3.0, 3.0]


def test_python_calls_of_the_markers():
    a = np.array([1.0, 5.0])
    assert (
        aj.atomic_add(a, 0, 2.0) == 1.0
        and aj.atomic_min(a, 1, 4.0) == 5.0
        and aj.atomic_max(a, (1,), 9.0) == 4.0
    )
    assert a.tolist() == [3.0, 9.0]
    assert repr(p.scale) == "adjit.kernel(scale)" and njit(p.wave.py_func)(0.0) == 0.0
