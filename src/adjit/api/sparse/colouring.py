"""Colourings: which columns of a pattern may share a direction, so that one product serves them all.

* `grouped`: columns of one colour meet in no row (Curtis, Powell and Reid 1974): each entry is read from its colour's
  product as it is. By transposing the pattern, rows for products from the left.
* `star`: of a symmetric pattern, each entry (i, j) can be read in column i or in column j (Coleman and More 1984;
  Gebremedhin, Manne and Pothen, "What color is your Jacobian?", SIAM Review 2005). Needs fewer colours.

Greedy, in the columns' own order and by falling numbers of entries, whichever needs fewer.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from adjit.api.sparse.graphs import Index, Rows


@njit(cache=True)
def _greedy(indptr: Index, indices: Index, starts: Index, rows: Index, order: Index) -> Index:
    """Colours of columns such that those of one row differ."""
    colours = np.full(len(order), -1, np.int64)
    taken = np.full(len(order) + 1, -1, np.int64)
    for j in order:
        for k in range(starts[j], starts[j + 1]):
            i = rows[k]
            for m in range(indptr[i], indptr[i + 1]):
                c = colours[indices[m]]
                if c >= 0:
                    taken[c] = j
        c = 0
        while taken[c] == j:
            c += 1
        colours[j] = c
    return colours


@njit(cache=True)
def _star(indptr: Index, indices: Index, order: Index) -> Index:
    """Colours of the vertices of a graph such that neighbours differ, and no path of four has two colours only."""
    n = len(order)
    colours = np.full(n, -1, np.int64)
    taken = np.full(n + 1, -1, np.int64)
    for v in order:
        for k in range(indptr[v], indptr[v + 1]):
            w = indices[k]
            if w == v:
                continue
            if colours[w] >= 0:
                taken[colours[w]] = v
            for m in range(indptr[w], indptr[w + 1]):
                x = indices[m]
                if x == w or x == v or colours[x] < 0:
                    continue
                if colours[w] < 0:
                    taken[colours[x]] = v
                    continue
                for q in range(indptr[x], indptr[x + 1]):
                    y = indices[q]
                    if y != x and y != w and colours[y] == colours[w]:
                        taken[colours[x]] = v
                        break
        c = 0
        while taken[c] == v:
            c += 1
        colours[v] = c
    return colours


def _orders(pattern: Rows, columns: Rows) -> tuple[Index, ...]:
    degrees = np.diff(columns[0])
    natural = np.arange(len(degrees))
    if len(degrees) == 0 or degrees.min() == degrees.max():
        return (natural,)
    return natural, np.argsort(-degrees, kind="stable")


def _best(found: list[Index]) -> tuple[Index, int]:
    counts = [int(c.max(initial=-1)) + 1 for c in found]
    k = counts.index(min(counts))
    return found[k], counts[k]


def grouped(pattern: Rows, columns: Rows) -> tuple[Index, int]:
    """A colour for each column, those of one row different, and their number. `columns`: the transposed pattern."""
    orders = _orders(pattern, columns)
    return _best([_greedy(*pattern, *columns, order) for order in orders])


def star(pattern: Rows) -> tuple[Index, int]:
    """A colour for each column of a symmetric pattern (see the module), and their number."""
    return _best([_star(*pattern, order) for order in _orders(pattern, pattern)])
