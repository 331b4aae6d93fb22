"""Programs on device arrays in every mode: values, final states and derivatives are those of the same program on the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjit as aj

from .places import copies, same, to_device
from .programs import PROGRAMS, Program


@pytest.fixture(autouse=True)
def _uncompiled(uncompiled):
    """What runs on the CPU for comparison runs as plain Python."""


@pytest.fixture(params=PROGRAMS, ids=[p.name for p in PROGRAMS])
def program(request: pytest.FixtureRequest) -> Program:
    return request.param


def directions(p: Program) -> tuple[Any, ...]:
    rng = np.random.default_rng(5)
    found: list[Any] = [None] * len(p.args)
    for k in p.wrt:
        a = p.args[k]
        found[k] = rng.uniform(-1, 1, a.shape) if isinstance(a, np.ndarray) else float(rng.uniform(-1, 1))
    return tuple(found)


def test_gradients(program: Program):
    p = program
    args, given = copies(p.args), to_device(p.args)
    want = aj.value_and_grad(p.f, wrt=p.wrt)(*args)
    got = aj.value_and_grad(p.f, wrt=p.wrt)(*given)
    same(got, want)
    same(given, args)  # final states
    same(aj.jit(p.f)(*to_device(p.args)), want[0])


def test_pullbacks_and_tangents(program: Program):
    p = program
    value, pullback = aj.vjp(p.f, *copies(p.args))
    held, pulled = aj.vjp(p.f, *to_device(p.args))
    same(held, value)
    for ct in (1.0, -2.0):
        same(pulled(ct), pullback(ct))
    tangents = directions(p)
    same(aj.jvp(p.f, to_device(p.args), to_device(tangents)), aj.jvp(p.f, copies(p.args), tangents))


@pytest.mark.parametrize("order", ["C", "F"])
def test_float32(program: Program, order: str):
    p = program
    if order == "F" and all(np.ndim(a) < 2 for a in p.args):
        pytest.skip("one axis has one order")
    args = tuple(
        np.array(a, dtype="float32" if a.dtype.kind == "f" else a.dtype, order=order)
        if isinstance(a, np.ndarray)
        else a
        for a in p.args
    )
    want = aj.value_and_grad(p.f, wrt=p.wrt)(*copies(args))
    got = aj.value_and_grad(p.f, wrt=p.wrt)(*to_device(args, order))
    same(got, want, rtol=p.float32, atol=p.float32)


def test_autodiff_in_place():
    from tests.kernels.programs import half_sweep

    u, f = np.linspace(0, 1, 30).reshape(5, 6) ** 2, np.ones((5, 6))
    du, df = np.linspace(-1, 1, 30).reshape(5, 6), np.zeros((5, 6))
    given = to_device((u, f, du, df))
    for a, b, da, db in ((u, f, du, df), given):
        aj.autodiff(aj.Reverse, half_sweep, aj.Duplicated(a, da), aj.Duplicated(b, db), 1, ndrange=(5, 6))
    same(given, (u, f, du, df))

    def sweeps(a, b, n):
        for _ in range(n):
            half_sweep(a, b, 0, ndrange=a.shape)
            half_sweep(a, b, 1, ndrange=a.shape)

    for a, b, da, db in ((u, f, du, df), given):
        aj.autodiff(aj.Reverse, sweeps, aj.Duplicated(a, da), aj.Duplicated(b, db), 2)
        aj.autodiff(aj.Forward, sweeps, aj.Duplicated(a, da), aj.Duplicated(b, db), 2)
    same(given, (u, f, du, df))


def test_batches_of_shadows():
    from tests.kernels.programs import square

    u, d1, d2 = np.array([1.0, 2.0, 3.0]), np.ones(3), np.array([0.0, 1.0, -1.0])
    given = to_device((u, d1, d2))
    for a, da, db in ((u, d1, d2), given):
        aj.autodiff(aj.Reverse, square, aj.BatchDuplicated(a, (da, db)), ndrange=3)
    same(given, (u, d1, d2))


def test_pure_states_are_device_arrays():
    from tests.kernels.programs import scale

    x, y = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])
    given = to_device((y, 2.0, x))
    (state,), pullback = aj.vjp(aj.pure(scale), *given, ndrange=2)
    same((state, given[0]), (np.array([2.0, 4.0, 6.0]), y))
    same(pullback((to_device(np.ones(3)),)), (np.array([0.0, 0.0, 1.0]), 3.0, np.array([2.0, 2.0, 0.0])))
    same(pullback((None,)), (np.zeros(3), 0.0, np.zeros(3)))


def test_results_of_the_gather_kind_are_the_same_bits_every_time():
    from .programs import scalars_in_between

    x, w = np.linspace(-1, 1, 5001), np.linspace(0.5, 1, 5001)
    runs = [aj.value_and_grad(scalars_in_between)(*to_device((x, w))) for _ in range(3)]
    assert len({repr(value) for value, _ in runs}) == 1
    assert len({g.get().tobytes() for _, g in runs}) == 1


def test_second_derivatives():
    from tests.kernels.programs import red_black

    grid = np.linspace(-1.0, 1.0, 30).reshape(5, 6) ** 2
    args, tangents = (grid, grid[::-1].copy(), 2), (np.ones((5, 6)), np.cos(grid), None)
    gradient = aj.grad(lambda u, f, n: red_black(u, f, n) ** 2, wrt=(0, 1))
    same(aj.jvp(gradient, to_device(args), to_device(tangents)), aj.jvp(gradient, args, tangents))


def test_hvp_takes_keywords():
    def weighted(x, w, s=1.0):
        return s * np.sum(w * x * x * x)

    x, w, v = np.linspace(0.5, 1.5, 6), np.linspace(1.0, 2.0, 6), np.linspace(-1.0, 1.0, 6)
    dx, dw, dv = to_device((x, w, v))
    same(aj.hvp(weighted, (dx, dw), dv, s=2.0), 12.0 * w * x * v)
    same(aj.hvp(weighted, (dx,), dv, w=dw), 6.0 * w * x * v)
