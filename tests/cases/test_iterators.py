"""Iterators that have a name are used up by running over them; what a loop makes does not leave it unseen."""

import numpy as np
import pytest

import adjit as aj

X, Y = np.array([0.7, 1.3, -0.4]), np.array([0.2, 0.5, 1.1])


def once(x, y):
    pairs = zip(x, y)
    s = 0.0
    for a, b in pairs:
        s += a * b
    return s


def handed_on(x, y):
    def total(items):
        s = 0.0
        for a, b in items:
            s += a * b
        return s

    return total(zip(x, y))


def ranges_start_again(x, y):
    r = range(len(x))
    s = 0.0
    for i in r:
        for j in r:
            s += x[i] * y[j]
    return s


def twice(x, y):
    pairs = zip(x, y)
    s = 0.0
    for a, b in pairs:
        s += a * b
        if b > 0.3:
            break
    for a, _ in pairs:
        s += 100.0 * a
    return s


def in_an_outer_loop(x, y):
    items = enumerate(x)
    s = 0.0
    for _ in range(2):
        for i, a in items:
            s += i * a
    return s


def handed_on_twice(x, y):
    def total(items):
        s = 0.0
        for a, b in items:
            s += a * b
        return s

    items = zip(x, y)
    return total(items) + total(items)


def flat(x, y):
    f = x.flat
    s = 0.0
    for v in f:
        s += v
    for v in f:
        s += 10.0 * v
    return s


def function_made_in_a_loop(x, y):
    for i in range(len(x)):
        h = lambda z, k=x[i]: z * k
    return h(2.0)


def function_of_a_helper(x, y):
    def scaled(k):
        return lambda z: z * k

    for i in range(len(x)):
        h = scaled(x[i])
    return h(2.0)


def zip_made_in_a_loop(x, y):
    for i in range(2):
        z = zip(x[i:], y)
    s = 0.0
    for a, b in z:
        s += a * b
    return s


@pytest.mark.parametrize("f", [once, handed_on, ranges_start_again], ids=lambda f: f.__name__)
def test_taken(f, monkeypatch):
    monkeypatch.setenv("ADJIT_UNCOMPILED", "1")
    assert aj.value_and_grad(f)(X, Y)[0] == f(X, Y)
    aj.check_grad(f, X, Y)


@pytest.mark.parametrize("f", [twice, in_an_outer_loop, handed_on_twice, flat], ids=lambda f: f.__name__)
def test_iterators_are_not_started_again(f):
    for call in (aj.grad(f), aj.jit(f)):
        with pytest.raises(aj.UnsupportedError, match="goes on where it stopped"):
            call(X, Y)


ESCAPES = [function_made_in_a_loop, function_of_a_helper, zip_made_in_a_loop]


@pytest.mark.parametrize("f", ESCAPES, ids=lambda f: f.__name__)
def test_what_a_loop_makes_does_not_leave_it(f):
    for call in (aj.grad(f), lambda x, y: aj.jvp(f, (x, y), (x, y))):
        with pytest.raises(aj.UnsupportedError, match="not bound on another"):
            call(X, Y)


def rec(p, x, k, n):
    return x if n == 0 else k * rec(p, np.sin(x) if n > 1 else max(x, k), k, n - 1)


def test_a_recursive_call_with_many_arguments():
    p = tuple(np.ones(1) for _ in range(16))
    h = 1e-6
    value, g = aj.value_and_grad(rec, wrt=1)(p, 0.7, 1.1, 3)
    assert value == rec(p, 0.7, 1.1, 3)
    assert g == pytest.approx((rec(p, 0.7 + h, 1.1, 3) - rec(p, 0.7 - h, 1.1, 3)) / (2 * h), rel=1e-8)


def root(x):
    return x * np.where(x > 0.0, np.sqrt(x), -x * x)


def power(x):
    return x * np.where(x > 0.0, x**0.5, -x * x)


def ternary(x):
    r = np.sqrt(x)
    return x * (r if x > 0.0 else -x * x)


def greatest(x):
    return x * max(-x * x, np.arccosh(x) if x > 1.0 else -9.0)


@pytest.mark.parametrize("f", [root, power, ternary, greatest], ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_second_derivatives_beside_what_is_not_selected(f, monkeypatch):
    monkeypatch.setenv("ADJIT_UNCOMPILED", "1")
    assert aj.jvp(aj.grad(f), (-0.4,), (1.0,))[1] == pytest.approx(2.4)
    assert aj.grad(lambda y: aj.grad(f)(y))(-0.4) == pytest.approx(2.4)
