"""The blocks of a Jacobian on a device: columns by passes, rows by sweeps."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjit.api.blocks import Blocks, Inputs
from adjit.api.device.moves import Moves, flattened, in_order, of_group, order_of, part, position
from adjit.api.device.passes import Passes, is_array
from adjit.api.device.seeds import Units
from adjit.api.pushes import Pushes
from adjit.api.rows import Rows
from adjit.ir.structure import Leaf
from adjit.runtime.device_memory import DeviceArray


class Columns:
    """The blocks of one call, made when it is known how large the result is. A block of two numbers is a number.

    into: blocks of a call before, to be written again.
    """

    def __init__(self, moves: Moves, blocks: Blocks, into: Sequence[DeviceArray]):
        self._moves, self._blocks, self._inputs = moves, blocks, blocks.inputs
        self._leaves = [blocks.results.all[k] for k in blocks.results.carrying]
        self._into = list(into)
        self.of: list[list[Any]] = []
        self.shapes: list[tuple[int, ...]] = []

    def make(self, device: Any, shapes: Sequence[tuple[int, ...]], zero: bool) -> None:
        """Memory for the blocks, from the shapes of the results."""
        self.shapes = list(shapes)
        into = iter(self._into)
        if not self._into:
            sizes = [
                math.prod(s) * _dtype(leaf).itemsize for s, leaf in zip(shapes, self._leaves, strict=True)
            ]
            self._blocks.fit(sum(sizes) * self._inputs.count, sum(map(math.prod, shapes)), device.room)
        for leaf, shape in zip(self._leaves, shapes, strict=True):
            row = list[Any]()
            for own, of_array in zip(self._inputs.shapes, self._inputs.arrays, strict=True):
                if not (of_array or leaf.is_array):
                    row.append(_dtype(leaf).type(0))
                    continue
                if self._into:
                    made = next(into)
                    self._blocks.same(made.shape, shape, own)
                    if zero and made.size:
                        self._moves.cleared(device, flattened(made))
                else:
                    made = (device.zeros if zero else device.empty)((*shape, *own), _dtype(leaf))
                row.append(made)
            self.of.append(row)

    def take(self, device: Any, tangents: Sequence[Sequence[Any]], start: int, stop: int) -> None:
        """The columns of a pass (`passes.Sink`)."""
        if not self.of:
            self.make(device, [t[0].shape if is_array(t[0]) else () for t in tangents], False)
        for row, found in zip(self.of, tangents, strict=True):
            for k, low, high in self._inputs.pieces(start, stop):
                lane = self._inputs.starts[k] + low - start
                own = [*found[lane:], *found[:lane]]
                size = self._inputs.sizes[k]
                if not is_array(row[k]):
                    row[k] = own[0]
                elif is_array(own[0]):
                    if own[0].size:
                        self._moves.taken(device, flattened(row[k]), own, low, size, 1, high - low)
                else:
                    self._moves.put(device, flattened(row[k]), own, low, 1, high - low)

    def take_groups(self, device: Any, tangents: Sequence[Sequence[Any]], start: int, groups: int) -> None:
        """The columns of so many passes at once, each of as many tangents (see `passes`)."""
        if not self.of:
            self.make(device, [t[0].shape if is_array(t[0]) else () for t in tangents], False)
        (size,), width = self._inputs.sizes, len(tangents[0])
        full = min(groups, (size - start) // width)  # the last one may have fewer
        for (block,), found in zip(self.of, tangents, strict=True):
            out = part(block, 0, (block.size,), step=width if full > 1 else 0)
            with device.grouped(full):
                self._take(device, out, found, start, width if full else 0)
            if full < groups:
                rest = [of_group(t, full) if is_array(t) else t for t in found]
                self._take(device, flattened(block), rest, start + full * width, size - start - full * width)

    def _take(self, device: Any, out: Any, found: Sequence[Any], at: int, count: int) -> None:
        """The first `count` tangents to columns from `at` on."""
        if not is_array(found[0]):
            self._moves.put(device, out, found, at, 1, count)
        elif found[0].size and count:
            self._moves.taken(device, out, found, at, self._inputs.count, 1, count)

    def results(self, device: Any) -> list[Any]:
        """The blocks, row by row."""
        return [block for row in self.of for block in row]


class DeviceJacobian:
    """The Jacobian of one function by both modes."""

    def __init__(self, pushes: Pushes, rows: Rows):
        self._pushes, self._rows = pushes, rows
        self._passes = Passes(pushes)
        self._moves = self._passes.moves
        self._swept: Callable[..., Any] | None = None

    def forward(self, leaves: Sequence[Any], blocks: Blocks) -> Any:
        """All columns, into the blocks. Returns the value."""
        passes, into = self._passes, _arrays(blocks)
        count = blocks.inputs.count
        program = self._pushes.program(count)

        def make(own: Sequence[Any], extra: Sequence[Any]) -> tuple[Units, Columns]:
            inputs = Inputs(self._pushes.tree, self._pushes.at, own)
            of = Blocks(blocks.results, inputs, blocks.name, blocks.memory)
            return Units(self._moves, inputs, passes.places(program, own)), Columns(self._moves, of, extra)

        value, found = passes.run(("columns", bool(into)), count, leaves, into, make)
        _keep(blocks, found)
        return value

    def reverse(self, leaves: Sequence[Any], blocks: Blocks) -> Any:
        """All rows, into the blocks. Returns the value."""
        into = _arrays(blocks)
        compiled, results = self._rows.compiled, self._rows.results
        self._rows.check(leaves)
        if self._swept is None:
            self._swept = self._moves.call(self._sweeps(blocks))
        flat = self._swept(*leaves, *compiled.captures, *into)
        _keep(blocks, flat[results.count :])
        return results.value(flat)

    def _sweeps(self, blocks: Blocks) -> Callable[..., Any]:
        compiled, results, tree = self._rows.compiled, self._rows.results, self._pushes.tree
        n_leaves, n_captures = len(tree.all), len(compiled.captures)
        of_blocks, name, memory = blocks.results, blocks.name, blocks.memory

        def run(device: Any, *args: Any) -> tuple[Any, ...]:
            own, into = args[:n_leaves], args[n_leaves + n_captures :]
            inputs = Inputs(tree, self._pushes.at, own)
            columns = Columns(self._moves, Blocks(of_blocks, inputs, name, memory), into)
            flat = compiled.inner(device, *args[: n_leaves + n_captures])
            carrying = [(results.all[k], flat[k]) for k in results.carrying]
            columns.make(device, [v.shape if is_array(v) else () for _, v in carrying], True)
            sweep = Sweep(self._moves, compiled, [tree.all[i] for i in self._pushes.at], inputs.shapes)
            for o, (leaf, _) in enumerate(carrying):
                shape = columns.shapes[o]
                for r in range(math.prod(shape)):
                    seeds = [zero_seed(device, *pair) for pair in carrying]
                    if leaf.is_array:
                        at = position(r, shape, order_of(leaf))
                        self._moves.seeded(device, flattened(seeds[o]), [], [at], 1)
                    else:
                        seeds[o] = seeds[o] + 1
                    rows = [
                        part(flattened(b), r * n, (n,)) if is_array(b) else None
                        for b, n in zip(columns.of[o], inputs.sizes, strict=True)
                    ]
                    found = sweep.run(device, flat[results.count :], seeds, rows)
                    for k, number in enumerate(found):
                        if not is_array(columns.of[o][k]):
                            columns.of[o][k] = number
            return (*flat[: results.count], *columns.results(device))

        return run


class Sweep:
    """Reverse sweeps whose cotangents go into rows of flat memory."""

    def __init__(
        self, moves: Moves, compiled: Any, leaves: Sequence[Leaf], shapes: Sequence[tuple[int, ...]]
    ):
        self._moves, self._compiled, self._leaves, self._shapes = moves, compiled, leaves, shapes

    def run(
        self, device: Any, saved: Sequence[Any], seeds: Sequence[Any], rows: Sequence[DeviceArray | None]
    ) -> list[Any]:
        """One sweep. A row, zero before, is a shadow itself where its dtype and order are what the program wants.

        Returns: for each active leaf the cotangent, a number's as a number; those are put into their rows, too.
        """
        shadows = dict[int, DeviceArray]()
        for k, (leaf, shape) in enumerate(zip(self._leaves, self._shapes, strict=True)):
            if leaf.is_array:
                row = rows[k]
                assert row is not None
                fits = row.dtype == leaf.number.name and in_order(part(row, 0, shape), order_of(leaf))
                own = part(row, 0, shape, order_of(leaf)) if fits else None
                shadows[k] = device.zeros(shape, leaf.number.name, order_of(leaf)) if own is None else own
        numbers = iter(self._compiled.inner_pullback(device, *saved, *shadows.values(), *seeds) or ())
        found = list[Any]()
        for k, row in enumerate(rows):
            cotangent = shadows[k] if k in shadows else next(numbers)
            found.append(cotangent)
            if row is None or row.size == 0:
                continue
            if k not in shadows:
                self._moves.put(device, row, [cotangent], 0, 1, 1)
            elif cotangent.offset != row.offset or cotangent.buffer is not row.buffer:
                self._moves.taken(device, row, [cotangent], 0, 1, 1, 1)
        return found


def zero_seed(device: Any, leaf: Leaf, value: Any) -> Any:
    """A cotangent of zeros for a result."""
    if leaf.is_array:
        return device.zeros(value.shape, leaf.number.name, order_of(leaf))
    return 0.0 if leaf.number.name == "float64" else np.dtype(leaf.number.name).type(0)


def _dtype(leaf: Leaf) -> np.dtype[Any]:
    return np.dtype(leaf.number.name)


def _arrays(blocks: Blocks) -> list[Any]:
    """The blocks of a call before that are arrays of the device."""
    return [b for row in blocks.of for b in row if not isinstance(b, np.ndarray)]


def _keep(blocks: Blocks, found: Sequence[Any]) -> None:
    """The blocks of a call, a number's as an array of NumPy's that has no axes; arrays of a call before stay."""
    wide = len(blocks.inputs.shapes)
    leaves = [blocks.results.all[k] for k in blocks.results.carrying]
    before = [b for row in blocks.of for b in row] or found
    made = [
        np.asarray(new, _dtype(leaves[n // wide])) if np.isscalar(new) else old
        for n, (old, new) in enumerate(zip(before, found, strict=True))
    ]
    blocks.of = [made[k : k + wide] for k in range(0, len(made), wide)]
