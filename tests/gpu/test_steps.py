"""Sorts, running sums, searches and bins of device arrays: single steps that a library makes, or kernels.

Values and every derivative are the CPU's; orders have the CPU's places to the last one (NaN last, equal ones in order).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjit as aj

from .modes import every_mode, second
from .places import CUDA, copies, same, to_device, to_host


@pytest.fixture(autouse=True)
def _uncompiled(uncompiled):
    """What runs on the CPU for comparison runs as plain Python."""


RNG = np.random.default_rng(3)
X = RNG.integers(-4, 5, 40) * 0.5  # with ties, and runs that are merged
W = np.sin(np.arange(40.0))
M = np.cos(np.arange(60.0) * 1.7).reshape(3, 20)
BINS = RNG.integers(0, 6, 40)
EDGES = np.array([-2.0, -0.5, 0.0, 1.25])


def ordered(x, w):
    return np.sum(np.sort(x) * w) + np.sum(np.sort(x * w)[:5] ** 2)


def ranked(x, w):
    order = np.argsort(w)
    y = x[order]
    return np.sum(y[1:] * y[:-1]) + np.sum(w[np.argsort(-x)] ** 3)


def axes(m, w):
    a = np.sort(m, axis=0) * w[:20]
    b = np.sort(m[:, ::2]) * w[:10]
    k = np.argsort(m, axis=-1)
    return np.sum(a**2) + np.sum(b * b) + np.sum(np.take_along_axis(m, k, 1) * w[20:])


def running(x, w):
    a = np.cumsum(x * w)
    b = np.cumsum(x[::-2])
    return np.sum(a * a) + np.sum(b * w[:20])


def running_axes(m, w):
    a, b = np.cumsum(m, axis=0), np.cumsum(m.T, 0)
    return np.sum(a**2 * w[:20]) + np.sum(b**2) + np.sum(np.cumsum(m) ** 2) + np.sum(np.cumsum(m, 1) * w[20:])


def binned(x, w):
    k = np.argsort(x) // 7
    return np.sum(np.bincount(k, x * w, minlength=9) ** 2)


def searched(x, w):
    k = np.searchsorted(np.sort(w), x)
    k2 = np.searchsorted(np.cumsum(np.abs(w)), np.abs(x), side="right")
    return np.sum(w[np.minimum(k, 39)] * x) + np.sum(w[k2] ** 2)


def steps(x, w):
    """In a loop over time, after updates in place."""
    v = x.copy()
    for t in range(3):
        v.sort()
        v[1:] += 0.1 * v[:-1] * t
        v = np.cumsum(v * w) * 0.3
    return np.sum(v * v)


def middle(x, w):
    return np.median(x * w) * np.percentile(x, 30.0) + np.sum(np.partition(w * x, 3)[:3] ** 2)


def cells(x, w):
    """A cell list with loops written out."""
    n = len(x)
    cell = np.empty(n, np.int64)
    start = np.zeros(9, np.int64)
    mass = np.zeros(8)
    for i in range(n):
        cell[i] = int(np.floor(x[i] + 2.0)) % 8
        start[cell[i] + 1] += 1
        mass[cell[i]] += w[i] * x[i]
    start = np.cumsum(start)
    inside = x[np.argsort(cell)]
    total = 0.0
    for c in range(8):
        for k in range(start[c], start[c + 1]):
            total += inside[k] ** 2 * mass[c]
    return total


def picked(x, w):
    """Masks, whose numbers depend on data."""
    total = np.sum(np.unique(x) ** 2)
    for t in range(2):
        at = np.flatnonzero(x * w > 0.1 * t)
        total += np.sum(x[at] * w[at]) ** 2
    m = (x * w).reshape(5, 8)
    return total * np.sum(m[m < 0.3] ** 3)


def found_over_time(x, w):
    """A search of the host's, whose place is a record that kernels of the reverse sweep read."""
    total = 0.0
    for t in range(3):
        k = np.searchsorted(w, x[t])
        total += x[min(k, 39)] * w[t]
    return total


def spread(x, w):
    """Bins of one width and between edges."""
    counts, _ = np.histogram(x, 6, weights=x * w)
    between, _ = np.histogram(w, np.array([-1.5, -0.25, 0.5, 2.0]), weights=w * w)
    number, times = np.unique(x, return_inverse=True, return_counts=True)[1:]
    return np.sum(counts**2) + np.sum(between**2) + np.sum(times[number] * x * w)


PROGRAMS = (ordered, ranked, running, binned, searched, found_over_time, cells, middle)


def gradient(f, args):
    """Value and gradient."""
    got = aj.value_and_grad(f, wrt=(0, 1))(*to_device(args))
    same(got, aj.value_and_grad(f, wrt=(0, 1))(*copies(args)), 1e-11, 1e-11)


def gradient_and_its_tangent(f, args):
    """Value and gradient, and forward over reverse."""
    gradient(f, args)
    second(f, args, (0, 1), rtol=1e-11, atol=1e-11)


def test_every_mode():
    every_mode(steps, (X, W), (0, 1), rtol=1e-11)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_derivatives(f):
    gradient_and_its_tangent(f, (X, W))


@pytest.mark.parametrize("f", [picked, spread], ids=lambda f: f.__name__)
def test_gradients(f):
    gradient(f, (X, W))


@pytest.mark.parametrize("f", [axes, running_axes], ids=lambda f: f.__name__)
def test_axes(f):
    gradient_and_its_tangent(f, (M, W))


def test_gradient_of_a_sort_against_differences():
    x = np.linspace(-1.0, 1.0, 40)[np.random.default_rng(0).permutation(40)]
    gradient = aj.grad(ordered)(*to_device((x, W))).get()
    e = np.zeros(40)
    e[7] = 1e-6
    want = (np.sum(np.sort(x + e) * W) - np.sum(np.sort(x - e) * W)) / 2e-6
    want += (np.sum(np.sort((x + e) * W)[:5] ** 2) - np.sum(np.sort((x - e) * W)[:5] ** 2)) / 2e-6
    assert gradient[7] == pytest.approx(want, rel=1e-7)


def values(x):
    return np.argsort(x), np.sort(x), np.cumsum(x)


NANS = np.array([np.nan, -0.0, 1.0, 0.0, np.inf, -0.0, np.nan, -np.inf, 1.0, 0.0] * 5)
KINDS: dict[str, np.ndarray[Any, Any]] = {
    "nan": NANS,
    "float32": X.astype("float32"),
    "int32": (2 * X).astype("int32"),
    "int64": RNG.integers(-(2**62), 2**62, 100),
    "uint8": RNG.integers(0, 255, 70).astype("uint8"),
    "bool": X > 0,
    "one": X[:1],
    "none": X[:0],
    "backwards": X[::-1],
    "every third": X[1::3],
    "many": RNG.integers(0, 300, 5000) * 0.25,
}


@pytest.mark.parametrize("kind", KINDS)
def test_values(kind: str):
    x = KINDS[kind]
    given = to_device(x)
    if kind == "backwards":
        given = to_device(X)[::-1]
    if kind == "every third":
        given = to_device(X)[1::3]
    got, want = to_host(aj.jit(values)(given)), (np.argsort(x, kind="stable"), np.sort(x), np.cumsum(x))
    np.testing.assert_array_equal(got[0], want[0])
    np.testing.assert_array_equal(got[1], want[1])
    assert [a.dtype for a in got] == [a.dtype for a in want]
    np.testing.assert_allclose(got[2], want[2], rtol=1e-5 if kind == "float32" else 1e-12)


def test_no_elements():
    def program(m):
        return np.sum(np.cumsum(m, axis=0)) + np.sum(np.sort(m)) + np.sum(np.argsort(m, axis=0))

    for shape in ((0, 3), (3, 0)):
        m = np.ones(shape)
        same(aj.value_and_grad(program)(to_device(m)), aj.value_and_grad(program)(m))


def test_bins_of_negative_numbers_raise():
    def program(i):
        return np.bincount(i)

    same(aj.jit(program)(to_device(BINS)), np.bincount(BINS))
    with pytest.raises(ValueError, match="non-negative"):
        aj.jit(program)(to_device(BINS - 1))


def test_searches_among_nans_and_equal_numbers():
    def program(a, v):
        return np.searchsorted(a, v), np.searchsorted(a, v, "right"), np.digitize(v, a[:5])

    a, v = np.sort(NANS), NANS
    want = np.searchsorted(a, v), np.searchsorted(a, v, "right"), np.digitize(v, a[:5])
    same(aj.jit(program)(*to_device((a, v))), want)


def test_a_running_sum_of_another_type():
    def program(x):
        return np.cumsum(x, dtype=np.int32), np.cumsum(x, dtype=np.float32), np.nancumsum(x)

    same(aj.jit(program)(to_device(X)), program(X))


def test_the_same_bits_every_time():
    x = RNG.standard_normal(3000)
    runs = [aj.grad(lambda x: np.sum(np.cumsum(x) ** 2))(to_device(x)).get().tobytes() for _ in range(3)]
    assert len(set(runs)) == 1


def test_the_source_names_the_step():
    text = aj.jit(values).source(to_device(X))
    assert "device.argsort(" in text and "device.cumsum(" in text


def test_inside_of_a_kernel_it_is_a_loop():
    @aj.kernel
    def middle_of_three(y, x):
        i = aj.index()
        three = np.empty(3)
        for k in range(3):
            three[k] = x[i + k]
        y[i] = np.sum(np.cumsum(three)) + np.searchsorted(x, 0.25)

    x = np.sort(X)
    y = to_device(np.zeros(38))
    middle_of_three(y, to_device(x), ndrange=38)
    want = [np.sum(np.cumsum(x[i : i + 3])) + np.searchsorted(x, 0.25) for i in range(38)]
    np.testing.assert_allclose(y.get(), want)


def windows(x, w):
    """Sorts of three numbers: of local arrays in the kernel, of views a step each."""
    total = 0.0
    y = np.zeros(len(x) - 2)
    for i in range(len(x) - 2):
        three = np.empty(3)
        for k in range(3):
            three[k] = x[i + k]
        y[i] = np.sort(three)[1] * np.cumsum(three)[2] + three[np.argsort(-three)[0]] * w[i]
    for i in range(3):
        total += np.sort(w[i : i + 3])[1] ** 2
    return np.sum(y**2) * total


def test_small_sorts_in_a_loop_over_elements_are_its_kernel():
    gradient(windows, (X, W))
    nans = np.where(np.arange(40) % 5 == 2, np.nan, X)
    same(aj.jit(windows)(*to_device((nans, W))), windows(nans, W))
    text = aj.jit(windows).source(*to_device((X, W)))
    assert text.count("device.argsort(") == 1 and "device.cumsum(" not in text


@pytest.mark.skipif(not CUDA, reason="large products are a library's on CUDA devices")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_large_products(dtype: str):
    def program(a, b):
        c = a @ b.T
        return np.sum(c * c) + np.sum(a.T @ c) + np.sum((c[::2] @ c[:, 1::2][::-1])[0] @ b[:30, :60])

    a, b = RNG.standard_normal((2, 60, 600)).astype(dtype)
    rtol = 2e-3 if dtype == "float32" else 1e-9
    given, plain = to_device((a, b)), (a, b)
    assert "device.matmul(" in aj.jit(program).source(*given)
    for _ in range(3):
        got = to_host(aj.value_and_grad(program, wrt=(0, 1))(*given))
        same(got, aj.value_and_grad(program, wrt=(0, 1))(*plain), rtol, rtol * 100)
