"""Averages, covariances."""

from __future__ import annotations

from typing import Any

import numpy as np


def average(a: Any, weights: Any, axis: Any) -> Any:
    """`np.average(a, axis, weights)`; the weights have the shape of `a`, or fit its last axes."""
    total = np.sum(weights, axis)
    if np.any(total == 0.0):
        raise ZeroDivisionError("Weights sum to zero, can't be normalized.")
    return np.divide(np.sum(np.multiply(a, weights), axis), total)


def over(total: Any, n: Any, ddof: Any) -> Any:
    """`total / (n - ddof)`, NaN where that is not positive."""
    return np.where(n > ddof, np.divide(total, n - ddof), np.nan)


def unless_none(value: Any, n: Any) -> Any:
    """The value; NaN where it is that of nothing."""
    return np.where(n > 0, value, np.nan)


def check_some(n: Any) -> None:
    """There is a number in each slice."""
    if np.any(n == 0):
        raise ValueError("All-NaN slice encountered")


def centre(made: Any, rows: Any) -> None:
    """The rows without their means."""
    n = rows.shape[1]
    for i in range(rows.shape[0]):
        mean = np.divide(np.sum(rows[i]), n)
        for k in range(n):
            made[i, k] = rows[i, k] - mean


def covariance(away: Any, ddof: Any) -> Any:
    """The covariances of centred rows."""
    return np.dot(away, away.T) * np.divide(1.0, max(away.shape[1] - ddof, 0))


def check_observations(n: Any, m: Any) -> None:
    """Both have as many observations."""
    if n != m:
        raise ValueError("m and y have incompatible dimensions")


def correlation(c: Any) -> Any:
    """Correlations of covariances, which are written over; they lie in [-1, 1]."""
    n = c.shape[0]
    deviation = np.empty(n)
    for i in range(n):
        deviation[i] = np.sqrt(c[i, i])
    for i in range(n):
        for k in range(n):
            c[i, k] = np.divide(c[i, k], deviation[k])
        for k in range(n):
            c[k, i] = np.divide(c[k, i], deviation[k])
    return np.where(np.fabs(c) > 1, np.sign(c), c)
