"""`aj.Batch` of tangents in `jvp`: several derivatives from one call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjit.api.batches import fit_batch, one_count
from adjit.api.device import sinks
from adjit.api.device.passes import Passes
from adjit.api.device.seeds import Given, as_given
from adjit.api.engine import Engine
from adjit.api.lanes import Block
from adjit.api.plan import Leaves, Results
from adjit.api.pushes import Pushes, Tangent
from adjit.api.tangents import active_leaves, collect
from adjit.ir.structure import Spec


class Batched:
    """The programs that carry a batch of tangents."""

    def __init__(self, engine: Engine[Batched], specs: tuple[Spec, ...], masks: tuple[Any, ...]):
        self._tree = Leaves(engine.source, specs)
        self._pushes = Pushes(engine, specs, active_leaves(self._tree, masks), "jvp")
        self._passes = Passes(self._pushes) if self._tree.place else None

    def run(self, values: tuple[Any, ...], tangents: Sequence[Any]) -> tuple[Any, Any]:
        """The value and its tangents."""
        leaves = self._tree.of(values)
        given = [t for tree in tangents for t in collect(tree)]
        at = self._pushes.at
        checked: list[Any] = []
        for i, t in zip(at, given, strict=True):
            shape = leaves[i].shape if self._tree.is_array(i) else ()
            checked.append(fit_batch(t, shape, self._tree.all[i], f"'{self._tree.names[i]}'", "tangent"))
        count = one_count((f"'{self._tree.names[i]}'", t) for i, t in zip(at, checked, strict=True))
        program = self._pushes.program(count)
        if self._passes is not None:
            return self._run_on(self._passes, leaves, checked, count)
        stacks = Stacks(program.results, count)
        value = self._pushes.run(leaves, _Given(checked, count), stacks)
        return value, stacks.tree()

    def _run_on(
        self, passes: Passes, leaves: Sequence[Any], batches: Sequence[Any], count: int
    ) -> tuple[Any, Any]:
        """The same of device arrays: a batch of an array's is on the device, one of numbers is the host's."""
        program, moves = self._pushes.program(count), passes.moves
        arrays = [self._tree.is_array(i) for i in self._pushes.at]
        extra: list[Any] = [count]
        for batch, on in zip(batches, arrays, strict=True):
            extra += [batch] if on else map(as_given, batch)

        def make(own: Sequence[Any], extra: Sequence[Any]) -> tuple[Given, sinks.Stacks]:
            many, rest = extra[0], iter(extra[1:])
            values = [next(rest) if on else [next(rest) for _ in range(many)] for on in arrays]
            return Given(moves, passes.places(program, own), values, many), sinks.Stacks(moves, many)

        value, found = passes.run("batch", count, leaves, extra, make)
        stacks, rest = list[Any](), iter(found)
        for k in program.results.carrying:
            leaf = program.results.all[k]
            numbers = None if leaf.is_array else [next(rest) for _ in range(count)]
            stacks.append(next(rest) if numbers is None else np.array(numbers, leaf.number.name))
        return value, program.results.around(stacks)


class _Given:
    """Directions that the user gives (`lanes.Seeds`)."""

    def __init__(self, values: Sequence[Any], count: int):
        self._values, self.count = values, count

    def fill(self, blocks: Sequence[Block], start: int, stop: int) -> None:
        """Copy a part of each batch; what is left over in the lanes is zeros."""
        for block, values in zip(blocks, self._values, strict=True):
            if stop - start < block.width:
                block.clear()
            if not block.is_array:
                block.lanes[: stop - start] = list(values[start:stop])
                continue
            block.lanes[..., : stop - start] = np.moveaxis(values[start:stop], 0, -1)


class Stacks:
    """Tangents with a leading axis (`pushes.Sink`)."""

    def __init__(self, results: Results, count: int):
        self._results, self._count = results, count
        self._of: list[np.ndarray[Any, Any]] = []

    def take(self, tangents: Sequence[Tangent], start: int, stop: int) -> None:
        """Keep the tangents of a pass."""
        for o, (k, tangent) in enumerate(zip(self._results.carrying, tangents, strict=True)):
            if start == 0:
                dtype = self._results.all[k].number.name
                self._of.append(np.zeros((self._count, *tangent.shape), dtype))
            tangent.into(np.moveaxis(self._of[o][start:stop], 0, -1), stop - start)

    def tree(self) -> Any:
        """The stacks in the tree of the result."""
        return self._results.around(self._of)
