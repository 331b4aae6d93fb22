"""Work items that record as many values as their data asks for: counted, placed, written (`transform.counted_records`).

Values, final states and derivatives are those of the CPU, where such records grow.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjit as aj
from tests.transform.typed import program_of

from .modes import every_mode
from .places import copies, same, to_device
from .random_items import random_items

RNG = np.random.default_rng(3)
X = RNG.uniform(0.3, 3.0, 23)
C = RNG.uniform(0.2, 0.8, 23)
GRID = RNG.uniform(0.3, 3.0, (5, 7))
COUNT = np.where(np.arange(23) % 3 == 0, 0, RNG.integers(0, 5, 23))
"""Every third item has no turns."""
ENDS = np.concatenate([[0], np.cumsum(COUNT)])
NEIGHBOURS = RNG.integers(0, 23, ENDS[-1])


@pytest.fixture(autouse=True)
def _uncompiled(uncompiled):
    """What runs on the CPU for comparison runs as plain Python."""


def gradients(f: Any, args: tuple[Any, ...], wrt: tuple[int, ...] = (0,), rtol: float = 1e-12) -> str:
    """Hold value, gradient and final states to the CPU's; the text of the program."""
    gradient, given, plain = aj.value_and_grad(f, wrt=wrt), to_device(args), copies(args)
    want = gradient(*plain)
    same(gradient(*given), want, rtol, rtol)
    same(given, plain, rtol, rtol)
    return gradient.source(*given)


@aj.kernel
def cube_roots(y, x, tolerance):
    i, j = aj.index(2)
    v, change = x[i, j], 1.0
    while abs(change) > tolerance:
        change = (v * v * v - x[i, j]) / (3.0 * v * v)
        v -= change
    y[i, j] = v


def test_newton_for_each_element_of_a_grid():
    def f(x):
        y = np.zeros_like(x)
        cube_roots(y, x, 1e-9, ndrange=x.shape)
        return np.sum(y * y)

    every_mode(f, (GRID,), rtol=1e-11)
    text = aj.grad(f).source(*to_device((GRID,)))
    found = re.findall(r"(?:__kernel|__global__) void (\w+)\(.*record_memory.*\n", text)
    assert len(found) == 2  # one that records, and its reverse
    assert all(f'SOURCE.kernel("{name}", axes=2' in text for name in found)


@aj.kernel
def collatz(y, x, start):
    i = aj.index()
    n, v = start[i], x[i]
    while n > 1:
        if n % 2 == 0:
            n //= 2
            v = math.sin(v) + 0.1 * v * v
        else:
            n = 3 * n + 1
            v = v * math.cos(v) + 0.3
    y[i] = v


@aj.kernel
def over_neighbours(y, x, ends, neighbours):
    i = aj.index()
    p = 1.0
    for k in range(ends[i], ends[i + 1]):
        p = p * math.sin(x[neighbours[k]]) + x[i] * p
    y[i] = p


def test_counts_that_integers_decide():
    def f(x, start, ends, neighbours):
        y, z = np.zeros_like(x), np.zeros_like(x)
        collatz(y, x, start, ndrange=len(x))
        over_neighbours(z, y, ends, neighbours, ndrange=len(x))
        return np.sum(z * z)

    text = gradients(f, (X, np.arange(23), ENDS, NEIGHBOURS))
    assert "strict=True" not in text  # no float decides, so that kernels may be contracted


@aj.kernel
def until_threshold(y, x, w):
    i = aj.index()
    v = x[i]
    if v < 0.5:
        y[i] = v * v
        return
    for k in range(len(w)):
        v = v * w[k] + math.sin(v)
        if v > 4.0:
            break
        if v < 0.6:
            continue
        v *= 1.1
        while v > 1.5:
            v *= 0.7 * v / (0.3 + v)
            if v < x[i] * 0.2:
                y[i] = v * x[i]
                return
    y[i] = v


def test_breaks_and_early_returns():
    def f(x, w):
        y = np.zeros_like(x)
        until_threshold(y, x, w, ndrange=len(x))
        return np.sum(y * y)

    gradients(f, (X, RNG.uniform(-0.5, 1.6, 9)), (0, 1))


@aj.kernel
def settle(u, c):
    i = aj.index()
    while u[i] * u[i] > c[i]:
        u[i] = 0.7 * math.sin(u[i]) * u[i]
    u[i] = u[i] * u[i] + 1.3


def test_in_place_in_a_loop_over_time():
    """What the counting run stores is taken back; each launch goes on where the one before ended in the record."""

    def f(u, c, steps):
        for _ in range(steps):
            settle(u, c, ndrange=len(u))
        return np.sum(u * u)

    every_mode(f, (X, C, 3), (0, 1), 1e-11)


def test_kernels_as_functions_of_operators():
    plain = (X.copy(), C.copy(), np.linspace(-1.0, 1.0, 23), np.zeros(23))
    given = to_device(plain)
    for u, c, du, dc in (plain, given):
        aj.autodiff(aj.Reverse, settle, aj.Duplicated(u, du), aj.Duplicated(c, dc), ndrange=23)
    same(given, plain)


def test_a_gradient_inside_of_what_is_differentiated():
    def f(x):
        g = aj.grad(f_halved)(x)
        return np.sum(g * g * x)

    gradients(f, (X,))


@aj.kernel
def relax(v, u, c):
    i = aj.index()
    s = u[i]
    while abs(s) > c[i]:
        s = 0.5 * s * math.cos(s) + 0.1 * u[(i + 1) % len(u)] * s
    v[i] = s + 0.5 * u[i - 1]


def test_host_loops_that_the_device_steers():
    def f(x, c):
        u, v = x.copy(), np.zeros_like(x)
        n = 0
        while np.sum(u * u) > 0.5 and n < 4:
            relax(v, u, c, ndrange=len(u))
            u, v = v, u
            n += 1
        return np.sum(u * c)

    gradients(f, (X, C), (0, 1))


@aj.kernel
def mixed(y, z, x, w, count):
    i = aj.index()
    v, u = x[i], w[i]
    local = np.zeros(3)
    for k in range(count[i]):
        v = np.float32(0.7) * np.sin(v)
        while abs(u) > 0.6:
            u = u * math.exp(-u * u) + 0.1 * float(v)
            local[k % 3] += u * u
        u += 0.9 * local[(k + 1) % 3]
    y[i], z[i] = v, u


def test_two_dtypes_nested_loops_and_local_arrays():
    def f(x, w, count):
        y, z = np.zeros_like(x), np.zeros_like(w)
        mixed(y, z, x, w, count, ndrange=len(x))
        return np.sum(y * y) + np.sum(z * z * w)

    gradients(f, (X.astype(np.float32), X[::-1].copy(), COUNT), (0, 1), 1e-5)


@aj.kernel
def logistic(y, x):
    i = aj.index()
    v, n = x[i], 0
    while v < 0.97 and n < 150:
        v = 3.9 * v * (1.0 - v) + 0.0001 * v * v * v
        n += 1
    y[i] = v + 0.001 * n


def test_both_runs_come_to_the_same_floats():
    """In a chaotic map the last bit decides how often a loop runs, and derivatives reach 1e16: to the bit, or wrong."""

    def f(x):
        y = np.zeros_like(x)
        logistic(y, x, ndrange=len(x))
        return np.sum(y)

    assert "strict=True" in gradients(f, (RNG.uniform(0.1, 0.9, 50),), rtol=1e-13)


@aj.kernel
def halved(y, x):
    i = aj.index()
    v = x[i]
    while v > 0.4:
        v = v * v * 0.25
    y[i] = v


def f_halved(x):
    y = np.zeros_like(x)
    halved(y, x, ndrange=len(x))
    return np.sum(y)


@pytest.mark.parametrize("size", [0, 1, 31, 32, 33, 1024, 33_000])
def test_numbers_of_work_items(size: int):
    """Where each begins is found in blocks of 32, of blocks, of blocks of blocks."""
    gradients(f_halved, (np.linspace(0.1, 3.0, size),))


def test_the_limit_of_memory():
    args = (np.full(1000, 3.5),)
    for memory, fits in ((20_000, False), (200_000, True)):
        gradient, given = aj.grad(aj.options(f_halved, memory=memory)), to_device(args)
        if fits:
            same(gradient(*given), gradient(*copies(args)))
        else:
            with pytest.raises(aj.MemoryLimitError, match="the record of the loop"):
                gradient(*given)
        same(given, args)


FEW = 2


@pytest.mark.parametrize(
    "seed", [pytest.param(s, marks=[pytest.mark.slow] if s >= FEW else []) for s in range(60)]
)
def test_random_items(seed: int, tmp_path: Path):
    text, ndim = random_items(seed)
    program = program_of(tmp_path / f"items_{seed}.py", text)
    rng = np.random.default_rng(seed)
    a, b, w = (rng.uniform(-1, 1, (9,) if ndim == 1 else (4, 5)) for _ in range(3))
    s = rng.uniform(-1, 1, 9).astype(np.float32)
    gradients(program, (a, b, w, s, rng.integers(0, 5, 7), 2), (0, 1, 2, 3), 1e-5)
