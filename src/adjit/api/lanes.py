"""Derivatives side by side: the memory that they go in and out by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from adjit.ir.structure import Leaf
from adjit.ir.types import Array
from adjit.runtime.lanes import lanes_dtype


class Block:
    """Tangents of one active leaf: an array's in `lanes`, of its shape and one axis more; a number's in a list."""

    def __init__(self, leaf: Leaf, shape: tuple[int, ...], width: int, packed: bool):
        self.width = width
        type_, dtype = leaf.type, np.dtype(leaf.number.name)
        self.is_array = isinstance(type_, Array)
        if not isinstance(type_, Array):
            self.zero = dtype.type(0)
            if packed:
                box = np.zeros(1, lanes_dtype(dtype, width))
                self.given: list[Any] = [box]
                self.lanes: Any = box["lanes"][0]
            else:
                self.given = self.lanes = [self.zero] * width
            return
        fortran = type_.layout == "F"
        if packed:
            base = np.zeros(shape, lanes_dtype(dtype, width), "F" if fortran else "C")
            self.given, self.lanes = [base], base["lanes"]
            return
        shape = shape[::-1] if fortran else shape
        whole = np.zeros((width, *shape), dtype)
        self.given = [whole[k, ...].T if fortran else whole[k, ...] for k in range(width)]
        axes = tuple(range(whole.ndim - 1, 0, -1)) if fortran else tuple(range(1, whole.ndim))
        self.lanes = whole.transpose((*axes, 0))

    def set(self, low: int, high: int, lane: int, value: float) -> None:
        """`value` in number `low` (in C's order) for that lane, in the next number for the next lane, and so on."""
        if not self.is_array:
            self.lanes[lane] = self.zero + value
            return
        places, lanes = np.arange(low, high), np.arange(lane, lane + high - low)
        shape = self.lanes.shape[:-1]
        if not shape:
            self.lanes[lanes] = value
            return
        self.lanes[(*(np.unravel_index(places, shape) if len(shape) != 1 else (places,)), lanes)] = value

    def clear(self) -> None:
        """Zero everywhere."""
        if isinstance(self.lanes, list):
            self.lanes[:] = [self.zero] * self.width
        else:
            self.lanes[...] = 0


class Seeds(Protocol):
    """Directions: how many, and how a pass gets those from `start` to `stop`."""

    count: int

    def fill(self, blocks: Sequence[Block], start: int, stop: int) -> None:
        """Write the directions into the lanes, which hold zeros or the directions of the pass before."""
        ...
