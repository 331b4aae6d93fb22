"""Products from the left: one record of a function, reverse sweeps for a few colours of rows each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from adjit.api.lanes import Block
from adjit.api.plan import Leaves
from adjit.api.rows import Rows
from adjit.api.sparse.columns import Columns
from adjit.api.sparse.graphs import Index
from adjit.api.sparse.products import dtype_of
from adjit.api.tangents import zeros
from adjit.ir.structure import Leaf
from adjit.ir.types import Array


def swept(
    rows: Rows, columns: Columns, of: Leaves, leaves: Sequence[Any], colours: Index, count: int
) -> tuple[Any, np.ndarray[Any, Any]]:
    """The value, and an array (colours, inputs): for each colour the sum of its rows of the Jacobian.

    Arrays that the function writes end as the plain call leaves them.
    """
    compiled, results = rows.compiled, rows.results
    flat = compiled.call(*leaves, *compiled.captures)
    saved = flat[results.count :]
    carrying = [(results.all[k], np.shape(flat[k])) for k in results.carrying]
    if rows.pulls.width(count) > 1:
        parts = _Parts(columns, of, leaves, count)
        seeds = _Colours([shape for _, shape in carrying], colours, count)
        rows.pulls.run(saved, parts.shapes, seeds.shapes, seeds, parts.take)
        return results.value(flat), parts.found
    found: np.ndarray[Any, Any] | None = None
    for c in range(count):
        arrays = {i: zeros(leaves[i].shape, of.all[i]) for i in sorted(columns.order) if of.is_array(i)}
        seeds = _seeds(carrying, colours == c)
        adjoints = iter(compiled.pullback(*saved, *arrays.values(), *seeds) or ())
        numbers = {i: next(adjoints) for i in sorted(columns.order) if not of.is_array(i)}
        row = np.concatenate([np.ravel({**arrays, **numbers}[i]) for i in columns.order])
        if found is None:
            found = np.empty((count, len(row)), row.dtype)
        found[c] = row
    if found is None:
        found = np.empty((0, sum(columns.sizes(leaves))))
    return results.value(flat), found


class _Colours:
    """For each colour the sum of the unit vectors of its rows (`lanes.Seeds`)."""

    def __init__(self, shapes: Sequence[tuple[int, ...]], colours: Index, count: int):
        self.shapes, self.count = shapes, count
        ends = np.cumsum([0, *(math.prod(shape) for shape in shapes)])
        self._of = [colours[ends[k] : ends[k + 1]].reshape(shape) for k, shape in enumerate(shapes)]

    def fill(self, blocks: Sequence[Block], start: int, stop: int) -> None:
        """Ones where an element's colour is the lane's."""
        for block, colours in zip(blocks, self._of, strict=True):
            block.lanes[..., : stop - start] = colours[..., None] == np.arange(start, stop)


class _Parts:
    """The products as an array (colours, inputs), the inputs in the order of the columns."""

    def __init__(self, columns: Columns, of: Leaves, leaves: Sequence[Any], count: int):
        sizes = dict(zip(columns.order, columns.sizes(leaves), strict=True))
        ends = dict(zip(columns.order, np.cumsum(list(sizes.values())).tolist(), strict=True))
        at = sorted(columns.order)
        self.shapes = [leaves[i].shape if of.is_array(i) else () for i in at]
        self._slices = [slice(ends[i] - sizes[i], ends[i]) for i in at]
        dtype = np.result_type(*(np.dtype(of.all[i].number.name) for i in at))
        self.found = np.empty((count, sum(sizes.values())), dtype)

    def take(self, found: Sequence[Any], start: int, stop: int) -> None:
        """The products of a sweep."""
        for part, lanes in zip(self._slices, found, strict=True):
            rows = np.moveaxis(lanes, -1, 0)[: stop - start]
            self.found[start:stop, part] = rows.reshape(stop - start, -1)


def _seeds(carrying: Sequence[tuple[Leaf, tuple[int, ...]]], chosen: Any) -> list[Any]:
    seeds: list[Any] = []
    at = 0
    for leaf, shape in carrying:
        size = int(np.prod(shape, dtype=np.int64))
        part, dtype = chosen[at : at + size], dtype_of(leaf)
        at += size
        if isinstance(leaf.type, Array):
            order = "F" if leaf.type.layout == "F" else "C"
            seeds.append(np.array(part.reshape(shape), dtype, order=order))
        else:
            seeds.append(float(part[0]) if dtype == np.float64 else dtype.type(part[0]))
    return seeds
