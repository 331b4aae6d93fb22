"""Adjoints of stencils on devices: those of the CPU and of the atomic form, without atomic operations, to the bit."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjit as aj
from adjit.transform import reverse
from tests.transform.typed import program_of

from .places import copies, same, to_device, to_host
from .random_nests import random_program
from .stencils import LINE, STENCILS, Stencil, jacobi, nonlinear, red_black, smaller


@pytest.fixture(autouse=True)
def _uncompiled(uncompiled):
    """What runs on the CPU for comparison runs as plain Python."""


def kernels(text: str) -> dict[str, str]:
    """The text of each kernel of a generated program."""
    found = re.findall(r"(?:__kernel|__global__) void (\w+)\((.*?)\n}", text, flags=re.S)
    return dict(found)


def taken(text: str) -> list[str]:
    """Texts of the reverse kernels, without those that only run where arrays have two names, or ranges do not fit."""
    host = text.partition('"""\n\n\nSOURCE')[2]
    branches = (body for _, body in re.findall(r"\n( *)else:((?:\n\1 +.*)+)", host))
    others = {name for body in branches for name in re.findall(r"(\w+)\(device", body)}
    return [body for name, body in kernels(text).items() if "_reverse_" in name and name not in others]


def atomic_arrays(texts: list[str]) -> set[str]:
    return {name for text in texts for name in re.findall(r"atomic_add_float64\(&(\w+)\[", text)}


OFTEN = (
    "red_black",
    "nonlinear",
    "jacobi",
    "total_variation",
    "upwind",
    "mixed",
    "costly",
    "chosen",
    "later",
)
"""Those that every run tries; the others, which are much like these, run with --slow."""


@pytest.mark.parametrize(
    "p",
    [pytest.param(p, id=p.name, marks=[] if p.name in OFTEN else [pytest.mark.slow]) for p in STENCILS],
)
def test_adjoints_are_pulled(p: Stencil):
    gradient = aj.value_and_grad(p.f, wrt=p.wrt)
    args = copies(p.args)
    want = gradient(*args)
    first, again = to_device(p.args), to_device(p.args)
    got = gradient(*first)
    same(got, want, 1e-12, 1e-13)
    same(first, args)  # final states
    text = gradient.source(*to_device(p.args))
    assert "pulled: " in text
    assert atomic_arrays(taken(text)) == set(p.atomic)
    assert ("_terms" in text) == p.held
    if not p.atomic and p.name not in ("smaller", "chosen"):  # what is pushed there is atomic, in some turns
        runs = [to_host(gradient(*again)), to_host(got)]
        assert len({repr([np.asarray(g).tobytes() for g in r[1]]) for r in runs}) == 1


@pytest.mark.slow
@pytest.mark.parametrize("p", STENCILS, ids=[p.name for p in STENCILS])
def test_adjoints_are_those_of_the_atomic_form(p: Stencil, monkeypatch: pytest.MonkeyPatch):
    got = aj.grad(p.f, wrt=p.wrt)(*to_device(p.args))
    monkeypatch.setattr(reverse, "gather_items", lambda f: f)
    pushed = aj.grad(lambda *a: p.f(*a), wrt=p.wrt)
    assert "pulled: " not in pushed.source(*to_device(p.args))
    same(got, to_host(pushed(*to_device(p.args))), 1e-12, 1e-13)


def test_nothing_is_written_twice():
    """Red-black: one kernel pulls, and updates df of its own; one clears."""
    text = aj.grad(red_black, wrt=(0, 1)).source(*to_device(STENCILS[0].args))
    pull, clear = (k for k in taken(text) if "colour" in k)
    assert pull.count("+=") == 2 and " = 0.0;  //" not in pull
    assert "df" not in clear


def test_records_follow_two_axes():
    text = aj.grad(nonlinear, wrt=(0, 1)).source(*to_device(STENCILS[2].args))
    recording = [name for name, body in kernels(text).items() if "record" in body]
    assert len(recording) >= 4
    for name in recording:
        assert f'SOURCE.kernel("{name}", axes=2' in text


def test_places_may_end_before_the_range():
    """Then what is pulled elsewhere is pushed."""
    args = (LINE, 5)
    want = aj.grad(smaller)(*copies(args))
    same(aj.grad(smaller)(*to_device(args)), want)
    small = (LINE[:1].copy(), 1)
    same(aj.grad(smaller)(*to_device(small)), aj.grad(smaller)(*copies(small)))


@pytest.mark.parametrize("shape", [(1, 1), (1, 6), (2, 3), (3, 3), (0, 4)])
def test_small_grids(shape: tuple[int, int]):
    u = np.cos(np.arange(float(shape[0] * shape[1]))).reshape(shape)
    args = (u, u + 1.0, 0.1, 2)
    same(aj.grad(red_black, wrt=(0, 1))(*to_device(args)), aj.grad(red_black, wrt=(0, 1))(*copies(args)))


def test_second_derivatives_of_pulled_adjoints():
    p = STENCILS[2]
    gradient = aj.grad(p.f)
    tangents = (np.cos(p.args[0]), None, None)
    want = aj.jvp(gradient, copies(p.args), tangents)
    same(aj.jvp(gradient, to_device(p.args), to_device(tangents)), want, 1e-12, 1e-13)


SHAPES = {1: (9,), 2: (6, 7), 3: (5, 4, 6)}
FEW = 2


@pytest.mark.parametrize(
    "seed", [pytest.param(s, marks=[pytest.mark.slow] if s >= FEW else []) for s in range(40)]
)
def test_random_nests(seed: int, tmp_path: Path):
    text, ndim = random_program(seed)
    program = program_of(tmp_path / f"random_{seed}.py", text)
    rng = np.random.default_rng(seed)
    a, b, w = (rng.uniform(-1, 1, SHAPES[ndim]) for _ in range(3))
    args: tuple[Any, ...] = (a, b, w, rng.integers(0, len(a), len(a)), 2)
    gradient = aj.value_and_grad(program, wrt=(0, 1, 2))
    want = gradient(*copies(args))
    same(gradient(*to_device(args)), want, 1e-11, 1e-12)
    source = gradient.source(*to_device(args))
    if "at[i]" not in text:
        assert not atomic_arrays(taken(source)), text


def test_guards_of_swapped_arrays_are_not_recorded():
    """They read the arrays' extents, which are known again once it is known which array is which."""
    text = aj.grad(jacobi).source(*to_device(STENCILS[3].args))
    assert not [name for name, body in kernels(text).items() if "record" in body]
    assert "bool" not in aj.grad(jacobi).source(*STENCILS[3].args).partition("def jacobi_reverse")[0]
