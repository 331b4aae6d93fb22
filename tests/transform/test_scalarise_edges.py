"""Statements that move a part of an array to another part of it, where the parts have no element."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import adjit as aj


def add_later(x):
    x[:-1] += np.sin(x[1:])
    return np.sum(x * x)


def times_later(x):
    x[:-1] *= x[1:]
    return np.sum(x * x)


def two_apart(x):
    x[2:] -= np.cos(x[:-2])
    x[:-2] -= np.cos(x[2:])
    return np.sum(x * x)


def from_zeros(x):
    y = np.zeros(x.shape)
    y[1:] += x[:-1]
    y[:-1] *= y[1:] + x[:-1]
    return np.sum(y * x)


def inside(x):
    x[1:-1] = x[2:] * x[:-2] + x[1:-1]
    return np.sum(x * x)


def in_turns(x):
    x = np.sin(x)
    for _ in range(2):
        x[:-1] += x[1:]
    return np.sum(x * x)


def corners(x):
    x[:-1, 1:] += np.sin(x[1:, :-1])
    return np.sum(x * x)


def five_points(x):
    x[1:-1, 1:-1] = 0.2 * (x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2])
    return np.sum(x * x)


def three_axes(x):
    x[:-1, 1:, :-2] *= np.sin(x[1:, :-1, 2:])
    return np.sum(x * x)


ONE = (add_later, times_later, two_apart, from_zeros, inside, in_turns)
CASES = [(f, (n,)) for f in ONE for n in (0, 1, 2, 4)]
CASES += [(f, s) for f in (corners, five_points) for s in ((0, 3), (0, 0), (3, 0), (1, 1), (2, 2), (3, 4))]
CASES += [(three_axes, s) for s in ((0, 3, 3), (2, 0, 3), (2, 2, 0), (2, 2, 1), (1, 1, 1), (3, 2, 4))]


def held(f: Callable[..., float], shape: tuple[int, ...]) -> None:
    """Value and both modes, against plain Python, one another and differences."""
    rng = np.random.default_rng(3)
    x, t = rng.uniform(0.2, 1.1, shape), rng.uniform(-1, 1, shape)
    value, gradient = aj.value_and_grad(f)(x.copy())
    assert value == pytest.approx(f(x.copy()), rel=1e-13)
    assert aj.jit(f)(x.copy()) == value
    assert gradient.shape == shape
    same, slope = aj.jvp(f, (x.copy(),), (t,))
    assert same == value
    h = 1e-5
    assert slope == pytest.approx((f(x + h * t) - f(x - h * t)) / (2 * h), rel=1e-7, abs=1e-9)
    assert slope == pytest.approx(np.sum(gradient * t), rel=1e-11, abs=1e-14)


@pytest.mark.parametrize(("f", "shape"), CASES, ids=lambda c: getattr(c, "__name__", str(c)))
def test_parts_without_elements(f, shape, uncompiled):
    held(f, shape)


def test_compiled():
    for shape in ((0,), (1,), (3,)):
        held(two_apart, shape)
    held(corners, (0, 3))
