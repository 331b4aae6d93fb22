"""Products from the left: one record of a function, a reverse sweep for each colour of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

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
