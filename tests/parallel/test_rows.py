"""Rows whose ends are looked at before: the look stays inside of the array."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit, prange

import adjit as aj
from adjit.transform import parts


@njit(parallel=True, boundscheck=True)
def from_the_row_before(x, v, ends, cols):
    y = 0.0
    for i in prange(ends.shape[0] - 1):
        s = 0.0
        for k in range(ends[i - 1], ends[i]):
            s += v[k] * x[cols[k]]
        y += s * s
    return y


def test_rows_that_begin_at_the_end_of_the_array(monkeypatch: pytest.MonkeyPatch) -> None:
    """`ends[-1]` is the last element, not the word before the first: with boundscheck it used to raise."""
    monkeypatch.setattr(parts, "GRAIN", 1)
    rng = np.random.default_rng(5)
    ends = np.append(np.cumsum(rng.integers(0, 4, 30)), 0)
    x, v = rng.normal(size=9), rng.normal(size=ends.max())
    cols = rng.integers(0, 9, v.size)
    dx, dv = aj.grad(from_the_row_before, wrt=("x", "v"))(x, v, ends, cols)
    expected_x, expected_v = np.zeros_like(x), np.zeros_like(v)
    for i in range(len(ends) - 1):
        row = slice(ends[i - 1], ends[i])
        s = np.sum(v[row] * x[cols[row]])
        np.add.at(expected_x, cols[row], 2 * s * v[row])
        expected_v[row] += 2 * s * x[cols[row]]
    np.testing.assert_allclose(dx, expected_x, rtol=1e-12)
    np.testing.assert_allclose(dv, expected_v, rtol=1e-12)
