"""Gates: `np.fft` has NumPy's values to the bit; its derivatives are those of linear maps, transposed as JAX does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numba import njit

import adjit as aj
from adjit.ir.parser import parse
from adjit.ir.printer import to_text
from adjit.ir.verify import verify
from adjit.testing.interpret import interpret
from adjit.transform.clean import clean

from .transforms import C5, CASES, JAX, R6, R45, Transform, signal

as_python = pytest.mark.usefixtures("uncompiled")
every = pytest.mark.parametrize(("f", "x"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])


def like(a: np.ndarray, seed: int) -> np.ndarray:
    return signal(*a.shape, seed=seed, dtype=a.dtype.name)


def paired(ct: np.ndarray, t: np.ndarray) -> float:
    return float(np.sum(ct * t).real)


@as_python
@every
def test_values_tangents_cotangents(f: Transform, x: np.ndarray) -> None:
    """The tangent is the transform of the tangent; the cotangent its transpose, under Re(ct * t)."""
    expected, t = f(x), like(x, 8)
    value, tangent = aj.jvp(f, (x,), (t,))
    assert value.dtype == expected.dtype and tangent.dtype == expected.dtype
    np.testing.assert_array_equal(value, expected)
    np.testing.assert_array_equal(tangent, f(t))
    value, pullback = aj.vjp(f, x)
    np.testing.assert_array_equal(value, expected)
    ct = like(expected, 9)
    (back,) = pullback(ct)
    assert back.dtype == x.dtype and back.shape == x.shape
    tolerance = 1e-5 if x.dtype == np.float32 else 1e-13
    assert paired(back, t) == pytest.approx(paired(ct, f(t)), rel=tolerance, abs=tolerance)
    if x.dtype.kind == "c":
        assert paired(back, 1j * t) == pytest.approx(paired(ct, f(1j * t)), rel=1e-13, abs=1e-13)


@as_python
@pytest.mark.parametrize(("f", "x", "ct", "expected"), JAX)
def test_cotangents_are_those_of_jax(f: Transform, x: Any, ct: Any, expected: Any) -> None:
    value, pullback = aj.vjp(f, np.array(x) * 1.0)
    np.testing.assert_allclose(pullback(np.array(ct, value.dtype))[0], expected, rtol=1e-14, atol=1e-14)


def filtered(x: np.ndarray, h: np.ndarray, d: float) -> float:
    """Not linear, with every kind of transform, and frequencies of a step that is differentiated."""
    y = np.fft.rfft(x) * np.exp(-((np.fft.rfftfreq(len(x), d) * h) ** 2))
    z = np.fft.fft(np.fft.irfft(y, len(x)) ** 2 * np.fft.fftfreq(len(x), d=d))
    return np.sum(abs(np.fft.ifft(z * z)) ** 2)


FILTERED = (R6, signal(4, seed=3), 0.3)


def slope(f: Callable[..., float], args: tuple[Any, ...], along: tuple[Any, ...]) -> float:
    """The derivative along a direction, by Richardson differences."""

    def centred(h: float) -> float:
        ends = [f(*(a + s * t for a, t in zip(args, along, strict=True))) for s in (h, -h)]
        return (ends[0] - ends[1]) / (2 * h)

    return (4 * centred(5e-4) - centred(1e-3)) / 3


def test_compiled_value_and_gradient() -> None:
    """As compiled code, of a dispatcher too, which Numba alone cannot compile without a library of its own."""
    along = (like(R6, 1), signal(4, seed=2), 0.7)
    value, gradient = aj.value_and_grad(njit(filtered), wrt=(0, 1, 2))(*FILTERED)
    assert value == pytest.approx(filtered(*FILTERED), rel=1e-13)
    found = sum(np.sum(g * t) for g, t in zip(gradient, along, strict=True))
    assert found == pytest.approx(slope(filtered, FILTERED, along), rel=1e-8)


@as_python
def test_second_derivatives() -> None:
    along = (like(R6, 1), signal(4, seed=2), 0.7)
    gradient = aj.grad(filtered, wrt=(0, 1, 2))
    tangents = aj.jvp(gradient, FILTERED, along)[1]

    def at(h: float) -> Any:
        return gradient(*(a + h * t for a, t in zip(FILTERED, along, strict=True)))

    for k, tangent in enumerate(tangents):
        np.testing.assert_allclose(tangent, (at(1e-5)[k] - at(-1e-5)[k]) / 2e-5, rtol=1e-6, atol=1e-7)


@as_python
@pytest.mark.parametrize("n", [1, 2, 5, 6])
def test_frequencies(n: int) -> None:
    both = aj.jit(lambda n, d: (np.fft.fftfreq(n, d), np.fft.rfftfreq(n, d), np.fft.fftfreq(n)))(n, 0.1)
    for found, expected in zip(
        both, (np.fft.fftfreq(n, 0.1), np.fft.rfftfreq(n, 0.1), np.fft.fftfreq(n)), strict=True
    ):
        assert found.dtype == np.float64
        np.testing.assert_array_equal(found, expected)


@as_python
def test_frequencies_in_single_precision_are_double() -> None:
    d = np.float32(0.3)
    found = aj.jit(lambda d: np.fft.fftfreq(5, d))(d)
    assert found.dtype == np.fft.fftfreq(5, d).dtype
    np.testing.assert_array_equal(found, np.fft.fftfreq(5, d))


@as_python
def test_integers_are_transformed_as_floats() -> None:
    k = np.array([1, 2, 3, 5])
    for f in (lambda k: np.fft.fft(k), lambda k: np.fft.rfft(k), lambda k: np.fft.irfft(k)):
        found = aj.jit(f)(k)
        assert found.dtype == f(k).dtype
        np.testing.assert_array_equal(found, f(k))
    g = aj.grad(lambda x, k: np.sum((np.fft.fft(k) * x).real))(np.ones(4), k)
    np.testing.assert_allclose(g, np.fft.fft(k).real)


@as_python
def test_of_lists_and_run_time_lengths() -> None:
    def padded(x: float, n: int) -> float:
        return np.sum(abs(np.fft.fft([x, 2.0 * x], n)) ** 2)

    assert aj.grad(padded)(3.0, 6) == pytest.approx(6 * 2 * 5 * 3.0)  # Parseval
    with pytest.raises(ValueError, match="Invalid number of FFT data points"):
        aj.grad(padded)(3.0, 0)


TEXT = """\
function f(x: array(float64, 1d, C)):
  n: int64 = dim(x, 0:int64)
  h: int64 = floordiv(n, 2:int64)
  m: int64 = add(h, 1:int64)
  y: array(complex128, 1d, C) = alloc (m)
  whole y = rfft_ortho(x, n, 0:int64)
  z: array(float64, 1d, C) = alloc (n)
  whole z = irfft_forward(y, n, 0:int64)
  return y, z
"""


def test_the_text_is_read_back_and_means_the_same() -> None:
    f = verify(parse(TEXT))
    assert to_text(f) == TEXT
    y, z = interpret(f, (R6,))
    np.testing.assert_array_equal(y, np.fft.rfft(R6, norm="ortho"))
    np.testing.assert_array_equal(z, np.fft.irfft(y, 6, norm="forward"))
    assert "irfft" not in to_text(clean(parse(TEXT.replace("return y, z", "return y")), keep_raising=True))


@as_python
def test_a_length_that_is_checked_in_one_branch_says_nothing_of_another() -> None:
    def f(x: np.ndarray, n: int) -> float:
        if n > 0:
            return np.sum(abs(np.fft.fft(x, n)) ** 2)
        return np.sum(x[:n] ** 2)

    for n in (3, -2):
        assert aj.value_and_grad(f)(R6, n)[0] == pytest.approx(f(R6, n), rel=1e-14)
    np.testing.assert_allclose(aj.grad(f)(R6, -2), 2 * R6 * (np.arange(6) < 4))


@as_python
def test_the_argument_is_kept_and_what_is_overwritten_later_too() -> None:
    def f(x: np.ndarray) -> float:
        y = np.fft.fft(x)
        x[:] = x * 2.0
        z = np.fft.fft(x)
        y[0] = y[0] * z[1]
        return np.sum(abs(y) ** 2)

    x = signal(5, seed=4)
    aj.check_grad(f, x)


@as_python
@pytest.mark.parametrize(
    ("f", "x", "message"),
    [
        (lambda x: np.fft.rfft(x).real[0], C5, "'np.fft.rfft' of an array of complex128"),
        (lambda x: np.fft.fft(x, norm="unitary").real[0], R6, "take one of: backward, ortho, forward"),
        (lambda x: np.fft.fft(x, 2.5).real[0], R6, "2.5 points of a Fourier transform"),
        (lambda x: np.fft.fft(x[0]).real, R6, "'np.fft.fft' of a number"),
        (lambda x: np.fft.fftn(x, axes=()).real[0], R6, "'np.fft.fftn' along no axis"),
        (lambda x: np.fft.fft2(x, s=(3,)).real[0, 0], R45, "give an extent for each axis"),
        (lambda x: np.fft.fft(x, out=np.zeros(6, complex)).real[0], R6, "the argument 'out' of 'np.fft.fft'"),
    ],
)
def test_refusals(f: Callable[..., Any], x: np.ndarray, message: str) -> None:
    with pytest.raises(aj.AdjitError, match=message):
        aj.grad(f)(x)
