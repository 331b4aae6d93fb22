"""Programs on CUDA devices that are replayed as graphs: other arrays, other numbers, other ways through the host's code."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import adjit as aj
from tests.kernels.programs import red_black

from .places import CUDA, copies, same, to_device

if not CUDA:
    pytest.skip("graphs are of CUDA devices", allow_module_level=True)

import cupy as cp

from adjit.runtime.cuda import program
from adjit.runtime.cuda.graph import Graph


@pytest.fixture(autouse=True)
def _uncompiled(uncompiled, monkeypatch: pytest.MonkeyPatch):
    """What runs on the CPU for comparison runs as plain Python."""
    monkeypatch.setattr(program, "FEWEST", 2)


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """How many graphs were captured, and how many replays there were."""
    found = {"captured": 0, "replayed": 0}
    capture, replay = program.captured, Graph.replay

    def captured(*args: Any) -> Graph:
        made = capture(*args)
        found["captured"] += 1
        return made

    def replayed(self: Graph, *args: Any) -> Any:
        result = replay(self, *args)
        found["replayed"] += result is not None
        return result

    monkeypatch.setattr(program, "captured", captured)
    monkeypatch.setattr(Graph, "replay", replayed)
    return found


@aj.kernel
def heat(v, u, dt, k):
    i = aj.index()
    n = u.shape[0]
    if i == 0 or i == n - 1:
        v[i] = u[i]
    else:
        v[i] = u[i] + dt * k[i] * (u[i - 1] - 2.0 * u[i] + u[i + 1])


def simulate(u, k, dt, steps, damp):
    v = np.zeros_like(u)
    t = 0.0
    for s in range(steps):
        step = dt * (1.0 + 0.1 * s) + t
        if damp > 0.5:
            step = step * damp
        heat(v, u, step, k, ndrange=len(u))
        u, v = v, u
        t = t + dt * 0.01
    return np.sum(u * u) * t


def test_replays_with_other_arrays_and_numbers(counts: dict[str, int]):
    f, primal = aj.value_and_grad(simulate, wrt=(0, 1, 2, 4)), aj.jit(simulate)
    rng = np.random.default_rng(3)
    for k in range(6):
        args = (
            rng.uniform(-1, 1, 50),
            rng.uniform(0, 1, 50),
            float(rng.uniform(0.01, 0.1)),
            5,
            0.3 + 0.01 * k,
        )
        want = f(*copies(args))
        same(f(*to_device(args)), want, rtol=1e-12)
        same(primal(*to_device(args)), want[0], rtol=1e-12)
    assert counts["captured"] == 2 and counts["replayed"] == 10


def test_what_the_host_compares_decides(counts: dict[str, int]):
    f = aj.jit(simulate)
    u, k = np.linspace(0, 1, 40), np.ones(40)
    for damp in (0.1, 0.2, 0.9, 0.3, 0.8, 0.7):
        args = (u.copy(), k, 0.1, 6, damp)
        same(f(*to_device(args)), f(*copies(args)), rtol=1e-12)
    assert counts["captured"] == 2
    before = counts["captured"]
    for steps in (6, 7, 7, 7):
        args = (u.copy(), k, 0.1, steps, 0.1)
        same(f(*to_device(args)), f(*copies(args)), rtol=1e-12)
    assert counts["captured"] == before + 1


def until(u, k, dt, tol):
    v = np.zeros_like(u)
    change = 1.0
    n = 0
    while change > tol:
        heat(v, u, dt, k, ndrange=len(u))
        change = np.sum((v - u) ** 2)
        u, v = v, u
        n += 1
    return np.sum(u) * n


def test_what_depends_on_the_device_is_launched(counts: dict[str, int]):
    f = aj.jit(until)
    for tol in (1e-3, 1e-4, 1e-3):
        args = (np.linspace(0, 1, 30) ** 2, np.ones(30), 0.2, tol)
        same(f(*to_device(args)), f(*copies(args)), rtol=1e-12)
    assert counts["replayed"] == 0


def made(u, dt):
    v = u + dt
    w = np.zeros_like(u)
    for s in range(3):
        w += v * dt
        v = w * 2.0
    return v, w, u


def test_results_are_fresh(counts: dict[str, int]):
    f = aj.jit(made)
    kept = []
    for k in range(5):
        u = np.arange(6.0) + k
        kept.append((f(to_device(u), 0.5 + k), f(u.copy(), 0.5 + k)))
    for got, want in kept:
        same(got, want)
    assert counts["captured"] == 1 and counts["replayed"] == 4
    value, pullback = aj.vjp(made, to_device(np.arange(6.0)), 0.5)
    want, back = aj.vjp(made, np.arange(6.0), 0.5)
    same(value, want)
    seeds = tuple(np.full(6, 1.0 + k) for k in range(3))
    for _ in range(3):
        same(pullback(to_device(seeds)), back(seeds))


def test_red_black_in_place(counts: dict[str, int]):
    grad = aj.value_and_grad(red_black, wrt=(0, 1))
    rng = np.random.default_rng(1)
    for k in range(4):
        u, f = rng.uniform(-1, 1, (12, 12)), rng.uniform(-1, 1, (12, 12))
        same(grad(*to_device((u, f)), 3), grad(u.copy(), f.copy(), 3), rtol=1e-12)
    assert counts["replayed"] == 3


def fractions(u, dt, parts):
    v = np.zeros_like(u)
    for k in range(3):
        heat(v, u, 1.0 / (parts - k), u, ndrange=len(u))
        u, v = v, u
    return np.sum(u) * dt


def test_numbers_that_let_the_program_raise(counts: dict[str, int]):
    f = aj.jit(fractions)
    u = np.linspace(0, 1, 30)
    for parts in (5.0, 6.0, 1.0, 7.0, 2.0, 8.0):
        if parts < 3.0:
            with pytest.raises(ZeroDivisionError):
                f(to_device(u), 0.1, parts)
        else:
            same(f(to_device(u), 0.1, parts), f(u.copy(), 0.1, parts), rtol=1e-12)
    assert counts["captured"] == 1 and counts["replayed"] == 3


def test_graphs_make_room(counts: dict[str, int], monkeypatch: pytest.MonkeyPatch):
    from adjit.runtime.cuda import device

    f, u = aj.jit(made), np.arange(6.0)
    for _ in range(3):
        f(to_device(u), 0.5)
    assert counts["captured"] == 1
    full, real = [True], cp.cuda.alloc

    def alloc(size: int) -> Any:
        if full:
            full.pop()
            raise cp.cuda.memory.OutOfMemoryError(size, 0, 0)
        return real(size)

    monkeypatch.setattr(device.cp.cuda, "alloc", alloc)
    same(f(to_device(u), 0.5), f(u.copy(), 0.5))
    monkeypatch.undo()
    monkeypatch.setattr(program, "FEWEST", 2)
    same(f(to_device(u), 0.25), f(u.copy(), 0.25))


def test_streams_and_threads():
    f = aj.value_and_grad(simulate, wrt=(0, 2))
    rng = np.random.default_rng(5)
    cases = [(rng.uniform(-1, 1, 4000), rng.uniform(0, 1, 4000), 0.01 * (k + 1), 20, 0.1) for k in range(8)]
    wants = [f(*copies(c)) for c in cases]
    f(*to_device(cases[0]))
    f(*to_device(cases[0]))
    failed: list[BaseException] = []

    def work(k: int) -> None:
        try:
            for _ in range(5):
                given = to_device(cases[k])
                cp.cuda.Device().synchronize()
                with cp.cuda.Stream(non_blocking=True) as stream:
                    got = f(*given)
                    stream.synchronize()
                same(got, wants[k], rtol=1e-11)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if failed:
        raise failed[0]


def test_a_stream_that_is_given():
    u, k, v = to_device((np.arange(5.0), np.ones(5), np.zeros(5)))
    cp.cuda.Device().synchronize()
    stream = cp.cuda.Stream(non_blocking=True)
    heat(v, u, 0.1, k, ndrange=5, stream=stream)
    stream.synchronize()
    want = np.zeros(5)
    heat(want, np.arange(5.0), 0.1, np.ones(5), ndrange=5)
    same(v, want)


def test_tall_launches():
    """More rows than a grid has along y and z."""

    @aj.kernel
    def number(x):
        i, j, k = aj.index(3)
        x[i, j, k] = (i * 7.0 + j) * 3.0 + k

    for shape in ((70_000 * 2, 3, 2), (3, 600_000, 2), (200_000, 2, 1)):
        x = cp.zeros(shape)
        number(x, ndrange=shape)
        i, j, k = (np.arange(n, dtype=float) for n in shape)
        np.testing.assert_array_equal(x.get(), (i[:, None, None] * 7.0 + j[:, None]) * 3.0 + k)
