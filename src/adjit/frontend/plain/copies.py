"""Elements several times, moved, or around an array: repeat, roll, pad, and their counts."""

from __future__ import annotations

from typing import Any


def count_of(times: Any) -> Any:
    """How often something is repeated."""
    if times < 0:
        raise ValueError("repeats may not contain negative values.")
    return times


def total_of(counts: Any, n: Any) -> Any:
    """How many elements there are when each of n is repeated."""
    if len(counts) != n:
        raise ValueError("operands could not be broadcast together")
    total = 0
    for k in range(n):
        total += count_of(counts[k])
    return total


def repeat(made: Any, items: Any, times: Any) -> None:
    """`np.repeat` of a 1-D array."""
    for i in range(len(items)):
        for k in range(times):
            made[i * times + k] = items[i]


def repeat_each(made: Any, items: Any, counts: Any) -> None:
    """`np.repeat` of a 1-D array with a count for each element."""
    at = 0
    for i in range(len(items)):
        for k in range(counts[i]):
            made[at + k] = items[i]
        at += counts[i]


def roll(made: Any, items: Any, shift: Any) -> None:
    """`np.roll` of a 1-D array."""
    n = len(items)
    if n > 0:
        by = shift % n
        for i in range(by):
            made[i] = items[n - by + i]
        for i in range(by, n):
            made[i] = items[i - by]


def padded(low: Any, n: Any, high: Any) -> Any:
    """The extent of an axis of n with something on both sides."""
    if low < 0 or high < 0:
        raise ValueError("index can't contain negative values")
    return low + n + high


def pad_place(k: Any, low: Any, n: Any, mode: Any) -> Any:
    """Which element of an axis of n stands at place `k` of the padded one.

    mode: 1 the nearest, 2 counted around, 3 mirrored at the last element, 4 mirrored behind it.
    """
    if n == 0:
        raise ValueError("can't extend empty axis using modes other than 'constant' or 'empty'")
    i = k - low
    if mode == 1:
        return 0 if i < 0 else n - 1 if i >= n else i
    if mode == 2:
        return i % n
    if mode == 3:
        if n == 1:
            return 0
        period = 2 * (n - 1)
        i = i % period
        return i if i < n else period - i
    i = i % (2 * n)
    return i if i < n else 2 * n - 1 - i
