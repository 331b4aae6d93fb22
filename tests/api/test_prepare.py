"""`prepare`: the same derivatives, in memory that it owns."""

from __future__ import annotations

import tracemalloc
from functools import partial
from typing import Any

import numpy as np
import pytest

import adjit as aj

RNG = np.random.default_rng(5)


def loss(x: np.ndarray, a: float) -> float:
    s = 0.0
    for i in range(len(x) - 1):
        s += a * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2
    return s


def leaves(tree: Any) -> list[Any]:
    return [leaf for item in tree for leaf in leaves(item)] if isinstance(tree, tuple) else [tree]


@pytest.mark.parametrize(
    "op",
    [
        aj.grad,
        aj.value_and_grad,
        aj.jacfwd,
        aj.jacrev,
        aj.jacobian,
        aj.hessian,
        partial(aj.grad, wrt=(0, 1)),
        partial(aj.hessian, wrt=("x", "a")),
    ],
)
def test_same_numbers_in_the_same_memory(op: Any, uncompiled: None) -> None:
    x = RNG.standard_normal(30)
    prepared = aj.prepare(op, loss, x, 2.0)
    first = leaves(prepared(x, 2.0))
    second = leaves(prepared(x + 1.0, 3.0))
    right = leaves(op(loss)(x + 1.0, 3.0))
    for a, b, c in zip(first, second, right, strict=True):
        assert np.array_equal(b, c)
        assert a is b or not isinstance(a, np.ndarray)


def test_the_value_comes_along(uncompiled: None) -> None:
    x = RNG.standard_normal(30)
    prepared = aj.prepare(aj.grad, loss, x, 2.0)
    prepared(x, 3.0)
    assert prepared.value == aj.jit(loss)(x, 3.0)
    prepared = aj.prepare(aj.hessian, loss, x, 2.0)
    prepared(x, 3.0)
    assert np.array_equal(prepared.value, aj.grad(loss)(x, 3.0))


def test_written_arguments(uncompiled: None) -> None:
    def f(u: np.ndarray) -> np.ndarray:
        for i in range(1, len(u)):
            u[i] *= u[i - 1]
        return u * 2.0

    u0 = 0.5 + RNG.random(20)
    for op in (aj.jacfwd, aj.jacrev):
        prepared = aj.prepare(op, f, u0.copy())
        prepared(u0.copy())
        u = u0.copy()
        assert np.array_equal(prepared(u), op(f)(u0.copy()))
        assert np.array_equal(u, aj.pure(f)(u0)[1][0])


def test_sparse_matrices() -> None:
    def rate(u: np.ndarray, w: float) -> np.ndarray:
        r = np.zeros(len(u))
        for i in range(1, len(u) - 1):
            r[i] = u[i + 1] * w - 2 * u[i] + u[i - 1]
            if u[i] > 0.5:
                r[i] -= u[i] * (u[i] - u[i - 1])
        return r

    def sweep(u: np.ndarray) -> np.ndarray:
        for i in range(1, len(u)):
            u[i] = u[i] * u[i - 1] if i % 2 else u[i]
        return u

    u = RNG.random(50)
    prepared = aj.prepare(partial(aj.jacobian, sparse=True), rate, u, 2.0)
    first = prepared(u, 2.0)
    assert prepared(u + 0.1, 3.0) is first
    assert np.allclose(first.toarray(), aj.jacobian(rate)(u + 0.1, 3.0))
    assert np.allclose(prepared.value, rate(u + 0.1, 3.0))
    prepared = aj.prepare(partial(aj.hessian, sparse=True), loss, u, 2.0)
    prepared(u, 2.0)
    assert np.allclose(prepared(u, 3.0).toarray(), aj.hessian(loss)(u, 3.0))
    prepared = aj.prepare(partial(aj.jacobian, sparse=True), sweep, u.copy())
    prepared(u.copy())
    v = u.copy()
    assert np.allclose(prepared(v).toarray(), aj.jacobian(sweep)(u.copy()))
    assert np.array_equal(v, sweep(u.copy()))


def test_it_allocates_nothing_of_its_own() -> None:
    x = RNG.standard_normal(100_000)
    prepared = aj.prepare(aj.grad, loss, x, 2.0)
    prepared(x, 2.0)
    tracemalloc.start()
    prepared(x, 3.0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20_000


def test_bad_input(uncompiled: None) -> None:
    x = RNG.standard_normal(6)
    prepared = aj.prepare(aj.grad, loss, x, 2.0)
    for args in ((x[:3], 2.0), (x.astype(np.float32), 2.0), (x, 2)):
        with pytest.raises(aj.ArgumentError, match="prepare again"):
            prepared(*args)
    with pytest.raises(aj.ArgumentError, match="shares memory with what the last call returned"):
        prepared(prepared(x, 2.0), 2.0)
    curved = aj.prepare(aj.hessian, loss, x, 2.0)
    with pytest.raises(aj.ArgumentError, match="shares memory"):
        curved(curved(x, 2.0)[0], 2.0)
    with pytest.raises(aj.ArgumentError, match="prepare does not know jvp"):
        aj.prepare(aj.jvp, loss, (x,), (x,))
    with pytest.raises(aj.ArgumentError, match="prepare does not know jit"):
        aj.prepare(aj.jit, loss, x, 2.0)


@pytest.mark.parametrize("op", [aj.jacfwd, aj.jacrev, partial(aj.jacobian, sparse=True), aj.hessian])
def test_programs_that_broadcast(op, uncompiled):
    def product(a, b):
        return np.sum(a * b * a) if op is aj.hessian else a * b * a

    a, b = np.arange(1.0, 4.0), np.array([2.0])
    prepared = aj.prepare(op, product, a, b)
    for _ in range(2):
        found = prepared(a, b)
        dense = found if isinstance(found, np.ndarray) else found.toarray()
        assert np.array_equal(dense, np.diag([4.0] * 3 if op is aj.hessian else 4.0 * a))
