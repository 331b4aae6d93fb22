"""Gates: the parts of whole complex arrays are NumPy's views, where a copy shows the same; else they are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjit as aj

pytestmark = pytest.mark.usefixtures("uncompiled")

RNG = np.random.default_rng(1)
X = RNG.uniform(-1, 1, 5)
Z = X[::-1] + 1j * RNG.uniform(-1, 1, 5)


def power(z, x):
    return np.sum(z.real**2 * x + z.imag**2)


def named(z, x):
    re, im = z.real, z.imag
    y = re * im
    z[0] = 5.0  # nobody looks at the parts any more
    return np.sum(y * x) + np.sum(z.real)


def functions(z, x):
    w = np.conj(z) * x
    return np.sum(np.real(w) * np.imag(z)) + np.sum(np.abs(w)) + np.sum(np.angle(w * w))


def of_expressions(z, x):
    return np.sum((z * z).real * x) + (z[1:] * x[:-1]).imag.sum() + np.real(z[0]) * z.imag.mean()


def own(z, x):
    r = np.flip(z * 2.0).real
    r += x
    r[0] *= r[1]
    return np.sum(r * r)


def in_turns(z, x):
    total = 0.0
    for _ in range(3):
        r = z.real
        total += np.sum(r**2)
        z = z * (0.5 + 0.5j)
    return total


def written(z, x):
    z.real[1:] = x[1:] ** 2
    z.imag[0] = z.real[1] * x[0]
    z.imag[1:3] += x[:2] * z.real[:2]
    z.real[-1] *= 3.0
    z.real[np.array([0, 2])] = x[3:]
    return np.sum(abs(z) ** 2 * x)


def of_real_numbers(z, x):
    y = x.real
    y[0] = 3.0 * y[1]
    return np.sum(x * x) + np.sum(x.imag)


def single(z, x):
    w = z.astype(np.complex64)
    w.imag[:] = x
    return (
        np.sum(w.real.astype(np.float64))
        + np.sum((w * w).imag.astype(np.float64))
        + w.imag[1] * w[1:].real[0]
    )


@pytest.mark.parametrize(
    "f", [power, named, functions, of_expressions, own, in_turns, written, of_real_numbers, single]
)
def test_values_and_derivatives(f: Callable[..., Any]) -> None:
    expected, z, x = f(Z.copy(), X.copy()), Z.copy(), X.copy()
    assert aj.jit(f)(z, x) == pytest.approx(expected, rel=1e-6 if f is single else 1e-13)
    plain = Z.copy(), X.copy()
    f(*plain)
    np.testing.assert_array_equal(z, plain[0])
    np.testing.assert_array_equal(x, plain[1])
    if f is not single:
        aj.check_grad(f, Z, X)


def test_results_have_the_dtype_of_the_parts() -> None:
    for z in (Z, Z.astype(np.complex64)):
        re, im = aj.jit(lambda z: (z.real, z.imag))(z)
        assert re.dtype == im.dtype == z.real.dtype
        np.testing.assert_array_equal(re, z.real)
        np.testing.assert_array_equal(im, z.imag)
    k = np.array([1, 2])
    assert aj.jit(lambda k: np.sum(k.real * (k.imag + 1)))(k) == 3


def later(z):
    r = z.real
    z[0] = 1.0
    return np.sum(r)


def through(z):
    r = z.real
    r[0] = 1.0
    return np.sum(z.imag) + np.sum(z.real)


def by_another_name(z):
    w, r = z[1:], z.imag
    for _ in range(2):
        w[0] = np.sum(r)
    return np.sum(r)


def carried(z):
    r = z.real
    total = 0.0
    for _ in range(2):
        total += np.sum(r)
        z[0] *= 2.0
        r = z.imag
    return total


def scaled(part, z):
    z[:] = z * 2.0
    return np.sum(part)


def passed(z):
    return scaled(z.real, z)


def filled(z):
    z.real.fill(1.0)
    return np.sum(z.imag)


def stored(x):
    x[0] = x[1]
    return np.sum(x)


def by_an_inner_gradient(x):
    y = x * 1.0
    z = np.empty(5, np.complex128)
    z[:] = y
    r = z.imag
    g = aj.grad(lambda a: stored(a) ** 2)(y)
    z[0] = g[1]
    return np.sum(r)


@pytest.mark.parametrize(
    "f", [later, through, by_another_name, carried, passed, filled, by_an_inner_gradient]
)
def test_views_that_would_show_something_else_are_refused(f: Callable[..., Any]) -> None:
    with pytest.raises(aj.AdjitError, match=r"gives a view.*\n[^$]*append \.copy\(\)"):
        aj.grad(f)(Z)


def copied(z):
    r = z.real.copy()
    z[0] = 1.0
    return np.sum(r * r)


def test_a_copy_is_the_remedy() -> None:
    np.testing.assert_allclose(aj.grad(copied)(Z.copy()), 2 * Z.real)


def test_operands_are_read_as_numpy_reads_them() -> None:
    """A view on the left of an operator shows what the right one writes."""

    def doubled(z):
        z[:] = z * 2.0
        return 1.0

    def f(z):
        return np.sum((z.real + doubled(z)) ** 2)

    assert aj.jit(f)(Z.copy()) == pytest.approx(f(Z.copy()), rel=1e-14)
    aj.check_grad(f, Z)
