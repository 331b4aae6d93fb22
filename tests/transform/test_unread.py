"""Stores that nobody reads, and loads that leave their loops: what may go, what must stay."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from adjit.ir.core import Function, If, Load, Loop, Store
from adjit.ir.printer import to_text
from adjit.ir.verify import verify
from adjit.ir.visit import walk
from adjit.transform.lift import lift
from adjit.transform.unread import unread

from .typed import run, typed

rng = np.random.default_rng(7)


def same(before: Function, after: Function, args: tuple[Any, ...]) -> None:
    verify(after)
    for a, b in zip(run(before, args), run(after, args), strict=True):
        for x, y in zip(a, b, strict=True):
            np.testing.assert_array_equal(y, x, err_msg=to_text(after))


def stores(function: Function) -> int:
    return sum(isinstance(s, Store) for s in walk(function.body))


def cleared_in_a_nest_of_its_own(a, b):
    d = a * 2.0
    for i in range(len(d)):
        b[i] += d[i]
    for i in range(len(d)):
        d[i] = 0.0


def cleared_where_it_is_read(a, b):
    d = a * 2.0
    for i in range(len(d)):
        b[i] += d[i]
        d[i] = 0.0


def read_by_the_next_turn(a, b):
    d = a * 2.0
    for i in range(1, len(d)):
        b[i] += d[i] + d[i - 1]
        d[i] = 0.0


def read_again_by_a_loop_around(a, b):
    d = a * 2.0
    for _ in range(3):
        for i in range(len(d)):
            b[i] += d[i]
            d[i] = 0.0


def a_fixed_element(a, b):
    d = a * 2.0
    for i in range(len(d)):
        b[i] += d[0]
        d[0] = 1.0


def in_a_while_loop(a, b):
    d = a * 2.0
    while d[0] > 0.5:
        d[0] = d[0] * 0.5
    b[0] = d[0]


def through_a_view(a, b):
    d = a * 2.0
    v = d[1:]
    for i in range(len(d)):
        d[i] = 3.0
    b[1:] += v


def returned(a, b):
    d = a * 2.0
    b[0] = d[1]
    d[1] = 0.0
    return d


def made_in_a_loop(a, b):
    for _ in range(2):
        d = a * 2.0
        b[0] += d[1]
        d[1] = 0.0


@pytest.mark.parametrize("program", [cleared_in_a_nest_of_its_own, cleared_where_it_is_read, made_in_a_loop])
def test_unread(program: Callable[..., Any]) -> None:
    args = (rng.uniform(1, 2, 5), rng.normal(size=5))
    before = typed(program, *args)
    after = unread(before)
    same(before, after, args)
    assert stores(after) == stores(before) - 1


@pytest.mark.parametrize(
    "program",
    [
        read_by_the_next_turn,
        read_again_by_a_loop_around,
        a_fixed_element,
        in_a_while_loop,
        through_a_view,
        returned,
    ],
)
def test_stores_that_are_read(program: Callable[..., Any]) -> None:
    args = (rng.uniform(1, 2, 5), rng.normal(size=5))
    before = typed(program, *args)
    after = unread(before)
    same(before, after, args)
    assert stores(after) == stores(before)


def lifted(function: Function) -> int:
    """Loads that stand in a block with a loop, or in a branch: outside the innermost loops."""

    def count(block: Any) -> int:
        inner = [
            s
            for s in walk(block)
            if isinstance(s, Loop) and not any(isinstance(t, Loop) for t in walk(s.body))
        ]
        within = sum(isinstance(t, Load) for s in inner for t in walk(s.body))
        return sum(isinstance(s, Load) for s in walk(block)) - within

    assert not any(isinstance(s, If) for s in walk(function.body))
    return count(function.body)


def elimination(a):
    for k in range(a.shape[0]):
        for i in range(k + 1, a.shape[0]):
            a[i, k] *= 0.5
            for j in range(k + 1, a.shape[1]):
                a[i, j] -= a[i, k] * a[k, j]


def its_own_column_too(a):
    for k in range(a.shape[0]):
        for i in range(k + 1, a.shape[0]):
            a[i, k] *= 0.5
            for j in range(k, a.shape[1]):
                a[i, j] -= a[i, k] * a[k, j]


def perhaps_out_of_bounds(a):
    for i in range(a.shape[0]):
        for j in range(a.shape[1] - 3):
            a[i, j] += a[i, a.shape[1] - 1]


@pytest.mark.parametrize(
    ("program", "number"), [(elimination, 1), (its_own_column_too, 0), (perhaps_out_of_bounds, 0)]
)
def test_lift(program: Callable[..., Any], number: int) -> None:
    for shape in ((4, 5), (5, 5), (1, 1), (0, 0), (2, 3)):
        args = (rng.normal(size=shape),)
        before = typed(program, *args)
        after = lift(before)
        same(before, after, args)
        assert lifted(after) - lifted(before) == number


def test_lift_of_random_loops(tmp_path: Any) -> None:
    from .test_contract import module_of

    changed = 0
    for seed in range(60):
        r = random.Random(seed)
        index = lambda: r.choice(("k", "k + 1", "i", "j", "n - 1", "0", "i - 1"))
        place = lambda: f"a[{index()}, {index()}]"
        first = place().replace("j", "i")
        text = (
            "def program(a):\n    n = a.shape[0]\n    for k in range(n - 1):\n"
            f"        for i in range(k + 1, n):\n            {first} = {first} * 0.5 + 0.1\n"
            f"            for j in range({r.choice(('k', 'k + 1', 'i', 'i + 1'))}, n):\n"
            f"                a[i, j] -= {r.choice((first, place()))} * {r.choice((first, place()))}\n"
        )
        args = (np.random.default_rng(seed).uniform(-0.5, 0.5, (5, 5)),)
        before = typed(module_of(text, tmp_path, f"lift_{seed}").program, *args)
        after = lift(before)
        same(before, after, args)
        changed += to_text(after) != to_text(before)
    assert changed >= 10
