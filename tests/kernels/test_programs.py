"""Programs with kernels in every mode: values and final states are plain Python's, derivatives closed forms or differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjit as aj

from .emulate import plain
from .programs import PROGRAMS, Program

COMPILED = {"scaled", "red_black", "pulled", "marched", "iterated"}


def copies(args: tuple[Any, ...], dtype: str = "float64", order: str = "C") -> tuple[Any, ...]:
    def one(a: Any) -> Any:
        if not isinstance(a, np.ndarray):
            return a
        return np.array(a, dtype=dtype if a.dtype.kind == "f" else a.dtype, order=order)

    return tuple(map(one, args))


def moved(p: Program, direction: tuple[Any, ...], t: float) -> tuple[Any, ...]:
    args = list(copies(p.args))
    for k, d in zip(p.wrt, direction, strict=True):
        args[k] = args[k] + t * d
    return tuple(args)


def directions(p: Program, seed: int = 3) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    parts = (p.args[k] for k in p.wrt)
    return tuple(
        rng.uniform(-1, 1, a.shape) if isinstance(a, np.ndarray) else rng.uniform(-1, 1) for a in parts
    )


def dot(a: tuple[Any, ...], b: tuple[Any, ...]) -> float:
    return float(sum(np.sum(x * y) for x, y in zip(a, b, strict=True)))


def slope(f: Any, p: Program, direction: tuple[Any, ...]) -> Any:
    """The derivative along a direction by differences, extrapolated once."""

    def central(h: float) -> Any:
        return (f(*moved(p, direction, h)) - f(*moved(p, direction, -h))) / (2 * h)

    return (4 * central(5e-4) - central(1e-3)) / 3


@pytest.fixture(params=PROGRAMS, ids=[p.name for p in PROGRAMS])
def program(request: pytest.FixtureRequest) -> Program:
    p = request.param
    if p.name not in COMPILED and not request.config.getoption("--slow"):
        request.getfixturevalue("uncompiled")
    return p


def test_values_states_and_first_derivatives(program: Program):
    p, direction = program, directions(program)
    args, reference = copies(p.args), copies(p.args)
    want = plain(p.f, *reference)
    value, gradient = aj.value_and_grad(p.f, wrt=p.wrt)(*args)
    np.testing.assert_allclose(value, want, rtol=1e-13)
    for a, b in zip(args, reference, strict=True):
        np.testing.assert_array_equal(a, b)
    along = slope(lambda *a: plain(p.f, *a), p, direction)
    np.testing.assert_allclose(dot(gradient, direction), along, rtol=1e-7, atol=1e-8)
    if p.gradient is not None:
        for got, exact in zip(gradient, p.gradient(*copies(p.args)), strict=True):
            np.testing.assert_allclose(got, exact, rtol=1e-12, atol=1e-14)
    again = aj.value_and_grad(p.f, wrt=p.wrt)(*copies(p.args))[1]
    for a, b in zip(gradient, again, strict=True):
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()

    held, pullback = aj.vjp(p.f, *copies(p.args))
    np.testing.assert_allclose(held, want, rtol=1e-13)
    cotangents = pullback(1.0)
    np.testing.assert_allclose(
        dot(tuple(cotangents[k] for k in p.wrt), direction), along, rtol=1e-7, atol=1e-8
    )

    tangents = dict(zip(p.wrt, direction, strict=True))
    pushed = aj.jvp(p.f, copies(p.args), tuple(tangents.get(k) for k in range(len(p.args))))
    np.testing.assert_allclose(pushed[0], want, rtol=1e-13)
    np.testing.assert_allclose(pushed[1], along, rtol=1e-7, atol=1e-8)


def test_second_derivatives(program: Program, uncompiled: None):
    p, direction = program, directions(program)
    if p.name in ("spread", "settled"):
        pytest.skip("a kink, or a trip count that steps change")
    tangents = dict(zip(p.wrt, direction, strict=True))
    gradient = aj.grad(p.f, wrt=p.wrt)
    _, second = aj.jvp(gradient, copies(p.args), tuple(tangents.get(k) for k in range(len(p.args))))
    flat = slope(lambda *a: np.concatenate([np.ravel(g) for g in gradient(*a)]), p, direction)
    got = np.concatenate(
        [np.ravel(np.zeros_like(p.args[k]) if s is None else s) for k, s in zip(p.wrt, second, strict=True)]
    )
    np.testing.assert_allclose(got, flat, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("order", ["C", "F"])
def test_float32_stays_float32(program: Program, order: str, uncompiled: None):
    p = program
    args = copies(p.args, "float32", order)
    want = plain(p.f, *copies(p.args))
    value, gradient = aj.value_and_grad(p.f, wrt=p.wrt)(*args)
    exact = aj.grad(p.f, wrt=p.wrt)(*copies(p.args))
    np.testing.assert_allclose(value, want, rtol=2e-5)
    for k, got, full in zip(p.wrt, gradient, exact, strict=True):
        if isinstance(p.args[k], np.ndarray):
            assert got.dtype == np.float32
        np.testing.assert_allclose(got, full, rtol=2e-4, atol=2e-5)


def test_check_grad_and_check_races(program: Program, uncompiled: None):
    aj.check_grad(program.f, *copies(program.args))
    aj.check_races(program.f, None, *copies(program.args))
