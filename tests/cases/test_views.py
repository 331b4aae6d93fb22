"""Reshape, ravel and new axes of arguments: views where the plain function has views, copies where it copies.

Gates: values and final states equal the plain run's (Numba's for dispatchers, NumPy's otherwise), gradients equal
differences in every mode, what raises in the plain function raises here, and what depends on strides is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numba import njit

import adjit as aj

from .modes import run
from .record import Case, Combination, differences, lay_out, same_bits, wave

FLAVOURS = pytest.mark.parametrize("wrap", [lambda f: f, njit], ids=["plain", "njit"])


def through_ravel(m):
    r = m.ravel()
    r[0] = r[0] * r[1]
    s = 0.0
    for i in range(len(r)):
        s += r[i] ** 2 * (i + 1)
    return s + m[0, 0]


def through_reshape(x, n):
    m = x.reshape((n, -1))
    t = m.T
    for i in range(m.shape[0]):
        for j in range(m.shape[1]):
            t[j, i] = t[j, i] * x[i * m.shape[1] + j - 1]
    return m[0, 1] * x[-1] + t[0, 0]


def through_both(m, v):
    f = np.reshape(m, -1)
    w = v[:, None].reshape(v.size)
    for i in range(v.size):
        f[i] = f[i] * w[i - 1]
        w[i] = w[i] + m[0, i]
    return f[1] * v[2] + m[1, 0]


def of_rows(m):
    s = 0.0
    for i in range(m.shape[0]):
        r = m[i].reshape(2, 2)
        r[0, 1] = r[0, 1] * r[1, 0]
        s += r[0, 1] * r[1, 1] * (i + 1)
    return s


def folded_again_and_again(x, n):
    s = 0.0
    for k in range(n):
        m = x.reshape(2, 3)
        w = m.reshape(3, 2)
        w[1, 0] = w[1, 0] * m[0, k]
        s += math.sin(w[2, 1]) * x[2]
    return s


CASES = [
    Case("through_ravel", through_ravel, (wave(2, 3),)),
    Case("through_reshape", through_reshape, (wave(6), 2)),
    Case("through_both", through_both, (wave(2, 3), wave(3, seed=1)), (0, 1)),
    Case("of_rows", of_rows, (wave(3, 4),)),
    Case("folded_again_and_again", folded_again_and_again, (wave(6), 3)),
]
HOW = [
    Combination(mode, "float64", "C", flavour)
    for mode in ("grad", "vjp", "autodiff", "jvp")
    for flavour in ("njit", "plain")
]


@pytest.mark.parametrize("case", CASES, ids=[c.name for c in CASES])
@pytest.mark.parametrize("how", HOW, ids=str)
def test_views_of_arguments(case: Case, how: Combination, uncompiled: None) -> None:
    run(case, how)


@FLAVOURS
@pytest.mark.parametrize("case", CASES[:3], ids=[c.name for c in CASES[:3]])
def test_views_of_arguments_compiled(case: Case, wrap: Callable[..., Any]) -> None:
    flavour = "njit" if wrap is njit else "plain"
    for mode in ("grad", "vjp", "jvp"):
        run(case, Combination(mode, "float64", "C", flavour))


def weighted(m):
    r = m.ravel()
    s = 0.0
    for i in range(r.size):
        s += r[i] ** 2 * (i + 1)
    return s


def weighted_by_reshape(m):
    r = m.reshape(m.shape[1], m.shape[0])
    s = 0.0
    for i in range(r.shape[0]):
        for j in range(r.shape[1]):
            s += r[i, j] ** 3 * (i + 2 * j)
    return s


@pytest.mark.parametrize("layout", ["F", "A"])
@pytest.mark.parametrize("f", [weighted, weighted_by_reshape])
def test_memory_that_is_not_contiguous_is_copied_as_numpy_does(f: Callable[..., Any], layout: str) -> None:
    m = lay_out(wave(2, 3), layout)
    value, gradient = aj.value_and_grad(f)(m)
    assert value == f(m)
    np.testing.assert_allclose(gradient, differences(f, (m,), (0,))[0], rtol=1e-8)
    _, tangent = aj.jvp(f, (m,), (np.ones((2, 3)),))
    np.testing.assert_allclose(tangent, gradient.sum(), rtol=1e-12)
    aj.check_grad(f, m)


def written_copy(m):
    r = m.ravel()
    r[0] = r[0] * r[1]
    return r[0] * m[0, 0] + m[0, 1]


@pytest.mark.parametrize("layout", ["C", "F", "A"])
def test_numbas_ravel_copies_whatever_is_not_contiguous(layout: str) -> None:
    f = njit(written_copy)
    m, kept = lay_out(wave(2, 3), layout), lay_out(wave(2, 3), layout)
    value, gradient = aj.value_and_grad(f)(m)
    assert value == f(kept)
    np.testing.assert_array_equal(m, kept)

    def slope(i: int, j: int, h: float = 1e-6) -> float:
        ends = []
        for step in (h, -h):
            moved = lay_out(wave(2, 3), layout)
            moved[i, j] += step
            ends.append(f(moved))
        return (ends[0] - ends[1]) / (2 * h)

    want = [[slope(i, j) for j in range(3)] for i in range(2)]
    np.testing.assert_allclose(gradient, want, atol=1e-8)


@pytest.mark.parametrize("layout", ["F", "A"])
def test_a_written_array_of_unknown_strides_is_refused(layout: str) -> None:
    m = lay_out(wave(2, 3), layout)
    with pytest.raises(aj.UnsupportedError, match=r"a view or a copy(.|\n)*m\.ravel\(\)(.|\n)*\^") as caught:
        aj.grad(written_copy)(m)
    assert "m.copy()" in str(caught.value)
    np.testing.assert_array_equal(m, wave(2, 3))
    assert np.isfinite(aj.grad(lambda m: written_copy(m.copy()))(m)).all()


@pytest.mark.parametrize("layout", ["F", "A"])
def test_numbas_reshape_needs_contiguous_memory(layout: str) -> None:
    with pytest.raises(aj.UnsupportedError, match="not contiguous"):
        aj.grad(njit(weighted_by_reshape))(lay_out(wave(2, 3), layout))


def to_shape(x, n, m):
    return x.reshape(n, m)[0, 0] * x[1]


@FLAVOURS
def test_a_shape_that_does_not_fit_raises(wrap: Callable[..., Any]) -> None:
    f, x = wrap(to_shape), wave(6)
    for n, m in ((4, 2), (5, -1), (-1, -1), (7, 0), (0, -1)):
        with pytest.raises(ValueError, match=r"size|negative|unknown"):
            f(x, n, m)
        with pytest.raises(ValueError, match=r"size of new array|negative"):
            aj.grad(f)(x, n, m)
    for n, m in ((2, -1), (-1, 2), (6, 1)):
        np.testing.assert_array_equal(aj.grad(f)(x, n, m)[:2], x[1::-1])


@FLAVOURS
def test_squeeze_of_an_axis_that_is_not_one_raises(wrap: Callable[..., Any]) -> None:
    def f(m):
        return np.squeeze(m, axis=0)[1]

    assert aj.grad(f)(np.ones((1, 3)))[0, 1] == 1.0
    with pytest.raises(ValueError, match="not equal to one"):
        aj.grad(f)(np.ones((2, 3)))


@FLAVOURS
def test_empty_and_zero_dimensional_arrays(wrap: Callable[..., Any]) -> None:
    def f(x, e):
        s = x.reshape(())[()] if x.size == 1 else 1.0
        m = e.reshape(0, 3)
        t = x.reshape(1, 1, 1).reshape(-1)
        return s * t[0] + m.shape[0] + e.ravel().size

    value, gradient = aj.value_and_grad(wrap(f))(np.array([3.0]), np.empty((2, 0)))
    assert value == 9.0 and gradient.tolist() == [6.0]


@njit
def halves(m, n):
    if n == 0:
        f = m.reshape(-1)
        return f[0] * f[1]
    f = m.ravel()
    f[n] = f[n] * f[n - 1]
    return halves(f.reshape(m.shape[1], m.shape[0]), n - 1) * m[0, 1] + f[2]


def test_a_recursive_function_reshapes() -> None:
    m = wave(2, 3)
    value, gradient = aj.value_and_grad(halves)(m.copy(), 3)
    assert value == halves(m.copy(), 3)
    np.testing.assert_allclose(gradient, _slope(m), rtol=1e-7)
    _, tangent = aj.jvp(halves, (m.copy(), 3), (np.ones((2, 3)), None))
    np.testing.assert_allclose(tangent, gradient.sum(), rtol=1e-10)


def _slope(m: np.ndarray) -> np.ndarray:
    return differences(lambda m: halves(m, 3), (m,), (0,))[0]


@FLAVOURS
def test_second_derivatives(wrap: Callable[..., Any]) -> None:
    x, v = wave(6), wave(6, seed=3)

    def f(x):
        m = np.transpose(x.reshape(1, 2, 3), (2, 0, 1))
        s = 0.0
        for i in range(3):
            for j in range(2):
                m[i, 0, j] = m[i, 0, j] * m[i - 1, 0, j] * x[i]
                s += m[i, 0, j] ** 2
        return s

    f = wrap(f)
    gradient = aj.grad(f)
    _, got = aj.jvp(gradient, (x.copy(),), (v,))
    h = 1e-5
    want = (gradient(x + h * v) - gradient(x - h * v)) / (2 * h)
    np.testing.assert_allclose(got, want, rtol=1e-7)


def test_shadows_of_a_fortran_array_keep_its_layout() -> None:
    """A is transposed to be contiguous and reshaped: so must be the shadow of `w`, which nobody asked for."""

    def f(x, w):
        t = w.T.reshape(-1)
        for i in range(x.size):
            t[i] = x[i] * x[i - 1]
        s = 0.0
        for i in range(w.shape[0]):
            for j in range(w.shape[1]):
                s += w[i, j] * (i + 2 * j)
        return s

    x, w = wave(6), np.asfortranarray(np.zeros((2, 3)))
    for g in (f, njit(f)):
        value, pullback = aj.vjp(g, x, aj.Const(w.copy(order="F")))
        want = differences(lambda x: f(x, np.zeros((2, 3), order="F")), (x,), (0,))[0]
        np.testing.assert_allclose(pullback(1.0)[0], want, rtol=1e-8)
        np.testing.assert_allclose(aj.grad(g)(x, w.copy(order="F")), want, rtol=1e-8)
        _, tangent = aj.jvp(g, (x, w.copy(order="F")), (np.ones(6), None))
        np.testing.assert_allclose(tangent, want.sum(), rtol=1e-10)
        dx = np.zeros(6)
        dw = np.asfortranarray(np.zeros((2, 3)))
        aj.autodiff(aj.Reverse, g, aj.Duplicated(x, dx), aj.Duplicated(w.copy(order="F"), dw))
        np.testing.assert_allclose(dx, want, rtol=1e-8)
        with pytest.raises(aj.ArgumentError, match="layout"):
            aj.autodiff(
                aj.Reverse, g, aj.Duplicated(x, dx), aj.Duplicated(w.copy(order="F"), np.zeros((2, 3)))
            )


def test_a_captured_array_is_not_written_through_another_shape() -> None:
    table = np.ones(4)

    def f(x):
        table.reshape(2, 2)[0, 1] = x
        return x * table[1]

    with pytest.raises(aj.UnsupportedError, match="captured array"):
        aj.grad(f)(2.0)


def test_bounds_are_those_of_the_view() -> None:
    def f(x, i, j):
        return x[:, None][i, j] + x.reshape(2, 2)[j, i] + np.transpose(x.reshape(1, 4))[i, j]

    checked = aj.options(f, boundscheck=True)
    assert aj.grad(checked)(np.ones(4), 1, 0).sum() == 3.0
    for i, j in ((1, 1), (0, 2), (4, 0)):
        with pytest.raises(IndexError):
            aj.grad(checked)(np.ones(4), i, j)


def test_the_primal_is_the_users_line() -> None:
    text = aj.grad(through_reshape).source(wave(6), 2)
    lines = [line.partition("#")[0].strip() for line in text.splitlines()]
    assert "m = x.reshape((n_5, x_n0_1))" in lines and not any("m.shape" in line for line in lines)
    assert same_bits(aj.jit(through_reshape)(wave(6), 2), through_reshape(wave(6), 2))
