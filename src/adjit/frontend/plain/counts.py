"""Counting: into bins, and what is equal."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjit.frontend.plain.orders import bisect, ordered


def bins_of(items: Any, minlength: Any) -> Any:
    """How many bins `np.bincount` has."""
    least = 0
    n = minlength
    for k in range(len(items)):
        least = min(least, items[k])
        n = max(n, items[k] + 1)
    if least < 0:
        raise ValueError("bincount: first argument must be non-negative")
    return n


def bincount(made: Any, items: Any) -> None:
    """How often each number is there."""
    for k in range(len(items)):
        made[items[k]] += 1


def bincount_weights(made: Any, items: Any, weights: Any) -> None:
    """The sum of the weights of each number."""
    if len(items) != len(weights):
        raise ValueError("bincount(): weights and list don't have the same length")
    for k in range(len(items)):
        made[items[k]] += weights[k]


def range_of(items: Any) -> Any:
    """The least and the greatest of a 1-D array."""
    low = np.inf
    high = -np.inf
    for k in range(len(items)):
        low = min(low, items[k])
        high = max(high, items[k])
    return low, high


def check_range(bins: Any, low: Any, high: Any) -> None:
    """Bins of one width."""
    if bins <= 0:
        raise ValueError("histogram(): `bins` should be a positive integer")
    if not low <= high:
        raise ValueError("histogram(): max must be larger than min in range parameter")


def bins_in_one(bins: Any, low: Any, high: Any) -> Any:
    """How many bins of one width there are in a length of one; 0 where they have no width."""
    return bins / (high - low) if high > low else 0.0


def even_bin(value: Any, bins: Any, low: Any, high: Any, rate: Any) -> Any:
    """The bin of a number among bins of one width, `rate` of them in a length of one; -1 outside."""
    if high > low:
        at = np.floor((value - low) * rate)
        if 0 <= at and at < bins:
            return int(at)
        if value == high:
            return bins - 1
    return -1


def histogram(made: Any, items: Any, bins: Any, low: Any, high: Any) -> None:
    """Counts in bins of one width."""
    rate = bins_in_one(bins, low, high)
    for k in range(len(items)):
        at = even_bin(items[k], bins, low, high, rate)
        if at >= 0:
            made[at] += 1


def histogram_weights(made: Any, items: Any, bins: Any, low: Any, high: Any, weights: Any) -> None:
    """Sums of weights in bins of one width."""
    rate = bins_in_one(bins, low, high)
    for k in range(len(items)):
        at = even_bin(items[k], bins, low, high, rate)
        if at >= 0:
            made[at] += weights[k]


def check_edges(edges: Any) -> None:
    """Edges of bins do not fall."""
    falls = 0
    for k in range(len(edges) - 1):
        falls += int(not edges[k] <= edges[k + 1])
    if falls > 0:
        raise ValueError("histogram(): bins must increase monotonically")


def edged_bin(value: Any, edges: Any) -> Any:
    """The bin of a number between edges, -1 outside."""
    n = len(edges) - 1
    if n < 1 or not (edges[0] <= value and value <= edges[n]):
        return -1
    return min(bisect(edges, value, True) - 1, n - 1)


def histogram_edges(made: Any, items: Any, edges: Any) -> None:
    """Counts between edges."""
    for k in range(len(items)):
        at = edged_bin(items[k], edges)
        if at >= 0:
            made[at] += 1


def histogram_edges_weights(made: Any, items: Any, edges: Any, weights: Any) -> None:
    """Sums of weights between edges."""
    for k in range(len(items)):
        at = edged_bin(items[k], edges)
        if at >= 0:
            made[at] += weights[k]


def close(a: Any, b: Any, rtol: Any, atol: Any, equal_nan: Any) -> Any:
    """`np.isclose` of two numbers."""
    if a != a or b != b:
        return equal_nan and a != a and b != b
    if a == b:
        return True
    gap = abs(a - b)
    return gap <= atol + rtol * abs(b) and gap != np.inf


def is_in(made: Any, items: Any, test: Any, invert: Any) -> None:
    """Whether each item is one of the test's."""
    order = ordered(test)
    sorted_test = test[order]
    for k in range(len(items)):
        at = bisect(sorted_test, items[k], False)
        found = at < len(sorted_test) and sorted_test[min(at, len(sorted_test) - 1)] == items[k]
        made[k] = found != invert
