"""Permutations that sort, searches in what is sorted. NaN comes last; equal items keep their order."""

from __future__ import annotations

from typing import Any

import numpy as np


def before(a: Any, b: Any) -> Any:
    """Whether `a` is sorted in front of `b`."""
    return a < b or (b != b and a == a)


def ordered(items: Any) -> Any:
    """The permutation that sorts a 1-D array: runs of two are merged, then of four, and so on."""
    n = len(items)
    order = np.arange(n)
    merged = np.arange(n)
    width = 1
    while width < n:
        low = 0
        while low < n:
            middle = min(low + width, n)
            high = min(middle + width, n)
            i = low
            j = middle
            for k in range(low, high):
                if i < middle and (j >= high or not before(items[order[j]], items[order[i]])):
                    merged[k] = order[i]
                    i += 1
                else:
                    merged[k] = order[j]
                    j += 1
            low = high
        for k in range(n):
            order[k] = merged[k]
        width = 2 * width
    return order


def put_order(made: Any, items: Any) -> None:
    """`made` is the permutation that sorts `items`."""
    order = ordered(items)
    for k in range(len(order)):
        made[k] = order[k]


def put_sorted(made: Any, items: Any) -> None:
    """`made` is `items` in order."""
    order = ordered(items)
    for k in range(len(order)):
        made[k] = items[order[k]]


def sort_in_place(items: Any) -> None:
    """`items.sort()`."""
    order = ordered(items)
    old = items.copy()
    for k in range(len(order)):
        items[k] = old[order[k]]


def bisect(items: Any, value: Any, right: Any) -> Any:
    """Where `value` belongs in sorted items: behind equal ones, or in front of them."""
    low = 0
    high = len(items)
    while low < high:
        middle = (low + high) // 2
        if right:
            further = not before(value, items[middle])
        else:
            further = before(items[middle], value)
        if further:
            low = middle + 1
        else:
            high = middle
    return low


def monotonic(bins: Any) -> Any:
    """1 if the bins never decrease, -1 if they never increase."""
    rises = 0
    falls = 0
    for k in range(len(bins) - 1):
        rises += int(bins[k + 1] > bins[k])
        falls += int(bins[k + 1] < bins[k])
    if rises > 0 and falls > 0:
        raise ValueError("bins must be monotonically increasing or decreasing")
    return -1 if falls > 0 else 1


def middle_of(items: Any) -> Any:
    """`np.median` of a 1-D array without NaNs, at least one item."""
    order = ordered(items)
    n = len(items)
    half = n // 2
    if n % 2 == 1:
        return items[order[half]] / 1
    return (items[order[half - 1]] + items[order[half]]) / 2


def has_nan(items: Any) -> Any:
    """Whether an item of a 1-D array is NaN."""
    found = 0
    for k in range(len(items)):
        found += int(items[k] != items[k])
    return found > 0


def median(items: Any) -> Any:
    """`np.median` of a 1-D array: NaN of nothing, and where there is one."""
    if len(items) == 0 or has_nan(items):
        return np.nan
    return middle_of(items)


def numbers_of(items: Any) -> Any:
    """The items that are not NaN."""
    return items[items == items]


def check_fraction(q: Any, top: Any, what: Any) -> None:
    """Percentiles and quantiles lie in a range."""
    if not (q >= 0.0 and q <= top):
        if what:
            raise ValueError("Percentiles must be in the range [0, 100]")
        raise ValueError("Quantiles must be in the range [0, 1]")


def percentile_at(items: Any, order: Any, q: Any) -> Any:
    """One percentile of sorted items (Numba's formula: between the closest ranks, linearly)."""
    n = len(order)
    if n == 1 or q == 0:
        return np.float64(items[order[0]])
    if q == 100:
        return np.float64(items[order[n - 1]])
    rank = 1 + (n - 1) * np.true_divide(q, 100.0)
    whole = int(np.floor(rank))
    part = rank - whole
    return np.float64(items[order[whole - 1]]) * (1 - part) + np.float64(items[order[whole]]) * part


def percentile(items: Any, q: Any, factor: Any) -> Any:
    """`np.percentile` (factor 1) or `np.quantile` (factor 100) of a 1-D array and a number."""
    check_fraction(q, 100.0 / factor, factor == 1.0)
    if len(items) == 0 or has_nan(items):
        return np.nan
    return percentile_at(items, ordered(items), q * factor)


def put_percentiles(made: Any, items: Any, q: Any, factor: Any) -> None:
    """`made` is each percentile of a 1-D array."""
    for k in range(len(q)):
        check_fraction(q[k], 100.0 / factor, factor == 1.0)
    if len(items) == 0 or has_nan(items):
        made[:] = np.nan
        return
    order = ordered(items)
    for k in range(len(q)):
        made[k] = percentile_at(items, order, q[k] * factor)


def first_of_each(items: Any, order: Any) -> Any:
    """How many different items there are, and where the first of each is in their order."""
    n = len(order)
    at = np.empty(n, np.int64)
    count = 0
    for k in range(n):
        if k == 0 or items[order[k]] != items[order[k - 1]]:
            at[count] = order[k]
            count += 1
    return at, count


def unique(items: Any) -> Any:
    """The different items of a 1-D array, in order; the derivative is that of the first of each."""
    at, count = first_of_each(items, ordered(items))
    return items[at[:count]]


def nanmedian(items: Any) -> Any:
    """`np.nanmedian` of a 1-D array."""
    found = numbers_of(items)
    if len(found) == 0:
        return np.nan
    return middle_of(found)


def nanpercentile(items: Any, q: Any, factor: Any) -> Any:
    """`np.nanpercentile` or `np.nanquantile` of a 1-D array and a number."""
    return percentile(numbers_of(items), q, factor)


def check_kth(kth: Any, n: Any) -> None:
    """`kth` is a place of n."""
    if kth < -n or kth >= n:
        raise ValueError("kth out of bounds")


def bin_of(bins: Any, value: Any, right: Any, falls: Any) -> Any:
    """`np.digitize` of a number; `right`: behind equal edges."""
    if falls:
        return len(bins) - bisect(bins[::-1], value, not right)
    return bisect(bins, value, right)
