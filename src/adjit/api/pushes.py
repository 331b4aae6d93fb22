"""Many tangents of one function, a few at a time: what `jacfwd` and a `Batch` of tangents in `jvp` run on.

A pass carries `width` tangents (`width_for` says how many). Each is computed by the operations that it would be
computed by alone, so its bits do not depend on what is carried beside it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from adjit.api.engine import Engine
from adjit.api.lanes import Block, Seeds
from adjit.api.plan import Guard, Leaves, Results
from adjit.api.vjp import require_result
from adjit.ir.structure import Spec
from adjit.ir.types import Array
from adjit.runtime.places import library_of, place_of
from adjit.runtime.widths import Widths

PASS_COST = 2.0
"""What a pass of one tangent costs, in calls of the function."""

COSTS = {1: 1.0, 2: 1.05, 4: 1.2, 8: 1.6, 16: 2.8}
"""What a pass costs that carries so many tangents, over one that carries one (`benchmarks/forward.py`)."""


def width_for(count: int) -> int:
    """How many tangents each pass carries: the width in `COSTS` with which all passes together cost least.

    So all of up to 16 go in one pass, and of many each pass carries 8 or 16. What is left over in a pass is zeros.
    """
    return _WIDTHS.best(count)


def cost_of(count: int) -> float:
    """What so many tangents cost, over one."""
    return _WIDTHS.cost(count)


_WIDTHS = Widths(COSTS)


def own_copy(value: Any) -> Any:
    """A copy of an array, in its order of memory; a number as it is."""
    if isinstance(value, np.ndarray):
        return value.copy(order="K")
    place = place_of(value)
    if not place:
        return value
    library = library_of(place)
    return library.private(value, "F" if library.layout_of(value) == "F" else "C")


class Sink(Protocol):
    """Where tangents of results go."""

    def take(self, tangents: Sequence[Tangent], start: int, stop: int) -> None:
        """Keep the tangents of a pass."""
        ...


class Tangent:
    """The tangents of one leaf of the result in one pass."""

    def __init__(self, found: Sequence[Any], packed: bool, is_array: bool):
        self._found, self._packed = found, packed
        if packed:
            lanes = found[0]["lanes"]
            self._lanes = lanes if is_array else lanes[0]
        self.shape: tuple[int, ...] = self._lanes.shape[:-1] if packed else np.shape(found[0])

    def into(self, out: Any, count: int) -> None:
        """Copy the first `count` to an array whose last axis they are."""
        if self._packed:
            out[...] = self._lanes[..., :count]
            return
        for k in range(count):
            out[..., k] = self._found[k]

    def lanes(self) -> Any:
        """The array whose last axis the tangents are; None where there is none."""
        return self._found[0]["lanes"] if self._packed else None

    def at(self, place: tuple[Any, ...], lane: int) -> Any:
        """One number of one tangent."""
        if self._packed:
            return self._lanes[(*place, lane)]
        return self._found[lane][place] if place else self._found[lane]


class Program:
    """The program that carries `width` tangents, and its buffers of one shape."""

    def __init__(
        self,
        engine: Engine[Any],
        specs: tuple[Spec, ...],
        active: tuple[bool, ...],
        width: int,
        value: bool = True,
    ):
        self.compiled = engine.compile(specs, "forward", active, width=width, packed=width > 1, value=value)
        self.width, self.packed = width, self.compiled.packed
        self.results = Results(self.compiled.out)

    def split(self, flat: Sequence[Any]) -> list[Tangent]:
        """The tangents of each leaf of the result that carries any."""
        out, at = list[Tangent](), self.compiled.n_results
        size = 1 if self.packed else self.width
        for k in self.results.carrying:
            is_array = isinstance(self.results.all[k].type, Array)
            out.append(Tangent(flat[at : at + size], self.packed, is_array))
            at += size
        return out


class Pushes:
    """The programs of one function and one choice of active leaves, made as they are needed.

    value: whether the function's value is wanted; it is None without.
    """

    def __init__(
        self,
        engine: Engine[Any],
        specs: tuple[Spec, ...],
        active: tuple[bool, ...],
        what: str,
        value: bool = True,
    ):
        self.engine, self.specs, self.active, self._what = engine, specs, active, what
        self._with_value = value
        self.tree = Leaves(engine.source, specs)
        self.at = tuple(i for i, on in enumerate(active) if on)
        self._programs: dict[int, Program] = {}
        self._guard: Guard | None = None

    def program(self, count: int) -> Program:
        """The program for so many tangents. Raises ArgumentError if the result carries no derivative."""
        width = width_for(count)
        found = self._programs.get(width)
        if found is None:
            found = Program(self.engine, self.specs, self.active, width, self._with_value)
            while not found.compiled.fits and found.width > 1:
                found = Program(self.engine, self.specs, self.active, found.width // 2, self._with_value)
            if not found.compiled.raises:
                require_result(found.compiled.out, found.results, self.engine.source, self._what)
            self._guard = self._guard or Guard(self.tree, found.compiled)
            self._programs[width] = found
        return found

    def sizes(self, leaves: Sequence[Any]) -> list[int]:
        """How many numbers each active leaf has."""
        return [math.prod(leaves[i].shape) if self.tree.is_array(i) else 1 for i in self.at]

    def blocks(self, program: Program, leaves: Sequence[Any]) -> list[Block]:
        """Buffers for the tangents of the active leaves."""
        return [Block(self.tree.all[i], np.shape(leaves[i]), program.width, program.packed) for i in self.at]

    def fill(self, program: Program, leaves: Sequence[Any], matrix: Any) -> tuple[bool, Any]:
        """Every column of a matrix (rows, inputs) in one call of `compiled.columns`.

        Returns: whether the matrix has as many rows as the result numbers (else nothing is in it), and the value.
        """
        self.check(leaves)
        compiled = program.compiled
        fits, *flat = compiled.columns(*leaves, *compiled.captures, matrix)
        return fits, self.value(program, flat)

    def check(self, leaves: Sequence[Any]) -> None:
        """Raise ArgumentError for arrays that may not be given, once there is a program (see `Guard`)."""
        assert self._guard is not None
        if self._guard.needed:
            self._guard.check(leaves)

    def value(self, program: Program, flat: Sequence[Any]) -> Any:
        """The function's value, from what a call of the program returned; None where it is not wanted."""
        return program.results.value(flat) if self._with_value else None

    def run(self, leaves: Sequence[Any], seeds: Seeds, sink: Sink, blocks: list[Block] | None = None) -> Any:
        """All tangents, to the sink. Returns the value; arrays that f writes end as one plain call leaves them."""
        program = self.program(seeds.count)
        compiled, width = program.compiled, program.width
        self.check(leaves)
        blocks = self.blocks(program, leaves) if blocks is None else blocks
        moved = [b for b, i in zip(blocks, self.at, strict=True) if compiled.written[i]]
        written = [k for k, w in enumerate(compiled.written) if w and self.tree.is_array(k)]
        start = 0
        while True:
            stop = min(start + width, seeds.count)
            for b in moved:
                b.clear()
            seeds.fill(blocks, start, stop)
            given = list(leaves)
            if stop < seeds.count:
                for k in written:
                    given[k] = own_copy(leaves[k])
            flat = compiled.call(*given, *compiled.captures, *(s for b in blocks for s in b.given)) or ()
            sink.take(program.split(flat), start, stop)
            start = stop
            if start >= seeds.count:
                return self.value(program, flat)
