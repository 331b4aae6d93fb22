"""Branches that are seldom taken, for the greatest and the least elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numba import njit

import adjit as aj

rng = np.random.default_rng(8)


def extremes(a, x):
    return np.max(x) * a.min(), np.argmax(x), x.argmin(), np.max(a, axis=0), np.argmin(a, axis=1)


@njit
def chosen(x):
    best, at = x[0], 0
    for i in range(x.shape[0]):
        if x[i] > best:
            best, at = x[i], i
    return best * x[at - 1] + at


def inputs() -> list[np.ndarray]:
    some = rng.normal(size=7)
    ties = np.array([2.0, -1.0, 2.0, -1.0])
    return [
        some,
        ties,
        np.sort(some),
        np.sort(some)[::-1].copy(),
        np.where(some > 0, np.nan, some),
        np.ones(1),
    ]


def test_values() -> None:
    f = aj.jit(extremes)
    for x in inputs():
        a = np.outer(x, x[::-1])
        got, want = f(a, x), extremes(a, x)
        for one, other in zip(got, want, strict=True):
            np.testing.assert_array_equal(one, other)
    assert "rarely(" in f.source(a, x)


@pytest.mark.parametrize("f", [chosen, lambda x: np.max(x) ** 2 * np.min(x)], ids=["loop", "numpy"])
def test_gradients(f: Callable[..., Any]) -> None:
    x = rng.normal(size=9)
    gradient = aj.grad(f)(x)
    for k in range(9):
        h = np.zeros(9)
        h[k] = 1e-6
        assert gradient[k] == pytest.approx((f(x + h) - f(x - h)) / 2e-6, abs=1e-7)
