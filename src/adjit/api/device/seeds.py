"""Seeds of passes on a device: unit vectors, directions that a user gives, directions of colours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from adjit.api.blocks import Inputs
from adjit.api.device.moves import Moves, flattened, in_order, order_of, part, position
from adjit.ir.structure import Leaf
from adjit.ir.types import Array
from adjit.runtime.device_memory import DeviceArray


@dataclass(frozen=True)
class Place:
    """An active leaf: what it is, the shape of its value, and whether the program writes its tangents."""

    leaf: Leaf
    shape: tuple[int, ...]
    written: bool

    @property
    def is_array(self) -> bool:
        return isinstance(self.leaf.type, Array)

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self.leaf.number.name)

    @property
    def order(self) -> str:
        return order_of(self.leaf)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))


class Seeds(Protocol):
    """Directions: how many, and what a program that carries `width` is given for those from `start` to `stop`."""

    count: int

    def given(self, device: Any, start: int, stop: int, width: int) -> list[Any]:
        """For each active leaf `width` tangents; zeros after the last direction."""
        ...


class _Memory:
    """The memory of one array leaf's tangents, side by side."""

    def __init__(self, device: Any, place: Place, width: int, zero: bool):
        make = device.zeros if zero else device.empty
        self.flat: DeviceArray = make((width * place.size,), place.dtype)
        self.given = [part(self.flat, w * place.size, place.shape, place.order) for w in range(width)]


class Units:
    """The unit vectors of all inputs, one after the other: ones in zeros, those of the last pass taken away."""

    def __init__(self, moves: Moves, inputs: Inputs, places: Sequence[Place]):
        self._moves, self._inputs, self._places = moves, inputs, places
        self.count = inputs.count
        self._memory: dict[int, _Memory] = {}
        self._last: dict[int, list[int]] = {}

    @property
    def bytes_of_one(self) -> int:
        """What a direction takes; 0 where there are none for groups: of several leaves, of numbers, of other orders."""
        place = self._places[0]
        plain = len(self._places) == 1 and place.is_array and (place.order == "C" or len(place.shape) < 2)
        return place.size * place.dtype.itemsize if plain else 0

    def grouped(self, device: Any, start: int, groups: int, width: int) -> list[Any]:
        """As `given`, for as many groups of `width` directions from `start` on, side by side."""
        (place,) = self._places
        memory = device.empty((groups * width * place.size,), place.dtype)
        self._moves.units(device, part(memory, 0, (groups * width, place.size)), start)
        step = width * place.size
        return [part(memory, w * place.size, place.shape, place.order, step) for w in range(width)]

    def given(self, device: Any, start: int, stop: int, width: int) -> list[Any]:
        """See `Seeds`."""
        found = list[Any]()
        pieces = {k: (low, high) for k, low, high in self._inputs.pieces(start, stop)}
        for k, place in enumerate(self._places):
            low, high = pieces.get(k, (0, 0))
            lane = self._inputs.starts[k] + low - start
            if place.is_array:
                found += self._array(device, k, (low, high), lane, width)
            else:
                made = place.dtype.type
                found += [as_given(made(low < high and w == lane)) for w in range(width)]
        return found

    def _array(self, device: Any, k: int, piece: tuple[int, int], lane: int, width: int) -> list[Any]:
        place, old = self._places[k], self._last.get(k, [])
        memory = self._memory.get(k)
        if memory is None or place.written:  # the program has written what it was given
            memory, old = _Memory(device, place, width, True), []
        self._memory[k] = memory
        new = [
            (lane + p - piece[0]) * place.size + position(p, place.shape, place.order) for p in range(*piece)
        ]
        if old or new:
            self._moves.seeded(device, memory.flat, old, new, width)
        self._last[k] = new
        return memory.given


class Given:
    """Directions that come with the call: for an array leaf an array with a leading axis, for a number numbers."""

    def __init__(self, moves: Moves, places: Sequence[Place], values: Sequence[Any], count: int):
        self._moves, self._places, self._values, self.count = moves, places, values, count
        self._zeros: dict[int, DeviceArray] = {}

    def given(self, device: Any, start: int, stop: int, width: int) -> list[Any]:
        """See `Seeds`. An array is handed on as it is where the program leaves it alone and it has the right order."""
        found = list[Any]()
        for k, (place, values) in enumerate(zip(self._places, self._values, strict=True)):
            for w in range(start, start + width):
                if not place.is_array:
                    found.append(values[w] if w < stop else as_given(place.dtype.type(0)))
                elif w >= stop:
                    found.append(self._zero(device, k))
                elif place.written or not in_order(values[w], place.order):
                    found.append(self._moves.copy(device, values[w], place.order))
                else:
                    found.append(values[w])
        return found

    def _zero(self, device: Any, k: int) -> DeviceArray:
        place = self._places[k]
        if place.written:
            return device.zeros(place.shape, place.dtype, place.order)
        if k not in self._zeros:
            self._zeros[k] = device.zeros(place.shape, place.dtype, place.order)
        return self._zeros[k]


class Coloured:
    """For each colour the sum of the unit vectors of its columns, then a vector of its own where there is one.

    colours: for each leaf those of its numbers, an array's in the order of its tangents' memory; none where there are
    no colours. vectors: alike, of the vector.
    """

    def __init__(
        self,
        moves: Moves,
        places: Sequence[Place],
        colours: Sequence[Any],
        count: int,
        vectors: Sequence[Any],
    ):
        self._moves, self._places, self._colours, self._vectors = moves, places, colours, vectors
        self._colour_count, self.count = count, count + bool(vectors)

    def given(self, device: Any, start: int, stop: int, width: int) -> list[Any]:
        """See `Seeds`."""
        found = list[Any]()
        own = self._colour_count - start  # the lane of the vector
        for k, place in enumerate(self._places):
            made = self._memory(device, k, start, width) if place.is_array else self._numbers(k, start, width)
            if self._vectors and own < width:
                if place.is_array:
                    self._moves.copied(device, flattened(made[own]), self._vectors[k])
                else:
                    made[own] = self._vectors[k]
            found += made
        return found

    def _memory(self, device: Any, k: int, start: int, width: int) -> list[Any]:
        place = self._places[k]
        memory = _Memory(device, place, width, not self._colours)
        if self._colours:
            lanes = part(memory.flat, 0, (width, place.size))
            self._moves.coloured(device, lanes, self._colours[k], start)
        return memory.given

    def _numbers(self, k: int, start: int, width: int) -> list[Any]:
        made = self._places[k].dtype.type
        on = [bool(self._colours) and self._colours[k] == start + w for w in range(width)]
        return [as_given(made(x)) for x in on]


def as_given(value: Any) -> Any:
    """A number of NumPy's as programs take it."""
    return float(value) if value.dtype == np.float64 else value
