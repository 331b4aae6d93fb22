"""What programs on devices do not do yet: refused by name, with the line, before anything is touched."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjit as aj

from .places import same, to_device


@pytest.fixture(autouse=True)
def _uncompiled(uncompiled):
    """Nothing is kept on disk."""


X = np.array([0.5, -1.5, 2.0, 1.0])


def refused(f: Any, *args: Any, reason: str, line: str, run: Any = aj.grad) -> None:
    given = to_device(args)
    with pytest.raises(aj.UnsupportedError) as error:
        run(f)(*given)
    assert reason in str(error.value) and line in str(error.value) and "^" in str(error.value)
    same(given, args)


def test_a_recurrence_over_elements():
    def running(x):
        y = x.copy()
        for i in range(1, len(y)):
            y[i] += y[i - 1]
        return np.sum(y)

    refused(
        running,
        X,
        reason="this loop over elements of device arrays is no kernel",
        line="for i in range(1, len(y)):",
    )


def test_a_while_loop_over_elements():
    def first(x):
        i = 0
        while x[i] > 0.0:
            i += 1
        return x[i] * 1.0

    refused(
        first, X, reason="this loop over elements of device arrays is no kernel", line="while x[i] > 0.0:"
    )


def test_what_libraries_do_for_whole_arrays():
    def solved(a):
        return np.sum(np.linalg.solve(a, a[0]))

    refused(solved, np.eye(3), reason="'solve' of whole device arrays", line="np.linalg.solve(a, a[0])")


def test_complex_numbers():
    @aj.kernel
    def turn(z, w):
        z[aj.index()] *= w

    given = to_device(np.ones(3) + 0j)
    with pytest.raises(aj.UnsupportedError, match="complex numbers") as error:
        turn(given, 1j, ndrange=3)
    assert "z[aj.index()] *= w" in str(error.value)


def test_functions_that_kernels_do_not_have():
    @aj.kernel
    def gammas(y, x):
        i = aj.index()
        y[i] = np.spacing(x[i])

    with pytest.raises(aj.UnsupportedError, match=r"'np\.spacing' of float64 in a kernel on a device"):
        gammas(*to_device((np.zeros(4), X)), ndrange=4)


def test_errors_in_kernels():
    @aj.kernel
    def strict(y, x):
        i = aj.index()
        if x[i] < -1.0:
            raise ValueError("too small")
        y[i] = x[i]

    with pytest.raises(aj.UnsupportedError, match="it may raise"):
        strict(*to_device((np.zeros(4), X)), ndrange=4)


def test_powers_of_integers():
    """One exponent for all work items is tested before the launch; one that each has of its own may raise."""

    @aj.kernel
    def steady(y, x, n):
        i, j = aj.index(2)
        y[i, j] = x[i, j] * (i + 2) ** (n - 1)

    @aj.kernel
    def own(y, x, n):
        i = aj.index()
        y[i] = x[i] * 2 ** n[i]

    def launched(x, n):
        y = np.zeros(x.shape)
        steady(y, x, n, ndrange=x.shape)
        return np.sum(y)

    x, y = np.reshape(X, (2, 2)), np.zeros((2, 2))
    there, out = to_device((x, y))
    with pytest.raises(ValueError, match="make its base a float"):
        steady(out, there, 0, ndrange=(2, 2))
    same(out, y)
    steady(out, there, 4, ndrange=(2, 2))
    same(out, x * [[8.0], [27.0]])
    same(aj.grad(launched)(there, 3), np.array([[4.0, 4.0], [9.0, 9.0]]))
    with pytest.raises(aj.UnsupportedError, match="it may raise"):
        own(*to_device((np.zeros(4), X, np.ones(4, int))), ndrange=4)


def test_large_local_arrays():
    @aj.kernel
    def large(y):
        w = np.zeros(1000)
        w[aj.index()] = 1.0
        y[aj.index()] = w[0]

    with pytest.raises(aj.UnsupportedError, match="the local array 'w' of a kernel takes 8000 bytes"):
        large(to_device(np.zeros(4)), ndrange=4)

    @aj.kernel
    def sized(y, n):
        w = np.zeros(n)
        y[aj.index()] = w[0]

    with pytest.raises(aj.UnsupportedError, match="it makes the array 'w', whose size is not a constant"):
        sized(to_device(np.zeros(4)), 3, ndrange=4)


def test_atomic_updates_of_small_numbers():
    @aj.kernel
    def count(a, x):
        aj.atomic_add(a, 0, x[aj.index()])

    with pytest.raises(aj.UnsupportedError, match="an atomic update of 'a', an array of int16"):
        count(*to_device((np.zeros(4, "int16"), np.ones(4, "int16"))), ndrange=4)


def test_what_an_atomic_update_returns():
    @aj.kernel
    def slots(place, count):
        i = aj.index()
        place[i] = aj.atomic_add(count, 0, 1)

    with pytest.raises(aj.UnsupportedError, match="work items may meet in 'count'"):
        slots(*to_device((np.zeros(4, "int64"), np.zeros(1, "int64"))), ndrange=4)


def test_arrays_chosen_in_a_kernel():
    @aj.kernel
    def chosen(y, a, b):
        i = aj.index()
        c = a if i % 2 == 0 else b
        y[i] = c[i]

    with pytest.raises(aj.UnsupportedError, match="in a kernel is one of several, chosen when it runs"):
        chosen(*to_device((np.zeros(4), X, X + 1)), ndrange=4)


def test_functions_that_call_themselves():
    def power(v, n):
        return v if n == 1 else v * power(v, n - 1)

    @aj.kernel
    def powers(y, x):
        i = aj.index()
        y[i] = power(x[i], i + 1)

    with pytest.raises(aj.UnsupportedError, match="a function that calls itself, in a program on a device"):
        powers(*to_device((np.zeros(4), X)), ndrange=4)
