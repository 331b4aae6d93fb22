"""`hessian`, `hvp`, `laplacian`: closed forms, symmetry, in-place functions, several arguments."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import adjit as aj

RNG = np.random.default_rng(11)


def rosenbrock(x: np.ndarray) -> float:
    s = 0.0
    for i in range(len(x) - 1):
        s += 100.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2
    return s


def right_hessian(x: np.ndarray) -> np.ndarray:
    n = len(x)
    h = np.zeros((n, n))
    for i in range(n - 1):
        h[i, i] += 1200.0 * x[i] ** 2 - 400.0 * x[i + 1] + 2.0
        h[i, i + 1] -= 400.0 * x[i]
        h[i + 1, i] -= 400.0 * x[i]
        h[i + 1, i + 1] += 200.0
    return h


@pytest.mark.parametrize("n", [1, 2, 9, 33])
def test_closed_form(n: int, uncompiled: None) -> None:
    check_closed_form(n)


def test_closed_form_compiled() -> None:
    check_closed_form(33)


def check_closed_form(n: int) -> None:
    x = RNG.standard_normal(n)
    right = right_hessian(x)
    assert np.allclose(aj.hessian(rosenbrock)(x), right, rtol=1e-12, atol=1e-12)
    v = RNG.standard_normal(n)
    assert np.allclose(aj.hvp(rosenbrock, (x,), v), right @ v, rtol=1e-10)
    assert np.allclose(aj.hvp(rosenbrock, x, v), right @ v, rtol=1e-10)
    several = RNG.standard_normal((20, n))
    assert np.allclose(aj.hvp(rosenbrock, x, aj.Batch(several)), several @ right, rtol=1e-10)
    assert math.isclose(aj.laplacian(rosenbrock)(x), np.trace(right), rel_tol=1e-12)


def test_numbers(uncompiled: None) -> None:
    assert aj.hessian(lambda s: s**4)(3.0) == 12 * 9.0
    assert type(aj.hessian(lambda s: s**4)(3.0)) is float
    assert aj.hvp(lambda s: s**4, 3.0, 2.0) == 12 * 9.0 * 2.0
    assert aj.laplacian(lambda s: s**4)(3.0) == 12 * 9.0
    assert type(aj.laplacian(lambda s: s**4)(3.0)) is float
    assert aj.hessian(lambda x: (math.sqrt(x) - 1.0) ** 2)(1.0) == 0.5


def test_several_arguments_in_place(uncompiled: None) -> None:
    def f(u: np.ndarray, s: float, w: np.ndarray) -> float:
        for i in range(1, len(u)):
            u[i] = u[i] * u[i - 1] + s * w[i]
        return u[len(u) - 1] * s

    u, w = 0.5 + RNG.random(5), RNG.random(5)

    def packed(z: np.ndarray) -> float:
        return f(z[:5].copy(), z[5], z[6:].copy())

    z = np.concatenate([u, [1.3], w])
    right = np.zeros((11, 11))
    step = 1e-4
    for i in range(11):
        for j in range(11):
            e, d = np.eye(11)[i] * step, np.eye(11)[j] * step
            right[i, j] = (packed(z + e + d) - packed(z + e - d) - packed(z - e + d) + packed(z - e - d)) / (
                4 * step**2
            )
    final, plain = u.copy(), u.copy()
    f(plain, 1.3, w)
    found = aj.hessian(f, wrt=("u", "s", "w"))(final, 1.3, w)
    assert np.array_equal(final, plain)
    full = np.zeros((11, 11))
    cuts = (slice(0, 5), slice(5, 6), slice(6, 11))
    for a, row in zip(cuts, found, strict=True):
        for b, block in zip(cuts, row, strict=True):
            full[a, b] = np.asarray(block).reshape(full[a, b].shape)
    assert np.allclose(full, right, atol=2e-5)
    assert np.allclose(full, full.T, rtol=1e-12)
    assert math.isclose(aj.laplacian(f, wrt=(0, 1, 2))(u.copy(), 1.3, w), np.trace(full), rel_tol=1e-10)
    product = aj.hvp(f, (u.copy(), 1.3, w), (np.ones(5), 2.0), wrt=(0, 1))
    assert np.allclose(product[0], full[:5, :5].sum(1) + 2 * full[:5, 5])
    assert np.allclose(product[1], full[5, :5].sum() + 2 * full[5, 5])


def test_records_that_grow() -> None:
    def f(x: np.ndarray) -> float:
        y, k = 1.0, 0
        while y < 1e3:
            y = y * x[k % len(x)] * 1.1 + math.sin(y)
            k += 1
        return y * x[0]

    x = 1.2 + RNG.random(14)
    found = aj.hessian(f)(x)
    assert np.allclose(found, found.T, rtol=1e-12)
    v, step = RNG.standard_normal(14), 1e-6
    near = (aj.grad(f)(x + step * v) - aj.grad(f)(x - step * v)) / (2 * step)
    assert np.allclose(found @ v, near, rtol=1e-5)


def test_bad_input(uncompiled: None) -> None:
    x = RNG.standard_normal(4)
    with pytest.raises(aj.ArgumentError, match="real scalar"):
        aj.hessian(lambda x: x * x)(x)
    with pytest.raises(aj.ArgumentError, match="structure of wrt"):
        aj.hvp(rosenbrock, (x,), x, wrt=(0, 1))
    with pytest.raises(aj.ArgumentError, match="primals"):
        aj.hvp(rosenbrock, (x,), x, wrt=1)
    with pytest.raises(aj.ArgumentError, match="has shape"):
        aj.hvp(rosenbrock, (x,), x[:2])
    with pytest.raises(aj.ArgumentError, match="primals"):
        aj.hvp(cubes, (x,), x, wrt=-1)  # the last parameter, which is no primal
    with pytest.raises(aj.ArgumentError, match="primals"):
        aj.hvp(cubes, (x,), x, wrt="s", s=2.0)
    with pytest.raises(aj.ArgumentError, match="unexpected keyword argument 'q'"):
        aj.hvp(cubes, (x,), x, q=2.0)


def cubes(x: np.ndarray, s: float = 1.0) -> float:
    return np.sum(x * x * x) * s


def test_keywords_of_the_function(uncompiled: None) -> None:
    x, v = RNG.standard_normal(4), RNG.standard_normal(4)
    np.testing.assert_allclose(aj.hvp(cubes, (x,), v, s=2.0), 12.0 * x * v, rtol=1e-14)
    np.testing.assert_allclose(aj.hvp(cubes, (x,), v, "x", s=3.0), 18.0 * x * v, rtol=1e-14)
    several = RNG.standard_normal((3, 4))
    np.testing.assert_allclose(aj.hvp(cubes, x, aj.Batch(several), s=2.0), 12.0 * x * several, rtol=1e-14)

    def inside(x: np.ndarray, v: np.ndarray, s: float) -> float:
        return np.sum(aj.hvp(cubes, (x,), v, s=s) * v)

    dx, ds = aj.grad(inside, wrt=(0, 2))(x, v, 2.0)
    np.testing.assert_allclose(dx, 12.0 * v * v, rtol=1e-13)
    assert math.isclose(ds, np.sum(6.0 * x * v * v))


@pytest.mark.parametrize("op", [aj.hessian, aj.laplacian])
def test_names(op: Any) -> None:
    assert "rosenbrock" in repr(op(rosenbrock))
