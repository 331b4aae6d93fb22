"""What a turn stores and the next one reads goes through a scalar: programs by hand, and random ones, the same to the bit."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjit as aj
from adjit.ir.core import Function, Loop
from adjit.ir.printer import to_text
from adjit.ir.verify import verify
from adjit.ir.visit import walk
from adjit.transform.carry import carry
from adjit.transform.clean import clean
from adjit.transform.common import common

from .typed import program_of, run, typed

rng = np.random.default_rng(8)


def carried(program: Callable[..., Any], *args: Any) -> int:
    """How many values more loops carry; results and arguments must be the same to the bit."""
    before = common(clean(typed(program, *args)))
    after = carry(before, stored=True)
    verify(after)
    for one, other in zip(run(before, args), run(after, args), strict=True):
        for x, y in zip(one, other, strict=True):
            np.testing.assert_array_equal(y, x, err_msg=to_text(after))
    return _params(after) - _params(before)


def _params(function: Function) -> int:
    return sum(len(s.params) for s in walk(function.body) if isinstance(s, Loop))


def upwards(a, b):
    for i in range(1, a.shape[0]):
        a[i] = b[i] - a[i - 1] * b[i - 1]


def downwards(a, b):
    for i in range(a.shape[0] - 2, -1, -1):
        a[i] -= b[i] * a[i + 1]


def two_arrays(a, b):
    for i in range(1, a.shape[0]):
        p = b[i] - b[i - 1] * a[i - 1]
        b[i] = b[i] / (2.0 + p * p)
        a[i] = p - a[i - 1]


def strides(a, b):
    for i in range(2, a.shape[0], 2):
        a[i] = a[i - 2] * 0.5 + b[i]


def stored_later(a, b):
    """Two loads of one element in a turn, the second one after the store."""
    for i in range(1, a.shape[0]):
        a[i] = a[i - 1] + b[i]
        b[i] = a[i] * a[i - 1]


def only_loads(a, b):
    for i in range(a.shape[0] - 1):
        a[i] = a[i] + a[i + 1]


def two_behind(a, b):
    for i in range(2, a.shape[0]):
        a[i] = a[i - 2] * 0.5 + b[i]


def wraps_around(a, b):
    for i in range(a.shape[0]):
        a[i] = a[i - 1] + b[i]


def scattered(a, b):
    for i in range(1, a.shape[0]):
        a[i] = a[i - 1] + b[i]
        a[int(b[i] * b[i]) % a.shape[0]] += 1.0


def in_a_branch(a, b):
    for i in range(1, a.shape[0]):
        if b[i] > 0.0:
            a[i] = a[i - 1] + b[i]


def stops(a, b):
    for i in range(1, a.shape[0]):
        if a[i - 1] > 1.0:
            break
        a[i] = a[i - 1] + b[i]


def views(a, b):
    x = a[1:]
    y = a[:-1]
    for i in range(1, y.shape[0]):
        x[i] = x[i - 1] + b[i]
        y[i] = y[i] * 0.5


CARRIED: dict[Callable[..., Any], int] = {upwards: 1, downwards: 1, two_arrays: 2, strides: 1}
LEFT = [stored_later, only_loads, two_behind, wraps_around, scattered, in_a_branch, stops, views]


@pytest.mark.parametrize("program", [*CARRIED, *LEFT], ids=lambda p: p.__name__)
def test_by_hand(program: Callable[..., Any]) -> None:
    for n in (7, 2, 1):
        found = carried(program, rng.normal(size=n), rng.normal(size=n))
        assert found == CARRIED.get(program, 0)


@pytest.mark.parametrize("dtype", [np.float32, np.complex128, np.int64, np.uint8, np.bool_])
def test_elements_of_any_type(dtype: type) -> None:
    def program(a, b):
        for i in range(1, a.shape[0]):
            a[i] = a[i - 1] ^ b[i] if kind in "ui" else a[i - 1] + b[i]

    def flags(a, b):
        for i in range(1, a.shape[0]):
            a[i] = a[i - 1] == b[i]

    def numbers(a, b):
        for i in range(1, a.shape[0]):
            a[i] = a[i - 1] + b[i]

    kind = np.dtype(dtype).kind
    chosen = flags if kind == "b" else numbers
    a, b = (rng.integers(0, 2, size=6).astype(dtype) for _ in range(2))
    for n in (6, 1, 0):
        carried(chosen, a[:n].copy(), b[:n].copy())


def checked_first(a, n):
    for i in range(n, 0, -1):
        if i >= a.shape[0]:
            raise IndexError("too far")
        a[i - 1] = a[i] * 0.5


def test_nothing_is_read_before_it_is_checked() -> None:
    assert carried(checked_first, np.ones(4), 3) == 0


def source(seed: int) -> str:
    """A loop up or down with stores and loads at places near its turn."""
    r = random.Random(seed)
    place = lambda: r.choice(("j", "j", "j + 1", "j - 1", "j - 2", "0", "n", "j * 2 % 3"))
    value = lambda: f"{r.choice('abx')}[{place()}]"
    lines = ["def program(a, b, x):", "    n = a.shape[0] - 1"]
    lines.append(f"    for j in range({r.choice(('n - 1, 1, -1', '2, n', '2, n, 2', 'n - 2, 2, -1'))}):")
    for _ in range(r.randint(1, 3)):
        target = f"{r.choice('ab')}[{r.choice(('j', 'j', 'j + 1', 'j - 1'))}]"
        lines.append(f"        {target} = {value()} * 0.5 - {value()}")
    return "\n".join([*lines, ""])


def test_random_loops(tmp_path: Path) -> None:
    found = 0
    for seed in range(120):
        program = program_of(tmp_path / f"loop_{seed}.py", source(seed))
        found += carried(program, *np.random.default_rng(seed).normal(size=(3, 8))) > 0
    assert found >= 15


def test_compiled() -> None:
    a, b = rng.normal(size=(2, 9))
    want = a.copy()
    two_arrays(want, b.copy())
    got = a.copy()
    aj.jit(two_arrays)(got, b.copy())
    np.testing.assert_allclose(got, want, rtol=1e-14)
    assert "b_1 * a_1" in aj.jit(two_arrays).source(a, b)


def swapped(a, b, w):
    """Two names that change places in every turn."""
    n = w.shape[0]
    x, y = a.copy(), b.copy()
    for _ in range(3):
        for i in range(1, n):
            x[i] = x[i - 1] * 0.5 + w[i]
            x, y = y, x
    s = 0.0
    for i in range(n):
        s += x[i] * y[i] * w[i]
    return s


def in_rows(a, b, w):
    """A row that moves with the turns, back and forth and round."""
    n, p, q, s = w.shape[0], 0, 0, 0.0
    m = np.zeros((4, n))
    for _ in range(3):
        for i in range(1, n):
            m[p, i] = m[p, i - 1] * 0.5 + b[i]
            p = (p + 1) % 4
        for i in range(1, n):
            m[q, i] = m[q, i - 1] * 0.5 + a[i]
            q = 1 - q
        s += m[p, 2] + m[q, 3]
    for i in range(n):
        s += m[0, i] * m[1, i] * w[i]
    return s


@pytest.mark.parametrize("program", [swapped, in_rows])
def test_what_an_index_or_a_name_carries_moves(program: Callable[..., Any], uncompiled: None) -> None:
    args = tuple(rng.uniform(-1, 1, (3, 9)))
    value, gradient = aj.value_and_grad(program, wrt=(0, 1))(*args)
    assert value == pytest.approx(program(*args), rel=1e-13)
    assert aj.jit(program)(*args) == pytest.approx(value, rel=1e-13)
    direction = tuple(map(np.cos, args))
    _, tangent = aj.jvp(program, args[:2] + args[2:], (*direction[:2], np.zeros(9)))
    assert sum(np.sum(g * d) for g, d in zip(gradient, direction, strict=False)) == pytest.approx(tangent)
