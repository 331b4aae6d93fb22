"""Products of a Jacobian with the directions of colours, by forward mode or by reverse mode."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from adjit.api.lanes import Block
from adjit.api.pushes import Program, Tangent
from adjit.api.sparse.graphs import Index
from adjit.ir.structure import Leaf
from adjit.ir.types import Array


class Directions:
    """For each colour the sum of the unit vectors of its columns, then a vector of its own (`lanes.Seeds`).

    Arguments: colours: one array per active leaf, of its shape, and vectors alike (None: no such direction).
    """

    def __init__(self, colours: Sequence[Index], count: int, vectors: Sequence[Any] | None):
        self.colours, self.vectors = colours, vectors
        self.written: Sequence[Block] | None = None  # lanes that hold them already
        self.colour_count, self.count = count, count + (vectors is not None)

    def fill(self, blocks: Sequence[Block], start: int, stop: int) -> None:
        """Write the directions of a pass into the lanes, where they do not hold them."""
        if blocks is self.written:
            return
        for k, block in enumerate(blocks):
            for lane in range(block.width):
                value = self._direction(k, start + lane, stop)
                if block.is_array:
                    block.lanes[..., lane] = value
                else:
                    block.lanes[lane] = block.zero + value[()]

    def _direction(self, k: int, number: int, stop: int) -> Any:
        if number >= stop:
            return np.False_
        if number < self.colour_count:
            return self.colours[k] == number
        assert self.vectors is not None
        return self.vectors[k]


class Products:
    """The tangents of all results, in one array (`pushes.Sink`): number `row * strides[0] + direction * strides[1]`.

    The one result of one pass of packed tangents stays where the program put it; others are copied, direction after
    direction. found: the array. whole: whether it is the program's own.
    """

    def __init__(self, program: Program, count: int, rows: int):
        results = program.results
        self._carrying = [results.all[k] for k in results.carrying]
        one = len(self._carrying) == 1 and isinstance(self._carrying[0].type, Array)
        self.whole = program.packed and one and count <= program.width
        self.strides = (program.width, 1) if self.whole else (1, rows)
        self._count, self._rows = count, rows
        self.found = np.empty(0)

    def direction(self, number: int) -> np.ndarray[Any, Any]:
        """The tangents along one direction."""
        start = number * self.strides[1]
        return self.found[start :: self.strides[0]] if self.whole else self.found[start : start + self._rows]

    def take(self, tangents: Sequence[Tangent], start: int, stop: int) -> None:
        """Keep the tangents of a pass."""
        if self.whole:
            self.found = tangents[0].lanes().reshape(-1)
            return
        if start == 0:
            dtype = np.result_type(*map(dtype_of, self._carrying))
            self.found = np.empty(self._count * self._rows, dtype)
        at, rows = 0, self.found.reshape(self._count, self._rows)[start:stop]
        for tangent in tangents:
            size = math.prod(tangent.shape)
            part = rows[:, at : at + size].reshape(stop - start, *tangent.shape)
            tangent.into(np.moveaxis(part, 0, -1), stop - start)
            at += size


def dtype_of(leaf: Leaf) -> np.dtype[Any]:
    """The dtype of a leaf's numbers."""
    type_ = leaf.type
    return np.dtype(type_.dtype.name if isinstance(type_, Array) else type_.name)  # type: ignore[union-attr]
