"""Stores of numbers that are arrays without axes, of one element beside none, through masks of another shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjit as aj

X = np.array([1.3, 2.1, 3.2, 4.7, 5.4])
IDX = np.array([2, 0, 3])


def whole(x):
    s = x[2:3].reshape(())
    x[:] = s * s
    return np.sum(x * x)


def squeezed(x):
    x[1:] = 2.0 * np.squeeze(x[2:3], axis=0)
    return np.sum(x * x)


def picked(x):
    x[IDX] = 2.0 * x[2:3].reshape(())
    return np.sum(x * x)


def masked(x):
    x[x > -9.0] = 3.0 * x[2:3].reshape(())
    return np.sum(x * x)


def added_at(x):
    np.add.at(x, IDX, x[2:3].reshape(()))
    return np.sum(x * x)


def put(x):
    s = x[2:3].reshape(())
    np.put(x, IDX, s)
    np.putmask(x, x < 3.0, s * s)
    return np.sum(x * x)


def copied(x):
    np.copyto(x, np.exp(x[2:3].reshape(())))
    return np.sum(x * x)


def put_along(x):
    np.put_along_axis(x, IDX, x[2:3].reshape(()), 0)
    return np.sum(x * x)


def updated(x):
    s = x[2:3].reshape(())
    x *= s
    x[1:4] += s * s
    return np.sum(x * x)


NUMBERS = [whole, squeezed, picked, masked, added_at, put, copied, put_along, updated]


@pytest.mark.parametrize("program", NUMBERS, ids=lambda f: f.__name__)
def test_a_number_is_read_before_the_store(program: Callable[..., Any], uncompiled: None) -> None:
    """It was read anew for each element, after the store had changed it."""
    ours, plain = X.copy(), X.copy()
    assert aj.value_and_grad(program)(ours)[0] == pytest.approx(program(plain), rel=1e-14)
    assert np.array_equal(ours, plain)
    aj.check_grad(program, X.copy())


def product(x, y, i):
    return np.sum(x[i : i + 1] * y[:1] * 2.0) + x[0] * y[0]


def chained(x, y, i):
    return np.sum(np.where(x[i : i + 1] > 0.0, y[:1] * x[:1], y[-1:])) + x[0]


def beside_an_argument(x, y, i):
    return np.sum(x[i : i + 1] * y[:1, None] * np.ones(1)) + x[0] * y[0]


def assigned(x, y, i):
    x[i : i + 1] = y[:1] * y[:1]
    return np.sum(x * x)


def incremented(x, y, i):
    x[i : i + 1] += y[-1:]
    return np.sum(x * x)


def compared(x, y, i):
    return x[0] if np.allclose(x[i : i + 1], y[:1]) else y[0]


ONES = [product, chained, beside_an_argument, assigned, incremented, compared]


@pytest.mark.parametrize("i", [1, 5])
@pytest.mark.parametrize("program", ONES, ids=lambda f: f.__name__)
def test_one_beside_none(program: Callable[..., Any], i: int, uncompiled: None) -> None:
    args = (X, X[:2] * 0.5, i)
    ours, plain = X.copy(), X.copy()
    value, _ = aj.value_and_grad(program)(ours, *args[1:])
    assert value == pytest.approx(program(plain, *args[1:]), rel=1e-14)
    assert np.array_equal(ours, plain)
    aj.check_grad(program, X.copy(), *args[1:])


def test_none_does_not_fill_one(uncompiled: None) -> None:
    for program in (assigned, incremented):
        x = X.copy()
        with pytest.raises(ValueError, match="broadcast"):
            aj.value_and_grad(program)(x, X[:0], 1)
        assert np.array_equal(x, X)


def fill(x, m):
    x[m] = 5.0
    return np.sum(x)


def load(x, m):
    return np.sum(x[m])


def increment(x, m):
    x[m] += 1.0
    return np.sum(x)


@pytest.mark.parametrize(
    ("x", "m"), [(X, X[:1] > 0), (X, X[:2] > 0), (X.reshape(5, 1) * X, X.reshape(5, 1) > 0)]
)
@pytest.mark.parametrize("program", [fill, load, increment])
def test_a_mask_has_the_shape_of_the_array(
    program: Callable[..., Any], x: Any, m: Any, uncompiled: None
) -> None:
    ours = x.copy()
    with pytest.raises(IndexError, match="boolean index did not match indexed array along axis"):
        aj.value_and_grad(program)(ours, m)
    assert np.array_equal(ours, x)


def putmask(x, m):
    np.putmask(x, m, 5.0)
    return np.sum(x)


def test_putmask_stretches_no_mask(uncompiled: None) -> None:
    with pytest.raises(ValueError, match="mask and data must be the same size"):
        aj.value_and_grad(putmask)(X.copy(), X[:1] > 0)
