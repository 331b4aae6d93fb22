"""Sums of four turns at once: programs by hand, and random ones, the same to the bit."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import njit

import adjit as aj
from adjit.transform.clean import clean
from adjit.transform.common import common
from adjit.transform.side_by_side import side_by_side

from .typed import has_more_loops, program_of, typed

rng = np.random.default_rng(9)


def ahead(program: Callable[..., Any], *args: Any) -> bool:
    """Whether the pass changes the program; results and arguments must be the same to the bit."""
    before = common(clean(typed(program, *args)))
    after = side_by_side(before)
    return has_more_loops(before, after, args)


def product(a, x, y):
    for i in range(a.shape[0]):
        s = 0.0
        for j in range(a.shape[1]):
            s += a[i, j] * x[j]
        y[i] = s


def solve(a, x, y):
    for i in range(x.shape[0]):
        s = y[i]
        for j in range(i):
            s -= a[i, j] * x[j]
        x[i] = s / (2.0 + a[i, i] * a[i, i])


def with_a_total(a, x, y):
    t = 0.0
    for i in range(1, x.shape[0]):
        s = t * 0.0
        r = 1.0
        for j in range(a.shape[1]):
            r = r * 0.5 + a[i, j]
        s += r
        t = t * 0.9 + s
        y[i] = t
    return t


def rows_made_orthogonal(a, x, y):
    for k in range(a.shape[0]):
        for j in range(k + 1, a.shape[0]):
            r = 0.0
            for i in range(a.shape[1]):
                r += a[k, i] * a[j, i]
            x[j] += r
            for i in range(a.shape[1]):
                a[j, i] -= r * a[k, i]


def cholesky(a, x, y):
    for i in range(a.shape[0]):
        for j in range(i):
            s = a[i, j]
            for k in range(j):
                s -= a[i, k] * a[j, k]
            a[i, j] = s / (2.0 + a[j, j] * a[j, j])


def range_of_two(a, x, y):
    for i in range(x.shape[0] // 2):
        s = 0.0
        p = 1.0
        for j in range(1, 2 * i):
            s += a[i, j % 3] * x[j]
            p = p * x[j] + s
        x[2 * i] = s
        x[2 * i + 1] = p


def reads_the_last(a, x, y):
    for i in range(1, x.shape[0]):
        s = 0.0
        for j in range(i + 1):
            s += a[i, j] * x[j]
        x[i] = s * 0.1


def reads_what_the_turn_wrote(a, x, y):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j] = a[i, j] * 0.5
        s = 0.0
        for j in range(a.shape[1]):
            s += a[i, j]
        y[i] = s


def reads_what_turns_before_wrote(a, x, y):
    for i in range(x.shape[0] - 1):
        s = 0.0
        for j in range(x.shape[0]):
            s += x[j] * 0.1
        x[i + 1] = s


def shorter_and_shorter(a, x, y):
    for i in range(x.shape[0]):
        s = 0.0
        for j in range(x.shape[0] - i):
            s += a[i, 0] * y[j]
        x[i] = s


def from_a_later_start(a, x, y):
    for i in range(x.shape[0]):
        s = 0.0
        for j in range(i, x.shape[0]):
            s += y[j]
        x[i] = s


def of_a_carried_value(a, x, y):
    t = 1.0
    for i in range(a.shape[0]):
        s = t
        for j in range(a.shape[1]):
            s += a[i, j]
        t = s * 0.1
    return t


def rows_by_number(a, x, y):
    for i in range(x.shape[0]):
        s = 0.0
        for j in range(int(y[i] * y[i] * 2.0)):
            s += x[j % 2]
        y[i] = s


def wrapped(a, x, y):
    for i in range(x.shape[0]):
        s = 0.0
        for j in range(i):
            s += x[j - 1]
        x[i] = s * 0.1 + 1.0


AHEAD = [product, solve, with_a_total, rows_made_orthogonal, cholesky]
LEFT = [
    range_of_two, reads_the_last, reads_what_the_turn_wrote, reads_what_turns_before_wrote, shorter_and_shorter,
    from_a_later_start, of_a_carried_value, rows_by_number, wrapped,
]  # fmt: skip


@pytest.mark.parametrize("program", [*AHEAD, *LEFT], ids=lambda p: p.__name__)
def test_by_hand(program: Callable[..., Any]) -> None:
    for n in (11, 8, 5, 3, 0):
        args = (rng.normal(size=(n, max(n, 3))), rng.normal(size=n), rng.normal(size=n))
        assert ahead(program, *args) == (program in AHEAD)


def source(seed: int) -> str:
    """A loop around a sum, with loads and stores near the turn before it, in it and after it."""
    r = random.Random(seed)
    place = lambda *more: r.choice(("i", "i", "i + 1", "i - 1", "0", "n", *more))
    row = lambda *more: r.choice((f"a[{place()}, {place(*more)}]", f"{r.choice('xy')}[{place(*more)}]"))
    lines = ["def program(a, x, y):", "    n = x.shape[0] - 2", "    t = 0.5"]
    lines.append(f"    for i in range({r.choice(('n', '1, n', '2, n', '1, n, 2'))}):")
    store = lambda more: f"        {row()} {r.choice(('=', '+='))} {r.choice(('0.5', row(), *more))} * 0.3"
    if r.random() < 0.4:
        lines.append(store(()))
    lines.append(f"        s = {r.choice(('0.0', '1.0', row(), 't'))}")
    lines.append(
        f"        for j in range({r.choice(('n', 'i', 'i', 'i + 1', 'i - 1', '1, i', 'n - i', 'i, n', '2 * i - n'))}):"
    )
    lines.append(f"            s = s {r.choice('+-*')} {row('j', 'j', 'j', 'j + 1')} * {row('j', 'j')}")
    for _ in range(r.randint(1, 2)):
        lines.append(store(("s", "s")))
    if r.random() < 0.4:
        lines.append("        t = t * 0.5 + s")
    return "\n".join([*lines, "    return t", ""])


def test_random_loops(tmp_path: Path) -> None:
    found = 0
    for seed in range(150):
        program = program_of(tmp_path / f"loop_{seed}.py", source(seed))
        r = np.random.default_rng(seed)
        found += ahead(program, r.normal(size=(12, 12)), r.normal(size=12), r.normal(size=12))
    assert found >= 15


def test_compiled() -> None:
    """The compiled program has the bits of Numba's; where order is free, it is left to LLVM."""
    a, x, y = rng.normal(size=(31, 31)), rng.normal(size=31), rng.normal(size=31)
    want = x.copy()
    njit(solve)(a, want, y)
    got = x.copy()
    aj.jit(solve)(a, got, y)
    np.testing.assert_array_equal(got, want)
    assert "s_3" in aj.jit(solve).source(a, x, y)
    assert "s_3" not in aj.jit(njit(fastmath=True)(solve)).source(a, x, y)
    assert "s_3" not in aj.jit(njit(boundscheck=True)(solve)).source(a, x, y)
