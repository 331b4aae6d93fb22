"""Gates: `out=` of ufuncs stores as NumPy does, also where it overlaps with the operands; else it is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjit as aj

pytestmark = pytest.mark.usefixtures("uncompiled")

RNG = np.random.default_rng(4)
X, Y, A = RNG.uniform(0.5, 1.5, 5), RNG.uniform(0.5, 1.5, 5), RNG.uniform(0.5, 1.5, (3, 5))


def by_keyword(x, y):
    c = np.empty(5)
    np.multiply(x, y, out=c)
    np.add(c, 1.0, out=(c,))
    return np.sum(c * x)


def third(x, y):
    np.subtract(x, y, x)
    np.exp(x, y)
    return np.sum(x * y)


def shifted(x, y):
    """NumPy reads everything first."""
    np.add(x[1:], x[:-1], out=x[1:])
    np.multiply(x[:-1], y[1:], x[1:])
    np.add(x[::-1], x, out=x)
    return np.sum(x * x)


def stretched(x, a):
    np.multiply(x, 2.0, out=a[1:])
    np.sqrt(a, out=a)
    np.divide(x[0], 3.0, out=a[0])
    return np.sum(a * x)


def result(x, y):
    z = np.maximum(x, y, out=x)
    z[0] = 5.0 * y[1]
    return np.sum(np.negative(z, out=None)) + x[0] ** 2


def none_given(x, y):
    return np.sum(np.add(x, y, out=None)) * np.sum(np.add(x, y, None))


def complex_and_masks(x, y):
    z = np.empty(5, np.complex128)
    m = np.empty(5, np.bool_)
    r = np.zeros(5)
    np.add(x, y, out=z)
    np.multiply(z, 1j, out=z)
    np.greater(x, y, out=m)
    np.absolute(z, out=r)
    k = np.arange(5)
    np.add(k, k, out=k)
    return np.sum(r * x) + np.sum(k * y)


@pytest.mark.parametrize(
    ("f", "args"),
    [
        *((f, (X, Y)) for f in (by_keyword, third, shifted, result, none_given, complex_and_masks)),
        (stretched, (X, A)),
    ],
)
def test_values_final_states_and_derivatives(f: Callable[..., Any], args: tuple[Any, ...]) -> None:
    plain, ours = [a.copy() for a in args], [a.copy() for a in args]
    expected = f(*plain)
    assert aj.jit(f)(*ours) == pytest.approx(expected, rel=1e-14)
    for a, b in zip(ours, plain, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-14)
    aj.check_grad(f, *args)


def test_values_are_computed_in_the_type_of_the_operands() -> None:
    def f(x, out):
        np.multiply(x, x, out=out)
        np.add(out, x, out=out)

    x = X.astype(np.float32)
    for dtype in (np.float32, np.float64):
        plain, ours = np.zeros(5, dtype), np.zeros(5, dtype)
        f(x, plain)
        aj.jit(f)(x, ours)
        np.testing.assert_array_equal(plain, ours)


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (
            lambda x: np.add(x, x, out=np.zeros(5, np.int64))[0],
            "stores numbers of float64 in an array of int64",
        ),
        (lambda x: np.multiply(x, 1j, out=x)[0], "cannot store complex128"),
        (lambda x: np.add(x, x, where=x > 1.0)[0], "keywords of 'numpy.add'"),
        (lambda x: np.add(x, x, out=x, where=x > 1.0)[0], "'where' of 'np.add'.*\n(.*\n)*.*np.where"),
        (lambda x: np.add(x[None, :], x, out=x)[0], "2-D array is stored in a 1-D array"),
        (lambda x: np.add(x, x, x, out=x)[0], "given 2 arrays"),
        (lambda x: np.add(x, x, out=[1.0, 2.0])[0], "a list as 'out'"),
        (lambda x: np.add(x, x, 2.0)[0], "a number as 'out'"),
    ],
)
def test_refusals(f: Callable[..., Any], message: str) -> None:
    with pytest.raises(aj.AdjitError, match=message):
        aj.grad(f)(X)


def test_shapes_that_do_not_fit_raise() -> None:
    def f(x, y):
        np.add(x, 1.0, out=y)
        return y[0]

    with pytest.raises(ValueError, match="input of different size"):
        aj.grad(f)(X, np.zeros(4))
