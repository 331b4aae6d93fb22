"""Rows of recurrences swept four at once: programs by hand, and random ones, the same to the bit."""

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
from adjit.transform.wavefront import wavefront

from .typed import has_more_loops, program_of, typed

rng = np.random.default_rng(22)


def swept(program: Callable[..., Any], *args: Any, raising: bool = False) -> bool:
    """Whether the pass changes the program; results and arguments must be the same to the bit."""
    before = common(clean(typed(program, *args), keep_raising=raising))
    after = wavefront(before, raising)
    return has_more_loops(before, after, args)


def nine_points(a, b, p):
    for i in range(1, a.shape[0] - 1):
        for j in range(1, a.shape[1] - 1):
            a[i, j] = (a[i - 1, j + 1] + a[i, j - 1] + a[i, j + 1] + a[i + 1, j - 1] + a[i + 1, j + 1]) / 5.0


def up_and_left(a, b, p):
    for i in range(a.shape[0] - 2, 0, -1):
        for j in range(a.shape[1] - 2, -1, -1):
            a[i, j] = 0.5 * a[i, j + 1] + 0.25 * a[i + 1, j] - a[i - 1, j] * b[i, j]


def table(a, b, p):
    for i in range(1, a.shape[0]):
        for j in range(1, a.shape[1]):
            a[i, j] = max(a[i - 1, j - 1] + b[i, j], max(a[i - 1, j], a[i, j - 1]) - 0.5)


def sums_of_columns(a, b, p):
    for i in range(a.shape[0]):
        w = b[i, 0]
        for j in range(1, a.shape[1]):
            a[i, j] = a[i, j - 1] * w + b[i, j]
            p[j] = p[j] + a[i, j]


def two_rows_above(a, b, p):
    for i in range(2, a.shape[0]):
        for j in range(2, a.shape[1] - 2):
            a[i, j] = a[i, j - 2] + a[i - 2, j + 2] * b[i, j]


def far_to_the_right(a, b, p):
    for i in range(1, a.shape[0]):
        for j in range(1, a.shape[1] - 5):
            a[i, j] = a[i, j - 1] + a[i - 1, j + 5]


def transposed(a, b, p):
    n = min(a.shape)
    for i in range(1, n):
        for j in range(1, n):
            a[i, j] = a[i, j - 1] + a[j, i]


def from_the_end(a, b, p):
    for i in range(1, a.shape[0]):
        for j in range(1, a.shape[1]):
            a[i, j] = a[i, j - 1] + a[i - 1, -j]


def one_row(a, b, p):
    for i in range(1, a.shape[0]):
        for j in range(1, a.shape[1]):
            p[j] = p[j - 1] * 0.5 + a[i, j]


def ends_of_rows(a, b, p):
    for i in range(1, a.shape[0]):
        a[i, 0] = a[i - 1, a.shape[1] - 1]
        for j in range(1, a.shape[1]):
            a[i, j] = a[i, j - 1] + b[i, j]


def triangle(a, b, p):
    for i in range(1, a.shape[0]):
        for j in range(1, i % a.shape[1]):
            a[i, j] = a[i, j - 1] + a[i - 1, j]


def no_recurrence(a, b, p):
    for i in range(1, a.shape[0]):
        for j in range(1, a.shape[1]):
            a[i, j] = a[i - 1, j - 1] + b[i, j]


def one_number(a, b, p):
    for i in range(1, a.shape[0]):
        for j in range(1, a.shape[1]):
            a[i, j] = a[i, j - 1] + b[i, j]
            p[0] = p[0] * 0.5 + a[i, j]


def names(a, b, p):
    for i in range(1, a.shape[0]):
        c, d = (a, b) if i % 2 == 0 else (b, a)
        for j in range(1, a.shape[1]):
            c[i, j] = c[i, j - 1] + d[i - 1, j]


def wrapped(a, b, p):
    m = a.shape[1]
    for i in range(1, a.shape[0]):
        for j in range(-2, m - 2):
            a[i, j] = a[i, j - 1] + a[i - 1, j + 1]


def counted(a, b, p):
    k = 3
    for i in range(1, a.shape[0]):
        w = k * 0.01
        for j in range(1, a.shape[1]):
            b[k // a.shape[1] % 2, k % a.shape[1]] = w
            a[i, j] = a[i, j - 1] * 0.3 + a[i - 1, j]
            k += 1
    return k


def written_down(a, b, p):
    kept = np.zeros(2 * a.size + 2)
    k = 0
    for i in range(1, a.shape[0]):
        w = k * 0.01
        for j in range(1, a.shape[1]):
            kept[k] = a[i, j]
            kept[k + 1] = w + k
            a[i, j] = a[i, j - 1] * 0.3 + a[i - 1, j]
            k = k + 2
    p[0] = k
    return kept.sum()


def meets_the_row_before(a, b, p):
    kept = np.zeros(2 * a.size + 2)
    k = 0
    for i in range(1, a.shape[0]):
        for j in range(1, a.shape[1]):
            kept[k + 1] = kept[k] * 0.5 + a[i, j]
            a[i, j] = a[i, j - 1] * 0.3 + a[i - 1, j]
            k = k + 1
    return kept.sum()


def changes(a, b, p):
    most, at, s = 0.0, -1, 0.0
    for i in range(1, a.shape[0]):
        w = i * 0.1
        for j in range(a.shape[1] - 2, 0, -1):
            new = 0.3 * a[i, j + 1] + 0.2 * a[i - 1, j - 1] + w
            d = abs(new - a[i, j])
            s = s * 0.99 + d * b[i, j] + w
            at = i * 100 + j if d > most else at
            most = max(most, d)
            a[i, j] = new
    return s, at, most


def last_and_count(a, b, p):
    k, last = 2, 0.0
    kept = np.zeros(a.size + 4)
    for i in range(1, a.shape[0]):
        for j in range(1, a.shape[1]):
            kept[k] = a[i, j]
            a[i, j] = a[i, j - 1] + a[i - 1, j] * 0.5
            last = a[i, j] * b[i, j] + k
            k += 1
    return k, last, kept.sum()


def stopped_by_the_sum(a, b, p):
    s = 0.0
    for i in range(1, a.shape[0]):
        for j in range(1, a.shape[1]):
            a[i, j] = a[i, j - 1] * 0.5 + s
            s += a[i, j]
    return s


def anew_in_each_row(a, b, p):
    s = 0.0
    for i in range(1, a.shape[0]):
        r = 0.0
        for j in range(1, a.shape[1]):
            a[i, j] = a[i, j - 1] * 0.5 + b[i, j]
            r += a[i, j]
        s = s * 0.5 + r
    return s


SWEPT = [
    nine_points,
    up_and_left,
    table,
    sums_of_columns,
    two_rows_above,
    one_row,
    written_down,
    changes,
    last_and_count,
]
LEFT = [
    far_to_the_right, transposed, from_the_end, ends_of_rows, triangle, no_recurrence, one_number, names, wrapped,
    counted, meets_the_row_before, stopped_by_the_sum, anew_in_each_row,
]  # fmt: skip
SHAPES = [(11, 25), (9, 16), (10, 17), (4, 30), (6, 3), (23, 18), (2, 40), (3, 3)]


@pytest.mark.parametrize("program", [*SWEPT, *LEFT], ids=lambda p: p.__name__)
def test_by_hand(program: Callable[..., Any]) -> None:
    for shape in SHAPES:
        args = (rng.normal(size=shape), rng.normal(size=shape), rng.normal(size=shape[1]))
        assert swept(program, *args) == (program in SWEPT)


def quotient(a, b, p):
    for i in range(1, a.shape[0]):
        for j in range(1, a.shape[1]):
            a[i, j] = a[i, j - 1] / b[i, j]


def scaled(a, b, p):
    w = p[0]
    for i in range(1, a.shape[0]):
        for j in range(1, a.shape[1]):
            a[i, j] = (a[i, j - 1] + a[i - 1, j]) / (2.0 * w + w) + b[i, j] ** 2
    return np.sum(a)


def test_what_may_raise_in_a_row_stays_in_order() -> None:
    args = (rng.normal(size=(9, 30)), rng.normal(size=(9, 30)), rng.normal(size=30))
    assert not swept(quotient, *args, raising=True)
    assert swept(quotient, *args)
    assert swept(scaled, *args, raising=True)


def test_a_divisor_of_zero_raises_as_in_order() -> None:
    """In plain code and with its guards written out, in the forward half of a gradient."""
    a, b = rng.normal(size=(9, 30)), rng.normal(size=(9, 30))
    for f in (aj.jit(scaled), lambda *args: aj.vjp(scaled, *args)):
        mine = a.copy()
        with pytest.raises(ZeroDivisionError):
            f(mine, b, np.zeros(1))
        np.testing.assert_array_equal(mine, a)
        f(mine, b, np.ones(1))
    assert "place" in aj.jit(scaled).source(a, b, np.ones(1))


def source(seed: int) -> str:
    """A recurrence along the rows of two loops, that reads and writes around its element."""
    r = random.Random(seed)
    lines = ["def program(a, b, p):", "    n, m = a.shape[0] - 2, a.shape[1] - 2"]
    lines.append("    s, k = 0.5, 1")
    rows = r.choice(("2, n", "2, n", "n - 1, 1, -1", "2, n, 2"))
    row = r.choice(("2, m", "2, m", "m - 1, 1, -1", "2, m, 2", "i % 3 + 2, m"))
    lines += [f"    for i in range({rows}):"]
    if r.random() < 0.3:
        lines.append(f"        w = {r.choice(('b[i, 0]', 'i * 0.1', 'p[i]', 'a[i, 0]'))}")
    else:
        lines.append("        w = 0.5")
    lines += [f"        for j in range({row}):"]
    step = "- 1" if "-1" not in row else "+ 1"
    at = lambda name, far: (
        f"{name} + {k}" if (k := r.randint(-far, far)) > 0 else f"{name} - {-k}" if k else name
    )
    near = lambda: f"{r.choice('aab')}[{at('i', r.choice((1, 1, 1, 2)))}, {at('j', r.choice((1, 1, 2)))}]"
    odd = lambda: r.choice(
        ("p[j]", "p[i]", "a[j % n, i % m]", "b[i, -j]", "b[k % n, j]", f"p[{at('j', 2)}]", "w")
    )
    value = lambda: near() if r.random() < 0.85 else odd()
    terms = " + ".join(f"0.{r.randint(1, 3)} * {value()}" for _ in range(r.randint(1, 3)))
    lines.append(f"            a[i, j] = 0.3 * a[i, j {step}] + {terms}")
    if r.random() < 0.3:
        lines.append(
            f"            s = s * 0.9 + {r.choice(('a[i, j]', value(), 'j'))} * {r.choice(('w', 'k', '0.5'))}"
        )
    if r.random() < 0.3:
        lines.append(f"            k += {r.choice((1, 2))}")
    if r.random() < 0.4:
        target = r.choice(("b[i, j]", "p[j]", "p[i]", near(), near(), "p[0]"))
        lines.append(f"            {target} {r.choice(('=', '+='))} 0.2 * {value()} - 0.1 * {value()}")
    return "\n".join([*lines, "    return a[n, m], s, k", ""])


def test_random_sweeps(tmp_path: Path) -> None:
    found = 0
    for seed in range(200):
        program = program_of(tmp_path / f"sweep_{seed}.py", source(seed))
        r = np.random.default_rng(seed)
        shape = (r.integers(9, 14), r.integers(19, 24))
        found += swept(program, r.normal(size=shape), r.normal(size=shape), r.normal(size=24))
    assert found >= 40, found


def relaxed(u, f, steps):
    for _ in range(steps):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                u[i, j] = (
                    0.2 * (u[i - 1, j] + u[i, j - 1] + u[i + 1, j] + u[i, j + 1]) + f[i, j] * u[i, j] ** 2
                )
    return np.sum(u * u)


def test_compiled() -> None:
    """Values have the bits of Numba's, and the gradient is that of differences."""
    u, f = rng.normal(size=(14, 33)), 0.1 * rng.normal(size=(14, 33))
    mine, other = u.copy(), u.copy()
    value = aj.jit(relaxed)(mine, f, 3)
    assert value == pytest.approx(njit(relaxed)(other, f, 3), rel=1e-13)
    np.testing.assert_array_equal(mine, other)
    assert "place" in aj.jit(relaxed).source(u, f, 3)
    gradient = aj.grad(relaxed)(u.copy(), f, 3)
    direction = rng.normal(size=u.shape)
    along = [relaxed(u + h * direction, f, 3) for h in (1e-5, -1e-5)]
    assert np.sum(gradient * direction) == pytest.approx((along[0] - along[1]) / 2e-5, rel=1e-7)


def test_nothing_is_written_down_where_no_four_rows_are() -> None:
    """An array without rows may have any number of columns."""

    def changes(a, b, p):
        s = 0.0
        for i in range(1, a.shape[0]):
            for j in range(1, a.shape[1]):
                a[i, j] = 0.5 * a[i, j - 1] + 0.25 * a[i - 1, j]
                s += abs(a[i, j])
        return s

    assert swept(changes, np.zeros((0, 1 << 50)), np.zeros((0, 1 << 50)), np.zeros(1))
