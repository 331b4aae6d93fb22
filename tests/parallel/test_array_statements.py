"""Array statements of dispatchers with `parallel=True` run on threads and compute what they compute in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest
from numba import njit, prange

import adjit as aj
from adjit.transform import parts
from adjit.transform.facts import Parallel
from tests.cases.programs import array_edges, array_learning, array_linear, array_physics, array_spectral

MODULES = (array_edges, array_physics, array_learning, array_linear, array_spectral)
CASES = [p for m in MODULES for p in m.PROGRAMS if all(isinstance(a, float | int | np.ndarray) for a in p[1])]


@pytest.fixture
def fine(uncompiled: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Generated source as plain Python, in parts of a few turns that come in a scrambled order."""
    monkeypatch.setattr(parts, "GRAIN", 1)


def fresh(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments, arrays copied."""
    return tuple(a.copy() if isinstance(a, np.ndarray) else a for a in args)


def moving(args: tuple[Any, ...]) -> tuple[int, ...]:
    """Positions of what carries derivatives."""
    return tuple(k for k, a in enumerate(args) if np.asarray(a).dtype.kind == "f")


def agree(got: Any, expected: Any) -> None:
    """Equal to rounding, leaf by leaf."""
    if isinstance(expected, tuple):
        for a, b in zip(got, expected, strict=True):
            agree(a, b)
    elif expected is not None:
        np.testing.assert_allclose(got, expected, rtol=1e-11, atol=1e-12)


@pytest.mark.usefixtures("fine")
@pytest.mark.parametrize(
    ("number", "program", "args"), [(k, *p) for k, p in enumerate(CASES)], ids=[f.__name__ for f, _ in CASES]
)
def test_every_mode_agrees_with_the_program_in_order(
    number: int, program: Callable[..., Any], args: Any
) -> None:
    wrt, rng = moving(args), np.random.default_rng(0)
    along = tuple(rng.normal(size=np.shape(a)) if k in wrt else None for k, a in enumerate(args))
    along = tuple(float(t) if isinstance(args[k], float) else t for k, t in enumerate(along))
    found: list[Any] = []
    for f in (njit(parallel=True)(program), njit(program)):
        states = [fresh(args) for _ in range(3)]
        results = [aj.jit(f)(*states[0]), aj.jvp(f, states[1], along)]
        if isinstance(results[0], float) and number % 2:
            results.append(aj.value_and_grad(f, wrt=wrt)(*states[2]))
        else:
            value, pull = aj.vjp(f, *states[2])
            results += [value, pull(np.ones_like(value) if isinstance(value, np.ndarray) else 0.5)]
        found.append((tuple(results), *states))
    agree(*found)


def relaxed(a, b, steps):
    """Two arrays that change names, in a loop that data ends; the borders are stored row by row."""
    k = 0
    while k < steps and a[0, 0] < 1e9:
        b[1:-1, 1:-1] = 0.25 * (a[2:, 1:-1] + a[:-2, 1:-1] + a[1:-1, 2:] + a[1:-1, :-2])
        b[0] = a[1]
        b[:, 0] += 0.1 * a[:, 1]
        a, b = b, a
        k += 1
    return a[1, 1] * a[-2, -2]


def limited(a, b, steps):
    """Temporaries that several statements read, a choice, a store that reads what it overwrites."""
    for _ in range(steps):
        slope = a[1:] - a[:-1]
        steep = np.where(slope * slope > 0.1, 0.5 * slope, slope)
        b[1:] -= 0.1 * steep * a[1:]
        a[1:] = a[:-1] * 0.5 + b[1:]
        a[:] = np.where(b > 0.7, 0.3 * b, a)
    return a[2, 1] + b[-1, -1]


@njit(parallel=True)
def smoothed(a):
    return 0.5 * (a[:-1] + a[1:]) / (1.0 + a[1:] ** 2)


def called(a, b, steps):
    """A callee that makes arrays, and a nested function."""

    def blend(x, y):
        return 0.3 * x + 0.7 * y

    for _ in range(steps):
        a[1:] = blend(a[1:], smoothed(b))
        b[:-1] = smoothed(a) * b[1:]
    return a[1, 1] * b[0, 0]


WITHOUT_SUMS = [relaxed, limited, called]


def example(n: int, m: int) -> tuple[Any, ...]:
    """Two matrices and a number of steps."""
    a, b = np.random.default_rng(0).uniform(0.2, 1.0, (2, n, m))
    return a, b, 3


@pytest.mark.usefixtures("fine")
@pytest.mark.parametrize("program", WITHOUT_SUMS, ids=lambda f: f.__name__)
def test_values_have_the_bits_of_the_program_in_order(program: Callable[..., Any]) -> None:
    threaded, plain = example(17, 5), example(17, 5)
    assert aj.jit(njit(parallel=True)(program))(*threaded) == program(*plain)
    for a, b in zip(threaded[:2], plain[:2], strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.usefixtures("fine")
@pytest.mark.parametrize("program", WITHOUT_SUMS, ids=lambda f: f.__name__)
def test_second_derivatives_agree(program: Callable[..., Any]) -> None:
    args = example(9, 4)
    along = (np.ones((9, 4)), np.full((9, 4), 0.5), None)
    gradients = [aj.grad(f, wrt=(0, 1)) for f in (njit(parallel=True)(program), njit(program))]
    agree(*(aj.jvp(g, fresh(args), along) for g in gradients))


@pytest.mark.skipif(numba.get_num_threads() < 2, reason="one processor")
def test_bits_do_not_depend_on_the_threads() -> None:
    f = njit(parallel=True)(limited)
    gradient, args = aj.value_and_grad(f, wrt=(0, 1)), example(300, 600)
    results: list[Any] = []
    for count in (1, 2, 2):
        before = numba.get_num_threads()
        numba.set_num_threads(count)
        try:
            results.append(gradient(*fresh(args)))
        finally:
            numba.set_num_threads(before)
    bits = [[np.asarray(x).tobytes() for x in (value, *slopes)] for value, slopes in results]
    assert bits[0] == bits[1] == bits[2]
    assert results[0][0] == njit(limited)(*fresh(args))


# which run on threads


def parts_of(f: Callable[..., Any], *args: Any) -> list[Parallel]:
    """What is said of the loops of the compiled function."""
    return list(aj.jit(f).explain(*args).of(Parallel))


def doubled(x):
    y = 2.0 * x
    for i in range(x.shape[0]):
        y[i] += x[i]
    return y


BIG = np.linspace(0.0, 1.0, 1_000_000)


@pytest.mark.usefixtures("uncompiled")
def test_statements_of_parallel_dispatchers_run_on_threads_and_ranges_in_order() -> None:
    (found,) = parts_of(njit(parallel=True)(doubled), BIG)
    assert found.parts is not None and found.parts > 1 and not found.reason
    for f in (doubled, njit(doubled), njit(parallel=False)(doubled)):
        assert parts_of(f, BIG) == []


@pytest.mark.usefixtures("uncompiled")
def test_what_is_inlined_keeps_its_own_option() -> None:
    threaded, plain = njit(parallel=True)(doubled), njit(doubled)

    @njit
    def outer(x):
        return threaded(x)

    @njit(parallel=True)
    def other(x):
        return plain(x)

    assert len(parts_of(outer, BIG)) == 1
    assert parts_of(other, BIG) == []


@pytest.mark.usefixtures("uncompiled")
def test_statements_in_parallel_loops_belong_to_their_turns() -> None:
    @njit(parallel=True)
    def f(x):
        for i in prange(x.shape[0]):
            x[i] = 2.0 * x[i] + 1.0

    (found,) = parts_of(f, np.ones((1000, 1000)))
    assert found.parts is not None and found.parts > 1


@pytest.mark.usefixtures("uncompiled")
def test_what_cannot_run_on_threads_says_why() -> None:
    @njit(parallel=True)
    def scattered(x, index):
        y = np.zeros(x.shape[0])
        y[index] = x
        return y

    @njit(parallel=True)
    def place(x):
        return np.argmax(x)

    index = np.zeros(BIG.shape[0], np.int64)
    assert any("turns may meet in 'y'" in p.reason for p in parts_of(scattered, BIG, index))
    assert any("of the one before" in p.reason for p in parts_of(place, BIG))


@pytest.mark.usefixtures("uncompiled")
def test_small_arrays_are_one_part() -> None:
    assert [p.parts for p in parts_of(njit(parallel=True)(doubled), np.ones(1000))] == [1]


@pytest.mark.usefixtures("fine")
def test_an_index_out_of_bounds_is_that_of_the_program_in_order() -> None:
    @njit(parallel=True, boundscheck=True)
    def f(x, index):
        x[:] = 2.0 * x[index]
        return x[0]

    x = np.ones(50)
    with pytest.raises(IndexError):
        aj.jit(f)(x, np.arange(1, 51))
    assert parts_of(f, x, np.arange(50)) == []
