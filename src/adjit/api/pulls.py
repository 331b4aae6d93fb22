"""Several cotangents of one record, a few at a time: what `jacrev` and a `Batch` of cotangents in a pullback run on.

A sweep carries `width` cotangents in lanes (`transform.widen`), each computed by the operations that it would be
computed by alone. Where a program's cotangents cannot be carried so, `Pulls.width` is 1, and each is swept alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjit.api.lanes import Block, Seeds
from adjit.ir.structure import Leaf
from adjit.runtime.widths import WIDTHS

ROW_COST = 3.0
"""What a record and a sweep of one cotangent cost, in calls of the function."""

Take = Callable[[Sequence[Any], int, int], None]
"""Receives the cotangents of a sweep, from `start` to `stop`: for each active leaf an array with an axis more, last."""


class Pulls:
    """The sweeps of several cotangents of one split program."""

    def __init__(self, compiled: Any, inputs: Sequence[Leaf], outputs: Sequence[Leaf]):
        """Arguments: inputs: the active leaves, in any order. outputs: leaves of the result that carry derivatives."""
        self.inputs = inputs
        self._compiled, self._outputs = compiled, outputs

    def width(self, count: int) -> int:
        """How many of `count` cotangents each sweep is to carry."""
        width = WIDTHS.best(count)
        return width if width > 1 and self._compiled.lanes(width) is not None else 1

    def run(
        self,
        saved: Sequence[Any],
        ins: Sequence[tuple[int, ...]],
        outs: Sequence[tuple[int, ...]],
        seeds: Seeds,
        take: Take,
    ) -> None:
        """Every cotangent, `width(seeds.count)` at a time.

        Arguments: saved: what the forward sweep handed on. ins, outs: the shapes of the leaves.
        """
        width = self.width(seeds.count)
        sweep = self._compiled.lanes(width)
        given = [Block(leaf, shape, width, True) for leaf, shape in zip(self._outputs, outs, strict=True)]
        blocks = [Block(leaf, shape, width, True) for leaf, shape in zip(self.inputs, ins, strict=True)]
        shadows = [b for b in blocks if b.is_array]
        for start in range(0, seeds.count, width):
            stop = min(start + width, seeds.count)
            if start:
                for b in (*given, *shadows):
                    b.clear()
            seeds.fill(given, start, stop)
            found = sweep(*saved, *(b.given[0] for b in (*shadows, *given)))
            adjoints = iter(found or ())
            take([b.lanes if b.is_array else next(adjoints)["lanes"][0] for b in blocks], start, stop)


class Given:
    """Cotangents that are given, one batch for each leaf of the result, or None for zeros (`lanes.Seeds`)."""

    def __init__(self, batches: Sequence[Any], count: int):
        self._batches, self.count = batches, count

    def fill(self, blocks: Sequence[Block], start: int, stop: int) -> None:
        """Copy a part of each batch into lanes, which hold zeros."""
        for block, batch in zip(blocks, self._batches, strict=True):
            if batch is not None:
                block.lanes[..., : stop - start] = np.moveaxis(batch[start:stop], 0, -1)


class Stacks:
    """Cotangents of inputs with a leading axis: `of` has an array for each input."""

    def __init__(self, inputs: Sequence[Leaf], shapes: Sequence[tuple[int, ...]], count: int):
        pairs = zip(inputs, shapes, strict=True)
        self.of = [np.empty((count, *shape), leaf.number.name) for leaf, shape in pairs]

    def take(self, found: Sequence[Any], start: int, stop: int) -> None:
        """Keep the cotangents of a sweep."""
        for stack, lanes in zip(self.of, found, strict=True):
            stack[start:stop] = np.moveaxis(lanes, -1, 0)[: stop - start]
