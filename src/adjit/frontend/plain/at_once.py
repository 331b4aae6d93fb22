"""What devices do without an order of turns, in place of functions of `orders` and `sets`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange


def is_first(items: Any, order: Any) -> Any:
    """Which of the ordered items differ from the one before."""
    n = len(order)
    first = np.empty(n, np.bool_)
    for k in range(n):
        first[k] = k == 0 or items[order[k]] != items[order[k - 1]]
    return first


def first_of_each(items: Any, order: Any) -> Any:
    """Where the first of each different item is in their order, and how many different ones there are."""
    at = order[np.nonzero(is_first(items, order))[0]]
    return at, len(at)


def numbers_of_each(items: Any, order: Any) -> Any:
    """Which of the different items each item is, and how often each of them is there."""
    n = len(order)
    number = np.cumsum(is_first(items, order)) - 1
    inverse = np.empty(n, np.int64)
    for j in prange(n):
        inverse[order[j]] = number[j]
    return inverse, np.bincount(number)


def put(made: Any, function: Any, args: Any) -> None:
    """`made` is one number, which a work item finds."""
    for k in prange(1):
        made[k] = function(*args)
