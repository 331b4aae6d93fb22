"""A Jacobian as blocks, one for each leaf of the result and each leaf that is differentiated by."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjit.api.lanes import Block
from adjit.api.plan import Leaves, Results
from adjit.api.pushes import Tangent
from adjit.errors import ArgumentError, MemoryLimitError
from adjit.ir.types import Array
from adjit.runtime.arguments import Template, fill
from adjit.runtime.memory import available, size_text


class Numbers:
    """The numbers of several leaves, as one long vector."""

    def __init__(self, shapes: Sequence[tuple[int, ...]]):
        self.shapes = shapes
        self.sizes = [math.prod(shape) for shape in shapes]
        self.count = sum(self.sizes)
        self.starts = [sum(self.sizes[:k]) for k in range(len(self.sizes))]

    def pieces(self, start: int, stop: int) -> list[tuple[int, int, int]]:
        """What lies from `start` to `stop`: the leaf, and from where to where in it."""
        out: list[tuple[int, int, int]] = []
        for k, (at, size) in enumerate(zip(self.starts, self.sizes, strict=True)):
            low, high = max(start, at), min(stop, at + size)
            if low < high:
                out.append((k, low - at, high - at))
        return out


class Inputs(Numbers):
    """The active leaves of one call."""

    def __init__(self, tree: Leaves, at: Sequence[int], leaves: Sequence[Any]):
        super().__init__([leaves[i].shape if tree.is_array(i) else () for i in at])
        self.weak = [tree.all[i].weak for i in at]
        self.arrays = [tree.is_array(i) for i in at]


class Units:
    """The unit vectors of some numbers, one after the other (`lanes.Seeds`)."""

    def __init__(self, numbers: Numbers):
        self.numbers, self.count = numbers, numbers.count
        self._set: list[tuple[Block, int, int, int]] = []

    def fill(self, blocks: Sequence[Block], start: int, stop: int) -> None:
        """Put a one into each lane."""
        for block, low, high, lane in self._set:
            block.set(low, high, lane, 0.0)
        self._set = []
        for k, low, high in self.numbers.pieces(start, stop):
            lane = self.numbers.starts[k] + low - start
            blocks[k].set(low, high, lane, 1.0)
            self._set.append((blocks[k], low, high, lane))


class Blocks:
    """The blocks, made when the first pass says how large the result is (`pushes.Sink`)."""

    def __init__(self, results: Results, inputs: Inputs, name: str, memory: int | None):
        self.results, self.inputs = results, inputs
        self.name, self.memory = name, memory
        self.of: list[list[Any]] = []
        self._shapes: Sequence[tuple[int, ...]] = ()

    def make(self, shapes: Sequence[tuple[int, ...]]) -> None:
        """Memory for the blocks, from the shapes of the leaves of the result that carry a derivative.

        Blocks that are there already, of a call before, are set to zero.
        """
        self._shapes = shapes
        if self.of:
            self._clear(shapes)
            return
        dtypes = [np.dtype(self.results.all[k].number.name) for k in self.results.carrying]
        sizes = [math.prod(s) * d.itemsize * self.inputs.count for s, d in zip(shapes, dtypes, strict=True)]
        self.fit(sum(sizes), sum(map(math.prod, shapes)), available)
        self.of = [
            [np.zeros((*shape, *s), dtype) for s in self.inputs.shapes]
            for shape, dtype in zip(shapes, dtypes, strict=True)
        ]

    def fit(self, size: int, rows: int, room: Callable[[], int]) -> None:
        """Raise MemoryLimitError where so many bytes are over the limit; without one, more than there is room for."""
        self.require(size, rows, room() if self.memory is None else self.memory)

    def require(self, size: int, rows: int, room: int) -> None:
        """Raise MemoryLimitError where so many bytes are more than there is room for."""
        if size > room:
            raise MemoryLimitError(
                f"the dense Jacobian of {self.name}() has {rows} rows and {self.inputs.count} columns: "
                f"{size_text(size)}, and {size_text(room)} may be used",
                "where most of it is zero, use sparse=True; for products with it, aj.jvp or aj.vjp",
            )

    def _clear(self, shapes: Sequence[tuple[int, ...]]) -> None:
        for row, shape in zip(self.of, shapes, strict=True):
            for block, own in zip(row, self.inputs.shapes, strict=True):
                self.same(block.shape, shape, own)
                block[...] = 0

    def same(self, block: tuple[int, ...], result: tuple[int, ...], own: tuple[int, ...]) -> None:
        """Raise ArgumentError where a block of a call before has not the shape of this call's."""
        if tuple(block) != (*result, *own):
            raise ArgumentError(
                f"the result of {self.name}() has shape {result}, and had another one in the first call",
                "prepare again",
            )

    def take(self, tangents: Sequence[Tangent], start: int, stop: int) -> None:
        """The columns of a pass."""
        shapes = [tangent.shape for tangent in tangents]
        if start == 0:
            self.make(shapes)
        for row, shape, tangent in zip(self.of, shapes, tangents, strict=True):
            pieces = self.inputs.pieces(start, stop)
            if len(pieces) == 1:
                k, low, high = pieces[0]
                tangent.into(self._columns(row, k, shape)[..., low:high], high - low)
                continue
            found = np.empty((*shape, stop - start), row[0].dtype)
            tangent.into(found, stop - start)
            for k, low, high in pieces:
                at = self.inputs.starts[k] - start
                self._columns(row, k, shape)[..., low:high] = found[..., at + low : at + high]

    def put(self, found: Sequence[Any], start: int, stop: int) -> None:
        """The rows of a sweep, counted through all blocks.

        found: for each input an array with an axis more, the last, which is that of the rows.
        """
        first = 0
        for row, shape in zip(self.of, self._shapes, strict=True):
            size = math.prod(shape)
            low, high = max(start, first), min(stop, first + size)
            for block, own, lanes in zip(row, self.inputs.shapes, found, strict=True):
                if low < high:
                    rows = block.reshape(size, *own)[low - first : high - first]
                    rows[...] = np.moveaxis(lanes, -1, 0)[low - start : high - start]
            first += size

    def _columns(self, row: Sequence[np.ndarray[Any, Any]], k: int, shape: tuple[int, ...]) -> Any:
        """Block k of a row, its inputs along one axis."""
        return row[k].reshape(*shape, self.inputs.sizes[k])

    def tree(self, wrt: Template) -> Any:
        """The blocks in the tree of the result, each leaf a tree of what is differentiated by."""
        return self.tree_of(self.of, wrt)

    def tree_of(self, of: Sequence[Sequence[np.ndarray[Any, Any]]], wrt: Template) -> Any:
        """The same of other blocks."""
        items = [self._row(k, blocks, wrt) for k, blocks in zip(self.results.carrying, of, strict=True)]
        return self.results.around(items)

    def _row(self, k: int, blocks: Sequence[np.ndarray[Any, Any]], wrt: Template) -> Any:
        items = [
            block
            if block.ndim or array
            else block.item()
            if weak and block.dtype == np.float64
            else block[()]
            for block, weak, array in zip(blocks, self.inputs.weak, self._arrays(k), strict=True)
        ]
        return fill(wrt, items)

    def _arrays(self, k: int) -> list[bool]:
        """For each input whether the block of result k is an array even where it has no axis."""
        of_array = isinstance(self.results.all[k].type, Array)
        return [of_array or is_array for is_array in self.inputs.arrays]
