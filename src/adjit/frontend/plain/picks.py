"""Some elements of a 1-D array: sections, places."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjit.frontend.plain.orders import ordered


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


def places_of_window(n: Any, wide: Any) -> Any:
    """How many places a window has on an axis of n."""
    if wide < 0:
        raise ValueError("`window_shape` cannot contain negative values")
    if wide > n:
        raise ValueError("window shape cannot be larger than input array shape")
    return n - wide + 1


def without_one(n: Any, at: Any) -> Any:
    """The places of n but for one."""
    if at < -n or at >= n:
        raise IndexError("index is out of bounds for axis with this size")
    where = at + n if at < 0 else at
    kept = np.empty(n - 1, np.int64)
    for k in range(n - 1):
        kept[k] = k if k < where else k + 1
    return kept


def without(n: Any, places: Any) -> Any:
    """The places of n but for some."""
    stays = np.ones(n, np.bool_)
    for k in range(len(places)):
        where = places[k]
        if where < -n or where >= n:
            raise IndexError("index is out of bounds for axis with this size")
        stays[where] = False
    return np.nonzero(stays)[0]


def at_one(n: Any, at: Any, count: Any) -> Any:
    """Where `count` new ones stand that are put in at one place of n."""
    if at < -n or at > n:
        raise IndexError("index is out of bounds for axis with this size")
    return np.arange(count) + (at + n if at < 0 else at)


def at_each(n: Any, places: Any) -> Any:
    """Where new ones stand that are put in at places of n, in the order in which they are given."""
    count = len(places)
    where = np.empty(count, np.int64)
    for k in range(count):
        if places[k] < -n or places[k] > n:
            raise IndexError("index is out of bounds for axis with this size")
        where[k] = places[k] + n if places[k] < 0 else places[k]
    order = ordered(where)
    for k in range(count):
        where[order[k]] += k
    return where
