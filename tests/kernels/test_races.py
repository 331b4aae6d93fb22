"""`check_races` and `boundscheck`: what work items do to each other and to memory that is not there."""

from __future__ import annotations

import numpy as np
import pytest
from numba import prange

import adjit as aj

from . import programs as p


@pytest.fixture(autouse=True)
def _uncompiled(uncompiled, request):
    """Generated programs run as plain Python, but for the tests marked `compiled`."""


@aj.kernel
def shift(u):
    i = aj.index()
    if i > 0:
        u[i] = u[i - 1]


@aj.kernel
def scatter(y, at, x):
    i = aj.index()
    y[at[i]] = x[i]


@aj.kernel
def read_a_sum(h, x, y):
    i, j = aj.index(2)
    aj.atomic_add(h, i, x[i, j])
    if i == 1 and j == 2:
        y[0] = h[0]


@aj.kernel
def two_updates(h):
    i = aj.index()
    if i % 2 == 0:
        aj.atomic_add(h, 0, 1.0)
    else:
        aj.atomic_max(h, 0, 1.0)


@aj.kernel
def late_write(u, x):
    i = aj.index()
    x[i] = u[0]
    if i == 3:
        u[0] = 1.0


def message(f, ndrange, *args):
    with pytest.raises(aj.CheckError) as caught:
        aj.check_races(f, ndrange, *args)
    return str(caught.value)


def line(k, text):
    source = open(k.body.__code__.co_filename, encoding="utf-8").read().splitlines()
    first = k.body.__code__.co_firstlineno
    return next(n for n, t in enumerate(source[first - 1 :], first) if text in t)


def test_a_read_of_what_another_writes():
    found = message(shift, 4, np.zeros(4))
    at = line(shift, "u[i] = u[i - 1]")
    assert f"work items 1 and 2 meet in 'u[1]': 1 writes it in line {at}, 2 reads it in line {at}" in found
    assert "aj.atomic_add" in found and "^" in found


def test_two_writes():
    y = np.zeros(3)
    assert "work items 0 and 2 meet in 'y[1]': 0 writes it" in message(
        scatter, 3, y, np.array([1, 0, 1]), np.ones(3)
    )
    assert not y.any()
    assert aj.check_races(scatter, 3, y, np.array([1, 0, 2]), np.ones(3)) == (3, ("y",))


def test_updates_meet_updates_of_their_kind_only():
    found = message(read_a_sum, (2, 3), np.zeros(2), np.ones((2, 3)), np.zeros(1))
    add, read = line(read_a_sum, "atomic_add"), line(read_a_sum, "y[0] = h[0]")
    assert f"meet in 'h[0]': (0, 0) updates it in line {add}, (1, 2) reads it in line {read}" in found
    assert "work items 0 and 1 meet in 'h[0]': 0 updates it" in message(two_updates, 2, np.zeros(1))
    assert aj.check_races(two_updates, 1, np.zeros(1)).items == 1


def test_a_write_after_reads_of_others():
    assert "work items 0 and 3 meet in 'u[0]': 0 reads it" in message(late_write, 4, np.zeros(1), np.zeros(4))


def test_launches_follow_each_other():
    def host(u):
        v = np.zeros_like(u)
        for _ in range(3):
            p.step(v, u, 0.1, ndrange=len(u))
            u, v = v, u
        p.square(u[1:], ndrange=len(u) - 1)

    report = aj.check_races(host, None, np.ones(5))
    assert report.items == 19 and str(report).startswith(
        "check_races passed: 19 work items, arrays written: u"
    )


def test_swapped_buffers_that_meet():
    def host(u, v):
        for _ in range(2):
            shift(u, ndrange=1)
            u, v = v, u
        shift(v, ndrange=3)

    assert "work items 1 and 2 meet in" in message(host, None, np.ones(3), np.ones(3))


def test_prange_with_steps():
    def clean(y, x):
        s = 0.0
        for i in prange(3, len(x), 2):
            s += x[i]
            y[i] = x[i - 1]
        return s

    def meets(y):
        for i in prange(9, 2, -2):
            y[i] = y[i - 2]

    assert aj.check_races(clean, None, np.zeros(9), np.ones(9)).items == 3
    assert "work items 9 and 7 meet in 'y[7]': 9 reads it" in message(meets, None, np.zeros(10))


@pytest.mark.parametrize("order", ["C", "F"])
def test_three_axes_in_any_order(order):
    @aj.kernel
    def twice(y, x):
        i, j, k = aj.index(3)
        y[i, j, (k + 1) // 2] = x[i, j, k]

    x = np.asarray(np.ones((2, 3, 4)), order=order)
    found = message(twice, x.shape, np.zeros_like(x), x)
    assert "work items (0, 0, 1) and (0, 0, 2) meet in 'y[0, 0, 1]'" in found


def test_what_has_no_ndrange():
    with pytest.raises(aj.ArgumentError, match="is no kernel, and has no ndrange"):
        aj.check_races(lambda x: x, 3, 1.0)


def test_compiled(monkeypatch):
    monkeypatch.delenv("ADJIT_UNCOMPILED")
    assert "work items 1 and 2 meet in 'u[1]'" in message(shift, 4, np.zeros(4))
    u = np.ones((64, 64))
    assert aj.check_races(p.half_sweep, u.shape, u, u.copy(), 1).items == 64 * 64


# bounds


@aj.kernel
def ahead(y, x):
    i, j = aj.index(2)
    y[i, j] = x[i + 1, j]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("order", ["C", "F"])
def test_bounds(compiled, order, monkeypatch):
    if compiled:
        monkeypatch.delenv("ADJIT_UNCOMPILED")
    x = np.asarray(np.ones((3, 2)), order=order)
    at = line(ahead, "y[i, j] =")
    words = rf"index 3 is out of bounds for axis 0 of 'x', which has 3 elements: work item \(2, 0\), .*:{at}$"
    checked = aj.options(ahead, boundscheck=True)
    with pytest.raises(IndexError, match=words):
        checked(np.zeros_like(x), x, ndrange=x.shape)
    checked(np.zeros_like(x), x, ndrange=(2, 2))

    def host(x):
        y = np.zeros_like(x)
        ahead(y, x, ndrange=x.shape)
        return np.sum(y)

    if not compiled:
        with pytest.raises(IndexError, match=words):
            aj.grad(aj.options(host, boundscheck=True))(x)
        with pytest.raises(IndexError, match=words):
            aj.vjp(aj.options(host, boundscheck=True), x)


def test_bounds_of_prange_and_negative_indices():
    def wraps(x):
        s = 0.0
        for i in prange(len(x)):
            s += x[i - 1] * x[2 * i]
        return s

    with pytest.raises(
        IndexError, match="index 4 is out of bounds for axis 0 of 'x', which has 4 elements: work item 2,"
    ):
        aj.grad(aj.options(wraps, boundscheck=True))(np.ones(4))

    def below(x):
        for i in prange(len(x)):
            x[-1 - 2 * i] = 1.0

    with pytest.raises(IndexError, match="index -5 is out of bounds"):
        aj.jit(aj.options(below, boundscheck=True))(np.ones(4))


@aj.kernel
def both_ways(h):
    i = aj.index()
    if i == 0:
        aj.atomic_add(h, 0, 1.0)
        aj.atomic_max(h, 0, 1.0)
    elif i == 2:
        aj.atomic_add(h, 0, 1.0)


def test_two_kinds_of_one_work_item_and_one_of_a_third():
    at = line(both_ways, "atomic_max")
    found = message(both_ways, 3, np.zeros(1))
    assert f"work items 0 and 2 meet in 'h[0]': 0 updates it in line {at}" in found
    assert aj.check_races(both_ways, 2, np.zeros(1)).items == 2


@aj.kernel
def products(y, a, b):
    i = aj.index()
    y[i] = np.dot(a, b[i])
    if i == 2:
        a[1] = 0.0


@aj.kernel
def solved(y, a, b):
    i = aj.index()
    y[i] = np.linalg.solve(a, b)[i]
    if i == 0:
        b[i] = 2.0


def test_what_library_calls_read_is_noted():
    rng = np.random.default_rng(0)
    found = message(products, 3, np.zeros(3), np.ones(4), rng.random((3, 4)))
    at, read = line(products, "a[1] = 0.0"), line(products, "np.dot")
    assert f"work items 0 and 2 meet in 'a[1]': 0 reads it in line {read}, 2 writes it in line {at}" in found
    assert aj.check_races(products, 2, np.zeros(3), np.ones(4), rng.random((3, 4))).items == 2
    found = message(solved, 2, np.zeros(2), np.eye(2), np.ones(2))
    assert "meet in 'b[0]'" in found
    assert aj.check_races(solved, 1, np.zeros(2), np.eye(2), np.ones(2)).items == 1


@aj.kernel
def sorts(y, x):
    i = aj.index()
    y[i] = np.sort(x)[0]
    if i == 1:
        x[0] = -1.0


def test_sorts_too():
    found = message(sorts, 2, np.zeros(2), np.array([3.0, 1.0, 2.0]))
    assert "meet in 'x[0]': 0 reads it" in found and "1 writes it" in found
