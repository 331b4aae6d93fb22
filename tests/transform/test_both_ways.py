"""Loops that add to one array upwards and downwards, in two: programs by hand, and random ones."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adjit.ir.core import Function, Loop
from adjit.ir.printer import to_text
from adjit.ir.verify import verify
from adjit.ir.visit import walk
from adjit.transform.both_ways import both_ways
from adjit.transform.clean import clean
from adjit.transform.common import common

from .typed import program_of, run, typed

rng = np.random.default_rng(6)


def split(function: Function, args: tuple[Any, ...]) -> int:
    """How many loops more there are; the function must compute the same, to rounding."""
    before = common(clean(function))
    after = both_ways(before)
    verify(after)
    want, wanted = run(before, args)
    got, given = run(after, args)
    for a, b in zip((*want, *wanted), (*got, *given), strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-12, atol=1e-14, err_msg=to_text(after))
    return _loops(after) - _loops(before)


def _loops(function: Function) -> int:
    return sum(isinstance(s, Loop) for s in walk(function.body))


def turned_around(d, e, a):
    c = e.shape[0] - 1
    s = 0.0
    for i in range(e.shape[0]):
        w = e[i]
        s += w * a[c - i]
        d[c - i] += w * a[0]
        e[i] = 0.0
        d[i] -= w
    return s


def downwards(d, e, a):
    for i in range(e.shape[0] - 1, -1, -1):
        d[i] += e[i] * e[i]
        d[e.shape[0] - 1 - i] += a[i] * 0.5


def several(d, e, a):
    for i in range(1, e.shape[0]):
        d[e.shape[0] - i] += e[i]
        d[i] += a[i]
        d[i - 1] += e[i] * a[i]


def below_zero(d, e, a):
    """The index downwards may be negative, which is from the end."""
    for i in range(e.shape[0]):
        d[i] += e[i]
        d[1 - i] += e[i] * 0.5


def same_way(d, e, a):
    for i in range(1, e.shape[0]):
        d[i] += e[i]
        d[i - 1] += a[i]


def read_too(d, e, a):
    for i in range(e.shape[0]):
        w = d[i]
        d[i] += e[i]
        d[e.shape[0] - 1 - i] += a[i]
        a[i] = w


def written_before(d, e, a):
    for i in range(e.shape[0]):
        d[i] += a[i]
        e[i] = a[i] * 2.0
        d[e.shape[0] - 1 - i] += e[i]


def of_a_carried_value(d, e, a):
    s = 1.0
    for i in range(e.shape[0]):
        d[i] += a[i]
        d[e.shape[0] - 1 - i] += s
        s += e[i]
    return s


def factors(d, e, a):
    for i in range(e.shape[0]):
        d[i] *= e[i]
        d[e.shape[0] - 1 - i] += a[i]


def sums_of_sums(d, e, a):
    for i in range(e.shape[0]):
        e[0] += a[i]
        d[i] += a[i]
        d[e.shape[0] - 1 - i] += e[0]


SPLIT = [turned_around, downwards, several, below_zero]
LEFT = [same_way, read_too, written_before, of_a_carried_value, factors, sums_of_sums]


@pytest.mark.parametrize("program", [*SPLIT, *LEFT], ids=lambda p: p.__name__)
def test_by_hand(program: Callable[..., Any]) -> None:
    for n in (7, 6, 2, 1):
        args = tuple(rng.normal(size=n + 1)[: n if k else n + 1].copy() for k in range(3))
        assert split(typed(program, *args), args) == (program in SPLIT)


def source(seed: int) -> str:
    """A loop with increments and stores at places that run up, down or stay."""
    r = random.Random(seed)
    place = lambda: r.choice(("j", "j", "n - j", "n - j", "m - j", "j + 1", "0", "int(x[j] * x[j]) % 3"))
    value = lambda: r.choice(("x[j]", "x[n - j]", "x[j] * 2.0", f"{r.choice('ab')}[{place()}]", "s"))
    lines = ["def program(a, b, x):", "    n = a.shape[0] - 1", "    m = 4", "    s = 0.5"]
    lines.append(f"    for j in range({r.choice(('n', '1, n', 'n - 1, 0, -1', 'n, n'))}):")
    for _ in range(r.randint(2, 4)):
        kind = r.random()
        if kind < 0.75:
            lines.append(f"        {r.choice('aab')}[{place()}] {r.choice(('+=', '-='))} {value()}")
        elif kind < 0.9:
            lines.append(f"        {r.choice('ab')}[{place()}] = {value()}")
        else:
            lines.append(f"        s += {value()}")
    return "\n".join([*lines, "    return s", ""])


def test_random_loops(tmp_path: Path) -> None:
    found = 0
    for seed in range(200):
        program = program_of(tmp_path / f"loop_{seed}.py", source(seed))
        args = tuple(np.random.default_rng(seed + k).normal(size=8) for k in range(3))
        found += split(typed(program, *args), args)
    assert found >= 15
