"""Some elements of a 1-D array: sections, deletions, insertions."""

from __future__ import annotations

from typing import Any

import numpy as np


def check_even(n: Any, sections: Any) -> None:
    """An axis of n is split into equal parts."""
    if n % sections != 0:
        raise ValueError("array split does not result in an equal division")


def section(n: Any, sections: Any, k: Any) -> Any:
    """Where part `k` of an axis of n begins: the first ones have one more where they are not equal."""
    return k * (n // sections) + min(k, n % sections)


def check_condition(mask: Any, items: Any) -> None:
    """A condition is not longer than what it picks from, but for what does not hold."""
    for k in range(len(items), len(mask)):
        if mask[k]:
            raise ValueError("condition shape inconsistent with arr shape")


def trim_zeros(items: Any) -> Any:
    """`np.trim_zeros` of a 1-D array: a view."""
    first = 0
    while first < len(items) and items[first] == 0:
        first += 1
    last = len(items)
    while last > first and items[last - 1] == 0:
        last -= 1
    return items[first:last]


def delete(items: Any, at: Any) -> Any:
    """`np.delete(items, at)`."""
    n = len(items)
    if at < -n or at >= n:
        raise IndexError("index is out of bounds for axis 0")
    where = at + n if at < 0 else at
    kept = np.empty(n - 1, np.int64)
    for k in range(n - 1):
        kept[k] = k if k < where else k + 1
    return items[kept]


def insert(items: Any, at: Any, value: Any) -> Any:
    """`np.insert(items, at, value)`."""
    n = len(items)
    if at < -n or at > n:
        raise IndexError("index is out of bounds for axis 0")
    where = at + n if at < 0 else at
    kept = np.empty(n + 1, np.int64)
    for k in range(n + 1):
        kept[k] = k if k < where else max(k - 1, 0)
    return np.where(np.arange(n + 1) == where, value, items[np.minimum(kept, n - 1)])
