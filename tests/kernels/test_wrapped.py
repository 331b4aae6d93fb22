"""Kernels and functions under `aj.options` and `aj.jit`, called inside of programs."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import adjit as aj
from adjit.frontend import fingerprint


@pytest.fixture(autouse=True)
def _uncompiled(uncompiled):
    """Generated programs run as plain Python."""


@aj.kernel
def square(y, a, x):
    i = aj.index()
    y[i] = a * x[i] * x[i]


def first(x):
    return x[0] * x[0]


FORMS = {
    "kernel": square,
    "options": aj.options(square, boundscheck=True),
    "deterministic": aj.options(square, deterministic=True),
    "jit": aj.jit(square),
    "both": aj.jit(aj.options(square, boundscheck=True)),
    "partial": functools.partial(aj.options(square, boundscheck=True)),
}
CHECKED = {"options", "both", "partial"}
X = np.array([1.0, 2.0, 3.0])


def host_of(launch):
    def host(x):
        y = np.zeros(3)
        launch(y, 2.0, x, ndrange=3)
        return np.sum(y)

    return host


@pytest.mark.parametrize("form", FORMS)
def test_every_operator_takes_the_program(form):
    host = host_of(FORMS[form])
    assert host(X) == aj.jit(host)(X) == 28.0
    value, gradient = aj.value_and_grad(host)(X)
    assert value == 28.0
    np.testing.assert_array_equal(gradient, 4 * X)
    np.testing.assert_array_equal(aj.vjp(host, X)[1](1.0)[0], 4 * X)
    assert aj.jvp(host, (X,), (np.ones(3),))[1] == 24.0
    dx = np.zeros(3)
    aj.autodiff(aj.Reverse, host, aj.Duplicated(X, dx))
    np.testing.assert_array_equal(dx, 4 * X)
    aj.check_races(host, None, X)


@pytest.mark.parametrize("form", sorted(CHECKED))
@pytest.mark.parametrize("operator", [aj.jit, aj.grad, lambda f: functools.partial(aj.vjp, f)])
def test_bounds_are_checked_in_the_program(form, operator):
    with pytest.raises(IndexError, match=r"index 2 is out of bounds for axis 0 of 'x'.*work item 2"):
        operator(host_of(FORMS[form]))(np.ones(2))


def test_the_operators_of_a_wrapped_kernel():
    for form in ("options", "jit", "both"):
        y, dy, dx = np.zeros(3), np.ones(3), np.zeros(3)
        k = FORMS[form]
        result = aj.autodiff(
            aj.Reverse, k, aj.Duplicated(y, dy), aj.Active(2.0), aj.Duplicated(X, dx), ndrange=3
        )
        assert result.gradients[1] == np.sum(X * X)
        np.testing.assert_array_equal(dx, 4 * X)


def test_functions_too():
    compiled, checked = aj.jit(first), aj.options(first, boundscheck=True)

    def both(x):
        return compiled(x) + checked(x)

    np.testing.assert_array_equal(aj.grad(both)(X), [4.0, 0.0, 0.0])


def test_what_a_part_of_a_program_cannot_have_is_refused():
    limited, pure = aj.options(first, memory=100), aj.pure(first)
    with pytest.raises(aj.UnsupportedError, match="memory limit of its own") as caught:
        aj.grad(lambda x: limited(x))(X)
    assert "give it to the whole program" in str(caught.value)
    with pytest.raises(aj.UnsupportedError, match=r"'aj.pure' of 'first'"):
        aj.grad(lambda x: pure(x)[1])(X)


def test_options_belong_to_the_key_on_disk():
    plain, checked = host_of(aj.options(square)), host_of(aj.options(square, boundscheck=True))
    prints = [fingerprint(f) for f in (plain, checked, host_of(square))]
    assert None not in prints and len(set(prints)) == 3


def test_rebound_options_are_seen():
    launch = aj.options(square)

    def host(x):
        y = np.zeros(3)
        launch(y, 2.0, x, ndrange=len(x))
        return np.sum(y)

    gradient = aj.grad(host)
    gradient(X)
    launch = aj.options(square, boundscheck=True)
    with pytest.raises(IndexError, match=r"'y'.*work item 3"):
        gradient(np.ones(4))
