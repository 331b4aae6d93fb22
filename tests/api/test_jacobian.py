"""`jacfwd`, `jacrev`, `jacobian`: against columns by `jvp`, closed forms, and each other."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba import njit, prange

import adjit as aj
from adjit.api.pushes import COSTS, width_for

RNG = np.random.default_rng(7)


class State(NamedTuple):
    """A (named) tuple as an argument."""

    u: np.ndarray
    k: float
    n: int


def products(x: np.ndarray, a: float) -> np.ndarray:
    y = np.empty(len(x) + 1)
    for i in range(len(x)):
        y[i] = a * x[i] * x[i - 1]
    y[len(x)] = x.sum()
    return y


def right_products(x: np.ndarray, a: float) -> tuple[np.ndarray, np.ndarray]:
    n = len(x)
    by_x = np.zeros((n + 1, n))
    for i in range(n):
        by_x[i, i] += a * x[i - 1]
        by_x[i, i - 1] += a * x[i]
    by_x[n] = 1.0
    return by_x, np.append(x * np.roll(x, 1), 0.0)


@pytest.mark.parametrize("op", [aj.jacfwd, aj.jacrev, aj.jacobian])
@pytest.mark.parametrize("n", [0, 1, 2, 5, 17, 40])
def test_closed_form(op: Any, n: int, uncompiled: None) -> None:
    check_closed_form(op, n)


def test_closed_form_compiled() -> None:
    check_closed_form(aj.jacfwd, 17)


def check_closed_form(op: Any, n: int) -> None:
    x = RNG.standard_normal(n)
    by_x, by_a = right_products(x, 1.5)
    assert np.allclose(op(products)(x, 1.5), by_x, rtol=1e-14, atol=0)
    both = op(products, wrt=(0, "a"))(x, 1.5)
    assert np.allclose(both[0], by_x, rtol=1e-14, atol=0)
    assert np.allclose(both[1], by_a, rtol=1e-14, atol=0)
    assert isinstance(both, tuple)
    assert both[0].shape == (n + 1, n)
    assert both[1].shape == (n + 1,)


@pytest.mark.parametrize("op", [aj.jacfwd, aj.jacrev])
def test_trees(op: Any, uncompiled: None) -> None:
    def f(p: State, z: float) -> Any:
        v = p.u * p.k
        for _ in range(p.n):
            v = v * z
        return State(v, p.u[0, 1] * z, p.n), p.k * z

    p = State(RNG.standard_normal((2, 3)), 0.7, 2)
    found = op(f, wrt=(0, 1))(p, 1.3)
    (of_state, of_number) = found
    assert isinstance(of_state, State)
    assert of_state.n is None
    by_p, by_z = of_state.u
    assert isinstance(by_p, State)
    assert by_p.u.shape == (2, 3, 2, 3)
    assert np.allclose(by_p.u.reshape(6, 6), 0.7 * 1.69 * np.eye(6))
    assert np.allclose(by_p.k, p.u * 1.69)
    assert by_p.n is None
    assert np.allclose(by_z, 2 * 1.3 * 0.7 * p.u)
    right = np.zeros((2, 3))
    right[0, 1] = 1.3
    assert np.array_equal(of_state.k[0].u, right)
    assert of_state.k[0].k == 0.0
    assert of_number[0].k == 1.3
    assert of_number[1] == 0.7
    assert type(of_number[1]) is float


@pytest.mark.parametrize("order", ["C", "F", "A"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_layouts_and_dtypes(order: str, dtype: Any, uncompiled: None) -> None:
    def f(m: np.ndarray) -> np.ndarray:
        out = np.empty((m.shape[1], m.shape[0]), m.dtype)
        for i in range(m.shape[0]):
            for j in range(m.shape[1]):
                out[j, i] = m[i, j] * m[i, 0]
        return out

    m = RNG.standard_normal((4, 5)).astype(dtype)
    m = np.asfortranarray(m) if order == "F" else np.repeat(m, 2, axis=1)[:, ::2] if order == "A" else m
    right = np.zeros((5, 4, 4, 5), dtype)
    for i in range(4):
        for j in range(5):
            right[j, i, i, j] += m[i, 0]
            right[j, i, i, 0] += m[i, j]
    for op in (aj.jacfwd, aj.jacrev):
        found = op(f)(m)
        assert found.dtype == dtype
        assert np.allclose(found, right, rtol=1e-6)


def test_in_place_functions_end_as_the_plain_call_leaves_them(uncompiled: None) -> None:
    def sweep(u: np.ndarray, w: np.ndarray) -> np.ndarray:
        for i in range(1, len(u)):
            u[i] = u[i] * u[i - 1] + w[i]
            w[i] = u[i]
        return u * 1.0

    u0, w0 = RNG.standard_normal(21), RNG.standard_normal(21)
    u, w = u0.copy(), w0.copy()
    sweep(u, w)
    columns = []
    for k in range(21):
        unit = np.zeros(21)
        unit[k] = 1.0
        columns.append(aj.jvp(sweep, (u0.copy(), w0.copy()), (unit, None))[1])
    for op in (aj.jacfwd, aj.jacrev, aj.jacobian):
        a, b = u0.copy(), w0.copy()
        found = op(sweep)(a, b)
        assert np.array_equal(a, u)
        assert np.array_equal(b, w)
        assert np.allclose(found, np.array(columns).T, rtol=1e-12)
    states = aj.jacfwd(aj.pure(sweep))(u0, w0)
    assert np.allclose(states[0], np.array(columns).T, rtol=1e-12)
    assert np.allclose(states[1][0], np.array(columns).T, rtol=1e-12)


def test_bits_do_not_depend_on_the_passes() -> None:
    def f(x: np.ndarray) -> np.ndarray:
        y = np.zeros(len(x))
        for i in range(len(x)):
            t = x[i]
            while t < 3.0:
                t = t * 1.7 + math.sin(x[i - 1])
            y[i] = t / (1.0 + x[(i * 3) % len(x)] ** 2)
        return y

    x = 0.5 + RNG.random(45)
    found = aj.jacfwd(f)(x)
    for k in range(45):
        unit = np.zeros(45)
        unit[k] = 1.0
        assert np.array_equal(aj.jvp(f, (x,), (unit,))[1], found[:, k])


@pytest.mark.parametrize("count", [*range(1, 40), 100, 1000])
def test_the_rule_of_widths(count: int) -> None:
    width = width_for(count)
    assert width in COSTS
    assert -(-count // width) == 1 or width >= 8
    assert count > 16 or width >= count


def test_the_mode_follows_counts(uncompiled: None) -> None:
    def total(x: np.ndarray) -> float:
        return (x * x).sum()

    def spread(s: float, n: int) -> np.ndarray:
        return s * np.arange(n)

    x = RNG.standard_normal(50)
    assert aj.jacobian(total).mode(x) == "reverse"
    assert aj.jacobian(spread).mode(2.0, 50) == "forward"
    assert aj.jacobian(products).mode(x, 2.0) == "forward"
    assert aj.jacobian(total).mode(x[:2]) == "forward"
    assert aj.jacfwd(total).mode(x) == "forward"
    assert aj.jacrev(spread).mode(2.0, 5) == "reverse"
    assert np.array_equal(aj.jacobian(total)(x), 2 * x)
    assert "forward" in str(aj.jacfwd(total).source(x))
    assert aj.jacfwd(total).explain(x) is not None


def both_modes(f: Any, *args: np.ndarray) -> None:
    a, b = (op(f)(*[v.copy() for v in args]) for op in (aj.jacfwd, aj.jacrev))
    for p, q in zip(a if isinstance(a, tuple) else (a,), b if isinstance(b, tuple) else (b,), strict=True):
        assert np.allclose(p, q, rtol=1e-11, atol=1e-13)


def test_parallel_loops() -> None:
    @njit(parallel=True)
    def loop(x: np.ndarray, y: np.ndarray) -> Any:
        s = 0.0
        for i in prange(len(x)):
            t = x[i] * y[i]
            s += t
            y[i] = t * x[i - 1]
        return s, y

    both_modes(loop, RNG.standard_normal(20), RNG.standard_normal(20))


def test_kernels_partials_and_linear_algebra(uncompiled: None) -> None:
    @aj.kernel
    def step(u: np.ndarray, v: np.ndarray) -> None:
        i = aj.index()
        v[i] += u[i] * u[i - 1]

    def launches(u: np.ndarray) -> np.ndarray:
        v = np.zeros(len(u))
        for _ in range(3):
            step(u, v, ndrange=len(u))
            u, v = v, u
        return u + v

    def solve(s: float, m: np.ndarray) -> np.ndarray:
        return np.linalg.solve(m + s * np.eye(3), m[0])

    both_modes(launches, RNG.standard_normal(20))
    both_modes(partial(solve, 2.0), RNG.standard_normal((3, 3)) + 4 * np.eye(3))


def test_complex_results_of_real_arguments(uncompiled: None) -> None:
    def wave(x: np.ndarray) -> np.ndarray:
        return np.exp(1j * x) * x[0]

    x = RNG.standard_normal(3)
    right = np.diag(1j * np.exp(1j * x) * x[0])
    right[:, 0] += np.exp(1j * x)
    assert np.allclose(aj.jacfwd(wave)(x), right)
    with pytest.raises(aj.ArgumentError, match="complex"):
        aj.jacrev(wave)(x)
    with pytest.raises(aj.ArgumentError, match="complex"):
        aj.jacfwd(lambda z: z * z)(x + 0j)


def test_bad_input(uncompiled: None) -> None:
    x = RNG.standard_normal(4)
    with pytest.raises(aj.ArgumentError, match="returns nothing"):
        aj.jacfwd(lambda x: None)(x)
    with pytest.raises(aj.ArgumentError, match="no derivative"):
        aj.jacfwd(lambda n: n * 2.0)(3)
    with pytest.raises(aj.ArgumentError, match="no such parameter"):
        aj.jacobian(products, wrt="b")
    with pytest.raises(aj.ArgumentError, match="no derivative"):
        aj.jacrev(lambda x: len(x))(x)


def test_a_dense_matrix_that_does_not_fit(uncompiled: None) -> None:
    def double(x: np.ndarray) -> np.ndarray:
        return 2.0 * x

    x = np.zeros(1000)
    for op in (aj.jacfwd, aj.jacrev):
        with pytest.raises(aj.MemoryLimitError, match=r"1000 rows and 1000 columns: 7\.6 MiB.*(?s:.*)sparse"):
            op(aj.options(double, memory=2**20))(x)
    assert aj.jacfwd(aj.options(double, memory=2**23))(x).shape == (1000, 1000)


@pytest.mark.parametrize("op", [aj.jacfwd, aj.jacrev, aj.jacobian, aj.hessian])
def test_arrays_without_axes(op: Any, uncompiled: None) -> None:
    def cube(a: np.ndarray, s: float) -> float:
        return a[()] ** 3 * s

    found = op(cube, wrt=(0, 1))(np.array(2.0), 3.0)
    right: Any = (36.0, 8.0) if op is not aj.hessian else ((36.0, 12.0), (12.0, 0.0))
    assert str(right) == str(tuple(tuple(map(float, r)) if isinstance(r, tuple) else float(r) for r in found))
    first = found[0][0] if op is aj.hessian else found[0]
    assert isinstance(first, np.ndarray)
    assert first.shape == ()


def test_types_of_numbers(uncompiled: None) -> None:
    assert type(aj.jacfwd(lambda s: s**4)(3.0)) is float
    assert type(aj.jacrev(lambda s: s**4)(3.0)) is float
    assert type(aj.jacfwd(lambda s: s**4)(np.float64(3.0))) is np.float64
    assert type(aj.jacfwd(lambda s: s * s)(np.float32(3.0))) is np.float32


def test_other_extents_of_one_are_another_program(uncompiled: None):
    """Also where a plan builds its programs late, and for another operator of the same function."""

    def product(a, b):
        return a * b

    few, many = np.array([2.0]), np.arange(1.0, 4.0)
    assert aj.jacfwd(product)(few, many).tolist() == [[1.0], [2.0], [3.0]]
    assert np.array_equal(aj.jacfwd(product)(many, many), np.diag(many))
    for op in (aj.jacrev(product), aj.jacobian(product, sparse=True), aj.jacfwd(product, wrt=1)):
        for a, b in ((few, many), (many, many), (many, few), (few, few)):
            found = op(a, b)
            dense = found if isinstance(found, np.ndarray) else found.toarray()
            by = 1 if op.wrt == 1 else 0
            assert np.array_equal(dense, aj.jacfwd(lambda a, b: product(a, b), wrt=by)(a, b))
    late = aj.jacfwd(product)
    late.mode(few, many)  # builds nothing
    assert np.array_equal(late(many, many), np.diag(many))
