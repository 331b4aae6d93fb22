"""How a sparse Jacobian is read from few products: which colour each column (or row) has, and where each entry is.

Products with the colours' directions are in one array, by output and colour, or by colour and input; entry k of the
compressed rows is number `places(...)[k]` of that array.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numba import njit

from adjit.api.pulls import ROW_COST
from adjit.api.pushes import PASS_COST, cost_of
from adjit.api.sparse.colouring import grouped, star
from adjit.api.sparse.graphs import Index
from adjit.api.sparse.pattern import Pattern
from adjit.runtime.widths import WIDTHS

Cost = Callable[[int], float]
"""What so many products from the left cost, over one (`api.pulls`)."""


@dataclass(frozen=True)
class Compression:
    """mode: by tangents of columns, or by cotangents of rows. colours: one per column (or row), `count` of them."""

    mode: Literal["forward", "reverse"]
    colours: Index
    count: int
    symmetric: bool = False

    def places(self, pattern: Pattern, strides: tuple[int, int]) -> Index:
        """Where each entry is among the products: row (or column) and colour, times the strides, added up."""
        if self.symmetric:
            return _star_places(*pattern.rows, self.colours, self.count, *strides)
        rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
        columns = pattern.indices
        if self.mode == "forward":
            return rows * strides[0] + self.colours[columns] * strides[1]
        return columns * strides[0] + self.colours[rows] * strides[1]


def compression(pattern: Pattern, symmetric: bool, of_rows: Cost = WIDTHS.cost) -> Compression:
    """The cheapest one: fewest products, by what they cost in each mode."""
    if symmetric:
        colours, count = star(pattern.rows)
        return Compression("forward", colours, count, True)

    def row_cost(colours: int) -> float:
        return ROW_COST * (of_rows(colours) + 1)

    columns = pattern.transposed()
    forward, reverse = _most(pattern.indptr), _most(columns[0])  # at least so many colours
    if _pass_cost(forward) <= row_cost(reverse):
        colours, count = grouped(pattern.rows, columns)
        if _pass_cost(count) <= row_cost(reverse):
            return Compression("forward", colours, count)
        rows, row_count = grouped(columns, pattern.rows)
        if _pass_cost(count) <= row_cost(row_count):
            return Compression("forward", colours, count)
        return Compression("reverse", rows, row_count)
    rows, row_count = grouped(columns, pattern.rows)
    if row_cost(row_count) > _pass_cost(forward):
        colours, count = grouped(pattern.rows, columns)
        if _pass_cost(count) <= row_cost(row_count):
            return Compression("forward", colours, count)
    return Compression("reverse", rows, row_count)


def _most(indptr: Index) -> int:
    return int(np.diff(indptr).max(initial=0))


def _pass_cost(colours: int) -> float:
    return PASS_COST * cost_of(colours)


@njit(cache=True)
def _star_places(indptr: Index, indices: Index, colours: Index, count: int, row: int, colour: int) -> Index:
    """Where each entry (i, j) is: in column j's product where no other column of its colour has row i, else in i's."""
    at = np.empty(len(indices), np.int64)
    often = np.zeros(count, np.int64)
    for i in range(len(indptr) - 1):
        for k in range(indptr[i], indptr[i + 1]):
            often[colours[indices[k]]] += 1
        for k in range(indptr[i], indptr[i + 1]):
            j = indices[k]
            if often[colours[j]] == 1:
                at[k] = i * row + colours[j] * colour
            else:
                at[k] = j * row + colours[i] * colour
        for k in range(indptr[i], indptr[i + 1]):
            often[colours[indices[k]]] = 0
    return at
