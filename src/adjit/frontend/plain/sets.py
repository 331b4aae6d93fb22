"""Sets of numbers as sorted 1-D arrays, and orders by several keys."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjit.frontend.plain.orders import first_of_each, ordered


def union1d(ar1: Any, ar2: Any) -> Any:
    """`np.union1d`."""
    return np.unique(np.concatenate((ar1.flatten(), ar2.flatten())))


def intersect1d(ar1: Any, ar2: Any, assume_unique: Any = False) -> Any:
    """`np.intersect1d`: the derivative goes to the first array."""
    if assume_unique:
        found = np.sort(ar1.flatten())
    else:
        found = np.unique(ar1.flatten())
    return found[np.isin(found, ar2)]


def setdiff1d(ar1: Any, ar2: Any, assume_unique: Any = False) -> Any:
    """`np.setdiff1d`."""
    if assume_unique:
        found = ar1.flatten()
    else:
        found = np.unique(ar1.flatten())
    return found[np.isin(found, ar2, invert=True)]


def setxor1d(ar1: Any, ar2: Any, assume_unique: Any = False) -> Any:
    """`np.setxor1d`."""
    if assume_unique:
        both = np.sort(np.concatenate((ar1.flatten(), ar2.flatten())))
    else:
        both = np.sort(np.concatenate((np.unique(ar1.flatten()), np.unique(ar2.flatten()))))
    n = len(both)
    alone = np.empty(n, np.bool_)
    for k in range(n):
        before = k > 0 and both[k - 1] == both[k]
        behind = k < n - 1 and both[k + 1] == both[k]
        alone[k] = not before and not behind
    return both[alone]


def places_of_each(items: Any) -> Any:
    """Where the first of each different item of a 1-D array is, in their order; and that order of all items."""
    order = ordered(items)
    at, count = first_of_each(items, order)
    return at[:count], order


def numbers_of_each(items: Any, order: Any) -> Any:
    """Which of the different items each item is, and how often each of them is there."""
    n = len(order)
    inverse = np.empty(n, np.int64)
    counts = np.zeros(n, np.int64)
    k = -1
    for j in range(n):
        if j == 0 or items[order[j]] != items[order[j - 1]]:
            k += 1
        inverse[order[j]] = k
        counts[k] += 1
    return inverse, counts[: k + 1]


def lexsorted(order: Any, key: Any) -> Any:
    """An order, sorted by one key more."""
    return order[ordered(key[order])]
