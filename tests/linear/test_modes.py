"""Gates: products of arrays have right values and derivatives, in every mode, whatever becomes of their operands."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import njit

import adjit as aj

from . import algebra, programs
from .programs import Program

STEP = 1e-6
PROGRAMS = (*programs.PROGRAMS, *algebra.PROGRAMS)
every = pytest.mark.parametrize("p", PROGRAMS, ids=lambda p: p.name)
COMPILED = frozenset(
    "matrices transposed sliced overwritten_in_place rebound kept_between_turns early_exit solve_matrix inverse determinant "
    "log_determinant factor eigenvectors singular_vectors orthogonal pseudo_inverse least_squares overwritten".split()
)
as_python = pytest.mark.usefixtures("uncompiled")


def arrays(args: tuple[Any, ...]) -> tuple[int, ...]:
    return tuple(k for k, a in enumerate(args) if isinstance(a, np.ndarray))


def directions(p: Program) -> tuple[Any, ...]:
    rng = np.random.default_rng(3)
    return tuple(rng.uniform(-1, 1, np.shape(a)) if isinstance(a, np.ndarray) else None for a in p.args)


def moved(p: Program, along: tuple[Any, ...], h: float) -> tuple[Any, ...]:
    return tuple(a if d is None else a + h * d for a, d in zip(p.args, along, strict=True))


def slope(p: Program, along: tuple[Any, ...]) -> float:
    """The derivative of the plain Python function along a direction, by Richardson differences."""

    def centred(h: float) -> float:
        return (p.function(*moved(p, along, h)) - p.function(*moved(p, along, -h))) / (2 * h)

    return (4 * centred(5e-4) - centred(1e-3)) / 3


@as_python
@every
def test_values_are_the_plain_functions(p: Program) -> None:
    assert aj.value_and_grad(p.function)(*p.of())[0] == pytest.approx(p.function(*p.of()), rel=1e-13)


@as_python
@every
def test_every_mode_agrees_with_differences(p: Program) -> None:
    along, wrt = directions(p), arrays(p.args)
    expected = slope(p, along)
    gradients = aj.grad(p.function, wrt=wrt)(*p.of())
    found = sum(float(np.sum(g * along[k])) for k, g in zip(wrt, gradients, strict=True))
    assert found == pytest.approx(expected, rel=1e-8, abs=1e-9)
    assert aj.jvp(p.function, p.of(), along)[1] == pytest.approx(expected, rel=1e-8, abs=1e-9)
    value, pullback = aj.vjp(p.function, *p.of())
    for _ in range(2):
        cts = pullback(1.0)
        found = sum(float(np.sum(cts[k] * along[k])) for k in wrt)
        assert found == pytest.approx(expected, rel=1e-8, abs=1e-9)


@as_python
@every
def test_arrays_end_as_the_plain_function_leaves_them(p: Program) -> None:
    plain, ours = p.of(), p.of()
    p.function(*plain)
    shadows = [aj.Duplicated(a, np.zeros_like(a)) if isinstance(a, np.ndarray) else aj.Const(a) for a in ours]
    aj.autodiff(aj.Reverse, p.function, *shadows)
    for a, b in zip(plain, ours, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-14)


ALWAYS = (
    "solve_matrix",
    "eigenvectors",
    "overwritten_in_place",
    "early_exit",
    "sliced",
)
"""Compiled in every run; the others with --slow."""


@pytest.mark.parametrize(
    "p",
    [
        pytest.param(p, marks=[] if p.name in ALWAYS else pytest.mark.slow)
        for p in PROGRAMS
        if p.name in COMPILED
    ],
    ids=lambda p: p.name,
)
def test_dispatchers(p: Program) -> None:
    wrt = arrays(p.args)
    compiled = njit(p.function)
    value = compiled(*p.of())
    found = aj.value_and_grad(compiled, wrt=wrt)(*p.of())
    assert found[0] == pytest.approx(value, rel=1e-14)
    along = directions(p)
    slope_ = sum(float(np.sum(g * along[k])) for k, g in zip(wrt, found[1], strict=True))
    assert slope_ == pytest.approx(slope(p, along), rel=1e-8, abs=1e-9)


@as_python
@every
def test_float32(p: Program) -> None:
    wrt = arrays(p.args)
    wide = aj.grad(p.function, wrt=wrt)(*p.of())
    narrow = aj.grad(p.function, wrt=wrt)(*p.of("float32"))
    for a, b in zip(narrow, wide, strict=True):
        assert a.dtype == np.float32
        np.testing.assert_allclose(a, b, rtol=2e-3, atol=2e-4)


@as_python
@every
def test_layouts(p: Program) -> None:
    wrt = arrays(p.args)
    expected = aj.grad(p.function, wrt=wrt)(*p.of())

    def strided(a: Any) -> Any:
        if not isinstance(a, np.ndarray):
            return a
        wide = np.zeros(tuple(2 * n for n in a.shape))
        view = wide[tuple(slice(None, None, 2) for _ in a.shape)]
        view[...] = a
        return view

    for change in (np.asfortranarray, strided):
        args = [change(a) if isinstance(a, np.ndarray) else a for a in p.of()]
        for a, b in zip(aj.grad(p.function, wrt=wrt)(*args), expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13)


@as_python
@pytest.mark.parametrize("p", [p for p in PROGRAMS if p.name not in ("recursive",)], ids=lambda p: p.name)
def test_second_derivatives(p: Program) -> None:
    along, wrt = directions(p), arrays(p.args)
    gradient = aj.grad(p.function, wrt=wrt)

    def at(h: float) -> Any:
        return gradient(*moved(p, along, h))

    tangents = aj.jvp(gradient, p.of(), along)[1]
    for k, t in enumerate(tangents):
        expected = (at(STEP)[k] - at(-STEP)[k]) / (2 * STEP)
        np.testing.assert_allclose(t, expected, rtol=2e-6, atol=2e-7)


def stack_by_matrix(t, a):
    return np.sum((t @ a) ** 2)


def test_stacks_compiled() -> None:
    """Numba has no products of stacks, so no dispatcher of the grid: each matrix of the result is a strided view."""
    t, a = programs.numbers(2, 3, 4, seed=21), programs.numbers(4, 2, seed=3)
    dt, da = aj.grad(stack_by_matrix, wrt=(0, 1))(t, a)
    np.testing.assert_allclose(dt, 2 * (t @ a) @ a.T, rtol=1e-13)
    np.testing.assert_allclose(da, 2 * np.sum(np.swapaxes(t, 1, 2) @ (t @ a), axis=0), rtol=1e-13)
