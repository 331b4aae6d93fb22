"""What is done with seeds and derivatives on a device, as programs in the language that adjit takes.

They are compiled for the place of the arrays as a user's would be, so each is one launch on any device, and part of a
CUDA graph like the launches around it. They are never run as Python. Flat memory is one axis, C-contiguous.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange


def seeded(seeds: Any, old: Any, n_old: Any, new: Any, n_new: Any) -> None:
    """Zero at the first `n_old` places of `old`, one at the first `n_new` of `new`."""
    for _ in prange(1):
        for k, place in enumerate(old):
            if k < n_old:
                seeds[place] = 0.0
        for k, place in enumerate(new):
            if k < n_new:
                seeds[place] = 1.0


def units(seeds: Any, first: Any) -> None:
    """Row w of (tangents, numbers): the unit vector of number `first + w`."""
    for w in prange(seeds.shape[0]):
        for i in prange(seeds.shape[1]):
            seeds[w, i] = 1.0 if i == first + w else 0.0


def coloured(seeds: Any, colours: Any, first: Any) -> None:
    """Row w of (tangents, numbers): one where the colour is `first + w`, zero elsewhere."""
    for w in prange(seeds.shape[0]):
        for i in prange(seeds.shape[1]):
            seeds[w, i] = 1.0 if colours[i] == first + w else 0.0


def taken(out: Any, at: Any, row: Any, lane: Any, count: Any, tangents: Any) -> None:
    """Number r of tangent w, of the first `count`, to place `at + r * row + w * lane`."""
    for r in prange(len(tangents[0])):
        for w, tangent in enumerate(tangents):
            if w < count:
                out[at + r * row + w * lane] = tangent[r]


def columns(out: Any, at: Any, row: Any, count: Any, tangents: Any) -> None:
    """As `taken` where the tangents go side by side (lane 1): work items that are neighbours write neighbours."""
    width = len(tangents)
    for item in prange(len(tangents[0]) * width):
        r = item // width
        w = item - r * width
        for k, tangent in enumerate(tangents):
            if k == w and w < count:
                out[at + r * row + w] = tangent[r]


def put(out: Any, at: Any, lane: Any, count: Any, numbers: Any) -> None:
    """The first `count` numbers to places `at + w * lane`."""
    for _ in prange(1):
        for w, number in enumerate(numbers):
            if w < count:
                out[at + w * lane] = number


def picked(out: Any, at: Any, places: Any, count: Any, tangents: Any) -> None:
    """One number of each of the first `count` tangents, at a place of its own, to `at + w`."""
    for _ in prange(1):
        for w, tangent in enumerate(tangents):
            if w < count:
                out[at + w] = tangent[places[w]]


def gathered(out: Any, numbers: Any, places: Any) -> None:
    """`numbers[places]`."""
    for e in prange(len(places)):
        out[e] = numbers[places[e]]


def cleared(out: Any) -> None:
    """Zero everywhere."""
    for i in prange(len(out)):
        out[i] = 0.0


def copied(out: Any, a: Any) -> None:
    """An array of any strides into another one."""
    out[...] = a


def added(numbers: Any) -> Any:
    """The sum."""
    return np.sum(numbers)


def differing(a: Any, b: Any) -> Any:
    """How many numbers of two arrays of one shape differ."""
    return np.sum(a != b)


def row_sums(
    products: Any, sizes: Any, indptr: Any, indices: Any, entries: Any, vector: Any, tangent: Any
) -> Any:
    """A matrix times a vector, for each row its sum of absolute terms or the tangent's size, the largest of those."""
    most = 0.0
    for r in prange(len(tangent)):
        total, size = 0.0, 0.0
        for e in range(indptr[r], indptr[r + 1]):
            term = entries[e] * vector[indices[e]]
            total += term
            size += abs(term)
        size = max(size, abs(tangent[r]))
        products[r] = total
        sizes[r] = size
        most = max(most, size if np.isfinite(size) else 0.0)
    return most


def wrong_rows(wrong: Any, products: Any, sizes: Any, tangent: Any, share: Any, least: Any) -> Any:
    """Where a product is not the tangent, to `share` of its size and `least`, unless both are not finite; how often."""
    count = 0
    for r in prange(len(tangent)):
        near = abs(products[r] - tangent[r]) <= share * sizes[r] + least
        lost = not np.isfinite(products[r]) and not np.isfinite(tangent[r])
        bad = 0 if near or lost else 1
        wrong[r] = bad
        count += bad
    return count
