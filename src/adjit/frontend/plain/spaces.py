"""Numbers at equal ratios; quotients with what is left of them, steps."""

from __future__ import annotations

from typing import Any

import numpy as np


def geomspace(start: Any, stop: Any, num: Any = 50) -> Any:
    """`np.geomspace` of real numbers."""
    if start == 0 or stop == 0:
        raise ValueError("Geometric sequence cannot include zero")
    first, last, sign = start * 1.0, stop * 1.0, 1.0
    if first < 0 and last < 0:
        first, last, sign = -first, -last, -1.0
    found = np.logspace(np.log10(first), np.log10(last), num)
    if num > 0:
        found[0] = first
        if num > 1:
            found[-1] = last
    return sign * found


def heaviside(x1: Any, x2: Any) -> Any:
    """`np.heaviside`: the derivative passes to the second number where the first is 0."""
    return np.where(x1 > 0, 1.0, np.where(x1 < 0, 0.0, np.where(x1 == x1, x2, x1)))


def divmod_of(x1: Any, x2: Any) -> Any:
    """`np.divmod`."""
    return np.floor_divide(x1, x2), np.remainder(x1, x2)


def density(counts: Any, edges: Any) -> Any:
    """What `np.histogram` makes of counts with `density=True`."""
    return counts / (edges[1:] - edges[:-1]) / np.sum(counts)


def check_finite(items: Any) -> Any:
    """`np.asarray_chkfinite`."""
    if not np.all(np.isfinite(items)):
        raise ValueError("array must not contain infs or NaNs")
    return items
