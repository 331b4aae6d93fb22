"""Lines of recurrences taken eight at a time: programs by hand, and random ones, the same to the bit."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import njit

import adjit as aj
from adjit.transform.abreast import abreast
from adjit.transform.clean import clean
from adjit.transform.common import common

from .typed import has_more_loops, program_of, typed

rng = np.random.default_rng(21)


def taken(program: Callable[..., Any], *args: Any, raising: bool = False) -> bool:
    """Whether the pass changes the program; results and arguments must be the same to the bit."""
    before = common(clean(typed(program, *args), keep_raising=raising))
    after = abreast(before, raising)
    return has_more_loops(before, after, args)


def swept(a, b, p):
    for j in range(1, a.shape[1]):
        for i in range(a.shape[0]):
            a[i, j] = 0.5 * a[i, j - 1] + b[i, j]


def swept_back(a, b, p):
    n, m = a.shape
    for j in range(m - 2, -1, -1):
        for i in range(1, n - 1):
            a[i, j] = 0.5 * a[i, j + 1] + b[i - 1, j] - b[i + 1, j]


def eliminated(a, b, p):
    s = 1.0
    for j in range(1, a.shape[1]):
        pivot = 2.0 + 0.1 * p[j - 1]
        p[j] = 1.0 / (pivot * pivot + 1.0)
        s = s * 0.9 + pivot
        for i in range(a.shape[0]):
            a[i, j] = (b[i, j] - 0.3 * a[i, j - 1]) * pivot + s
    return s


def two_lines(a, b, p):
    for j in range(2, a.shape[1]):
        for i in range(a.shape[0]):
            a[i, j] = a[i, j - 1] * p[j]
        for i in range(a.shape[0]):
            b[i, j] = b[i, j - 2] + a[i, j] * a[i, j - 1]


def from_the_other_end(a, b, p):
    for j in range(1, a.shape[1]):
        for i in range(a.shape[0] - 1):
            a[i + 1, j] = a[i + 1, j - 1] + a[i + 1, a.shape[1] - j - 1]


def with_neighbours(a, b, p):
    for j in range(1, a.shape[1]):
        for i in range(1, a.shape[0]):
            a[i, j] = a[i - 1, j - 1] + b[i, j]


def handed_on_alone(a, b, p):
    """What turns hand on, with no statement around the lines."""
    s, t = 0.25, 0.5
    for j in range(1, a.shape[1]):
        for i in range(a.shape[0]):
            a[i, j] = a[i, j - 1] * s + b[i, j]
        s, t = t, s
    return s


def handed_on_unread(a, b, p):
    k = 3
    for j in range(1, a.shape[1]):
        for i in range(a.shape[0]):
            a[i, j] = a[i, j - 1] * 0.5 + b[i, j]
        k = 4
    return k


def along_memory(a, b, p):
    for i in range(1, a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j] = a[i - 1, j] * 0.5 + b[i, j]


def pivots_of_lines(a, b, p):
    for j in range(1, a.shape[1]):
        p[j] = a[0, j - 1] * 0.5
        for i in range(a.shape[0]):
            a[i, j] = a[i, j - 1] + p[j]


def other_ranges(a, b, p):
    for j in range(1, a.shape[1]):
        for i in range(j % 3, a.shape[0]):
            a[i, j] = a[i, j - 1] + 1.0


def wrapped(a, b, p):
    n = a.shape[0]
    for j in range(1, a.shape[1]):
        for i in range(-1, n - 1):
            a[i, j] = a[i, j - 1] + b[i, j]


def one_row(a, b, p):
    for j in range(1, a.shape[1]):
        for i in range(a.shape[0]):
            a[i, j] = a[i, j - 1] * 0.5
            b[0, j] = a[i, j]


def chained(a, b, p):
    for j in range(1, a.shape[1]):
        s = 0.0
        for i in range(a.shape[0]):
            s += a[i, j]
            a[i, j] = a[i, j - 1] + s


def views(a, b, p):
    for j in range(1, a.shape[1]):
        column, before = a[:, j], a[:, j - 1]
        for i in range(a.shape[0]):
            column[i] = before[i] + 1.0


TAKEN = [swept, handed_on_alone, handed_on_unread, swept_back, eliminated, two_lines, from_the_other_end]
LEFT = [
    with_neighbours, along_memory, pivots_of_lines, other_ranges, wrapped, one_row, chained, views
]  # fmt: skip


@pytest.mark.parametrize("program", [*TAKEN, *LEFT], ids=lambda p: p.__name__)
def test_by_hand(program: Callable[..., Any]) -> None:
    for n, m in ((19, 6), (8, 3), (7, 4), (1, 5), (16, 1), (0, 4)):
        args = (rng.normal(size=(n, m)), rng.normal(size=(n, m)), rng.normal(size=m))
        if program is pivots_of_lines and n == 0:
            continue
        assert taken(program, *args) == (program in TAKEN)


def test_in_fortrans_order_the_other_way_round() -> None:
    args = [np.asfortranarray(rng.normal(size=(19, 20))) for _ in range(2)]
    assert not taken(swept, *args, np.zeros(20))
    assert taken(along_memory, *args, np.zeros(20))


def pivots(a, b, p):
    for j in range(1, a.shape[1]):
        t = 1.0 / p[j]
        for i in range(a.shape[0]):
            a[i, j] = a[i, j - 1] + t


def pivots_of_its_own(a, b, p):
    c = np.zeros(a.shape)
    for j in range(1, a.shape[1]):
        t = 1.0 / p[j]
        for i in range(a.shape[0]):
            c[i, j] = c[i, j - 1] + t * b[i, j]
    return c[-1, -1]


def test_what_raises_between_lines_of_an_argument() -> None:
    """The lines before the one that raises have been written, and are seen by who catches it."""
    args = (rng.normal(size=(9, 5)), rng.normal(size=(9, 5)), rng.normal(size=5))
    assert not taken(pivots, *args, raising=True)
    assert taken(pivots, *args)
    assert taken(pivots_of_its_own, *args, raising=True)


def source(seed: int) -> str:
    """A loop around one or two loops over lines, with accesses near, and what stands around them."""
    r = random.Random(seed)
    column = lambda: r.choice(("j", "j", "j - 1", "j - 1", "j + 1", "0", "m - j"))
    row = lambda: r.choice(("i", "i", "i", "i", "i", "i + 1", "i - 1", "0"))
    element = lambda name="": f"{name or r.choice('abc')}[{row()}, {column()}]"
    same = lambda: f"{r.choice('ab')}[i, {r.choice(('j', 'j', 'j + 1'))}]"
    value = lambda: r.choice((element("c"), element(), same(), "p[j]", "t", "w"))
    lines = [
        "def program(a, b, c, p):",
        "    n, m = a.shape[0] - 1, a.shape[1] - 1",
        "    t = 0.5",
        "    w = 1.5",
    ]
    lines.append(f"    for j in range({r.choice(('1, m', '1, m', 'm - 1, 0, -1', 'm', '1, m, 2'))}):")
    around = (
        "w = t * 0.5 + p[j]",
        "p[j] = p[j - 1] * 0.5",
        "t = t * 0.9 + p[j]",
        f"c[0, {column()}] = t",
        "w = a[1, j]",
    )
    for _ in range(r.randint(0, 2)):
        lines.append(f"        {r.choice(around)}")
    bounds = r.choice(("1, n", "n", "1, n", "2, n - 1"))
    for _ in range(r.choice((1, 1, 2))):
        lines.append(f"        for i in range({r.choice((bounds, bounds, bounds, 'j, n'))}):")
        for _ in range(r.choice((1, 1, 2))):
            target = r.choice((same(), same(), same(), element("a")))
            lines.append(
                f"            {target} {r.choice(('=', '=', '+='))} 0.3 * {value()} - {value()} * 0.2"
            )
    if r.random() < 0.3:
        lines.append(f"        {r.choice(around)}")
    return "\n".join([*lines, "    return t + w", ""])


def test_random_lines(tmp_path: Path) -> None:
    found = 0
    for seed in range(150):
        program = program_of(tmp_path / f"lines_{seed}.py", source(seed))
        r = np.random.default_rng(seed)
        found += taken(program, *(r.normal(size=(13, 6)) for _ in range(3)), r.normal(size=6))
    assert found >= 15, found


def adi_step(u):
    n = u.shape[0]
    p, q = np.zeros(n), np.zeros((n, n))
    for j in range(1, n - 1):
        p[j] = 1.0 / (4.0 - p[j - 1])
        q[1:-1, j] = (u[:-2, j] + u[2:, j] - 0.5 * q[1:-1, j - 1]) * p[j]
    for j in range(n - 2, 0, -1):
        u[1:-1, j] = p[j] * u[1:-1, j + 1] + q[1:-1, j]
    return np.sum(u * u)


def test_compiled() -> None:
    """Values have the bits of Numba's, and the gradient is that of differences."""
    u = rng.normal(size=(21, 21))
    mine, other = u.copy(), u.copy()
    value = aj.jit(adi_step)(mine)
    assert value == pytest.approx(njit(adi_step)(other), rel=1e-13)
    np.testing.assert_array_equal(mine, other)
    assert "side" in aj.jit(adi_step).source(u)
    gradient = aj.grad(adi_step)(u.copy())
    direction = rng.normal(size=u.shape)
    along = [adi_step(u + h * direction) for h in (1e-5, -1e-5)]
    assert np.sum(gradient * direction) == pytest.approx((along[0] - along[1]) / 2e-5, rel=1e-7)
