"""A pass may change how, never what: IR is interpreted before and after it, on primals and on adjoint code."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjit.transform.reverse as reverse_module
from adjit import AdjitError
from adjit.ir.core import Function, Sym
from adjit.ir.printer import to_text
from adjit.ir.types import Array
from adjit.ir.verify import verify
from adjit.ir.visit import defined, free
from adjit.testing.checks import load
from adjit.testing.placing import Placement
from adjit.testing.programs import generate
from adjit.transform.ascend import ascend
from adjit.transform.carry import carry
from adjit.transform.choose import choose
from adjit.transform.clean import clean
from adjit.transform.common import common
from adjit.transform.defer import defer_stores
from adjit.transform.expand import expand
from adjit.transform.fill import fill
from adjit.transform.gather import gather
from adjit.transform.hoist import hoist
from adjit.transform.hold import hold
from adjit.transform.join import join
from adjit.transform.prepare import count_turns, forward_views
from adjit.transform.reverse import Wish, reverse
from adjit.transform.reverse.growing import growing
from adjit.transform.reverse.references import references
from adjit.transform.signs import signs
from adjit.transform.sink import sink
from adjit.transform.stride import stride
from adjit.transform.through import through

from . import programs as p
from .typed import Pass, active, run, typed

LIMIT = 2**40


def as_references(function: Function) -> Function:
    head, rewritten = references(function, (), growing(function))
    return replace(rewritten, body=(*head, *rewritten.body))


ANYWHERE: list[Pass] = [
    hoist,
    stride,
    common,
    choose,
    defer_stores,
    carry,
    forward_views,
    count_turns,
    as_references,
    lambda f: clean(f, keep_raising=True),
    lambda f: clean(
        carry(defer_stores(choose(common(clean(stride(hoist(forward_views(f))), keep_raising=True)))))
    ),
]
NAMES = "hoist stride common choose defer_stores carry forward_views count_turns references clean all".split()
TIDYING: list[Pass] = [
    clean,
    stride,
    through,
    common,
    choose,
    sink,
    lambda f: hold(f)[0],
    lambda f: join(f)[0],
    lambda f: gather(f)[0],
    lambda f: fill(f)[0],
    ascend,
    signs,
    defer_stores,
    carry,
]

rng = np.random.default_rng(7)
X, Y, M = rng.uniform(0.2, 1.5, 6), rng.uniform(0.2, 1.5, 6), rng.uniform(0.2, 1.5, (5, 4))
PROGRAMS: list[tuple[Any, tuple[Any, ...]]] = [
    (p.settles, (2.0,)),
    (p.columns, (M,)),
    (p.triangle, (X, 3)),
    (p.triangle, (X, 0)),
    (p.red_black, (M, 0)),
    (p.red_black, (M, 1)),
    (p.red_black, (M, 2)),
    (p.red_black, (M, -1)),
    (p.red_black, (M[:1], 1)),
    (p.clipped, (X, 0.8)),
    (p.pushes, (X, 0.5)),
    (p.pushes, (X[:1], 0.5)),
    (p.prefix, (X,)),
    (p.prefix, (X[:1],)),
    (p.prefix, (X[:0],)),
    (p.repeats, (2.0, 3.0)),
    (p.burgers, (X, 3)),
    (p.gauss_seidel, (X, Y)),
    (p.product, (X,)),
    (p.branches, (X - 0.7,)),
    (p.ping_pong, (X, Y, 3)),
    (p.ping_pong, (X, Y, 0)),
    (p.in_reach, (X, Y, 0.1)),
    (p.scratch, (X,)),
    (p.smeared, (M, M.copy())),
    (p.smeared, (M[:2], M[:2].copy())),
]
IDS = [f"{f.__name__}-{k}" for k, (f, _) in enumerate(PROGRAMS)]


def assert_same(before: Function, after: Function, args: Sequence[Any]) -> None:
    """Results and final arrays are equal, to rounding (only the adjoint's sums may be in another order)."""
    want, wanted = run(before, args)
    got, given = run(after, args)
    for a, b in zip((*want, *wanted), (*got, *given), strict=True):
        if isinstance(a, list):
            for one, other in zip(a, b, strict=True):
                np.testing.assert_allclose(other, one, rtol=1e-12, equal_nan=True)
            continue
        np.testing.assert_allclose(b, a, rtol=1e-12, atol=1e-300, equal_nan=True, err_msg=to_text(after))


def assert_same_bits(before: Function, after: Function, args: Sequence[Any]) -> None:
    want, wanted = run(before, args)
    got, given = run(after, args)
    for a, b in zip((*want, *wanted), (*got, *given), strict=True):
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes(), to_text(after)


@pytest.mark.parametrize("transform", ANYWHERE, ids=NAMES)
@pytest.mark.parametrize(("program", "args"), PROGRAMS, ids=IDS)
def test_primal_keeps_its_bits(program: Any, args: tuple[Any, ...], transform: Pass) -> None:
    before = typed(program, *args)
    after = transform(before)
    verify(after)
    assert_same_bits(before, after, args)


def adjoint_code(
    function: Function, args: Sequence[Any], monkeypatch: pytest.MonkeyPatch
) -> tuple[Function, list[Any]] | None:
    """The reverse function before it is tidied, and arguments to call it with; None where it reads too much."""
    raw: list[Function] = []
    ordered = reverse_module._ordered

    def spy(backward: Function, *more: Any) -> Any:
        raw.append(backward)
        return ordered(backward, *more)

    monkeypatch.setattr(reverse_module, "_ordered", spy)
    seeded = tuple(k for k, a in enumerate(function.results) if a.type.differentiable)
    rev = reverse(function, Wish(active(function), seeded, final=True))
    verify(rev.forward)
    results, final = run(rev.forward, (*args, LIMIT))
    n = len(results) - len(rev.saved)
    known: dict[Sym, Any] = dict(zip(function.params, final, strict=False))
    known |= dict(zip(rev.saved, results[n:], strict=True))
    shadows = iter(rev.shadows)
    for s, value in zip(function.params, args, strict=True):
        if isinstance(s.type, Array) and s.type.differentiable:
            known[next(shadows)] = np.random.default_rng(s.uid).normal(size=value.shape)
    known |= dict.fromkeys(rev.seeds, 1.0)
    backward = clean(raw[-1])
    needed = free(backward.body) | {a for a in backward.results if isinstance(a, Sym)}
    needed -= defined(backward.body)
    if not needed <= set(known):
        return None
    params = tuple(sorted(needed, key=lambda s: s.uid))
    return replace(backward, params=params), [known[s] for s in params]


def check_tidying(function: Function, args: Sequence[Any], monkeypatch: pytest.MonkeyPatch) -> bool:
    made = adjoint_code(function, args, monkeypatch)
    if made is None:
        return False
    backward, given = made
    verify(backward)
    tidy = backward
    for transform in TIDYING:
        alone = transform(backward)
        verify(alone)
        assert_same(backward, alone, given)
        tidy = transform(tidy)
        verify(tidy)
        assert_same(backward, tidy, given)
    return True


@pytest.mark.parametrize(("program", "args"), PROGRAMS, ids=IDS)
def test_adjoint_code_stays_right(
    program: Any, args: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each tidying pass alone, and all of them one after the other."""
    assert check_tidying(typed(program, *args), args, monkeypatch)


def random_program(seed: int, folder: Path) -> tuple[Function, list[Any]] | None:
    program = dataclasses.replace(generate(seed), structure=())  # the interpreter's arguments are flat
    args = Placement(
        tuple(a.value for a in program.arguments), tuple(a.layout for a in program.arguments)
    ).args
    function = load(program, folder, decorated=True)
    try:
        return expand(typed(function, *args)), args
    except AdjitError:
        return None


SEEDS = range(40)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_primals_keep_their_bits(seed: int, tmp_path: Path) -> None:
    made = random_program(seed, tmp_path)
    if made is None:
        return
    function, args = made
    for transform in ANYWHERE:
        try:
            after = transform(function)
        except AdjitError:  # a program that cannot be differentiated
            continue
        verify(after)
        assert_same_bits(function, after, args)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_adjoint_code_stays_right(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = random_program(seed, tmp_path)
    if made is None:
        return
    function, args = made
    try:
        check_tidying(function, args, monkeypatch)
    except AdjitError:
        return
