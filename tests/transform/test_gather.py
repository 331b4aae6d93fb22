"""Sums that are pulled equal sums that are pushed: nests by hand, and random ones of every rank."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import njit

import adjit as aj
from adjit.ir.core import Function
from adjit.ir.printer import to_text
from adjit.ir.verify import verify
from adjit.transform.clean import clean
from adjit.transform.common import common
from adjit.transform.gather import gather
from adjit.transform.stride import stride
from adjit.transform.through import through

from .typed import program_of, run, typed

rng = np.random.default_rng(3)


def pulled(function: Function, args: tuple[Any, ...]) -> bool:
    """Whether the pass changes the function; it must compute the same, to rounding."""
    before = common(through(clean(stride(function))))
    after, _ = gather(before)
    verify(after)
    for a, b in zip(run(before, args)[1], run(after, args)[1], strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-12, atol=1e-14, err_msg=to_text(after))
    return to_text(before) != to_text(after)


def cross(a, b):
    for i in range(a.shape[0] - 2, 0, -1):
        for j in range(a.shape[1] - 2, 0, -1):
            w = a[i, j] * 0.2
            b[i, j - 1] += w
            b[i, j + 1] += w
            b[i - 1, j] += w
            b[i + 1, j] -= w * a[i, j + 1]


def cross_and_reset(a, b):
    for i in range(1, a.shape[0] - 1):
        for j in range(1, a.shape[1] - 1):
            w = a[i, j] * 0.2
            b[i, j - 1] += w
            b[i + 1, j] -= w
            a[i, j] = 0.0


def from_two(a, b):
    for i in range(2, a.shape[0] - 2):
        for j in range(2, a.shape[1] - 2):
            w = a[i, j] * 0.2
            b[i - 1, j] += w
            b[i + 1, j] += w
            b[i, j - 1] += w


def two_arrays(a, b):
    for i in range(a.shape[0] - 1):
        for j in range(a.shape[1] - 1):
            w = a[i, j] * 0.2
            b[i, j + 1] += w
            b[i, j] -= w
            a[i, j] += 1.0


def of_a_view(a, b):
    c = b[1:-1, 1:]
    for i in range(c.shape[0] - 1):
        for j in range(c.shape[1] - 1):
            w = a[i, j] * 0.2
            c[i, j + 1] += w
            b[i, j] -= w


def a_row(a, b):
    for j in range(a.shape[1] - 2):
        b[1, j + 2] += a[0, j]
        b[1, j] += a[0, j]
        b[0, j] += a[0, j]


def reads_what_it_adds_to(a, b):
    for i in range(1, a.shape[0] - 1):
        for j in range(1, a.shape[1] - 1):
            w = a[i, j] * b[i, j]
            b[i, j - 1] += w
            b[i, j + 1] += w


def changes_what_others_read(a, b):
    for i in range(1, a.shape[0] - 1):
        for j in range(1, a.shape[1] - 1):
            w = a[i, j] * 0.2
            b[i, j - 1] += w
            b[i, j + 1] += w
            a[i, j + 1] = 0.0


def resets_too_early(a, b):
    for i in range(1, a.shape[0] - 1):
        for j in range(1, a.shape[1] - 1):
            a[i, j] = 0.5
            w = a[i, j] * 0.2
            b[i, j - 1] += w
            b[i, j + 1] += w
            a[i, j] = w


def triangle(a, b):
    for i in range(a.shape[0] - 1):
        for j in range(i):
            b[i, j + 1] += a[i, j]
            b[i + 1, j] += a[i, j]


def wraps(a, b):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            b[i, j - 1] += a[i, j]
            b[i, j] += a[i, j]


def sums(a, b):
    for i in range(a.shape[0]):
        for j in range(a.shape[1] - 1):
            b[0, j + 1] += a[i, j]
            b[0, j] += a[i, j]


def half_sweep(a, b):
    n, m = b.shape
    for i in range(n - 2, 0, -1):
        for j in range(m - 2, 0, -1):
            if (i + j) % 2 == 1:
                w = b[i, j] * 0.25
                b[i, j] = 0.0
                a[i, j] += w
                b[i - 1, j] += w
                b[i + 1, j] += w
                b[i, j - 1] += w
                b[i, j + 1] += w


def three_colours(a, b):
    n, m = b.shape
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            if (2 * i - j) % 3 == 1:
                w = b[i, j] * b[i, j - 1]
                b[i, j + 1] += w
                b[i + 1, j] += 2.0 * w
                b[i, j] = 0.5


def other_rows(a, b):
    n, m = b.shape
    for i in range(1, n - 1):
        if i % 2 == 0:
            for j in range(1, m - 1):
                w = b[i, j] * b[i, j - 1]
                b[i + 1, j] += w
                b[i - 1, j + 1] += 2.0 * w


def strides(a, b):
    for i in range(1, a.shape[0] - 1, 2):
        for j in range(a.shape[1] - 2, 1, -3):
            w = b[i, j] * a[i, j]
            b[i, j + 1] += w
            b[i, j - 2] += 2.0 * w


def meets_its_colour(a, b):
    n, m = b.shape
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            if (i + j) % 2 == 1:
                w = b[i, j] * 0.25
                b[i - 1, j + 1] += w
                b[i, j - 1] += w
                b[i, j + 1] += w


def far_apart(a, b):
    for j in range(a.shape[1] - 30):
        b[0, j + 30] += a[0, j]
        b[0, j] += a[0, j]


def carried_bound(a, b):
    k = 1
    for i in range(a.shape[0]):
        m = k
        k = k * 2
        for j in range(m):
            b[i, j + 1] += a[i, j]
            b[i, j] += a[i, j]


def swapped(a, b):
    c = b * 2
    d = b * 3
    for t in range(a.shape[0]):
        c, d = d, c
        for j in range(1, a.shape[1] - 1):
            w = a[t, j] * 0.3
            c[t, j - 1] += w
            c[t, j + 1] += w
    b[:] = c + d


def a_literal(a, b):
    for i in range(a.shape[0]):
        for j in range(a.shape[1] - 1):
            b[i, j + 1] += 0.3
            b[i, j] += a[i, j]


def rows_below(a, b):
    for i in range(a.shape[0] - 1, 0, -1):
        p = i - 1
        for j in range(1, a.shape[1] - 1):
            w = a[i, j]
            a[i, j] = 0.0
            a[p, j] += 0.3 * w
            b[i, j - 1] += w * b[p, j]
            b[i, j + 1] += w * 0.5
            b[i, j] += w


def maybe_the_same_row(a, b):
    n = a.shape[0]
    for i in range(n):
        p, q = i - 1, i - n
        for j in range(1, a.shape[1] - 1):
            w = a[i, j]
            a[p, j] += 0.3
            b[q, j - 1] += w
            b[i, j + 1] += w


def down_columns(a, b):
    for i in range(1, a.shape[0] - 1):
        w = a[i, 0]
        b[i - 1, 1] += w
        b[i + 1, 1] += w


LEGAL: list[Callable[..., None]] = [
    rows_below,
    cross,
    from_two,
    cross_and_reset,
    two_arrays,
    of_a_view,
    a_row,
    half_sweep,
    three_colours,
    other_rows,
    strides,
    wraps,
]
LEFT = [reads_what_it_adds_to, changes_what_others_read, far_apart, down_columns]
SHAPES = [(6, 7), (3, 3), (2, 5), (5, 2), (1, 1), (3, 4), (4, 3), (0, 3), (0, 0), (2, 2), (5, 40)]


@pytest.mark.parametrize("program", LEGAL)
def test_pulled(program: Callable[..., None]) -> None:
    for shape in SHAPES:
        if program in (a_row, strides) and min(shape) < 3:
            continue
        args = (rng.normal(size=shape), rng.normal(size=shape))
        assert pulled(typed(program, *args), args)


@pytest.mark.parametrize(
    "program",
    [*LEFT, triangle, sums, resets_too_early, carried_bound, swapped, meets_its_colour, maybe_the_same_row],
)
def test_left_as_it_is(program: Callable[..., None]) -> None:
    """Or at least right: a row of a triangle can be pulled, the triangle cannot."""
    args = (rng.normal(size=(5, 40)), rng.normal(size=(5, 40)))
    changed = pulled(typed(program, *args), args)
    assert not (changed and program in LEFT)


def source(seed: int) -> tuple[str, tuple[int, ...]]:
    """A nest that pushes to random places, and extents of its arrays."""
    r = random.Random(seed)
    rank = r.choice((1, 2, 2, 3))
    names = "ijk"[:rank]
    shape = tuple(r.choice((2, 3, 4, 5, 7)) for _ in names)
    reach = 2
    lines = ["def program(a, b, c):"]
    for depth, name in enumerate(names):
        lo, hi = f"{reach}", f"a.shape[{depth}] - {reach}"
        up = r.random() < 0.5
        head = f"range({lo}, {hi})" if up else f"range({hi} - 1, {lo} - 1, -1)"
        lines.append("    " * (depth + 1) + f"for {name} in {head}:")
    pad = "    " * (rank + 1)
    at = lambda offsets: ", ".join(
        f"{n} + {o}" if o >= 0 else f"{n} - {-o}" for n, o in zip(names, offsets, strict=True)
    )
    near = lambda: tuple(r.choice((-2, -1, 0, 0, 1, 2)) for _ in names)
    zero = (0,) * rank
    lines.append(f"{pad}w = a[{at(zero)}] * {r.choice(('0.2', f'c[{at(near())}]', f'c[{at(zero)}]'))}")
    for _ in range(r.randint(2, 6)):
        term = r.choice(("w", "w", f"w * c[{at(near())}]", f"a[{at(near())}]", "2.0"))
        lines.append(f"{pad}b[{at(near())}] {r.choice(('+=', '-='))} {term}")
    if r.random() < 0.6:
        lines.append(
            f"{pad}{r.choice('ac')}[{at(r.choice((zero, zero, near())))}] {r.choice(('= 0.0', '= w', '+= 1.0'))}"
        )
    return "\n".join(lines) + "\n", tuple(n + 2 * reach - r.randint(0, 3) for n in shape)


def random_one(folder: Path, seed: int, text: str, shape: tuple[int, ...], more: int = 0) -> bool:
    """Whether a program of three arrays, the second longer by `more`, is changed; it must compute the same."""
    program = program_of(folder / f"nest_{seed}.py", text + "\n")
    shapes = (shape, tuple(n + more for n in shape), shape)
    args = tuple(np.random.default_rng(seed + k).normal(size=s) for k, s in enumerate(shapes))
    return pulled(typed(program, *args), args)


def test_random_nests(tmp_path: Path) -> None:
    assert sum(random_one(tmp_path, seed, *source(seed)) for seed in range(80)) >= 40


def guarded(seed: int) -> tuple[str, tuple[int, ...]]:
    """A nest of `source` whose turns are of a residue class, and that may read and clear what it adds to."""
    r = random.Random(seed * 7 + 1)
    text, shape = source(seed)
    head, *lines = text.splitlines()
    loops = [line for line in lines if "for " in line]
    body = lines[len(loops) :]
    if r.random() < 0.7:
        body[0] = body[0].replace("a[", "b[")
        body = [line.replace("a[", r.choice("aab") + "[") for line in body]
    names = "ijk"[: len(loops)]
    at = r.choice((len(loops), len(loops), len(loops), r.randint(1, len(loops))))
    kind = r.choice(("guard", "guard", "guard", "step", "two"))
    modulus = r.choice((2, 2, 2, 3))
    if kind == "step":
        loops[at - 1] = loops[at - 1].replace(", -1):", f", -{modulus}):")
        if not loops[at - 1].endswith(f"-{modulus}):"):
            loops[at - 1] = loops[at - 1][:-2] + f", {modulus}):"
        return "\n".join([head, *loops, *body]) + "\n", shape
    factors = {n: r.choice((1, 1, 1, -1, 0, 2)) for n in names[:at]}
    factors[names[at - 1]] = r.choice((1, -1))
    form = " + ".join(
        f"{k} * {n}" if k not in (1, -1) else n if k == 1 else f"(-{n})" for n, k in factors.items()
    )
    test = f"({form} + {r.randint(0, 2)}) % {modulus} == {r.randint(0, modulus - 1)}"
    deeper = ["    " + line for line in (*loops[at:], *body)]
    guards = ["    " * (at + 1) + f"if {test}:"]
    if kind == "two" and at > 1:
        deeper = ["    " + line for line in deeper]
        first = ["        " + f"if {names[0]} % 2 == 0:"]
        return "\n".join(
            [head, loops[0], *first, *("    " + line for line in loops[1:at]), "    " + guards[0], *deeper]
        ) + "\n", shape
    return "\n".join([head, *loops[:at], *guards, *deeper]) + "\n", shape


def around_rows(seed: int) -> tuple[str, tuple[int, ...]]:
    """A row pushed to rows around it, of the same arrays."""
    r = random.Random(seed)
    up = r.random() < 0.5
    lines = ["def program(a, b, c):", "    n = a.shape[0]"]
    lines.append(f"    for i in range({'1, n - 1' if up else 'n - 2, 0, -1'}):")
    lines += ["        p, q, e = i - 1, i + 1, n - 1", "        for j in range(2, a.shape[1] - 2):"]
    row = lambda: r.choice("iiiiippqqe0") if r.random() < 0.9 else "-1"
    column = lambda: r.choice(("j", "j", "j - 1", "j + 1", "j + 2"))
    lines.append(f"            w = {r.choice('abc')}[{row()}, j] * 0.3")
    if r.random() < 0.5:
        lines.append(f"            {r.choice('abc')}[{row()}, j] = 0.0")
    here = f"{r.choice('ab')}[{row()}, "
    for _ in range(r.randint(2, 3)):
        term = r.choice(("w", f"w * {r.choice('abc')}[{row()}, {column()}]"))
        lines.append(f"            {here}{column()}] += {term}")
    if r.random() < 0.5:
        lines.append(f"            {r.choice('abc')}[{row()}, {column()}] {r.choice(('=', '+='))} w")
    return "\n".join(lines) + "\n", (r.choice((2, 3, 5, 6)), r.choice((4, 5, 9)))


def test_random_rows(tmp_path: Path) -> None:
    assert sum(random_one(tmp_path, seed, *around_rows(seed)) for seed in range(200)) >= 30


def test_random_residue_classes(tmp_path: Path) -> None:
    assert sum(random_one(tmp_path, seed, *guarded(seed)) for seed in range(150)) >= 20


def bent(seed: int) -> tuple[str, tuple[int, ...]]:
    """A nest over all of its arrays that pushes to the places of rings and clamps. b is longer by two."""
    r = random.Random(seed * 11 + 5)
    rank = r.choice((1, 2, 2, 2, 3))
    names = "ijk"[:rank]
    lines = [
        "def program(a, b, c):",
        f"    {', '.join(n + '_n' for n in names)}{',' * (rank == 1)} = a.shape",
    ]
    places: list[list[str]] = []
    for depth, n in enumerate(names):
        pad = "    " * (depth + 1)
        lines.append(f"{pad}for {n} in {r.choice((f'range({n}_n)', f'range({n}_n - 1, -1, -1)'))}:")
        found = [n]
        for k in range(r.randint(1, 3)):
            o, size = r.choice((1, 1, 2, 3)), f"{n}_n"
            form = r.choice(
                (
                    f"({n} + {o}) % {size}",
                    f"({n} - {o}) % {size}",
                    f"min({n} + {o}, {size} - 1)",
                    f"max({n} - {o}, 0)",
                    f"max(0, min({size} - 1, {n} + {r.choice((-1, 1)) * o}))",
                )
            )
            lines.append(f"{pad}    {n}{k} = {form}")
            found.append(f"{n}{k}")
        places.append(found)
    pad = "    " * (rank + 1)
    plain = ", ".join(names)
    at = lambda far=(): ", ".join(r.choice((*found, *(f"{found[0]} + {o}" for o in far))) for found in places)
    lines.append(f"{pad}w = a[{plain}] * {r.choice(('0.2', f'c[{at()}]', f'a[{at()}]'))}")
    for _ in range(r.randint(2, 5)):
        term = r.choice(("w", "w", "w", f"w * c[{at()}]", f"a[{at()}]", "2.0"))
        lines.append(f"{pad}b[{at((1, 2))}] {r.choice(('+=', '-='))} {term}")
    if r.random() < 0.5:
        lines.append(
            f"{pad}{r.choice('ac')}[{r.choice((plain, plain, at()))}] {r.choice(('= 0.0', '+= 1.0'))}"
        )
    return "\n".join(lines) + "\n", tuple(r.choice((0, 1, 2, 3, 4, 5, 7, 11)) for _ in names)


def test_random_rings_and_clamps(tmp_path: Path) -> None:
    assert sum(random_one(tmp_path, seed, *bent(seed), more=2) for seed in range(120)) >= 60


def chosen(name: str, size: str, r: random.Random) -> list[str]:
    """Lines that give an index by a test: a ring, a clamp, a mirror, or something like it that is none."""
    o = r.choice((1, 1, 1, 2, 3))
    up = r.random() < 0.5
    if up:
        near = f"{name} + {o}"
        test = r.choice(
            (f"{name} < {size} - {o}", f"{near} < {size}", f"{name} <= {size} - {o + 1}", f"{size} > {near}")
        )
        ends = [
            f"{name} + {o} - {size}",
            f"{size} - 1",
            f"2 * {size} - {2 + o} - {name}",
            f"{size} - 2",
            name,
            "0",
        ]
        edge = f"{name} == {size} - 1"
    else:
        near = f"{name} - {o}"
        test = r.choice((f"{name} >= {o}", f"{near} >= 0", f"{name} > {o - 1}", f"0 <= {near}"))
        ends = [f"{name} - {o} + {size}", "0", f"{o} - {name}", "1", name, f"{size} - 1"]
        edge = f"{name} == 0"
    if o == 1 and r.random() < 0.3:
        test = f"not ({edge})" if r.random() < 0.5 else edge.replace("==", "!=")
    if r.random() < 0.1:
        test = f"{name} < 2"
    other = r.choice(ends)
    if r.random() < 0.5:
        return [f"{{}} = {near} if {test} else {other}"]
    if r.random() < 0.5:
        return [f"if not ({test}):", f"    {{}} = {other}", "else:", f"    {{}} = {near}"]
    return [f"{{}} = {near}", f"if not ({test}):", f"    {{}} = {other}"]


def turned(seed: int, longer: bool) -> tuple[str, tuple[int, ...]]:
    """A nest that pushes to places that a test or a negative index brings back. longer: b is, by three places."""
    r = random.Random(seed * 13 + longer)
    rank = r.choice((1, 2, 2, 2, 3))
    names = "ijk"[:rank]
    sizes = ", ".join(n + "_n" for n in names)
    lines = ["def program(a, b, c):", f"    {sizes}{',' * (rank == 1)} = a.shape"]
    places: list[list[str]] = []
    reads: list[list[str]] = []
    least: list[int] = []
    for depth, n in enumerate(names):
        pad, size = "    " * (depth + 1), f"{n}_n"
        lines.append(f"{pad}for {n} in {r.choice((f'range({size})', f'range({size} - 1, -1, -1)'))}:")
        found, read, most = [n], [n], 1
        for k in range(r.randint(1, 3)):
            if r.random() < 0.4:
                o = r.choice((1, 1, 2, 3))
                far = r.choice((f"{n} - {o}", f"{n} - {o}", f"{n} - {size} + {o}", f"{n} - {size}"))
                found.append(far)
                read.append(far)
                most = max(most, o)
                continue
            made = chosen(n, size, r)
            lines += [f"{pad}    {line.format(f'{n}{k}')}" for line in made]
            found.append(f"{n}{k}")
            read.append(f"{n}{k}")
            most = 4
        places.append(found)
        reads.append(read)
        least.append(most)
    pad = "    " * (rank + 1)
    plain = ", ".join(names)
    at = lambda: ", ".join(map(r.choice, places))
    lines.append(f"{pad}w = a[{plain}] * {r.choice(('0.2', f'c[{at()}]', f'c[{plain}]'))}")
    for _ in range(r.randint(2, 5)):
        term = r.choice(("w", "w", "w", f"w * c[{at()}]", f"a[{at()}]", "2.0"))
        lines.append(f"{pad}b[{at()}] {r.choice(('+=', '-='))} {term}")
    if r.random() < 0.3:
        lines.append(
            f"{pad}{r.choice('ac')}[{r.choice((plain, plain, at()))}] {r.choice(('= 0.0', '+= 1.0'))}"
        )
    return "\n".join(lines) + "\n", tuple(r.choice((m, m, m + 1, m + 3, 9)) for m in least)


@pytest.mark.parametrize("longer", [False, True])
def test_random_tests_and_negative_indices(tmp_path: Path, longer: bool) -> None:
    """Programs that leave their arrays are passed over."""
    more, changed = 3 * longer, 0
    for seed in range(150):
        with contextlib.suppress(IndexError):
            changed += random_one(tmp_path, seed, *turned(seed, longer), more=more)
    assert changed >= 50


def fresh_zeros(text: str) -> str:
    """The nest of `source`, but into an array of zeros, which another nest has touched before for some seeds."""
    head, *lines = text.splitlines()
    return "\n".join(
        [
            "import numpy as np",
            "",
            "",
            head,
            "    out = b",
            "    b = np.zeros(out.shape)",
            *lines,
            "    out += b",
        ]
    )


def test_random_nests_into_zeros(tmp_path: Path) -> None:
    """What is pulled into fresh zeros is stored, not added: also where two nests do so, and where one reads it first."""
    loads = 0
    for seed in range(60):
        text, shape = source(seed)
        text = fresh_zeros(text)
        if seed % 3 == 0:
            text = text.replace("    out += b", "\n".join(text.splitlines()[6:-1]) + "\n    out += b")
        if seed % 5 == 0:
            text = text.replace("b = np.zeros(out.shape)", "b = np.zeros(out.shape)\n    b[0] = 1.5")
        loads += random_one(tmp_path, seed, text, shape)
    assert loads >= 25


def into_zeros(a, out):
    b = np.zeros(a.shape)
    for i in range(1, a.shape[0] - 1):
        for j in range(1, a.shape[1] - 1):
            b[i, j - 1] += a[i, j]
            b[i, j + 1] -= a[i, j] * 2.0
    out += b


def test_the_first_terms_are_stored() -> None:
    args = (rng.normal(size=(5, 9)), np.zeros((5, 9)))
    function = typed(into_zeros, *args)
    assert pulled(function, args)
    text = to_text(gather(common(through(clean(function))))[0])
    inner = text.split("for j")[1]
    assert "load b[" not in inner
    assert "store b[" in inner


def test_terms_of_another_type_are_left() -> None:
    a = rng.normal(size=(4, 5))
    args = (a.astype(np.float32), a.copy())
    assert not pulled(typed(a_row, *args), args)
    args = (a, a * 1j)
    pulled(typed(a_literal, *args), args)


def steps(a):
    d = np.sin(a)
    s = 0.0
    for i in range(a.shape[0] - 1):
        s += (d[i + 1] - d[i]) ** 2
    for i in range(a.shape[0] - 2):
        s += (d[i + 2] - 2.0 * d[i + 1] + d[i]) ** 2
    return s


def rows(a):
    n, m = a.shape
    d = np.empty((n, m))
    for i in range(n):
        for j in range(m):
            d[i, j] = np.sin(a[i, j])
    s = 0.0
    for i in range(n - 1):
        for j in range(m - 1):
            s += (d[i + 1, j] - d[i, j + 1]) ** 2 * d[i, j]
    return s


@pytest.mark.parametrize(
    "shape", [(0,), (1,), (2,), (3,), (1, 3), (3, 1), (1, 1), (2, 2), (0, 2), (2, 0)], ids=str
)
def test_extents_that_no_turn_reaches_across(shape: tuple[int, ...], uncompiled: None) -> None:
    """A cotangent that starts from any memory is cleared where its nest has no turns."""
    f = njit(steps if len(shape) == 1 else rows)
    a = np.linspace(0.2, 0.9, int(np.prod(shape))).reshape(shape)
    gradient = aj.grad(f)(a)
    h = 1e-6
    for k in np.ndindex(*shape):
        e = np.zeros(shape)
        e[k] = h
        assert gradient[k] == pytest.approx((f(a + e) - f(a - e)) / (2 * h), abs=1e-8)
