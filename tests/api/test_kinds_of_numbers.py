"""Complex constants; 0-d arrays are arrays; `float()` and `int()` are what the plain call has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numba import njit

import adjit as aj

FLAVOURS: dict[str, Callable[[Any], Any]] = {"plain": lambda f: f, "njit": njit}
flavours = pytest.mark.parametrize("wrap", FLAVOURS.values(), ids=FLAVOURS)

# complex numbers


def modulus(z):
    return abs(z) ** 2


def constant(x):
    k = abs(3 + 4j)
    return x * k


@flavours
def test_complex_constants_may_stay(wrap: Callable[[Any], Any]) -> None:
    assert aj.grad(wrap(constant))(1.5) == 5.0


def test_jit_does_not_differentiate() -> None:
    assert aj.jit(modulus)(3 + 4j) == 25.0


# 0-d arrays


def squared(y):
    return y[()] * y[()]


def gathered(y, x):
    for i in range(x.shape[0]):
        y[()] = y[()] + x[i] * x[i]
    return y[()] * y[()]


def local(x):
    a = np.zeros(())
    for i in range(x.shape[0]):
        a[()] += x[i] * x[i]
    b = np.empty_like(a)
    b[()] = a[()] ** 2
    return b[()]


def filled(x):
    a = np.full((), 2.0)
    a[...] = x
    return a[()] * x


def squares_itself(y, n):
    for _ in range(n):
        y[()] = y[()] * y[()]


@flavours
def test_zero_dimensions(wrap: Callable[[Any], Any]) -> None:
    x = np.arange(3.0)
    np.testing.assert_array_equal(aj.grad(wrap(squared))(np.array(3.0)), 6.0)
    dy, dx = aj.grad(wrap(gathered), wrt=(0, 1))(np.array(3.0), x)
    np.testing.assert_array_equal(dy, 16.0)
    np.testing.assert_array_equal(dx, 32.0 * x)
    np.testing.assert_array_equal(aj.grad(wrap(local))(x), 20.0 * x)
    assert aj.grad(wrap(filled))(3.0) == 6.0


def test_zero_dimensions_in_place() -> None:
    y, f = np.array(2.0), aj.pure(squares_itself)
    (state,), pullback = aj.vjp(f, y, 3)
    assert state == 256.0
    assert pullback((np.array(1.0),))[0] == 8 * 2.0**7
    assert aj.jvp(f, (y, 3), (np.array(1.0), None))[1][0] == 8 * 2.0**7
    assert y == 2.0


# conversions


def tenth(x):
    return float(x) * 0.1


def tenths(x):
    s = 0.0
    for i in range(x.shape[0]):
        s += float(x[i]) * 0.1
    return s


def counted(x, k):
    return x * int(k)


@flavours
def test_float_of_float32(wrap: Callable[[Any], Any]) -> None:
    """In Numba float(x) stays float32; in Python it is a float. Either way times 0.1 is in double precision."""
    x = np.float32(1 / 3)
    for f, argument in ((wrap(tenth), x), (wrap(tenths), np.full(3, x))):
        value, gradient = aj.value_and_grad(f)(argument)
        assert value == f(argument) == aj.jit(f)(argument)
        np.testing.assert_array_equal(np.asarray(gradient), np.float32(0.1))
        assert np.asarray(gradient).dtype == np.float32


def only_converted(x):
    y = float(x)
    return y * y


def test_float_is_typed_as_numba_types_it() -> None:
    x = np.float32(1 / 3)
    f = njit(only_converted)
    assert aj.value_and_grad(f)(x)[0] == f(x) == np.float32(x * x)
    assert aj.value_and_grad(only_converted)(x)[0] == only_converted(x) == float(x) ** 2


@flavours
@pytest.mark.parametrize("k", [np.int32(3), np.uint8(3), 3, True])
def test_int_of_integers(k: Any, wrap: Callable[[Any], Any]) -> None:
    f = wrap(counted)
    assert aj.value_and_grad(f)(1.5, k)[0] == f(1.5, k)


# powers of integers


def lessened(x, n):
    s = x * 10**-3 + x * n**-2 + x * pow(n, -1)
    for i in range(1, 4):
        s += x * i**-2 + x * 2 ** (3 - i)
    return s


def raised(x, n, k):
    return x * n**k


def test_whole_negative_powers_are_what_python_makes_of_them(uncompiled: None) -> None:
    value, slope = aj.value_and_grad(lessened)(1.5, 10)
    assert value == pytest.approx(lessened(1.5, 10), rel=1e-15) and slope == pytest.approx(value / 1.5)
    x = np.float32(1.5)
    assert aj.grad(lambda x, n: x * n**-2)(x, 10).dtype == np.float32
    assert aj.grad(raised)(1.5, 3, 2) == 9.0


@pytest.mark.parametrize("compiled", [True, False])
def test_an_integer_that_would_be_cut_off_raises(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's float is no integer, and whether it is one comes out when the program runs; NumPy raises too."""
    monkeypatch.setenv("ADJIT_UNCOMPILED", "0" if compiled else "1")
    line = raised.__code__.co_firstlineno + 1
    for n, k in ((10, -1), (np.int64(10), -1)):
        with pytest.raises(
            ValueError, match=rf"make its base a float \(line {line} of test_kinds_of_numbers.py\)"
        ):
            aj.grad(raised)(1.5, n, k)
    assert aj.value_and_grad(njit(raised))(1.5, 10, -1)[0] == 0.0  # as Numba has it
