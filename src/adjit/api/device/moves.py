"""Launches that move seeds and derivatives (`programs`), and memory of a device in the orders that programs expect."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import cache
from typing import Any

import numpy as np

from adjit.api.device import programs
from adjit.api.engine import BUILDING
from adjit.ir.structure import Leaf, Spec, TupleSpec
from adjit.ir.types import Array, Scalar
from adjit.runtime.device_memory import DeviceArray, c_strides, f_strides
from adjit.runtime.device_text import entered

ALL = 2**31
"""Of a host program: every result is the user's."""
_INT = Leaf(Scalar("int64"), weak=True)


@cache
def moves_of(place: str) -> Moves:
    """The moves in a place."""
    return Moves(place)


class Moves:
    """Each method is one launch on the device that it is given. Numbers of tangents are fixed per program."""

    def __init__(self, place: str):
        self._place = place
        self._built: dict[Hashable, Callable[..., Any]] = {}
        self._differ = self.call(self._differing)

    def seeded(
        self, device: Any, seeds: DeviceArray, old: Sequence[int], new: Sequence[int], width: int
    ) -> None:
        """Flat seeds: zero at the places `old`, one at the places `new`, at most `width` of each."""
        places = TupleSpec((_INT,) * width, None)
        run = self._program(programs.seeded, self._flat(seeds), places, _INT, places, _INT)
        run(device, seeds, *_padded(old, width), len(old), *_padded(new, width), len(new))

    def units(self, device: Any, seeds: DeviceArray, first: int) -> None:
        """Seeds (tangents, numbers): the unit vectors of number `first` and those after it."""
        self._program(programs.units, self._array(seeds), _INT)(device, seeds, first)

    def coloured(self, device: Any, seeds: DeviceArray, colours: DeviceArray, first: int) -> None:
        """Seeds (tangents, numbers): one where a number has the tangent's colour, the first's being `first`."""
        run = self._program(programs.coloured, self._array(seeds), self._flat(colours), _INT)
        run(device, seeds, colours, first)

    def taken(
        self,
        device: Any,
        out: DeviceArray,
        tangents: Sequence[DeviceArray],
        at: int,
        row: int,
        lane: int,
        count: int,
    ) -> None:
        """Number r (in C order) of tangent w, of the first `count`, to place `at + r * row + w * lane`."""
        flat = [self.flat(device, t) for t in tangents]
        several = TupleSpec(tuple(map(self._flat, flat)), None)
        if lane == 1:
            run = self._program(programs.columns, self._flat(out), _INT, _INT, _INT, several)
            run(device, out, at, row, count, *flat)
            return
        run = self._program(programs.taken, self._flat(out), _INT, _INT, _INT, _INT, several)
        run(device, out, at, row, lane, count, *flat)

    def put(
        self, device: Any, out: DeviceArray, numbers: Sequence[Any], at: int, lane: int, count: int
    ) -> None:
        """The first `count` numbers to places `at + w * lane` of flat memory."""
        several = TupleSpec((Leaf(Scalar(out.dtype.name)),) * len(numbers), None)
        self._program(programs.put, self._flat(out), _INT, _INT, _INT, several)(
            device, out, at, lane, count, *numbers
        )

    def picked(
        self,
        device: Any,
        out: DeviceArray,
        tangents: Sequence[DeviceArray],
        at: int,
        places: Sequence[int],
    ) -> None:
        """Number `places[w]` (in C order) of tangent w to place `at + w` of flat memory, for as many as places."""
        flat, width = [self.flat(device, t) for t in tangents], len(tangents)
        several = TupleSpec(tuple(map(self._flat, flat)), None)
        where = TupleSpec((_INT,) * width, None)
        run = self._program(programs.picked, self._flat(out), _INT, where, _INT, several)
        run(device, out, at, *_padded(places, width), len(places), *flat)

    def gathered(self, device: Any, out: DeviceArray, numbers: DeviceArray, places: DeviceArray) -> None:
        """`numbers[places]`."""
        self._program(programs.gathered, self._flat(out), self._flat(numbers), self._flat(places))(
            device, out, numbers, places
        )

    def cleared(self, device: Any, out: DeviceArray) -> None:
        """Zero everywhere in flat memory."""
        self._program(programs.cleared, self._flat(out))(device, out)

    def added(self, device: Any, numbers: DeviceArray) -> Any:
        """The sum of flat memory, as a number of the host's."""
        return self._program(programs.added, self._flat(numbers))(device, numbers)[0]

    def copied(self, device: Any, out: DeviceArray, a: DeviceArray) -> None:
        """An array into another one of its shape."""
        self._program(programs.copied, self._array(out, "A"), self._array(a, "A"))(device, out, a)

    def copy(self, device: Any, a: DeviceArray, order: str) -> DeviceArray:
        """A copy in memory of its own."""
        made = device.empty(a.shape, a.dtype, order)
        self.copied(device, made, a)
        return made

    def flat(self, device: Any, a: DeviceArray) -> DeviceArray:
        """The numbers of an array in C order, as flat memory: its own where it has that order."""
        return flattened(a if in_order(a, "C") else self.copy(device, a, "C"))

    def run(
        self, device: Any, f: Callable[..., Any], given: Sequence[Any], numbers: Sequence[Leaf] = ()
    ) -> tuple[Any, ...]:
        """A program on C-contiguous arrays, then numbers."""
        arrays = given[: len(given) - len(numbers)]
        return self._program(f, *map(self._array, arrays), *numbers)(device, *given)

    def call(self, run: Callable[..., Any]) -> Callable[..., Any]:
        """A host program as a function of the user's arrays."""
        return entered(self._place, run, ALL)

    def differ(self, a: Any, b: Any) -> bool:
        """Whether two of the user's arrays of one shape and dtype hold different numbers; one number is read."""
        return bool(self._differ(a, b)[0])

    def _differing(self, device: Any, a: DeviceArray, b: DeviceArray) -> Any:
        program = self._program(programs.differing, self._array(a, "A"), self._array(b, "A"))
        return program(device, a, b)

    def _flat(self, a: DeviceArray) -> Leaf:
        assert a.ndim == 1
        return self._array(a)

    def _array(self, a: DeviceArray, layout: str = "C") -> Leaf:
        return Leaf(Array(Scalar(a.dtype.name), a.ndim, layout if a.ndim else "C"), place=self._place)

    def _program(self, f: Callable[..., Any], *specs: Spec) -> Callable[..., Any]:
        key = (f, specs)
        found = self._built.get(key)
        if found is None:
            with BUILDING:
                found = self._built.get(key) or _compiled(f, specs)
                self._built[key] = found
        return found


def _compiled(f: Callable[..., Any], specs: tuple[Spec, ...]) -> Callable[..., Any]:
    from adjit.ir.structure import leaves
    from adjit.runtime import program
    from adjit.runtime.request import Request

    count = sum(1 for s in specs for _ in leaves(s))
    inner = program.build(Request(f, specs, "primal", (False,) * count)).inner
    assert inner is not None
    return inner


def _padded(places: Sequence[int], width: int) -> list[int]:
    return [*places, *[0] * (width - len(places))]


def in_order(a: DeviceArray, order: str) -> bool:
    """Whether an array is contiguous in that order."""
    wanted = (f_strides if order == "F" else c_strides)(a.shape, a.dtype.itemsize)
    pairs = zip(a.shape, a.strides, wanted, strict=True)
    return a.size == 0 or all(n == 1 or s == w for n, s, w in pairs)


def flattened(a: DeviceArray) -> DeviceArray:
    """Contiguous memory as one axis."""
    return DeviceArray(a.buffer, a.offset, (a.size,), (a.dtype.itemsize,), a.dtype, a.step)


def part(
    flat: DeviceArray, start: int, shape: tuple[int, ...], order: str = "C", step: int = 0
) -> DeviceArray:
    """What lies in flat memory from `start` on, by extents, in that order; of the next group `step` behind it."""
    size = flat.dtype.itemsize
    strides = (f_strides if order == "F" else c_strides)(shape, size)
    return DeviceArray(flat.buffer, flat.offset + start * size, shape, strides, flat.dtype, step)


def of_group(a: DeviceArray, group: int) -> DeviceArray:
    """The array of one group, for launches that are for one."""
    return DeviceArray(a.buffer, a.offset + group * a.step * a.dtype.itemsize, a.shape, a.strides, a.dtype)


def position(index: int, shape: tuple[int, ...], order: str) -> int:
    """Where a number is in contiguous memory of that order, from its number in C's."""
    if order == "C" or len(shape) < 2:
        return index
    return int(np.ravel_multi_index(np.unravel_index(index, shape), shape, order="F"))


def order_of(leaf: Leaf) -> str:
    """The order in which programs expect what stands beside an array."""
    return "F" if isinstance(leaf.type, Array) and leaf.type.layout == "F" else "C"
