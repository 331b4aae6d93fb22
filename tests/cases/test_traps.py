"""Traps found on paper, and calling conventions of functions (cases E 43, 45, 46; design 2 and 8)."""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba import njit

import adjit as aj

from .programs.language import Fluid, named_tuple
from .record import differences, realise, uncompiled, vec, wave

FLAVOURS = pytest.mark.parametrize("wrap", [lambda f: f, njit], ids=["plain", "njit"])


def cubes_in_place(x):
    s = 0.0
    for i in range(len(x)):
        x[i] = x[i] * x[i] * x[i]
        s += x[i] * x[0]
    return s


@FLAVOURS
def test_pullback_outlives_its_arguments(wrap: Any) -> None:
    """E43: the argument is zeroed, changed and used by another vjp before the first pullback is called."""
    f = wrap(cubes_in_place)
    x = np.array([0.7, 1.3])
    right = aj.grad(f)(x.copy())
    (estimate,) = differences(cubes_in_place, (x,), (0,))
    np.testing.assert_allclose(right, estimate, rtol=1e-8)
    value, first = aj.vjp(f, x)
    np.testing.assert_allclose(x, [0.7**3, 1.3**3])
    at_second = x.copy()
    _, second = aj.vjp(f, x)
    x[:] = 0
    np.testing.assert_allclose(second(1.0)[0], aj.grad(f)(at_second), rtol=1e-13)
    np.testing.assert_allclose(first(1.0)[0], right, rtol=1e-13)
    np.testing.assert_allclose(first(-2.0)[0], -2 * right, rtol=1e-13)
    again = first(1.0)[0]
    again[:] = 99  # what a pullback returned is the caller's
    np.testing.assert_allclose(first(1.0)[0], right, rtol=1e-13)
    assert np.all(x == 0)
    assert isinstance(float(value), float)


def rare_store(x, n):
    s = 0.0
    for i in range(n):
        if x[0] > 1e9:
            x[1] = math.sin(x[1]) * s
        s += x[0] * 1e-3
    return s + x[1]


def test_rare_store_reserves_next_to_nothing() -> None:
    """E45: 10**7 turns, a store that never happens; records for every turn would take 80 MB and more."""
    x = np.array([0.5, 0.2])
    f = aj.options(njit(rare_store), memory=1_000_000)
    np.testing.assert_allclose(aj.grad(f)(x, 10_000_000), [1e4, 1.0], rtol=1e-8)


def defaults(x, c=2.0, n=3, offset=None):
    s = 0.0 if offset is None else offset
    for _ in range(n):
        s += x[0] * x[0] * c
    return s


@FLAVOURS
def test_defaults_keywords_and_none(wrap: Any) -> None:
    f = aj.grad(wrap(defaults))
    x = vec(1.5)
    np.testing.assert_allclose(f(x), [2 * 1.5 * 2 * 3])
    np.testing.assert_allclose(f(x, 1.0), [2 * 1.5 * 3])
    np.testing.assert_allclose(f(x, n=2), [2 * 1.5 * 2 * 2])
    np.testing.assert_allclose(f(x, c=0.5, n=1, offset=None), [1.5])
    np.testing.assert_allclose(f(x, offset=4.0), [2 * 1.5 * 2 * 3])
    assert aj.grad(wrap(defaults), wrt="c")(x, c=0.5) == pytest.approx(3 * 1.5**2)
    assert aj.grad(wrap(defaults), wrt="offset")(x, offset=4.0) == pytest.approx(1.0)
    value, (dx, dc) = aj.value_and_grad(wrap(defaults), wrt=("x", "c"))(x, 2.0)
    assert value == defaults(x)
    np.testing.assert_allclose(dx, [18.0])
    assert dc == pytest.approx(6.75)


def test_vjp_with_none_and_const() -> None:
    value, pullback = aj.vjp(defaults, vec(1.5), aj.Const(2.0), 3, None)
    cotangents = pullback(1.0)
    np.testing.assert_allclose(cotangents[0], [18.0])
    assert cotangents[1:] == (None, None, None)
    assert value == defaults(vec(1.5))


def test_several_lambdas_on_one_line() -> None:
    f, g, h = (lambda x: x * x), (lambda x: x * x * x), (lambda x, c=2.0: c * math.sin(x))
    assert aj.grad(f)(3.0) == pytest.approx(6.0)
    assert aj.grad(g)(3.0) == pytest.approx(27.0)
    assert aj.grad(h)(0.0) == pytest.approx(2.0)
    pair = [lambda x: x * 2, lambda x: x * 5]
    assert [aj.grad(k)(1.0) for k in pair] == [2.0, 5.0]


def make(c):
    def f(x):
        s = 0.0
        for i in range(len(x)):
            s += c * x[i] * x[i]
        return s

    return f


def test_closures_with_other_constants_are_other_functions() -> None:
    """A cache that keys on text returns the first closure's derivative for the second."""
    x = vec(1, 2)
    for c in (1.0, 3.0, 1.0, -2.0):
        np.testing.assert_allclose(aj.grad(make(c))(x), 2 * c * x)
        np.testing.assert_allclose(aj.grad(njit(make(c)))(x), 2 * c * x)


def test_closure_over_an_array_sees_its_present_values() -> None:
    w = vec(1, 2)

    def f(x):
        s = 0.0
        for i in range(len(x)):
            s += w[i] * x[i] * x[i]
        return s

    x = vec(0.5, 1.5)
    np.testing.assert_allclose(aj.grad(f)(x), 2 * w * x)
    w[0] = 10
    np.testing.assert_allclose(aj.grad(f)(x), 2 * w * x)
    w = vec(3, 4)
    np.testing.assert_allclose(aj.grad(f)(x), 2 * w * x)


FACTOR = 2.0


def uses_a_global(x):
    return FACTOR * x * x


def test_globals_of_plain_functions_are_read_at_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    assert aj.grad(uses_a_global)(3.0) == pytest.approx(12.0)
    monkeypatch.setattr(f"{__name__}.FACTOR", 5.0)
    assert aj.grad(uses_a_global)(3.0) == pytest.approx(30.0)


def three(a, x, n):
    s = 0.0
    for _ in range(n):
        s += a * x * x
    return s


def test_partial() -> None:
    f = functools.partial(three, 2.0)
    assert aj.grad(f)(3.0, 2) == pytest.approx(24.0)
    assert aj.grad(functools.partial(three, -1.0))(3.0, 1) == pytest.approx(-6.0)


def test_plain_callees_are_followed() -> None:
    def square(z):
        return z * z

    def scale(v, c):
        for i in range(len(v)):
            v[i] *= c

    def f(x):
        s = 0.0
        scale(x, x[0])
        for i in range(len(x)):
            s += square(x[i])
        return s

    x = wave(3)
    right = differences(f, (x,), (0,))[0]
    np.testing.assert_allclose(aj.grad(f)(x), right, rtol=1e-8)


def apply_twice(f, x):
    return f(f(x))


def cube(z):
    return z * z * z


def test_function_as_an_argument_of_the_differentiated_function() -> None:
    assert aj.grad(apply_twice, wrt=1)(cube, 1.2) == pytest.approx(9 * 1.2**8)
    assert aj.grad(apply_twice, wrt="x")(math.sin, 0.4) == pytest.approx(
        math.cos(math.sin(0.4)) * math.cos(0.4)
    )


class Inner(NamedTuple):
    """A structure inside a structure."""

    w: np.ndarray
    n: int


class Outer(NamedTuple):
    """The outer structure."""

    inner: Inner
    c: float
    name: None = None


def structured(p, x):
    s = 0.0
    for i in range(p.inner.n):
        s += p.inner.w[i] * x * p.c
    return s


@FLAVOURS
def test_named_tuples_and_paths(wrap: Any) -> None:
    fluid = Fluid(0.3, wave(3), 2)
    x = wave(3, seed=1)
    f = wrap(named_tuple)
    gradient = aj.grad(f)(fluid, x.copy())
    assert isinstance(gradient, Fluid) and gradient.steps is None and isinstance(gradient.D, float)

    def along(d: float, v: np.ndarray) -> float:
        return named_tuple(Fluid(d, v, 2), x.copy())

    right_d = differences(lambda d: along(d, fluid.v), (0.3,), (0,))[0]
    right_v = differences(lambda v: along(0.3, v), (fluid.v,), (0,))[0]
    np.testing.assert_allclose(gradient.D, right_d, rtol=1e-8)
    np.testing.assert_allclose(gradient.v, right_v, rtol=1e-8)
    np.testing.assert_allclose(aj.grad(f, wrt="p.D")(fluid, x.copy()), right_d, rtol=1e-8)
    both = aj.grad(f, wrt=("p.v", "x"))(fluid, x.copy())
    np.testing.assert_allclose(both[0], right_v, rtol=1e-8)


def test_nested_structures() -> None:
    p = Outer(Inner(vec(1, 2, 3), 2), 0.5)
    gradient = aj.grad(structured)(p, 2.0)
    assert isinstance(gradient, Outer) and isinstance(gradient.inner, Inner)
    np.testing.assert_allclose(gradient.inner.w, [1, 1, 0])
    assert gradient.inner.n is None and gradient.name is None and gradient.c == pytest.approx(6.0)
    assert aj.grad(structured, wrt="p.c")(p, 2.0) == pytest.approx(6.0)
    np.testing.assert_allclose(aj.grad(structured, wrt="p.inner.w")(p, 2.0), [1, 1, 0])


def checked(x):
    for i in range(len(x)):
        x[i] = x[i] * 2
        if x[i] > 5:
            raise ValueError("too large")
        assert x[i] > 0, "negative"
    return x[0] * x[1]


@FLAVOURS
@pytest.mark.parametrize(("values", "error"), [((1, 3, 1), ValueError), ((1, -1, 2), AssertionError)])
def test_errors_of_the_program_propagate(
    wrap: Any, values: tuple[float, ...], error: type[Exception]
) -> None:
    """`raise` and `assert` come through, and arguments are left as the plain call leaves them."""
    plain = vec(*values)
    with pytest.raises(error):
        checked(plain)
    for run in (lambda x: aj.grad(wrap(checked))(x), lambda x: aj.vjp(wrap(checked), x)):
        x = vec(*values)
        with pytest.raises(error) as caught:
            run(x)
        assert "too large" in str(caught.value) or "negative" in str(caught.value)
        np.testing.assert_array_equal(x, plain)
    good = vec(1, 1.5, 2)
    np.testing.assert_allclose(aj.grad(wrap(checked))(good), [6, 4, 0])


def divides(x, y):
    return x / y + x


@pytest.mark.skipif(uncompiled(), reason="plain Python always raises")
def test_zero_division_follows_the_functions_own_error_model() -> None:
    """A dispatcher raises as Numba does; with error_model="numpy" it does not, and the gradient is inf."""
    with pytest.raises(ZeroDivisionError):
        aj.grad(njit(divides))(1.0, 0.0)
    assert aj.grad(njit(error_model="numpy")(divides))(1.0, 0.0) == np.inf


def test_generated_code_is_clean_under_boundscheck() -> None:
    """E46: no adjoint reads or writes out of bounds."""

    def f(x, p):
        s = 0.0
        for t in range(3):
            for i in range(len(x)):
                if x[p[i]] < 0.4:
                    continue
                x[-1 - i] = math.sin(x[i - 1]) * x[p[i]]
                s += x[i]
                if s > 3:
                    return s
        return s

    x, p = wave(4), np.array([3, 0, 3, 1])
    right = differences(lambda x: f(x, p), (x,), (0,))[0]
    np.testing.assert_allclose(aj.grad(aj.options(f, boundscheck=True))(x.copy(), p), right, rtol=1e-8)


def test_scratch_marked_const_still_carries_derivatives() -> None:
    def f(x, work):
        work[0] = x * x
        work[1] = work[0] * x
        return work[1]

    work = np.zeros(2)
    result = aj.autodiff(aj.Reverse, f, aj.Active(1.5), aj.Const(work))
    assert result.gradients[0] == pytest.approx(3 * 1.5**2)
    assert result.gradients[1] is None and work[1] == pytest.approx(1.5**3)
    assert aj.grad(f)(1.5, np.zeros(2)) == pytest.approx(3 * 1.5**2)


def test_pure_returns_states_and_leaves_arguments() -> None:
    def f(x, y):
        for i in range(len(x)):
            y[i] = x[i] * y[i]

    x, y = wave(3), wave(3, seed=1)
    before = y.copy()
    states, pullback = aj.vjp(aj.pure(f), x, y)
    np.testing.assert_array_equal(y, before)
    np.testing.assert_array_equal(states[0], x * y)
    cotangents = pullback((np.ones(3),))
    np.testing.assert_allclose(cotangents[0], y)
    np.testing.assert_allclose(cotangents[1], x)


def test_has_aux() -> None:
    def f(x):
        s = 0.0
        for i in range(len(x)):
            s += x[i] * x[i]
        return s, s * 2

    x = vec(1, 2)
    gradient, aux = aj.grad(f, has_aux=True)(x)
    np.testing.assert_allclose(gradient, 2 * x)
    assert aux == 10.0
    (value, aux), gradient = aj.value_and_grad(f, has_aux=True)(x)
    assert (value, aux) == (5.0, 10.0)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_dtypes_do_not_creep(dtype: str) -> None:
    def f(x):
        s = x[0] * 0
        for i in range(len(x)):
            s += 0.5 * x[i] * x[i]
        return s

    x = realise((wave(3),), dtype)[0]
    value, gradient = aj.value_and_grad(f)(x)
    assert gradient.dtype == x.dtype
    assert np.allclose(gradient, x, rtol=1e-6)
    assert float(value) == float(np.asarray(value, dtype))


def test_check_grad_accepts_right_gradients_and_leaves_arguments() -> None:
    x = wave(3)
    before = x.copy()
    aj.check_grad(cubes_in_place, x)
    np.testing.assert_array_equal(x, before)
