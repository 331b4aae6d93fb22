"""Sums of several nests that are pulled together equal those of each nest by itself."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjit as aj
from adjit.ir.core import Loop
from adjit.ir.printer import to_text
from adjit.ir.visit import walk
from adjit.transform.gather import gather
from adjit.transform.join import join

from .test_hold import agree, ordered
from .typed import program_of, run, typed


def nests(seed: int) -> tuple[str, tuple[int, ...]]:
    """Two or three nests over other ranges that push to x, with something between them, and extents."""
    r = random.Random(seed)
    names = "ijk"[: r.choice((1, 2, 2, 3))]
    lines = ["def program(x, y, a, c):"]
    turned = r.random() < 0.2
    for number in range(r.choice((2, 2, 3))):
        for depth, n in enumerate(names):
            lo, hi = r.choice((2, 2, 3, 4)), f"a.shape[{depth}] - {r.choice((2, 2, 3, 4))}"
            head = f"range({lo}, {hi})" if r.random() < 0.5 else f"range({hi} - 1, {lo - 1}, -1)"
            lines.append("    " * (depth + 1) + f"for {n} in {head}:")
        pad = "    " * (len(names) + 1)

        def at(flip: bool) -> str:
            each = [f"{n} {r.choice('+-')} {o}" if (o := r.choice((0, 0, 1, 2))) else n for n in names]
            return ", ".join(each[::-1] if flip else each)

        flip = turned and number == 1
        lines.append(f"{pad}w = a[{', '.join(names)}] * {r.choice('ac')}[{at(False)}]")
        for _ in range(r.randint(1, 3)):
            lines.append(f"{pad}x[{at(flip)}] {r.choice(('+=', '-='))} {r.choice(('w', '0.5 * w', 'w'))}")
        if r.random() < 0.15:
            lines.append(f"{pad}{r.choice('yac')}[{', '.join(names)}] {r.choice(('= w', '= 0.0', '= x[0]'))}")
            if lines[-1].endswith("x[0]"):
                lines[-1] = lines[-1].replace("x[0]", f"x[{', '.join(names)}]")
        if r.random() < 0.15:
            lines.append(
                f"    {r.choice('yac')}[{', '.join('0' for _ in names)}] = {r.choice(('1.0', '2.0'))}"
            )
        if r.random() < 0.1:
            lines.append(f"    y[{', '.join('1' for _ in names)}] += x[{', '.join('2' for _ in names)}]")
    shape = tuple(r.choice((4, 5, 6, 7, 9)) for _ in names)
    return "\n".join(lines) + "\n", shape[:1] * len(shape) if turned else shape


def arguments(seed: int, shape: tuple[int, ...], zeros: bool) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    longer = tuple(n + int(rng.integers(0, 3)) for n in shape)
    x, y = np.zeros(longer), np.zeros(shape)
    return (x if zeros else x + rng.normal(size=longer), y, *rng.normal(size=(2, *shape)))


@pytest.mark.parametrize("zeros", [True, False])
def test_random_nests(tmp_path: Path, zeros: bool) -> None:
    changed = 0
    for seed in range(60):
        text, shape = nests(seed)
        program = program_of(tmp_path / f"nests_{seed}.py", text)
        args = arguments(seed, shape, zeros)
        before = ordered(typed(program, *args))
        steps = [join, gather] if zeros else [lambda f, _: join(f), lambda f, _: gather(f)]
        agree(before, args, run(before, args)[1], steps)
        changed += to_text(join(before)[0]) != to_text(before)
    assert changed >= 20


def test_later_nests_see_what_was_written_between() -> None:
    def rewritten(x, a):
        for i in range(1, len(a)):
            x[i] += a[i] * a[i]
            x[i - 1] -= a[i]
        a[2] = 7.0
        for i in range(len(a) - 1):
            x[i] += a[i]
            x[i + 1] -= a[i] * 2.0

    args = np.zeros(6), np.arange(1.0, 7.0)
    before = ordered(typed(rewritten, *args))
    after, _ = join(before)
    assert sum(isinstance(s, Loop) for s in walk(after.body)) == 2
    for a, b in zip(run(before, args)[1], run(after, args)[1], strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.usefixtures("uncompiled")
def test_gradient_of_two_stencils() -> None:
    """Of any length, also those for which one or both loops have no turn."""

    def rough(u):
        s = 0.0
        for i in range(len(u) - 1):
            s += (u[i + 1] - u[i]) ** 2
        for i in range(1, len(u) - 1):
            s += (u[i + 1] - 2.0 * u[i] + u[i - 1]) ** 3
        return s

    for n in (0, 1, 2, 3, 4, 9):
        u = np.sin(np.arange(float(n)))
        want = [aj.jvp(rough, (u,), (direction,))[1] for direction in np.eye(n)]
        np.testing.assert_allclose(aj.grad(rough)(u), want, atol=1e-12)
