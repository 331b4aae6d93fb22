"""Sums of products: interpolation, polynomials, convolutions."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjit.frontend.plain.orders import bisect


def check_points(xp: Any, fp: Any) -> None:
    """There are points, and a value for each."""
    if len(xp) == 0:
        raise ValueError("array of sample points is empty")
    if len(xp) != len(fp):
        raise ValueError("fp and xp are not of the same size.")


def interp(x: Any, xp: Any, fp: Any, left: Any, right: Any) -> Any:
    """`np.interp` of a number. At a point the derivative is that of the piece behind it."""
    x = np.float64(x)
    n = len(xp)
    if x != x:
        return x
    if x < xp[0]:
        return np.float64(left)
    if x > xp[n - 1]:
        return np.float64(right)
    j = bisect(xp, x, True) - 1
    low = np.float64(fp[j])
    if j == n - 1:
        return low
    start = np.float64(xp[j])
    slope = np.divide(np.float64(fp[j + 1]) - low, np.float64(xp[j + 1]) - start)
    if x == start and not np.isfinite(slope):
        return low
    value = slope * (x - start) + low
    if value == value:
        return value
    value = slope * (x - np.float64(xp[j + 1])) + np.float64(fp[j + 1])
    if value != value and fp[j] == fp[j + 1]:
        return low
    return value


def polyval(p: Any, x: Any) -> Any:
    """`np.polyval` of a number: Horner's scheme."""
    if len(p) == 0:
        raise ValueError("a polynomial without coefficients")
    total = 0 * x + p[0]
    for k in range(1, len(p)):
        total = total * x + p[k]
    return total


def vander(made: Any, x: Any, increasing: Any, one: Any) -> None:
    """Powers of x as columns. one: what the first one is multiplied by, if its type is not that of all."""
    columns = made.shape[1]
    for i in range(len(x)):
        power = x[i] if one is None else one * x[i]
        for k in range(columns):
            column = k if increasing else columns - 1 - k
            if k == 0:
                made[i, column] = 1
            else:
                made[i, column] = power
                power = x[i] * power


def check_columns(n: Any) -> Any:
    """The number of columns."""
    if n < 0:
        raise ValueError("Negative dimensions are not allowed")
    return n


def check_both(a: Any, v: Any) -> None:
    """Neither is empty."""
    if len(a) == 0:
        raise ValueError("'a' cannot be empty")
    if len(v) == 0:
        raise ValueError("'v' cannot be empty")


def products_count(n: Any, m: Any, mode: Any) -> Any:
    """How many elements a correlation has. mode: 0 valid, 1 same, 2 full."""
    most = max(n, m)
    least = min(n, m)
    if mode == 0:
        return most - least + 1
    return most if mode == 1 else most + least - 1


def correlate(made: Any, a: Any, v: Any, mode: Any, backwards: Any) -> None:
    """Sums of products of `a` and the shorter `v`, which is moved along it."""
    n = len(v)
    left = 0 if mode == 0 else n // 2 if mode == 1 else n - 1
    count = len(made)
    for i in range(count):
        first = i - left
        low = max(0, -first)
        high = min(n, len(a) - first)
        total = a[first + low] * v[low]
        for k in range(low + 1, high):
            total = total + a[first + k] * v[k]
        if backwards:
            made[count - 1 - i] = total
        else:
            made[i] = total


def correlated(made: Any, a: Any, v: Any, mode: Any) -> None:
    """`np.correlate(a, v, mode)`."""
    if len(a) < len(v):
        correlate(made, v, a, mode, True)
    else:
        correlate(made, a, v, mode, False)


def convolved(made: Any, a: Any, v: Any, mode: Any) -> None:
    """`np.convolve(a, v, mode)`."""
    if len(a) < len(v):
        correlate(made, v, a[::-1], mode, False)
    else:
        correlate(made, a, v[::-1], mode, False)
