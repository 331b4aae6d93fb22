"""Local arrays that are not made: programs by hand, and random ones with overwritten inputs, offsets and views."""

from __future__ import annotations

import importlib.util
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjit as aj
from adjit.ir.core import Alloc, Function
from adjit.ir.printer import to_text
from adjit.ir.verify import verify
from adjit.ir.visit import walk
from adjit.transform.contract import contract
from adjit.transform.scalarise import scalarise

from .typed import run, typed

rng = np.random.default_rng(5)


def arrays(function: Function) -> int:
    return sum(isinstance(s, Alloc) for s in walk(function.body))


def fewer(function: Function, args: tuple[Any, ...]) -> int:
    """How many arrays the pass does without; results and arguments must be the same to the bit."""
    before = scalarise(function)
    after = contract(before)
    verify(after)
    for a, b in zip(run(before, args), run(after, args), strict=True):
        for x, y in zip(a, b, strict=True):
            np.testing.assert_array_equal(y, x, err_msg=to_text(after))
    return arrays(before) - arrays(after)


def difference(a, b):
    t = a[1:] * 2.0 - a[:-1]
    b[1:] += t


def in_turn(a, b):
    s = a + b
    t = s * s
    return np.sum(t * a)


def extents(a, b):
    t = a * 2.0
    n = len(t)
    for i in range(t.shape[0]):
        b[i] += t[i]
    return float(n)


def by_hand(a, b):
    n = a.shape[0]
    t = np.empty(n)
    for i in range(n):
        t[i] = a[i] - 0.5 * b[i]
    s = 0.0
    for i in range(n - 1):
        s += t[i + 1] * b[i]
    return s


def backwards(a, b):
    t = a - b
    s = 0.0
    for i in range(len(t) - 1, -1, -1):
        s = s * 0.5 + t[i]
    return s


def narrowed(a, b):
    t = np.empty(a.shape[0], np.float32)
    for i in range(a.shape[0]):
        t[i] = a[i] * 3.0
    return np.sum(t * b)


def under_a_branch(a, b):
    t = a * 0.3
    for i in range(len(t)):
        if b[i] > 0.0:
            b[i] = t[i]


def overwritten_input(a, b):
    t = a[1:] + b[1:]
    a[0] = 7.0
    a[:-1] += t


def read_beside_its_input(a, b):
    t = a[1:] * 2.0
    a[1:] = t + a[:-1]


def through_a_view(a, b):
    v = a[1:]
    t = v * 2.0
    for i in range(len(t)):
        a[i] = t[i]


def returned(a, b):
    t = a * b
    b[0] = np.sum(t)
    return t


def twice(a, b):
    t = a * b + b * 0.5
    b[1:] = t[1:] * 2.0 - t[:-1]


def many_times(a, b):
    t = a * b
    for _ in range(3):
        for j in range(len(t)):
            b[j] += t[j]


def partly(a, b):
    t = np.zeros(a.shape[0])
    for i in range(1, a.shape[0]):
        t[i] = a[i]
    b += t


def diagonal(a, b):
    t = np.zeros((a.shape[0], a.shape[0]))
    for i in range(a.shape[0]):
        t[i, i] = a[i]
    for i in range(a.shape[0]):
        for j in range(a.shape[0]):
            b[i] += t[i, j]


def recurrence(a, b):
    t = np.zeros(a.shape[0])
    for i in range(a.shape[0]):
        t[i] = a[i] + t[i - 1]
    b += t


def filled_again(a, b):
    t = a * 2.0
    for i in range(len(t)):
        t[i] = t[i] + 1.0
    b += t


def wraps(a, b):
    t = a * 2.0
    for i in range(len(t)):
        b[i] += t[i - 1]


def all_of_it(a, b):
    t = a * 2.0
    for i in range(len(t)):
        b[i] += t[i] + t[-1]


def costly(a, b):
    t = np.exp(a)
    b += t


def chosen(a, b):
    t = a * 2.0
    u = t if b[0] > 0.0 else a
    b += u


def made_in_a_loop(a, b):
    for _ in range(3):
        t = a * 2.0
        b += t


def kept_from_the_last_turn(a, b):
    t = a * 1.0
    for _ in range(3):
        b += t
        t = b * 2.0


WITHOUT: list[tuple[Callable[..., Any], int]] = [
    (difference, 1), (in_turn, 2), (extents, 1), (by_hand, 1), (backwards, 1), (narrowed, 1), (under_a_branch, 1),
    (made_in_a_loop, 1),
    (read_beside_its_input, 1),  # the copy that the statement needs is filled with what t is made of
]  # fmt: skip
LEFT = [
    overwritten_input, through_a_view, returned, twice, many_times, partly, diagonal, recurrence,
    filled_again, wraps, all_of_it, costly, chosen, kept_from_the_last_turn,
]  # fmt: skip


@pytest.mark.parametrize(("program", "number"), WITHOUT)
def test_not_made(program: Callable[..., Any], number: int) -> None:
    for n in (0, 1, 2, 6):
        args = (rng.normal(size=n), rng.normal(size=n))
        found = fewer(typed(program, *args), args)
        assert found == number or n == 1  # an extent of one is an index of 0


@pytest.mark.parametrize("program", LEFT)
def test_left(program: Callable[..., Any]) -> None:
    args = (rng.normal(size=6), rng.normal(size=6))
    assert fewer(typed(program, *args), args) == 0


def test_a_negative_extent_raises() -> None:
    def program(a, n):
        t = np.empty(n)
        for i in range(n):
            t[i] = a[i]
        s = 0.0
        for i in range(n):
            s += t[i]
        return s

    assert fewer(typed(program, np.ones(3), 2), (np.ones(3), 2)) == 0


def source(seed: int) -> tuple[str, int]:
    """Named arrays of one or two axes, made of earlier ones and of the arguments, which some statements overwrite."""
    r = random.Random(seed)
    rank = r.choice((1, 1, 2))
    slices = ("1:-1", "2:", ":-2")
    place = lambda: ", ".join(r.choice(slices) for _ in range(rank))
    inner = ", ".join(["1:-1"] * rank)
    lines, known = ["def program(a, b, c):"], []

    def term() -> str:
        kinds = ["abc", "abc", "2.0"] + (["known"] * 4 if known else [])
        kind = r.choice(kinds)
        return f"{r.choice(kind)}[{place()}]" if kind == "abc" else kind if kind == "2.0" else r.choice(known)

    for k in range(r.randint(3, 7)):
        value = f"{r.choice('abc')}[{place()}] {r.choice('+-*')} {term()}"
        if r.random() < 0.3:
            value += f" {r.choice('+-*')} {term()}"
        what = r.random()
        if what < 0.6:
            lines.append(f"    t{k} = {value}")
            known.append(f"t{k}")
        elif what < 0.8:
            lines.append(f"    {r.choice('abc')}[{inner}] {r.choice(('=', '+='))} {value}")
        else:
            lines.append(f"    {r.choice('abc')}[{', '.join(['0'] * rank)}] = 0.5")
    lines.append(f"    return np.sum({' + '.join([*known, f'c[{inner}]'])})")
    return "import numpy as np\n\n" + "\n".join(lines) + "\n", rank


def module_of(text: str, folder: Path, name: str) -> Any:
    file = folder / f"{name}.py"
    file.write_text(text)
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_random_programs(tmp_path: Path) -> None:
    changed = 0
    for seed in range(120):
        text, rank = source(seed)
        program = module_of(text, tmp_path, f"contract_{seed}").program
        args = tuple(np.random.default_rng(seed + k).normal(size=(4 + seed % 3,) * rank) for k in range(3))
        changed += fewer(typed(program, *args), args) > 0
    assert changed >= 60


@pytest.mark.parametrize("seed", [*range(2), *(pytest.param(k, marks=pytest.mark.slow) for k in range(2, 6))])
def test_gradients_of_random_programs(seed: int, tmp_path: Path) -> None:
    text, rank = source(1000 + seed)
    program = module_of(text, tmp_path, f"contract_gradient_{seed}").program
    aj.check_grad(program, *(np.random.default_rng(seed + k).normal(size=(4,) * rank) for k in range(3)))
