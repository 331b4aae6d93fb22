"""`aj.vjp` inside of a program, its pullback called there any number of times."""

from __future__ import annotations

import numpy as np
import pytest

import adjit as aj

pytestmark = pytest.mark.usefixtures("uncompiled")

X = np.array([1.2, 0.8])


def pair(y):
    z = np.empty(2)
    z[0] = y[0] * y[1]
    z[1] = y[1] ** 3
    return z


def in_loop(x):
    """The pullback is of the values at the call of vjp, whatever is written later."""
    value, pullback = aj.vjp(pair, x)
    x[0] = 9.0
    s = 0.0
    for i in range(3):
        (g,) = pullback(value * i)
        s += np.sum(g * g)
    return s


def in_loop_by_hand(x):
    v = np.array([x[0] * x[1], x[1] ** 3])
    s = 0.0
    for i in range(3):
        s += (x[1] * v[0] * i) ** 2 + (x[0] * v[0] * i + 3 * x[1] ** 2 * v[1] * i) ** 2
    return s


def test_a_pullback_in_a_loop_after_its_argument_was_overwritten() -> None:
    x = X.copy()
    assert aj.jit(in_loop)(x) == pytest.approx(in_loop_by_hand(X), rel=1e-14)
    assert list(x) == [9.0, 0.8]
    np.testing.assert_allclose(aj.grad(in_loop)(X.copy()), aj.grad(in_loop_by_hand)(X), rtol=1e-13)
    np.testing.assert_allclose(aj.hessian(in_loop)(X.copy()), aj.hessian(in_loop_by_hand)(X), rtol=1e-12)


def test_a_name_around_it_that_is_bound_again() -> None:
    def program(x):
        k = 2.0
        _, pullback = aj.vjp(lambda z: z * z * k, x)
        k = 5.0
        return pullback(1.0)[0] + k

    assert aj.jit(program)(3.0) == 17.0


def test_an_array_around_it_that_is_overwritten() -> None:
    def program(x):
        w = np.array([2.0, 3.0])
        _, pullback = aj.vjp(lambda z: np.sum(z * z * w), x)
        w[:] = 7.0
        return np.sum(pullback(1.0)[0])

    assert aj.jit(program)(X) == pytest.approx(2 * (2 * 1.2 + 3 * 0.8))
    aj.check_grad(program, X)


def test_tuples_none_and_what_has_no_derivative() -> None:
    def program(x):
        _, pullback = aj.vjp(lambda z, k, w: (z * z, (w[0] * z, w[1], k)), x, 3, (x * x, x))
        a, b, c = pullback((1.0, (2.0, None, None)))
        return a + c[0], b, c[1]

    value, none, zero = aj.jit(program)(3.0)
    assert (value, none, zero) == (4 * 3 + 2 * 9, None, 0.0)
    assert aj.grad(lambda x: program(x)[0])(3.0) == 4 + 4 * 3


def test_arguments_that_are_constant() -> None:
    def program(x):
        _, pullback = aj.vjp(lambda y, z: y * z, x, aj.Const(x))
        return pullback(1.0)

    assert aj.jit(program)(2.0) == (2.0, None)


def test_levels_are_not_confused() -> None:
    """The cotangent, and what is closed over, belong to the outer level."""
    mixed = lambda x, c: aj.vjp(lambda y: y * y * c * x, x)[1](c)[0]
    assert aj.grad(mixed, wrt=1)(2.0, 3.0) == 2 * 2 * 2 * 2 * 3  # 2 x x c c by c
    assert aj.grad(mixed)(2.0, 3.0) == 4 * 2 * 3 * 3

    def held(x):
        _, pullback = aj.vjp(lambda y: y * y * x, x)
        return aj.grad(lambda c: pullback(c * c)[0])(3.0)

    assert aj.jit(held)(2.0) == 48.0  # 2 x x c c by c
    assert aj.grad(held)(2.0) == 48.0


def test_a_function_that_writes_its_argument() -> None:
    def doubled(y):
        for i in range(1, len(y)):
            y[i] *= y[i - 1]
        return np.sum(y * y)

    def program(x):
        value, pullback = aj.vjp(doubled, x)
        return np.sum(pullback(value)[0]) + x[1]

    x = X.copy()
    want = (1.2**2 + 0.96**2) * (2 * 1.2 + 2 * 0.96 * (0.8 + 1.2)) + 0.96
    assert aj.jit(program)(x) == pytest.approx(want, rel=1e-14)
    np.testing.assert_allclose(x, [1.2, 0.96])
    aj.check_grad(program, X.copy())


def test_in_a_loop_each_turn_its_own() -> None:
    def program(x):
        s = 0.0
        for i in range(len(x)):
            v, pullback = aj.vjp(lambda y: y**3, x[i] + s)
            s += pullback(v)[0]
        return s

    def plain(x):
        s = 0.0
        for i in range(len(x)):
            s += 3 * (x[i] + s) ** 5
        return s

    assert aj.jit(program)(X) == pytest.approx(plain(X), rel=1e-13)
    np.testing.assert_allclose(aj.grad(program)(X), aj.grad(plain)(X), rtol=1e-12)


def _chosen(x):
    if x > 1.0:
        _, pullback = aj.vjp(lambda y: y * y, x)
    else:
        _, pullback = aj.vjp(lambda y: y * y * y, x)
    return pullback(1.0)[0]


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (_chosen, "a pullback on one path and a pullback on another"),
        (lambda x: aj.vjp(lambda y: (y, y * y), x)[1](1.0), "the cotangent of a tuple of 2 is a number"),
        (lambda x: aj.vjp(lambda y: y * y, x)[1](1.0, 2.0), "takes one cotangent"),
        (lambda x: aj.vjp(lambda y: None, x)[1](1.0), "returns nothing"),
        (lambda x: aj.vjp(lambda n: 2.0 * n, 3)[1](1.0), "by nothing"),
        (lambda x: aj.vjp(lambda y: y, x)[1](1j), "is a complex number"),
    ],
)
def test_what_does_not_fit_is_said(program, message: str) -> None:
    with pytest.raises(aj.AdjitError, match=message):
        aj.jit(program)(2.0)
