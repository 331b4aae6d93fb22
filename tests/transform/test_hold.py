"""Terms that are written down, and first increments that are stores: the same sums, wherever zeros were known to be."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjit as aj
from adjit.ir.core import Alloc, Function
from adjit.ir.printer import to_text
from adjit.ir.verify import verify
from adjit.ir.visit import walk
from adjit.transform.clean import clean
from adjit.transform.common import common
from adjit.transform.contract import contract
from adjit.transform.fill import fill
from adjit.transform.gather import gather
from adjit.transform.hold import hold
from adjit.transform.stride import stride
from adjit.transform.through import through

from .typed import program_of, run, typed


def nest(seed: int) -> tuple[str, tuple[int, ...]]:
    """A nest that pushes a few numbers to two arrays at random places, and its extents."""
    r = random.Random(seed)
    names = "ijk"[: r.choice((1, 2, 2, 3))]
    lines = ["def program(x, y, a, c, d):"]
    for depth, n in enumerate(names):
        lo, hi = f"{r.choice((2, 2, 3))}", f"a.shape[{depth}] - {r.choice((2, 2, 3))}"
        head = f"range({lo}, {hi})" if r.random() < 0.5 else f"range({hi} - 1, {lo} - 1, -1)"
        lines.append("    " * (depth + 1) + f"for {n} in {head}:")
    pad = "    " * (len(names) + 1)

    def at(offsets: tuple[int, ...], turned: bool = False) -> str:
        each = [
            n if o == 0 else f"{n} {'+' if o > 0 else '-'} {abs(o)}"
            for n, o in zip(names, offsets, strict=True)
        ]
        return ", ".join(each[::-1] if turned else each)

    zero, turned = (0,) * len(names), r.random() < 0.2
    lines.append(f"{pad}w = a[{at(zero)}] * c[{at(zero)}] - d[{at(zero)}] * a[{at((1,) * len(names))}]")
    lines.append(f"{pad}v = {r.choice(('-w', 'w * c[' + at(zero) + ']', 'w + d[' + at(zero) + ']'))}")
    near = lambda: tuple(r.choice((-2, -1, 0, 0, 1, 2)) for _ in names)
    for array in "xyy" if r.random() < 0.7 else "x":
        for _ in range(r.randint(1, 3)):
            lines.append(f"{pad}{array}[{at(near(), turned)}] {r.choice(('+=', '-='))} {r.choice('wwv')}")
    if r.random() < 0.2:
        lines.append(f"{pad}d[{at(zero)}] = 0.0")
    shape = tuple(r.choice((4, 5, 6, 7, 9)) for _ in names)
    return "\n".join(lines) + "\n", shape[:1] * len(shape) if turned else shape


def ordered(function: Function) -> Function:
    return common(through(clean(stride(function))))


def agree(before: Function, args: tuple[Any, ...], want: Any, steps: list[Any]) -> str:
    """The passes leave what the program computes, also where `unset` parameters hold NaN; the text after them."""
    clear = frozenset(p for p in before.params if p.name in ("x", "y"))
    after, unset = before, frozenset[Any]()
    for step in steps:
        after, more = step(after, clear - unset)
        after, unset = clean(after), unset | more
        verify(after)
    given = [
        np.full_like(a, np.nan) if p in unset else a.copy() for p, a in zip(before.params, args, strict=True)
    ]
    got = run(after, tuple(given))[1]
    for a, b in zip(want, got, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-12, atol=1e-14, err_msg=to_text(after))
    return to_text(after)


ORDERS: list[tuple[list[Any], int]] = [
    ([hold], 3),
    ([fill], 3),
    ([hold, gather, fill], 15),
    ([gather, fill], 15),
]
"""Passes in a row, and how many of the random nests they change at least."""


def test_random_nests_into_zeros(tmp_path: Path) -> None:
    changed = [0] * len(ORDERS)
    for seed in range(40):
        text, shape = nest(seed)
        program = program_of(tmp_path / f"nest_{seed}.py", text)
        rng = np.random.default_rng(seed)
        more = rng.integers(0, 3, 2)
        zeros = (np.zeros(tuple(n + 2 * m for n in shape)) for m in more)
        args = (*zeros, *rng.normal(size=(3, *shape)))
        before = ordered(typed(program, *args))
        want = run(before, args)[1]
        for k, (steps, _) in enumerate(ORDERS):
            changed[k] += agree(before, args, want, steps) != to_text(before)
    assert all(c >= least for c, (_, least) in zip(changed, ORDERS, strict=True)), changed


def two_fluxes(u, c):
    n, m = u.shape
    fx, fy = np.zeros((n - 1, m)), np.zeros((n, m - 1))
    for i in range(n - 1):
        for j in range(m):
            fx[i, j] = (u[i + 1, j] - u[i, j]) * abs(u[i, j])
    for i in range(n):
        for j in range(m - 1):
            fy[i, j] = (u[i, j + 1] - u[i, j]) * u[i, j]
    total = 0.0
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            out = u[i, j] - c[i, j] * (fx[i, j] - fx[i - 1, j] + fy[i, j] - fy[i, j - 1])
            total += out * out
    return total


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (3, 3), (6, 5)])
def test_gradients_start_from_any_memory(shape: tuple[int, int]) -> None:
    """Uncompiled, memory that the program is to set holds NaN; shadows that are given are added to."""
    rng = np.random.default_rng(5)
    u, c = rng.normal(size=shape), np.asfortranarray(rng.normal(size=shape))
    du, dc = np.ones_like(u), np.ones_like(c)
    aj.autodiff(aj.Reverse, two_fluxes, aj.Duplicated(u, du), aj.Duplicated(c, dc))
    gradient = aj.grad(two_fluxes, wrt=(0, 1))(u, c)
    _, pull = aj.vjp(two_fluxes, u, c)
    for found in (gradient, pull(1.0), pull(1.0)):
        for g, d in zip(found, (du, dc), strict=True):
            np.testing.assert_allclose(g, d - 1, rtol=1e-12, atol=1e-12)
    prepared = aj.prepare(aj.grad, two_fluxes, u, c)
    for _ in range(2):
        np.testing.assert_array_equal(prepared(u, c), aj.grad(two_fluxes)(u, c))


def test_cotangents_of_intermediates_are_not_made() -> None:
    u = np.ones((6, 5))
    text = aj.grad(two_fluxes, wrt=(0, 1)).source(u, u)
    made = re.findall(r"(\w+) = np\.(?:empty|zeros)", text[text.index("def two_fluxes_reverse(") :])
    assert made
    assert not {"dfx", "dfy"} & set(made)


def test_arrays_that_are_read_or_in_part_written_keep_their_zeros() -> None:
    def strided(u):
        s = 0.0
        for i in range(0, len(u), 2):
            s += u[i] * u[i]
        return s

    def in_a_branch(u, k):
        s = 0.0
        if k > 0:
            for i in range(len(u)):
                s += u[i] * u[i]
        return s

    u = np.arange(1.0, 6.0)
    np.testing.assert_array_equal(aj.grad(strided)(u), [2, 0, 6, 0, 10])
    np.testing.assert_array_equal(aj.grad(in_a_branch)(u, 0), np.zeros(5))
    np.testing.assert_array_equal(aj.grad(in_a_branch)(u, 1), 2 * u)


def near(a, b, c, d, x):
    for i in range(1, len(a) - 1):
        w = a[i] * b[i] * c[i] * d[i]
        x[i] += w
        x[i + 1] -= w


def far(a, b, c, d, x):
    for i in range(1, len(a) - 5):
        w = a[i] * b[i] * c[i] * d[i]
        x[i] += w
        x[i + 5] -= w


def many(a, b, c, d, x):
    for i in range(1, len(a) - 1):
        x[i] += a[i] * b[i] * c[i] * d[i]
        x[i + 1] += a[i] * b[i] * c[i] + d[i]
        x[i - 1] += a[i] * b[i] + c[i] * d[i]


def cheap(a, b, c, d, x):
    for i in range(1, len(a) - 1):
        x[i] += a[i]
        x[i + 1] -= a[i]


def read_too(a, b, c, d, x):
    for i in range(1, len(a) - 1):
        w = a[i] * b[i] * c[i] * d[i]
        x[i] += w
        x[i + 1] -= w * x[i - 1]


@pytest.mark.parametrize(
    ("f", "held"), [(near, True), (far, False), (many, False), (cheap, False), (read_too, False)]
)
def test_what_is_held(f: Any, held: bool) -> None:
    """One number that goes to places near by, and is made of more than it takes to write it down and read it."""
    function = ordered(typed(f, *np.ones((5, 12))))
    after, unset = hold(function, [p for p in function.params if p.name == "x"])
    assert {p.name for p in unset} == ({"x"} if held else set())
    assert any(isinstance(s, Alloc) for s in walk(after.body)) == held
    assert held or after is function


def filling(adjoint: bool) -> bool:
    """Whether an array of an extent that may be negative is taken out."""

    def program(a, n, y):
        t = np.empty(n - 1)
        for i in range(n - 1):
            t[i] = a[i] * a[i + 1]
        for i in range(n - 1):
            y[i] = t[i]

    function = ordered(typed(program, np.ones(5), 5, np.ones(5)))
    assert any(isinstance(s, Alloc) for s in walk(function.body))
    after = contract(function, adjoint=adjoint)
    return not any(isinstance(s, Alloc) for s in walk(after.body))


def test_extents_of_adjoint_code_are_not_negative() -> None:
    assert filling(adjoint=True)
    assert not filling(adjoint=False)
