"""Loops that store to every second place: which are marked, that LLVM obeys, and that results are what they were."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from llvmlite import binding

import adjit as aj


def every_second(x, y):
    for j in range(1, x.shape[0], 2):
        x[j] = 0.5 * y[j]


def downwards(x, y):
    for j in range(x.shape[0] - 1, -1, -2):
        x[j] = y[j] + x[j]


def twice_the_index(x, y):
    for j in range(x.shape[0] // 2):
        x[2 * j + 1] = y[j]


def half_of_three(x, y):
    for j in range(0, x.shape[0] - 2, 3):
        x[j] = y[j]
        x[j + 1] = -y[j]


def consecutive(x, y):
    for j in range(x.shape[0]):
        x[j] = 0.5 * y[j]


def both_of_two(x, y):
    for j in range(0, x.shape[0] - 1, 2):
        x[j] = y[j]
        x[j + 1] = -y[j]


def one_place(x, y):
    for j in range(0, x.shape[0], 2):
        x[0] = y[j]


def only_read(x, y):
    for j in range(x.shape[0] // 2):
        x[j] = y[2 * j]


def divided(x, y):
    for j in range(0, x.shape[0], 2):
        x[j] = 1.0 / y[j]


def much_computed(x, y):
    for j in range(0, x.shape[0], 2):
        t = y[j]
        x[j] = ((((t * 0.1 + 0.2) * t + 0.3) * t + 0.4) * t + 0.5) * t + 0.6


def by_an_index(x, y):
    for j in range(0, x.shape[0], 2):
        x[int(y[j])] = 1.0


APART = [every_second, downwards, twice_the_index, half_of_three]
LEFT = [consecutive, both_of_two, one_place, only_read, divided, much_computed, by_an_index]


def _given(n: int = 37) -> tuple[Any, Any]:
    rng = np.random.default_rng(3)
    return rng.random(n), rng.random(n)


@pytest.mark.parametrize("f", APART + LEFT)
def test_which_loops_are_marked(f: Callable[..., Any]):
    assert ("one_by_one()" in aj.jit(f).source(*_given())) == (f in APART)


def test_columns_are_not_places_beside_each_other():
    def column(x):
        for i in range(0, x.shape[0], 2):
            x[i, 1] = 2.0

    assert "one_by_one()" not in aj.jit(column).source(np.zeros((6, 6)))
    assert "one_by_one()" in aj.jit(column).source(np.zeros((6, 6), order="F"))


def test_values_and_gradients_are_what_they_were():
    x, y = _given()
    wanted = x.copy()
    every_second(wanted, y)
    aj.jit(every_second)(x, y)
    assert np.array_equal(x, wanted)

    def f(x, y):
        every_second(x, y)
        return np.sum(x * x)

    gradient = aj.grad(f, wrt=(0, 1))
    assert "one_by_one()" in gradient.source(x, y)
    dx, dy = gradient(x.copy(), y)
    odd = np.arange(x.size) % 2 == 1
    assert np.array_equal(dx, np.where(odd, 0.0, 2 * x))
    assert np.allclose(dy, np.where(odd, 0.5 * y, 0.0), rtol=1e-14)


@pytest.mark.skipif(
    not binding.get_host_cpu_features().get("avx512f"), reason="no stores to scattered places"
)
def test_no_scattered_stores_in_machine_code():
    from adjit.codegen.strided import ONE_BY_ONE

    head = "from llvmlite import binding, ir\nfrom numba import njit, types, uint64\nfrom numba.extending import intrinsic\n"
    loop = "@njit\ndef f(x, y):\n    for j in range(1, x.shape[0], 2):\n        {}\n        x[uint64(j)] = 0.5 * y[uint64(j)]\n"

    def code(mark: str) -> str:
        space: dict[str, Any] = {}
        exec(head + ONE_BY_ONE + loop.format(mark), space)
        space["f"](*_given())
        (text,) = space["f"].inspect_asm().values()
        return text

    assert "vscatter" in code("pass")
    assert "vscatter" not in code("one_by_one()")
