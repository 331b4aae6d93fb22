"""Passes of a function's tangent program over many directions, as one host program of launches.

The whole of it is one call on the device: seeds, passes, what is kept of each. So it waits for nothing but what f's
own host code reads, and is replayed as a CUDA graph as any program is.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Protocol

from adjit.api.device.moves import moves_of, order_of
from adjit.api.device.seeds import Place, Seeds
from adjit.api.pushes import Program, Pushes
from adjit.runtime.device_memory import DeviceArray


class Sink(Protocol):
    """Where tangents of results go."""

    def take(self, device: Any, tangents: Sequence[Sequence[Any]], start: int, stop: int) -> None:
        """Keep those of a pass: for each result that carries a derivative as many as a pass carries."""
        ...

    def results(self, device: Any) -> list[Any]:
        """What the call returns after the value."""
        ...


Make = Callable[[Sequence[Any], Sequence[Any]], tuple[Seeds, Sink]]
"""Seeds and sink of one call, from its leaves and what else it is given."""


class Passes:
    """The host programs of one function and one choice of active leaves."""

    def __init__(self, pushes: Pushes):
        self.pushes, self.moves = pushes, moves_of(pushes.tree.place)
        self._kept: dict[Hashable, Callable[..., Any]] = {}

    def places(self, program: Program, leaves: Sequence[Any]) -> list[Place]:
        """The active leaves of a call."""
        tree, written = self.pushes.tree, program.compiled.written
        return [
            Place(tree.all[i], tuple(leaves[i].shape) if tree.is_array(i) else (), bool(written[i]))
            for i in self.pushes.at
        ]

    def run(
        self, key: Hashable, count: int, leaves: Sequence[Any], extra: Sequence[Any], make: Make
    ) -> tuple[Any, list[Any]]:
        """The value, and the sink's results. Arrays that f writes end as one plain call leaves them.

        Arguments: key: tells `make` from others. count: of directions. extra: arrays and numbers for `make`.
        """
        program = self.pushes.program(count)
        self.pushes.check(leaves)
        run = self._kept.get((program.width, key))
        if run is None:
            run = self._kept[(program.width, key)] = self.moves.call(self._host_program(program, make))
        flat = run(*leaves, *program.compiled.captures, *extra)
        return self.pushes.value(program, flat), list(flat[program.compiled.n_results :])

    def _host_program(self, program: Program, make: Make) -> Callable[..., Any]:
        compiled, width, tree = program.compiled, program.width, self.pushes.tree
        call, moves = compiled.inner, self.moves
        n_leaves, n_captures = len(tree.all), len(compiled.captures)
        written = [
            (k, order_of(tree.all[k])) for k, w in enumerate(compiled.written) if w and tree.is_array(k)
        ]

        def run(device: Any, *args: Any) -> tuple[Any, ...]:
            leaves, captures = args[:n_leaves], args[n_leaves : n_leaves + n_captures]
            seeds, sink = make(leaves, args[n_leaves + n_captures :])
            start = 0
            while True:
                stop = min(start + width, seeds.count)
                given = list(leaves)
                if stop < seeds.count:
                    for k, order in written:
                        given[k] = moves.copy(device, leaves[k], order)
                flat = call(device, *given, *captures, *seeds.given(device, start, stop, width)) or ()
                sink.take(device, _grouped(flat[compiled.n_results :], width), start, stop)
                start = stop
                if start >= seeds.count:
                    return (*flat[: compiled.n_results], *sink.results(device))

        return run


def _grouped(flat: Sequence[Any], width: int) -> list[Sequence[Any]]:
    return [flat[k : k + width] for k in range(0, len(flat), width)]


def is_array(value: Any) -> bool:
    """Whether a tangent is an array's."""
    return type(value) is DeviceArray
