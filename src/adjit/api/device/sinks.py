"""What is kept of the tangents of passes on a device, other than a Jacobian's columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from adjit.api.blocks import Inputs
from adjit.api.device.moves import Moves, flattened, part
from adjit.api.device.passes import is_array
from adjit.runtime.device_memory import DeviceArray


class Stacks:
    """The tangents of each result with a leading axis; those of a number one by one (`passes.Sink`)."""

    def __init__(self, moves: Moves, count: int):
        self._moves, self._count = moves, count
        self._of: list[DeviceArray | None] = []
        self._numbers: list[list[Any]] = []

    def take(self, device: Any, tangents: Sequence[Sequence[Any]], start: int, stop: int) -> None:
        """Keep those of a pass."""
        if start == 0:
            self._of = [
                device.empty((self._count, *t[0].shape), t[0].dtype) if is_array(t[0]) else None
                for t in tangents
            ]
            self._numbers = [[] for _ in tangents]
        for of, numbers, found in zip(self._of, self._numbers, tangents, strict=True):
            if of is None:
                numbers += found[: stop - start]
            elif of.size:
                size = found[0].size
                self._moves.taken(device, flattened(of), found, start * size, 1, size, stop - start)

    def results(self, device: Any) -> list[Any]:
        """For each result its stack, or as many numbers as there are tangents."""
        found = list[Any]()
        for of, numbers in zip(self._of, self._numbers, strict=True):
            found += numbers if of is None else [of]
        return found


class Trace:
    """The sum of the diagonal of a square Jacobian whose results are like its inputs (`passes.Sink`)."""

    def __init__(self, moves: Moves, inputs: Inputs):
        self._moves, self._inputs = moves, inputs
        self._of: dict[int, DeviceArray] = {}
        self._numbers: list[Any] = []

    def take(self, device: Any, tangents: Sequence[Sequence[Any]], start: int, stop: int) -> None:
        """The part of the diagonal that a pass has."""
        for k, low, high in self._inputs.pieces(start, stop):
            lane = self._inputs.starts[k] + low - start
            own = [*tangents[k][lane:], *tangents[k][:lane]]
            if not self._inputs.arrays[k]:
                self._numbers.append(own[0])
                continue
            if k not in self._of:
                self._of[k] = device.empty((self._inputs.sizes[k],), own[0].dtype)
            self._moves.picked(device, self._of[k], own, low, range(low, high))

    def results(self, device: Any) -> list[Any]:
        """The sum of each array's part, and the numbers of numbers."""
        return [*[self._moves.added(device, of) for of in self._of.values()], *self._numbers]


class Counted:
    """How many numbers the results have (`passes.Sink`)."""

    def __init__(self) -> None:
        self._count = 0

    def take(self, device: Any, tangents: Sequence[Sequence[Any]], start: int, stop: int) -> None:
        """Count them."""
        self._count = sum(math.prod(t[0].shape) if is_array(t[0]) else 1 for t in tangents)

    def results(self, device: Any) -> list[Any]:
        """The count."""
        return [self._count]


class Products:
    """The tangents of all results in one array, of `rows` numbers for each direction (`passes.Sink`).

    entries: where each entry of a matrix is among them, and the memory that it goes to where there is such; nothing, if
    no entries are wanted. last: whether the tangents along the last direction are wanted.
    """

    def __init__(
        self,
        moves: Moves,
        dtype: np.dtype[Any],
        count: int,
        rows: int,
        entries: tuple[DeviceArray, ...],
        last: bool,
    ):
        self._moves, self._dtype, self._count, self._rows = moves, dtype, count, rows
        self._entries, self._last = entries, last
        self._found: DeviceArray | None = None

    def take(self, device: Any, tangents: Sequence[Sequence[Any]], start: int, stop: int) -> None:
        """Keep those of a pass."""
        out = self._found
        if out is None:
            out = self._found = device.empty((self._count * self._rows,), self._dtype)
        at = start * self._rows
        for found in tangents:
            if not is_array(found[0]):
                self._moves.put(device, out, found, at, self._rows, stop - start)
                at += 1
                continue
            if found[0].size:
                self._moves.taken(device, out, found, at, 1, self._rows, stop - start)
            at += math.prod(found[0].shape)

    def results(self, device: Any) -> list[Any]:
        """The entries, the last tangents."""
        assert self._found is not None
        out = list[Any]()
        if self._entries:
            at, *into = self._entries
            out.append(into[0] if into else device.empty(at.shape, self._dtype))
            self._moves.gathered(device, out[0], self._found, at)
        if self._last:
            out.append(part(self._found, (self._count - 1) * self._rows, (self._rows,)))
        return out
