"""Every operator inside of a program: the value that it has outside, and right derivatives of it.

What is called in a program (`inside`) is held to the same operator called from Python, whose results other tests hold to
closed forms; the derivatives of the program in both modes to differences (`check_grad`).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba import njit, prange

import adjit as aj

pytestmark = pytest.mark.usefixtures("uncompiled")

X = np.array([1.2, 0.8, 0.5])
W = np.array([1.0, 2.0, 3.0])
MATRICES = (aj.jacfwd, aj.jacrev, aj.jacobian)


def valley(x, w):
    s = 0.0
    for i in range(x.shape[0] - 1):
        s += (x[i + 1] - x[i] ** 2) ** 2 * w[i] + (1.0 - x[i]) ** 2
    return s


def in_place(x, w):
    for i in range(1, len(x)):
        x[i] *= x[i - 1] * w[i]
    return x[-1] * x[0]


def searching(x, w):
    y = 1.0
    while abs(y * y - x[0] * x[1]) > 1e-13:
        y = 0.5 * (y + x[0] * x[1] / y)
    return y * x[2] if y < w[0] else y * x[2] * x[2]


@njit(parallel=True)
def on_threads(x, w):
    y = np.zeros(len(x))
    for i in prange(len(x)):
        y[i] = x[i] ** 3 * w[i]
    return np.sum(y)


@aj.kernel
def ring(y, x, w):
    i = aj.index()
    y[i] = x[i] * x[i] * w[i] + math.sin(x[(i + 1) % x.shape[0]])


def launching(x, w):
    y = np.zeros(len(x))
    ring(y, x, w, ndrange=len(x))
    return np.sum(y * y)


def whole_arrays(x, w):
    v = np.sin(x) * w[::-1]
    return np.sum(v * v) * x[0]


SCALARS = (valley, in_place, searching, on_threads, launching, whole_arrays)


def pair(x, w):
    y = np.empty(2)
    y[0] = x[0] * x[1] * w[0]
    y[1] = math.sin(x[2]) * x[0]
    return y


def several(x, w):
    return x[0] * x[1], (pair(x, w), len(x)), x * w


@pytest.mark.parametrize("f", SCALARS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("operator", [aj.grad, aj.hessian, aj.laplacian, *MATRICES])
def test_of_scalar_functions(operator: Any, f: Callable[..., float]) -> None:
    def inside(x, w):
        return operator(f)(x, w)

    x, w = X.copy(), W.copy()
    np.testing.assert_allclose(aj.jit(inside)(x, w), operator(f)(X.copy(), W.copy()), rtol=1e-13)
    plain = X.copy()
    f(plain, W.copy()) if f is not launching else None
    np.testing.assert_array_equal(x, plain)  # its arguments end as the plain call leaves them


@pytest.mark.parametrize("f", SCALARS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("operator", [aj.hessian, aj.laplacian, aj.jacrev])
def test_derivatives_of_them(operator: Any, f: Callable[..., float]) -> None:
    def inside(x, w):
        return np.sum(operator(f)(x, w) * w[0]) + x[1] * x[2]

    aj.check_grad(inside, X.copy(), W.copy())


@pytest.mark.parametrize("operator", MATRICES)
def test_of_arrays_and_tuples(operator: Any) -> None:
    def inside(x, w):
        return operator(several, wrt=(0, 1))(x, w)

    got, want = aj.jit(inside)(X, W), operator(several, wrt=(0, 1))(X, W)
    assert want[1][1] is None
    assert got[1][1] is None
    for g, h in ((got[0], want[0]), (got[1][0], want[1][0]), (got[2], want[2])):
        for a, b in zip(g, h, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-15)

    def summed(x, w):
        a, (b, _), c = operator(several)(x, w)
        return np.sum(a * a) + np.sum(b * b * b) + np.sum(c * c)

    aj.check_grad(summed, X, W)


def test_jvp_of_arrays_tuples_and_none() -> None:
    def inside(x, w, d):
        value, tangent = aj.jvp(several, (x, w), (d, None))
        return value, tangent

    d = np.array([0.3, -0.2, 0.7])
    (value, tangent), (wanted, want) = aj.jit(inside)(X, W, d), aj.jvp(several, (X, W), (d, None))
    assert value[0] == wanted[0]
    assert tangent[0] == want[0]
    assert tangent[1][1] is None
    np.testing.assert_array_equal(tangent[1][0], want[1][0])
    np.testing.assert_array_equal(tangent[2], want[2])
    aj.check_grad(lambda x, w, d: np.sum(inside(x, w, d)[1][1][0]) + inside(x, w, d)[1][0], X, W, d)


def test_jvp_leaves_given_tangents_alone() -> None:
    def inside(x, w, d):
        value, slope = aj.jvp(in_place, (x, w), (d, None))
        return value * slope + d[2]

    d, x = np.array([0.3, -0.2, 0.7]), X.copy()
    want = aj.jvp(in_place, (X.copy(), W), (d.copy(), None))
    assert aj.jit(inside)(x, W, d) == pytest.approx(want[0] * want[1] + 0.7, rel=1e-14)
    np.testing.assert_array_equal(d, [0.3, -0.2, 0.7])
    aj.check_grad(inside, X.copy(), W, d)


def test_what_a_function_gives_back_is_what_it_was_given() -> None:
    """value and tangent of `lambda y: y` are its arguments: stores show there."""

    def inside(x, d):
        value, tangent = aj.jvp(lambda y: y[1:], (x,), (d,))
        x[:-1] = value + x[1:]
        d[1:] = tangent[::-1]
        return np.sum(x * d)

    def plain(x, d):
        x[:-1] = x[1:] + x[1:]
        d[1:] = d[1:][::-1].copy()
        return np.sum(x * d)

    assert aj.jit(inside)(X.copy(), W.copy()) == plain(X.copy(), W.copy())
    aj.check_grad(inside, X.copy(), W.copy())


def test_hvp() -> None:
    v = np.array([0.3, -0.2, 0.7])

    def inside(x, w, v):
        return aj.hvp(valley, (x, w), v)

    np.testing.assert_allclose(aj.jit(inside)(X, W, v), aj.hessian(valley)(X, W) @ v)
    aj.check_grad(lambda x, w, v: np.sum(inside(x, w, v) * w), X, W, v)

    def by_both(x, w, v):
        a, b = aj.hvp(valley, (x, w), (v, None), wrt=(0, 1))
        return a, b

    (xx, _), _ = aj.hessian(valley, wrt=(0, 1))(X, W)
    product, none = aj.jit(by_both)(X, W, v)
    np.testing.assert_allclose(product, xx @ v)
    assert none is None


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", ["C", "F", "strided"])
def test_layouts_and_dtypes(layout: str, dtype: type) -> None:
    a = np.arange(1.0, 25.0, dtype=dtype).reshape(4, 6)[::2, ::2][:2, :3] / dtype(8)
    a = {"C": np.ascontiguousarray, "F": np.asfortranarray}.get(layout, lambda b: b)(a)

    def cubes(a):
        s = a.dtype.type(0.0)
        for i in range(a.shape[0]):
            for j in range(a.shape[1]):
                s += a[i, j] ** 3 * (i + 1)
        return s

    def inside(a):
        second, trace = aj.hessian(cubes)(a), aj.laplacian(cubes)(a)
        return second, trace, aj.jacfwd(lambda b: b * b[0])(a), aj.jvp(cubes, (a,), (a.T.copy().T,))[1]

    second, trace, squares, slope = aj.jit(inside)(a)
    want = np.diag((6 * a * np.array([[1], [2]], dtype)).ravel())
    assert second.dtype == squares.dtype == dtype
    np.testing.assert_allclose(second.reshape(6, 6), want, rtol=1e-6)
    assert trace == pytest.approx(np.trace(want), rel=1e-6)
    assert slope == pytest.approx(3 * float(cubes(a)), rel=1e-6)
    np.testing.assert_allclose(squares, aj.jacfwd(lambda b: b * b[0])(a), rtol=1e-6)


@pytest.mark.parametrize("operator", [aj.grad, aj.hessian, aj.laplacian, *MATRICES])
def test_of_no_elements(operator: Any) -> None:
    got = aj.jit(lambda x: operator(lambda y: np.sum(y * y))(x))(np.zeros(0))
    assert np.shape(got) == np.shape(operator(lambda y: np.sum(y * y))(np.zeros(0)))
    if operator in MATRICES:
        assert aj.jit(lambda x: operator(lambda y: y * y)(x))(np.zeros(0)).shape == (0, 0)
        assert aj.jit(lambda x, z: operator(lambda y: y * z)(x))(1.0, np.zeros(0)).shape == (0,)


def test_complex_numbers() -> None:
    z, d = 1 + 2j, 0.5 - 1j
    value, tangent = aj.jit(lambda z, d: aj.jvp(lambda w: w * w * z, (z,), (d,)))(z, d)
    assert (value, tangent) == (z**3, 2 * z * z * d)
    assert aj.jit(lambda z, d: aj.vjp(lambda w: w * w * z, z)[1](d))(z, d) == aj.vjp(
        lambda w: w * w * (1 + 2j), z
    )[1](d)
    assert aj.jit(lambda x: aj.jacfwd(lambda y: y * y * (1 + 2j))(x))(2.0) == 4 + 8j
    with pytest.raises(aj.UnsupportedError, match="a Jacobian of complex numbers"):
        aj.jit(lambda z: aj.jacfwd(lambda w: w * w)(z))(z)


class Model(NamedTuple):
    rate: float
    w: np.ndarray
    n: int


def energy(p, x):
    return p.rate**2 * p.w[0] * x**p.n * p.w[1]


P = Model(2.0, np.array([1.0, 3.0]), 2)


@pytest.mark.parametrize("wrt", [0, 1, -1, "x", "p.w", (0,), ("x", "p.rate"), (1, "p.w", "p.0")])
@pytest.mark.parametrize("operator", [aj.grad, aj.hessian, aj.jacrev])
def test_wrt_by_position_name_and_path(operator: Any, wrt: Any) -> None:
    got = aj.jit(lambda p, x: operator(energy, wrt=wrt)(p, x))(P, 1.5)
    want = operator(energy, wrt=wrt)(P, 1.5)
    _assert_same(got, want)


def _assert_same(got: Any, want: Any) -> None:
    if want is None:
        assert got is None
    elif isinstance(want, tuple):
        assert type(got) is type(want)
        for g, w in zip(got, want, strict=True):
            _assert_same(g, w)
    else:
        np.testing.assert_allclose(got, want, rtol=1e-14)


def test_has_aux() -> None:
    f = lambda y, x: (y * y * x, (y, x))
    assert aj.jit(lambda x: aj.value_and_grad(f, has_aux=True)(x, x))(3.0) == ((27.0, (3.0, 3.0)), 18.0)
    assert aj.jit(lambda x: aj.grad(f, has_aux=True)(x, x))(3.0) == (18.0, (3.0, 3.0))
    assert aj.grad(lambda x: aj.grad(f, has_aux=True)(x, x)[0])(3.0) == 12.0


def test_keywords_and_partials() -> None:
    f = lambda a, y, k=1.0: a * y * y * k
    assert aj.jit(lambda x: aj.grad(functools.partial(f, x))(x, k=3.0))(2.0) == 24.0
    assert aj.jit(lambda x: aj.grad(f, wrt="k")(x, x, k=x))(2.0) == 8.0
    assert aj.jit(lambda x: aj.jvp(f, (x, x), (None, 1.0), k=x))(2.0) == (16.0, 16.0)


outside = aj.hessian(functools.partial(valley, w=W))
through_partial = aj.hessian(functools.partial(lambda a, y: a * y**3, 3.0))


def test_operator_objects_made_outside() -> None:
    np.testing.assert_allclose(aj.jit(lambda x: outside(x))(X), outside(X))
    np.testing.assert_allclose(
        aj.grad(lambda x: np.sum(outside(x)))(X), np.sum(aj.jacfwd(outside)(X), (0, 1))
    )
    assert aj.grad(lambda x: through_partial(x))(2.0) == 18.0


def test_an_operator_that_is_a_captured_name() -> None:
    for operator in (aj.grad, aj.jacfwd, aj.hessian):
        assert np.isfinite(aj.jit(lambda x: operator(lambda y: y**3)(x))(2.0))


def test_in_kernels_and_parallel_loops() -> None:
    @aj.kernel
    def slopes(y, x):
        i = aj.index()
        y[i] = aj.grad(lambda z: z**3 * x[i])(x[i]) + aj.jvp(lambda z: z * z * x[i], (x[i],), (x[i],))[1]

    def program(x):
        y = np.zeros(len(x))
        slopes(y, x, ndrange=len(x))
        return np.sum(y)

    assert aj.jit(program)(X) == pytest.approx(np.sum(5 * X**3))
    np.testing.assert_allclose(aj.grad(program)(X), 15 * X**2)
    np.testing.assert_allclose(aj.hessian(program)(X), np.diag(30 * X))


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (lambda x: aj.jvp(lambda y: y * y, (x,), (1.0,)), "the tangent of a 1-D array is a number"),
        (lambda x: aj.jvp(lambda y: y * y, x, x), "must be tuples"),
        (lambda x: aj.jvp(lambda y: y * y, (x, x), (x,)), "2 primals and 1 tangents"),
        (lambda x: aj.jvp(lambda y: y * y, (x,), (np.ones((3, 3)),)), "is a 2-D array"),
        (lambda x: aj.jvp(lambda y: y * y, (x,), (np.ones(3, np.float32),)), "is one of float32"),
        (lambda x: aj.jvp(lambda y: len(y), (x,), (x,)), "returns"),
        (lambda x: aj.jvp(lambda y, n: y * n, (x, 3), (x, 1)), "has no derivative"),
        (lambda x: aj.hessian(lambda y: y * y)(x), "a hessian needs a function that returns a real scalar"),
        (lambda x: aj.laplacian(lambda y: (y[0], y[1]))(x), "a laplacian needs"),
        (lambda x: aj.jacfwd(lambda n: 2.0 * n)(3), "has no derivative"),
        (lambda x: aj.grad(lambda y: y[0], wrt=(0, "y"))(x), "names an argument twice"),
        (lambda x: aj.grad(lambda y: y[0], wrt="z")(x), "has no such parameter"),
        (lambda x: aj.grad(lambda y: y[0], wrt="y.a")(x), "there is no 'a'"),
        (lambda x: aj.grad(lambda y: y[0], wrt=1)(x), "wrt names argument 1"),
        (lambda x: aj.grad(lambda y: y[0], wrt=())(x), "wrt is an empty tuple"),
        (lambda x: aj.hvp(lambda y: y[0] ** 2, (x,), (x, x), wrt=(0,)), "wrt has 1 items"),
        (lambda x: aj.check_grad(lambda y: y[0], x), "operators that give derivatives work"),
    ],
)
def test_what_does_not_fit_is_said(program: Callable[..., Any], message: str) -> None:
    with pytest.raises(aj.AdjitError, match=message):
        aj.jit(program)(X)


def test_shapes_are_checked_when_it_runs() -> None:
    with pytest.raises(ValueError, match="a tangent does not have the shape of its array"):
        aj.jit(lambda x, d: aj.jvp(lambda y: y * y, (x,), (d,)))(X, np.ones(2))


def test_written_arrays_have_one_name() -> None:
    def scratch(x):
        tmp = np.zeros(3)

        def g(y):
            tmp[0] = y * y
            return tmp[0]

        return aj.grad(g)(x[0])

    def twice(x):
        def g(y, z):
            for i in range(2):
                y[i] *= z[i]
            return y[0] * y[1]

        return np.sum(aj.grad(g)(x[1:], x[:-1]))

    def around(x):
        def g(y):
            y[0] *= x[0]
            return y[0]

        return np.sum(aj.grad(g)(x))

    with pytest.raises(aj.UnsupportedError, match="writes `tmp`, an outer array"):
        aj.jit(scratch)(X)
    for program in (twice, around):
        with pytest.raises(aj.UnsupportedError, match="shares memory with"):
            aj.jit(program)(X.copy())
