"""Loops of adjoint code in another order compute the same: loops by hand, and random ones."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adjit.codegen.loose import loose
from adjit.ir.core import ONE, Function, Loop
from adjit.ir.printer import to_text
from adjit.ir.verify import verify
from adjit.ir.visit import walk
from adjit.transform.ascend import ascend
from adjit.transform.clean import clean
from adjit.transform.common import common

from .typed import program_of, run, typed

rng = np.random.default_rng(4)


def changed(function: Function, args: tuple[Any, ...]) -> bool:
    """Whether the pass changes the function; it must compute the same, to rounding."""
    before = common(clean(function))
    after = ascend(before)
    verify(after)
    want, wanted = run(before, args)
    got, given = run(after, args)
    for a, b in zip((*want, *wanted), (*got, *given), strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-12, atol=1e-14, err_msg=to_text(after))
    return to_text(before) != to_text(after)


def elements(a, b):
    for j in range(a.shape[0] - 1, -1, -1):
        b[j] += a[j] * 0.5
        a[j] = 0.0


def counters(a, b):
    c = b.shape[0]
    k = 0
    for j in range(a.shape[0] - 1, 1, -1):
        c -= 2
        a[j] = b[c]
        k += 1
        c += 1
    return c + k


def into_one_element(a, b):
    for j in range(a.shape[0] - 1, 0, -1):
        b[0] += a[j] * b[j]
    return b[0]


def into_two_elements(a, b):
    for j in range(a.shape[0] - 1, 0, -1):
        b[0] += a[j] * a[j]
        b[1] -= a[j]
        b[0] += 0.5
    return b[0]


def scatter(a, b):
    for j in range(a.shape[0] - 1, -1, -1):
        b[int(a[j] * a[j]) % 3] += a[j]


def every_second(a, b):
    for j in range(a.shape[0] - 1, -1, -2):
        b[j + 1] += a[j] * 0.5
        a[j] = 0.0


def every_third(a, b):
    for j in range(a.shape[0] - 1, 1, -3):
        b[0] += a[j]
        a[j] = b[j]


def every_second_counted(a, b):
    c = b.shape[0]
    for j in range(a.shape[0] - 1, -1, -2):
        c -= 1
        a[j] = b[c]


def recurrence(a, b):
    for j in range(a.shape[0] - 1, 0, -1):
        a[j - 1] += a[j]
        a[j] = 0.0


def last_wins(a, b):
    for j in range(a.shape[0] - 1, -1, -1):
        b[0] = a[j]


def last_wins_scattered(a, b):
    for j in range(a.shape[0] - 1, -1, -1):
        b[int(a[j] * a[j]) % 3] = a[j]


def read_on_the_way(a, b):
    for j in range(a.shape[0] - 1, 0, -1):
        b[0] += a[j]
        a[j] = b[0]


def reads_the_element(a, b):
    for j in range(a.shape[0] - 1, -1, -1):
        b[0] += a[j] * b[j]


def product(a, b):
    p = 1.0
    for j in range(a.shape[0] - 1, -1, -1):
        b[j] = p
        p = p * a[j]
    return p


CHANGED: list[Callable[..., Any]] = [
    elements, counters, into_one_element, into_two_elements, scatter, every_second, every_third,
]  # fmt: skip
LEFT = [
    every_second_counted,
    recurrence,
    last_wins,
    last_wins_scattered,
    read_on_the_way,
    reads_the_element,
    product,
]


@pytest.mark.parametrize("program", [*CHANGED, *LEFT])
def test_by_hand(program: Callable[..., Any]) -> None:
    for n in (6, 3, 2, 1):
        args = (rng.normal(size=n), rng.normal(size=n + 2))
        assert changed(typed(program, *args), args) == (program in CHANGED), program.__name__


def test_upwards_and_out_of_memory() -> None:
    """What the pass is for: an ascending loop without counters, whose sum is a carried value."""
    after = ascend(common(clean(typed(into_one_element, np.ones(4), np.ones(4)))))
    (loop,) = (s for s in walk(after.body) if isinstance(s, Loop))
    assert loop.step is not None
    assert len(loop.params) == 1
    assert to_text(after).count("store") == 1
    after = ascend(common(clean(typed(counters, np.ones(4), np.ones(6)))))
    assert not any(s.params for s in walk(after.body) if isinstance(s, Loop))


def source(seed: int) -> str:
    """A descending loop with stores and increments at random places, counters and sums."""
    r = random.Random(seed)
    place = lambda: r.choice(
        ("j", "j", "j", "j + 1", "j - 1", "0", "1", "n", "int(x[j] * x[j]) % 3", "k % 4")
    )
    array = lambda: r.choice("abb")
    value = lambda: r.choice((f"{array()}[{place()}]", "x[j]", "0.0", f"x[j] * {array()}[j]", "s * 0.1"))
    lines = ["def program(a, b, x):", "    n = a.shape[0] - 1", "    k = 0", "    s = 0.5"]
    lines.append(f"    for j in range(a.shape[0] - 2, 0, -{seed % 3 + 1}):")
    for _ in range(r.randint(1, 4)):
        kind = r.random()
        if kind < 0.5:
            lines.append(f"        {array()}[{place()}] {r.choice(('+=', '-='))} {value()}")
        elif kind < 0.75:
            lines.append(f"        {array()}[{place()}] = {value()}")
        elif kind < 0.9:
            lines.append(f"        k += {r.choice((1, 2))}")
        else:
            lines.append(f"        s {r.choice(('+=', '-=', '*='))} {value()}")
    return "\n".join([*lines, "    return s + k", ""])


def test_random_loops(tmp_path: Path) -> None:
    found = 0
    for seed in range(120):
        program = program_of(tmp_path / f"loop_{seed}.py", source(seed))
        args = tuple(np.random.default_rng(seed + k).normal(size=7) for k in range(3))
        found += changed(typed(program, *args), args)
    assert found >= 40


def mixed(x, y, k):
    s = 0.0
    t = 0.0
    for j in range(y.shape[0]):
        s += x[j]
        t -= k[j]
        y[0] += x[j]
    return s + t


def test_sums_of_other_types_stay() -> None:
    """Only values of the sum's own type are added to it in any order."""
    args = (rng.normal(size=4).astype(np.float32), rng.normal(size=4), np.arange(4, dtype=np.uint8))
    assert not changed(typed(mixed, *args), args)
    assert "plus" not in to_text(loose(typed(mixed, *args)))


def outer_product(a, b):
    for i in range(a.shape[0] - 1, -1, -1):
        for j in range(b.shape[0]):
            b[j] += a[i] * 0.5


def rows_in_order(a, b):
    for i in range(a.shape[0] - 1, 0, -1):
        for j in range(a.shape[0]):
            b[j] = b[j] * 0.5 + a[i]


def read_by_another_turn(a, b):
    for i in range(a.shape[0] - 1, 0, -1):
        for j in range(i):
            a[j] += a[i]


def sum_read_inside(a, b):
    for i in range(a.shape[0] - 1, -1, -1):
        b[0] += a[i]
        for j in range(1, b.shape[0]):
            b[j] += b[0]


def load_read_inside(a, b):
    for i in range(a.shape[0] - 1, -1, -1):
        t = b[0]
        for j in range(1, b.shape[0]):
            b[j] += t
        b[0] = t + a[i]


def store_on_the_way(a, b):
    for i in range(a.shape[0] - 1, -1, -1):
        t = b[0]
        for j in range(2):
            b[j] += a[i]
        b[0] = t + a[i]


def counter_inside(a, b):
    c = b.shape[0]
    for i in range(a.shape[0] - 1, -1, -1):
        for j in range(2):
            if a[i] > 0.0:
                a[i] += b[c - 1]
        c -= 1
    return c


def carried_sum(a, b):
    s = 0.0
    for i in range(a.shape[0] - 1, -1, -1):
        for j in range(2):
            s += a[i] * b[j]
    return s


def rows_of_a_record(a, b):
    c = a.shape[0] * b.shape[0]
    for i in range(a.shape[0] - 1, -1, -1):
        for j in range(b.shape[0] - 1, -1, -1):
            c -= 1
            b[j] += a[i] * np.sin(c)
        c -= 2
    return c


def empty_rows(a, b):
    c = 5
    for i in range(a.shape[0] - 1, -1, -1):
        c -= b.shape[0]
        for j in range(b.shape[0], 2):
            c -= 3
            b[j] += a[i]
        b[0] += a[i] * c
    return c


def triangle_of_a_record(a, b):
    c = 0
    for i in range(a.shape[0] - 1, -1, -1):
        for j in range(i):
            c += 1
            b[j] += a[i] * np.sin(c)
    return c


def cursor_moved_by_a_cursor(a, b):
    c = 0
    d = 1
    for i in range(a.shape[0] - 1, -1, -1):
        for j in range(2):
            b[j] += a[i] * np.sin(c)
        c += d
        d += 1
    return c


def cursor_in_a_branch(a, b):
    c = 0
    for i in range(a.shape[0] - 1, -1, -1):
        for j in range(2):
            if a[i] > 0.0:
                c += 1
            b[j] += a[i] * c
    return c


@pytest.mark.parametrize(
    ("program", "turned"),
    [
        (rows_of_a_record, True), (empty_rows, True), (triangle_of_a_record, False),
        (cursor_moved_by_a_cursor, False), (cursor_in_a_branch, False), (outer_product, True), (counter_inside, True), (rows_in_order, False), (read_by_another_turn, False),
        (sum_read_inside, False), (load_read_inside, False), (store_on_the_way, False), (carried_sum, False),
    ],
)  # fmt: skip
def test_around_other_loops(program: Callable[..., Any], turned: bool) -> None:
    for n in (5, 2, 1):
        args = (rng.normal(size=n), rng.normal(size=n + 2))
        function = typed(program, *args)
        changed(function, args)
        outer = next(s for s in walk(ascend(common(clean(function))).body) if isinstance(s, Loop))
        assert (outer.step == ONE) == turned


def nest_source(seed: int) -> str:
    """A descending loop around loops and branches, with stores and increments at random places."""
    r = random.Random(seed)
    array = lambda: r.choice("abb")

    def place(inner: bool) -> str:
        return r.choice(
            ("i", "i", "0", "n", "k % 4", "int(x[i] * x[i]) % 3") + (("j", "j", "j + 1") if inner else ())
        )

    def value(inner: bool) -> str:
        return r.choice((f"{array()}[{place(inner)}]", "x[i]", "0.0", "t", "x[j]" if inner else "x[0]"))

    def statements(pad: str, inner: bool, number: int) -> list[str]:
        out = []
        for _ in range(number):
            kind = r.random()
            if kind < 0.55:
                out.append(f"{pad}{array()}[{place(inner)}] {r.choice(('+=', '+=', '-='))} {value(inner)}")
            elif kind < 0.7:
                out.append(f"{pad}{array()}[{place(inner)}] = {value(inner)}")
            elif kind < 0.8:
                out.append(f"{pad}t = {value(inner)}")
            else:
                out += [f"{pad}if x[{'j' if inner else 'i'}] > 0.0:", *statements(pad + "    ", inner, 1)]
        return out

    lines = ["def program(a, b, x):", "    n = a.shape[0] - 1", "    k = 3", "    t = 0.5"]
    lines += ["    for i in range(a.shape[0] - 2, 0, -1):", *statements("        ", False, r.randint(0, 2))]
    lines += [
        f"        for j in range({r.choice(('n', 'i', '1, n'))}):",
        *statements("            ", True, r.randint(1, 3)),
    ]
    if r.random() < 0.4:
        lines.append(f"            k {r.choice(('+=', '-='))} {r.choice(('1', 'n', 'i'))}")
    lines += statements("        ", False, r.randint(0, 1))
    if r.random() < 0.4:
        lines.append("        k += 1")
    return "\n".join([*lines, "    return k", ""])


def test_random_nests(tmp_path: Path) -> None:
    found = 0
    for seed in range(150):
        program = program_of(tmp_path / f"nest_{seed}.py", nest_source(seed))
        args = tuple(np.random.default_rng(seed + k).normal(size=7) for k in range(3))
        function = typed(program, *args)
        changed(function, args)
        loops = [s for s in walk(ascend(common(clean(function))).body) if isinstance(s, Loop)]
        found += bool(loops) and loops[0].step == ONE
    assert found >= 20


def names_by_branch(a, b, turns):
    for i in range(a.shape[0] - 2, -1, -1):
        if i % 2 == 0:
            p, q = a, b
        else:
            p, q = b, a
        w = p[i]
        p[i] = 0.0
        q[i + 1] += w


def names_swapped_inside(a, b, turns):
    for i in range(a.shape[0] - 2, -1, -1):
        p, q = a, b
        for _ in range(turns):
            w = p[i]
            p[i] = 0.0
            q[i + 1] += w
            p, q = q, p


def views_by_branch(a, b, turns):
    x, y = a[1:], a[:-1]
    for i in range(a.shape[0] - 2, -1, -1):
        p = x if i % 2 == 0 else y
        w = p[i]
        p[i] = 0.5 * w
        b[i] += w


def views_swapped_inside(a, b, turns):
    x, y = a[1:], a[:-1]
    for i in range(a.shape[0] - 2, -1, -1):
        p, q = x, y
        for _ in range(turns):
            w = p[i]
            p[i] = 0.5 * w
            b[i] += w
            p, q = q, p


@pytest.mark.parametrize("turns", [1, 2, 3])
@pytest.mark.parametrize(
    "program", [names_by_branch, names_swapped_inside, views_by_branch, views_swapped_inside]
)
def test_names_that_mean_other_memory_in_each_turn(program: Callable[..., None], turns: int) -> None:
    """An index of its own is a place of its own only in one array."""
    args = (rng.normal(size=7), rng.normal(size=7), turns)
    changed(typed(program, *args), args)
