"""Passes of a function's tangent program over many directions, as one host program of launches.

Many passes run in one, where the sink and the seeds know how: each launch is for so many groups of arrays, of which a
group is what one pass has (`DeviceArray.step`). What the host would have to know of each group (sums) rules it out:
then a pass follows the other. Where f writes its arguments the last pass is one alone, which writes them.

The whole of it is one call on the device: seeds, passes, what is kept of each. So it waits for nothing but what f's
own host code reads, and is replayed as a CUDA graph as any program is.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Protocol

from adjit.api.device.moves import in_order, moves_of, of_group, order_of
from adjit.api.device.seeds import Place, Seeds
from adjit.api.pushes import Program, Pushes
from adjit.errors import MemoryLimitError
from adjit.runtime.device_memory import DeviceArray, Ungrouped

_MOST_GROUPS = 2**16 - 1
_ROOM = 2**28
"""Bytes of the seeds of passes that run in one."""


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
        self._alone = set[Program]()  # those whose passes follow one another

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
            start, value = self._grouped(device, program, (leaves, captures), (seeds, sink), written)
            if value is not None:
                return (*value, *sink.results(device))
            while True:
                stop = min(start + width, seeds.count)
                given = list(leaves)
                if stop < seeds.count:
                    for k, order in written:
                        given[k] = moves.copy(device, leaves[k], order)
                flat = call(device, *given, *captures, *seeds.given(device, start, stop, width)) or ()
                sink.take(device, _by_results(flat[compiled.n_results :], width), start, stop)
                start = stop
                if start >= seeds.count:
                    return (*flat[: compiled.n_results], *sink.results(device))

        return run

    def _grouped(
        self,
        device: Any,
        program: Program,
        given: tuple[Sequence[Any], Sequence[Any]],
        ends: tuple[Any, Any],
        written: Sequence[tuple[int, str]],
    ) -> tuple[int, Sequence[Any] | None]:
        """As many passes at once as there is room for, all but the last where arguments are written.

        Returns: how many directions are done, and f's results where that is all of them.
        """
        width, (seeds, sink) = program.width, ends
        size = getattr(seeds, "bytes_of_one", 0) if hasattr(sink, "take_groups") else 0
        most = min(_MOST_GROUPS, _ROOM // (width * size)) if size and program not in self._alone else 0
        start, value = 0, None
        while (groups := min(most, _groups(seeds.count - start, width, bool(written)))) > 1:
            try:
                own = seeds.grouped(device, start, groups, width)
                value, tangents = self._several(device, program, given, own, groups, written)
            except Ungrouped:
                self._alone.add(program)
                return start, None
            except MemoryLimitError:
                most //= 4
                continue
            sink.take_groups(device, tangents, start, groups)
            start += groups * width
        return start, value if start >= seeds.count else None

    def _several(
        self,
        device: Any,
        program: Program,
        given: tuple[Sequence[Any], Sequence[Any]],
        seeds: Sequence[Any],
        groups: int,
        written: Sequence[tuple[int, str]],
    ) -> tuple[list[Any], list[Sequence[Any]]]:
        """f's results, and the tangents of so many passes. Arguments are left alone."""
        leaves, captures = list(given[0]), given[1]
        with device.grouped(groups):
            for k, order in written:
                leaves[k] = self.moves.copy(device, leaves[k], order)
            flat = program.compiled.inner(device, *leaves, *captures, *seeds) or ()
            tangents: list[Sequence[Any]] = [
                [self._in_order(device, t) for t in found]
                for found in _by_results(flat[program.compiled.n_results :], program.width)
            ]
        return [self._of_first(device, r) for r in flat[: program.compiled.n_results]], tangents

    def _of_first(self, device: Any, result: Any) -> Any:
        """A result of the first group in memory of its own; an argument, and a number, as it is."""
        if not is_array(result) or not result.step:
            return result
        return self.moves.copy(device, of_group(result, 0), "C")

    def _in_order(self, device: Any, tangent: Any) -> Any:
        """A tangent in C's order, which launches for other numbers of groups take as it is."""
        if not is_array(tangent) or in_order(tangent, "C"):
            return tangent
        return self.moves.copy(device, tangent, "C")


def _groups(count: int, width: int, written: bool) -> int:
    """How many passes so many directions take: without the last one where arguments are written."""
    return (count - 1) // width if written else -(-count // width)


def _by_results(flat: Sequence[Any], width: int) -> list[Sequence[Any]]:
    return [flat[k : k + width] for k in range(0, len(flat), width)]


def is_array(value: Any) -> bool:
    """Whether a tangent is an array's."""
    return type(value) is DeviceArray
