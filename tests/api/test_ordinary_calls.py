"""Small things of ordinary programs: limits of dtypes, parts of numbers, indices of extrema, strings as options."""

import math
from typing import Any

import numba
import numpy as np
import pytest
from numba import float64, int64

import adjit as aj
from adjit import rules
from adjit.analysis.numba_types import resolve
from adjit.frontend import known

X = np.array([3.0, 1.0, 2.0, 5.0, 1.0])


def limits(x):
    return x[0] * np.finfo(x.dtype).eps + x[1] * np.iinfo(np.int32).max + x[2] * np.finfo(np.float64).tiny


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_limits_of_dtypes(dtype: Any) -> None:
    g = aj.grad(limits)(X.astype(dtype))
    tiny = dtype(np.finfo(np.float64).tiny)
    assert g.tolist() == [np.finfo(dtype).eps, dtype(2**31 - 1), tiny, 0.0, 0.0]


def test_limits_of_the_wrong_kind_are_refused() -> None:
    with pytest.raises(aj.UnsupportedError, match=r"'np\.finfo' of int64"):
        aj.grad(lambda x: x * np.finfo(np.int64).max)(1.0)


def parts(x):
    y = x * x
    return x.real * y.real + y.imag + np.real(x)


@pytest.mark.parametrize("wrap", [lambda f: f, numba.njit], ids=["plain", "njit"])
@pytest.mark.parametrize("x", [3.0, np.float32(3.0)])
def test_parts_of_real_numbers(wrap: Any, x: Any) -> None:
    f = wrap(parts)
    assert aj.value_and_grad(f)(x) == (30.0, 28.0)
    assert aj.jvp(f, (x,), (1.0,)) == (30.0, 28.0)
    assert type(aj.grad(f)(x)) in (type(x), np.float64)


def test_parts_of_a_complex_constant() -> None:
    def f(x, z):
        return x * (z * z).real + z.imag

    assert aj.jit(f)(2.0, 1 + 2j) == f(2.0, 1 + 2j)


def mantissa(x):
    m, e = math.frexp(x)
    return m * x + e


POINTS = [
    2.0,
    0.3,
    -7.5,
    1.0,
    math.nextafter(1.0, 0.0),
    math.nextafter(4.0, 0.0),
    1.7e308,
    5e-324,
    -2e-310,
    1e-300,
]


@pytest.mark.parametrize("x", [*POINTS, 0.0, -0.0, math.inf, -math.inf])
def test_frexp_is_bit_for_bit(x: float) -> None:
    assert aj.jit(lambda v: math.frexp(v))(x) == math.frexp(x)


@pytest.mark.parametrize("wrap", [lambda f: f, numba.njit], ids=["plain", "njit"])
def test_frexp_mantissa_scales(wrap: Any) -> None:
    value, slope = aj.value_and_grad(wrap(mantissa))(3.3)
    assert (value, slope) == (mantissa(3.3), 2 * 3.3 / 4)
    assert math.isnan(aj.jit(mantissa)(math.nan))


def test_ldexp_keeps_float32() -> None:
    value, slope = aj.value_and_grad(lambda x: math.ldexp(x, int(math.floor(x))))(np.float32(3.25))
    assert (value, slope) == (26.0, 8.0)
    assert type(value) is np.float32


@pytest.mark.parametrize(
    "name", [n for n in dir(math) if callable(getattr(math, n)) and not n.startswith("_")]
)
def test_all_of_math_that_numba_compiles_is_known(name: str) -> None:
    function = getattr(math, name)
    several = [(float64,), (float64, float64), (int64,), (int64, int64), (float64, int64)]
    for types in several:
        if resolve(function, types) is not None:
            assert known.find(function) is not None or rules.find(function, len(types)) is not None


def extremes(x):
    return x[np.argmin(x)] * x[x.argmax()]


@pytest.mark.parametrize("wrap", [lambda f: f, numba.njit], ids=["plain", "njit"])
def test_places_of_extremes(wrap: Any) -> None:
    value, g = aj.value_and_grad(wrap(extremes))(X)
    assert value == extremes(X)
    assert g.tolist() == [0.0, 5.0, 0.0, 1.0, 0.0]


@pytest.mark.parametrize("x", [[2.0, np.nan, 1.0], [np.nan, 1.0], [1.0, 1.0], [-0.0, 0.0], [0.0, -0.0]])
def test_places_of_extremes_are_numpys(x: list[float]) -> None:
    a = np.array(x)
    assert aj.jit(lambda v: (np.argmin(v), np.argmax(v)))(a) == (np.argmin(a), np.argmax(a))


def test_extremes_of_nothing_and_of_matrices() -> None:
    with pytest.raises(ValueError, match="empty sequence"):
        aj.grad(extremes)(np.zeros(0))
    assert aj.jit(lambda x: np.argmin(x))(np.array([[2.0, 1.0], [0.5, 3.0]])) == 2


def by_name(x, how="square", scale=None):
    if scale is None:
        scale = 1.0
    if how == "square":
        return scale * x * x
    if how in ("cube", "third"):
        return scale * x * x * x
    raise ValueError("no such power")


def through(x, how="cube"):
    return by_name(x, how)


def test_strings_are_compile_time_constants() -> None:
    g = aj.grad(by_name)
    assert (g(3.0), g(3.0, "cube"), g(3.0, how="third"), g(3.0, "cube", 2.0)) == (6.0, 27.0, 27.0, 54.0)
    assert aj.grad(through)(3.0) == 27.0
    assert aj.vjp(by_name, 3.0, "cube")[1](1.0) == (27.0, None)
    assert aj.jvp(by_name, (3.0, "cube"), (1.0, None)) == (27.0, 27.0)
    assert aj.autodiff(aj.Reverse, by_name, aj.Active(3.0), "cube").gradients == (27.0, None)
    assert aj.grad(numba.njit(by_name))(3.0) == 6.0
    with pytest.raises(ValueError, match="no such power"):
        g(3.0, "fourth")
    with pytest.raises(aj.ArgumentError, match="wrt='how' is a string"):
        aj.grad(by_name, wrt="how")(3.0)
    with pytest.raises(aj.ArgumentError, match="its tangent must be None"):
        aj.jvp(by_name, (3.0, "cube"), (1.0, 1.0))


def rebound(x):
    r = None
    if x > 0.0:
        r = x * x
    else:
        r = -x
    return r


def rebound_early(x):
    r = None
    if x > 0.0:
        r = x * x
        return r * r
    return x


def rebound_each_turn(x):
    r = None
    for i in range(3):
        r = x * i
        x += r
    return x


@pytest.mark.parametrize(("f", "want"), [(rebound, 4.0), (rebound_early, 32.0), (rebound_each_turn, 6.0)])
def test_none_before_a_number(f: Any, want: float) -> None:
    assert aj.grad(f)(2.0) == want


def test_np_array_of_a_list_is_a_copy(monkeypatch):
    monkeypatch.setenv("ADJIT_UNCOMPILED", "1")

    def f(x):
        items = [x, 2.0 * x]
        b = np.array(items)
        b[0] = 5.0
        return items[0] * b[0]

    assert aj.value_and_grad(f)(1.5) == (7.5, 5.0)


def test_an_array_of_integer_literals_stays_one(monkeypatch):
    monkeypatch.setenv("ADJIT_UNCOMPILED", "1")

    def f(x):
        a = np.array([1, 2])
        a[0] = x
        return a[0] * x

    assert aj.value_and_grad(f)(1.5) == (1.5, 1.0)
