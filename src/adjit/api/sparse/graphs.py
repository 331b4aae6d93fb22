"""Compressed rows of patterns, and what is done with them entry by entry: compiled, in time linear in the entries.

A pattern is `(indptr, indices)`, columns rising in each row, as in `scipy.sparse.csr_array`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from adjit.errors import MemoryLimitError
from adjit.runtime.memory import available, size_text

Index = np.ndarray[Any, np.dtype[np.int64]]
Words = np.ndarray[Any, np.dtype[np.uint64]]
Rows = tuple[Index, Index]
_BYTES = 40
"""What an entry of a pattern takes while colours are found: itself, its transpose, its place, its value."""


@njit(cache=True)
def transposed(indptr: Index, indices: Index, columns: int) -> Rows:
    """The rows of the transpose."""
    starts = np.zeros(columns + 1, np.int64)
    for j in indices:
        starts[j + 1] += 1
    for j in range(columns):
        starts[j + 1] += starts[j]
    at = starts[:-1].copy()
    rows = np.empty(len(indices), np.int64)
    for i in range(len(indptr) - 1):
        for k in range(indptr[i], indptr[i + 1]):
            j = indices[k]
            rows[at[j]] = i
            at[j] += 1
    return starts, rows


@njit(cache=True)
def _walk(
    words: Words, indptr: Index, indices: Index, first: Index, parts: int, run: int, out: Index, fill: bool
) -> Index:
    starts = np.zeros(len(indptr), np.int64)
    at = 0
    for i in range(len(indptr) - 1):
        if words[i] != 0:
            for k in range(indptr[i], indptr[i + 1]):
                g = indices[k]
                for p in range(max(0, run * 64 - first[g]), min(parts, run * 64 + 64 - first[g])):
                    if (words[i] >> np.uint64(first[g] + p - run * 64)) & np.uint64(1):
                        if fill:
                            out[at] = g * parts + p
                        at += 1
        starts[i + 1] = at
    return starts


def children(words: Words, pattern: Rows, first: Index, parts: int, run: int) -> Rows:
    """The parts of their groups on which the outputs depend, of the groups whose lanes are those of one run.

    Arguments: words: one of each output. first: of each group the number of its first lane; it has `parts` of them.
    Raises: MemoryLimitError.
    """
    none = np.empty(0, np.int64)
    starts = _walk(words, *pattern, first, parts, run, none, False)
    fits(int(starts[-1]))
    out = np.empty(int(starts[-1]), np.int64)
    return _walk(words, *pattern, first, parts, run, out, True), out


def fits(entries: int) -> None:
    """Raise MemoryLimitError where so many entries of a pattern do not fit in memory."""
    needed, room = entries * _BYTES, available()
    if needed > room:
        raise MemoryLimitError(
            f"the sparsity pattern has {entries} entries or more: {size_text(needed)}, and there are {size_text(room)}",
            "use aj.jvp, aj.vjp or aj.hvp for products with the matrix, which is not sparse",
        )


def joined(found: list[Rows], columns: int) -> Rows:
    """The union of patterns that have no entry in common, columns rising in each row."""
    if len(found) == 1:
        return found[0]
    fits(sum(len(j) for _, j in found))
    keys = [np.repeat(np.arange(len(s) - 1), np.diff(s)) * columns + j for s, j in found]
    key = np.sort(np.concatenate(keys))
    starts = sum(s for s, _ in found)
    return np.asarray(starts), key % max(columns, 1)
