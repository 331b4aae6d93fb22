"""Running sums, products and differences along a 1-D array."""

from __future__ import annotations

from typing import Any

import numpy as np


def cumsum(made: Any, items: Any) -> None:
    """`np.cumsum` of a 1-D array."""
    if len(items) > 0:
        made[0] = items[0]
    for k in range(1, len(items)):
        made[k] = made[k - 1] + items[k]


def cumprod(made: Any, items: Any) -> None:
    """`np.cumprod` of a 1-D array."""
    if len(items) > 0:
        made[0] = items[0]
    for k in range(1, len(items)):
        made[k] = made[k - 1] * items[k]


def unwrap(made: Any, items: Any, discont: Any, period: Any) -> None:
    """`np.unwrap` of a 1-D array: jumps of more than `discont` are taken out by multiples of the period."""
    half = period / 2
    correction = 0.0
    if len(items) > 0:
        made[0] = items[0]
    for k in range(1, len(items)):
        step = items[k] - items[k - 1]
        wrapped = np.mod(step + half, period) - half
        if wrapped == -half and step > 0:
            wrapped = half
        if abs(step) >= discont:
            correction += wrapped - step
        made[k] = items[k] + correction


def gradient(made: Any, items: Any, h: Any) -> None:
    """`np.gradient` of a 1-D array with one distance."""
    n = len(items)
    if n < 2:
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, at least 2 are required."
        )
    made[0] = np.divide(1.0 * items[1] - items[0], h)
    for k in range(1, n - 1):
        made[k] = np.divide(1.0 * items[k + 1] - items[k - 1], 2.0 * h)
    made[n - 1] = np.divide(1.0 * items[n - 1] - items[n - 2], h)


def gradient_at(made: Any, items: Any, x: Any) -> None:
    """`np.gradient` of a 1-D array with coordinates."""
    n = len(items)
    if len(x) != n:
        raise ValueError("when 1d, distances must match the length of the corresponding dimension")
    if n < 2:
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, at least 2 are required."
        )
    made[0] = np.divide(1.0 * items[1] - items[0], x[1] - x[0])
    for k in range(1, n - 1):
        d1 = x[k] - x[k - 1]
        d2 = x[k + 1] - x[k]
        a = np.divide(-d2, d1 * (d1 + d2))
        b = np.divide(d2 - d1, d1 * d2)
        c = np.divide(d1, d2 * (d1 + d2))
        made[k] = a * items[k - 1] + b * items[k] + c * items[k + 1]
    made[n - 1] = np.divide(1.0 * items[n - 1] - items[n - 2], x[n - 1] - x[n - 2])


def trapezoid(y: Any, d: Any) -> Any:
    """`np.trapezoid` along the last axis, with the distances `d`."""
    return np.sum(d * ((y[..., 1:] + y[..., :-1]) / 2.0), -1)


def running_maximum(made: Any, items: Any) -> None:
    """`np.maximum.accumulate` of a 1-D array."""
    if len(items) > 0:
        made[0] = items[0]
    for k in range(1, len(items)):
        made[k] = np.maximum(made[k - 1], items[k])


def running_minimum(made: Any, items: Any) -> None:
    """`np.minimum.accumulate` of a 1-D array."""
    if len(items) > 0:
        made[0] = items[0]
    for k in range(1, len(items)):
        made[k] = np.minimum(made[k - 1], items[k])
