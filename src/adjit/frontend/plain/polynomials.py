"""`np.polynomial.polynomial`: coefficients of rising powers."""

from __future__ import annotations

from typing import Any

import numpy as np


def series(c: Any) -> Any:
    """The coefficients as floats, without zeros at the end."""
    if len(c) == 0:
        raise ValueError("Coefficient array is empty")
    return trimseq(c * 1.0)


def trimseq(seq: Any) -> Any:
    """Without zeros at the end, but for one."""
    n = len(seq)
    while n > 1 and seq[n - 1] == 0:
        n -= 1
    return seq[:n]


def filled(c: Any, n: Any) -> Any:
    """Coefficients with zeros behind them."""
    return np.concatenate((c, np.zeros(max(n - len(c), 0))))


def polyadd(c1: Any, c2: Any) -> Any:
    """`polyadd`."""
    a, b = series(c1), series(c2)
    return trimseq(filled(a, len(b)) + filled(b, len(a)))


def polysub(c1: Any, c2: Any) -> Any:
    """`polysub`."""
    a, b = series(c1), series(c2)
    return trimseq(filled(a, len(b)) - filled(b, len(a)))


def polymul(c1: Any, c2: Any) -> Any:
    """`polymul`."""
    return trimseq(np.convolve(series(c1), series(c2)))


def polydiv(c1: Any, c2: Any) -> Any:
    """`polydiv`: the quotient and what is left."""
    a, b = series(c1).copy(), series(c2).copy()
    if b[-1] == 0:
        raise ZeroDivisionError
    n = len(a)
    m = len(b)
    scale = b[-1]
    rest = b[:-1] / scale
    j = n - 1
    while j >= m - 1:
        a[j - m + 1 : j] -= rest * a[j]
        j -= 1
    if n < m:
        quotient = a[:1] * 0
        left = a.copy()
    elif m == 1:
        quotient = a / scale
        left = a[:1] * 0
    else:
        quotient = a[j + 1 :] / scale
        left = trimseq(a[: j + 1]).copy()
    return quotient, left


def polyint(c: Any, m: Any = 1) -> Any:
    """`polyint`, from 0 on."""
    found = c * 1.0
    for _ in range(m):
        found = np.concatenate((found[:1] * 0, found / np.arange(1, len(found) + 1)))
    return trimseq(found)


def polyder(c: Any, m: Any = 1) -> Any:
    """`polyder`."""
    found = c * 1.0
    for _ in range(m):
        n = len(found)
        found = found[:1] * 0 if n < 2 else found[1:] * np.arange(1, n)
    return found


def polyval(x: Any, c: Any) -> Any:
    """`polyval` of a number: Horner's scheme."""
    value = 1.0 * c[len(c) - 1] + x * 0
    for k in range(len(c) - 2, -1, -1):
        value = 1.0 * c[k] + value * x
    return value
