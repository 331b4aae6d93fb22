"""Loops in parts do what the loops do in order, in every mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest

import adjit as aj
from adjit.transform import parts
from tests.parallel.programs import PROGRAMS


@pytest.fixture
def fine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Uncompiled, parts of a few turns, which run in an order that no program can rely on."""
    monkeypatch.setenv("ADJIT_UNCOMPILED", "1")
    monkeypatch.setattr(parts, "GRAIN", 1)


def copies(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments, arrays copied."""
    return tuple(a.copy() if isinstance(a, np.ndarray) else a for a in args)


def floats(args: tuple[Any, ...]) -> tuple[int, ...]:
    """Positions of what carries derivatives."""
    return tuple(
        k for k, a in enumerate(args) if isinstance(a, float) or getattr(a, "dtype", None) == np.float64
    )


def agree(got: Any, expected: Any) -> None:
    """Equal to rounding, leaf by leaf."""
    if isinstance(expected, tuple):
        for a, b in zip(got, expected, strict=True):
            agree(a, b)
    elif expected is not None:
        np.testing.assert_allclose(got, expected, rtol=1e-11, atol=1e-12)


def tangents(rng: np.random.Generator, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """A random direction."""
    active = floats(args)
    return tuple(
        (rng.normal(size=np.shape(a)) if isinstance(a, np.ndarray) else 0.7) if k in active else None
        for k, a in enumerate(args)
    )


@pytest.mark.usefixtures("fine")
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("n", [3, 4, 7, 40])
def test_parts_agree_with_the_loops_in_order(name: str, n: int) -> None:
    program = PROGRAMS[name]
    args = program.arguments(np.random.default_rng(n), n)
    threaded, plain = program.function(numba.prange), program.function(range)
    wrt = floats(args)
    for operator in (aj.jit, lambda f: aj.value_and_grad(f, wrt=wrt)):
        mine, other = copies(args), copies(args)
        agree(operator(threaded)(*mine), operator(plain)(*other))
        agree(mine, other)
    along = tangents(np.random.default_rng(n + 1), args)
    mine, other = copies(args), copies(args)
    agree(aj.jvp(threaded, mine, along), aj.jvp(plain, other, along))
    _, pull = aj.vjp(threaded, *copies(args))
    _, other_pull = aj.vjp(plain, *copies(args))
    agree(pull(0.5), other_pull(0.5))


@pytest.mark.usefixtures("fine")
@pytest.mark.parametrize(
    "name",
    [
        "shifted reads",
        "gathered",
        "sum",
        "in place, several launches",
        "rows",
        "local array that is kept",
    ],
)
def test_second_derivatives_agree(name: str) -> None:
    program = PROGRAMS[name]
    args = program.arguments(np.random.default_rng(5), 12)
    along = tangents(np.random.default_rng(6), args)
    found: list[Any] = []
    for loop in (numba.prange, range):
        gradient = aj.grad(program.function(loop), wrt=floats(args))
        found.append(aj.jvp(gradient, copies(args), along)[1])
    agree(found[0], found[1])


def _threads(count: int, call: Callable[[], Any]) -> Any:
    before = numba.get_num_threads()
    numba.set_num_threads(count)
    try:
        return call()
    finally:
        numba.set_num_threads(before)


@pytest.mark.skipif(numba.get_num_threads() < 2, reason="one processor")
@pytest.mark.parametrize(
    "name",
    [
        "red and black",
        "gathered",
        "two sums and a scalar",
        "while in a turn",
        "while in a turn, again and again",
        "local array that is kept",
    ],
)
def test_bits_do_not_depend_on_the_threads(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "GRAIN", 200)
    program = PROGRAMS[name]
    args = program.arguments(np.random.default_rng(1), 300)
    gradient = aj.value_and_grad(program.function(numba.prange), wrt=floats(args))
    plain = aj.value_and_grad(program.function(range), wrt=floats(args))
    results = [_threads(count, lambda: gradient(*copies(args))) for count in (1, 2, 2)]
    bits = [[np.asarray(x).tobytes() for x in (value, *grads)] for value, grads in results]
    assert bits[0] == bits[1] == bits[2]
    agree(results[0], plain(*copies(args)))


def test_an_exception_in_a_part_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "GRAIN", 1)

    @numba.njit(parallel=True, boundscheck=True)
    def f(x: Any, index: Any) -> Any:
        s = 0.0
        for i in numba.prange(index.shape[0]):
            s += x[index[i]]
        return s

    index = np.arange(50)
    assert aj.jit(f)(np.ones(50), index) == 50.0
    index[30] = 50
    with pytest.raises(IndexError):
        aj.jit(f)(np.ones(50), index)


def _three(x: Any) -> Any:
    n = x.shape[0]
    s = 0.0
    for i in numba.prange(n):
        s += x[i] * x[(i + 1) % n] * x[max(i - 1, 0)]
    return s


def _three_in_order(x: Any) -> Any:
    n = x.shape[0]
    s = 0.0
    for i in range(n):
        s += x[i] * x[(i + 1) % n] * x[max(i - 1, 0)]
    return s


@pytest.mark.usefixtures("fine")
def test_a_gradient_of_a_gradient() -> None:
    """Parts are differentiated once more."""

    def outer(x: Any) -> Any:
        g = aj.grad(_three)(x)
        return np.sum(g * g)

    def expected(x: Any) -> Any:
        g = aj.grad(_three_in_order)(x)
        return np.sum(g * g)

    x = np.random.default_rng(0).uniform(0.5, 1.5, 11)
    agree(aj.value_and_grad(outer)(x), aj.value_and_grad(expected)(x))
    along = (np.linspace(-1.0, 1.0, 11),)
    agree(aj.jvp(aj.grad(outer), (x,), along), aj.jvp(aj.grad(expected), (x,), along))


IN_ORDER = {"local arrays of extents that a turn changes", "arrays whose extents follow from values"}
"""Programs with a loop that runs in order: what each turn needs of the one before is not to be had otherwise."""


@pytest.mark.parametrize("name", PROGRAMS)
def test_loops_run_on_threads(name: str) -> None:
    program = PROGRAMS[name]
    args = program.arguments(np.random.default_rng(0), 20)
    text = aj.value_and_grad(program.function(numba.prange), wrt=floats(args)).source(*args)
    assert ("# in order: " in text) == (name in IN_ORDER)
    assert "run_parts(" in text or name in IN_ORDER


def test_a_record_over_the_limit_is_refused_from_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one part, and of all parts together; below the limit it works."""
    monkeypatch.setattr(parts, "GRAIN", 1000)

    def f(x: Any, count: Any) -> Any:
        s = 0.0
        for i in numba.prange(x.shape[0]):
            t = x[i]
            for _ in range(count[i]):
                t = np.sin(t) * t + x[i]
            s += t
        return s

    x = np.linspace(0.1, 0.5, 400)
    even = np.full(400, 500)
    one = np.zeros(400, np.int64)
    one[17] = 400 * 500
    for count in (even, one):
        with pytest.raises(aj.MemoryLimitError, match="the record of the loop"):
            aj.grad(aj.options(f, memory=1_000_000))(x, count)
        assert np.all(np.isfinite(aj.grad(aj.options(f, memory=2_000_000))(x, count)))


@pytest.mark.usefixtures("fine")
def test_parts_that_meet_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neighbouring parts that add to one element give the right sum in any order, one after the other: run alone
    before, they show."""

    def at_once(self: Any) -> None:
        self._threads(self._parts, lambda h: h, self._note())

    monkeypatch.setattr(parts, "COPY", 0)
    program = PROGRAMS["convolution"]
    args = program.arguments(np.random.default_rng(5), 12)
    gradient = aj.grad(program.function(numba.prange), wrt=floats(args))
    gradient(*copies(args))
    assert "phase" in gradient.source(*args)
    monkeypatch.setattr(parts._Writer, "_phases", at_once)
    other = aj.options(program.function(numba.prange), memory=2**30)
    with pytest.raises(AssertionError, match="meet"):
        aj.grad(other, wrt=floats(args))(*copies(args))
