"""Arrays of the turns' own extents that the reverse sweep needs: rows of different lengths that follow each other."""

from __future__ import annotations

import numba
import numpy as np
import pytest

import adjit as aj


@numba.njit(parallel=True)
def sums(x, k):
    s = 0.0
    for i in numba.prange(x.shape[0]):
        w = np.empty(k[i])
        for j in range(k[i]):
            w[j] = np.sin(x[i] * j)
        for j in range(k[i]):
            s += w[j] * w[j] * w[k[i] - 1 - j]
    return s


def _expected(x: np.ndarray, k: np.ndarray) -> np.ndarray:
    found = np.zeros_like(x)
    for i, (t, n) in enumerate(zip(x, k, strict=True)):
        j = np.arange(n)
        w, dw = np.sin(t * j), j * np.cos(t * j)
        found[i] = np.sum(2 * w * dw * w[::-1] + w * w * dw[::-1])
    return found


def test_the_gradient_of_rows_of_all_lengths() -> None:
    rng = np.random.default_rng(0)
    x, k = rng.uniform(0.5, 1.5, 3000), rng.integers(0, 9, 3000)
    k[:5] = 0, 1, 0, 7, 0
    gradient = aj.grad(sums)
    np.testing.assert_allclose(gradient(x, k), _expected(x, k), rtol=1e-12, atol=1e-13)
    assert "# in order: " not in gradient.source(x, k)
    assert "run_parts(" in gradient.source(x, k)
    empty = np.zeros(3000, np.int64)
    np.testing.assert_array_equal(gradient(x, empty), 0.0)
    assert gradient(x[:0], k[:0]).shape == (0,)


def test_a_negative_extent_raises_as_in_the_plain_function() -> None:
    x, k = np.ones(4), np.array([1, 2, -1, 3])
    with pytest.raises(ValueError, match="negative dimensions"):
        numba.njit(sums.py_func)(x, k)
    with pytest.raises(ValueError, match="negative dimensions"):
        aj.grad(sums)(x, k)
