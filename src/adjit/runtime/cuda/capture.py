"""One run of a host function as a CUDA graph.

Every array and every float that a kernel is given stands in a table in the device's memory (the builds of the kernels
with TABLE read it there), so that the graph runs with other arrays and floats once the table says so. Memory that the
program allocates on the way is a pool of the graph's own. What it returns gets fresh memory in each replay.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjit.runtime.cuda.device import Device
from adjit.runtime.cuda.graph import Graph, Owned
from adjit.runtime.cuda.launch import BLOCK, Launch, Ready
from adjit.runtime.cuda.library import cp, memory, runtime
from adjit.runtime.cuda.nodes import Nodes
from adjit.runtime.cuda.table import Table
from adjit.runtime.cuda.words import WORDS
from adjit.runtime.device_memory import SMALL, DeviceArray
from adjit.runtime.traced import Number, Trace, Unrepeatable

FLOATS = frozenset({float, np.float32, np.float64})
"""Types of numbers that a replay takes anew."""
_KINDS = ("float32", "float64")
_MOST_LAUNCHES = 20_000
_MOST_TOTALS = 4096


class Buffer:
    """Memory during a capture: its place in the table, and which argument's it is. held: what keeps it."""

    __slots__ = ("argument", "held", "size", "slot")

    def __init__(self, slot: int, size: int = 0, argument: int | None = None, held: Any = None):
        self.slot, self.size, self.argument, self.held = slot, size, argument, held


class Capturing(Device):
    """The device of a run that is captured."""

    records = True

    def __init__(self, number: int, stream: int, trace: Trace, table: Table):
        super().__init__(number, stream)
        self._trace, self._table = trace, table
        self.pool = cp.cuda.MemoryPool()
        self.totals: list[tuple[int, np.dtype[Any]]] = []
        self._total_at: dict[int, int] = {}
        self.sums, self.arrived = cp.cuda.alloc(8 * _MOST_TOTALS), cp.cuda.alloc(4)
        runtime.memsetAsync(self.arrived.ptr, 0, 4, stream)
        self._movers: dict[str, Ready] = {}
        self.nodes = Nodes()

    def memory(self, size: int) -> Buffer:
        try:
            made = self.pool.malloc(size)
        except memory.OutOfMemoryError as error:
            raise Unrepeatable("the graph's memory does not fit beside that of the process") from error
        return Buffer(self._table.constant(made.ptr, once=True), size, held=made)

    @staticmethod
    def local(shape: tuple[Any, ...], dtype: Any, fill: Any = None) -> np.ndarray[Any, Any]:
        """Memory of the host's part, which may hold traced numbers."""
        kind = np.dtype(dtype).type
        return np.full(shape, kind(0) if fill is None else kind(fill), object)

    def zeros(self, shape: tuple[Any, ...], dtype: Any, order: str = "C") -> DeviceArray:
        return self.full(shape, 0, dtype, order)

    def full(self, shape: tuple[Any, ...], value: Any, dtype: Any, order: str = "C") -> DeviceArray:
        made = self.empty(shape, dtype, order)
        if made.size:
            self._moved("fill", made, made.size * self.groups, self._number(value, made.dtype.name))
        return made

    def grow(self, record: DeviceArray, need: Any) -> DeviceArray:
        self.alone()
        larger = self.empty((max(int(need), 2 * record.size),), record.dtype)
        if record.size:
            source = self._table.address(record.buffer.slot)
            self._moved("copy", larger, record.size, source, record.offset // record.dtype.itemsize)
        return larger

    def _moved(self, what: str, target: DeviceArray, count: int, *given: int) -> None:
        """Add a kernel that fills or copies `count` elements."""
        width = target.dtype.itemsize
        if width > 8:
            raise Unrepeatable(f"memory of {target.dtype}")
        name = f"{what}_{width}"
        kernel = self._movers.get(name)
        if kernel is None:
            fields = "qQQ" if what == "fill" else "qQQq"
            kernel = self._movers[name] = Ready(WORDS.module(self.number, "q", True), name, fields)
        values = [count, self._table.address(target.buffer.slot), *given]
        kernel.added((-(-count // BLOCK), 1, 1), (BLOCK, 1, 1), self.nodes, values)

    def put(self, out: DeviceArray, values: np.ndarray[Any, Any]) -> None:
        raise Unrepeatable("a record of the host's goes to the device")

    def argsort(self, out: DeviceArray, x: DeviceArray, axis: int) -> None:
        raise Unrepeatable("CuPy sorts")

    def cumsum(self, out: DeviceArray, x: DeviceArray, axis: int, step: int) -> None:
        raise Unrepeatable("CuPy makes running sums")

    def matmul(self, out: DeviceArray, x: DeviceArray, y: DeviceArray) -> None:
        raise Unrepeatable("cuBLAS multiplies")

    def launch(self, launch: Launch, counts: tuple[int, ...], given: tuple[Any, ...]) -> tuple[Any, ...]:
        self.launches += 1
        if self.launches > _MOST_LAUNCHES:
            raise Unrepeatable(f"more than {_MOST_LAUNCHES} launches")
        flat: list[Any] = [*counts]
        index = "i"
        for kind, a in zip(launch.given, given, strict=True):
            if type(a) is DeviceArray:
                flat += (self._table.address(a.buffer.slot), *a.first(self.groups > 1), *a.places(kind))
                index = "q" if a.span > SMALL else index
            else:
                flat.append(self._number(a, kind) if kind in _KINDS else int(a))
        grid, block = launch.grid(counts, self.groups)
        found = list[Number]()
        if launch.totals:
            groups = launch.groups(counts)
            grid, block = (groups, 1, 1), (BLOCK, 1, 1)
            parts = [self.pool.malloc(8 * groups) for _ in launch.totals]
            for dtype, part in zip(launch.totals, parts, strict=True):
                flat += (part.ptr, self._total(dtype, found))
            flat.append(self.arrived.ptr)
        launch.ready(self, index, True, given).added(grid, block, self.nodes, flat)
        return tuple(found)

    def _total(self, dtype: np.dtype[Any], found: list[Number]) -> int:
        """The address of one more total; its number is added to `found`."""
        at = len(self.totals)
        if at == _MOST_TOTALS:
            raise Unrepeatable(f"more than {_MOST_TOTALS} sums")
        number = self._trace.made(late=True)
        self.totals.append((number.index, dtype))
        self._total_at[number.index] = at
        found.append(number)
        return self.sums.ptr + 8 * at

    def _number(self, a: Any, kind: str) -> int:
        """The address of a number of that type."""
        if type(a) is not Number:
            return self._table.address(self._table.constant(_bits(a, kind)))
        if not a.late:
            return self._table.address(self._table.number(a.index, kind))
        at = self._total_at.get(a.index)
        if at is None or self.totals[at][1] != kind:
            raise Unrepeatable("a kernel is given what the host computes from sums of the device")
        return self.sums.ptr + 8 * at


def _bits(a: Any, kind: str) -> int:
    return int.from_bytes(np.array(a, kind).tobytes().ljust(8, b"\0"), "little")


def captured(call: Callable[..., Any], number: int, stream: Any, given: Sequence[Any]) -> Graph:
    """The graph of one run of generated host code; nothing runs.

    Raises: Unrepeatable where there can be none; whatever else was raised is its cause: the program, launched
    directly, says it to the user.
    """
    try:
        return _captured(call, number, stream, given)
    except Unrepeatable:
        raise
    except Exception as error:
        raise Unrepeatable(str(error)) from error


def _captured(call: Callable[..., Any], number: int, stream: Any, given: Sequence[Any]) -> Graph:
    floats = [k for k, a in enumerate(given) if type(a) in FLOATS]
    trace = Trace([given[k] for k in floats])
    table = Table()
    numbers = dict(zip(floats, trace.inputs, strict=True))
    device = Capturing(number, stream.ptr, trace, table)
    entered = [
        _entered(k, a, table) if type(a) is DeviceArray else numbers.get(k, a) for k, a in enumerate(given)
    ]
    flat = call(device, *entered) or ()
    results = [_result(r, table) for r in flat]
    table.upload(stream.ptr)
    owned = Owned(device.pool, device.sums, device.totals, device.arrived)
    return Graph(device.nodes.finished(), stream, trace, table, floats, results, owned)


def _entered(k: int, a: DeviceArray, table: Table) -> DeviceArray:
    buffer = Buffer(table.argument(k), argument=k)
    return DeviceArray(buffer, a.offset, a.shape, a.strides, a.dtype)


def _result(r: Any, table: Table) -> tuple[Any, ...]:
    """How a replay makes a result (see `Graph`)."""
    if type(r) is Number:
        return ("number", r.index)
    if type(r) is not DeviceArray:
        if r is None or isinstance(r, (bool, int, float, np.generic)):
            return ("value", r)
        raise Unrepeatable(f"a result of type {type(r).__name__}")
    how = (r.offset, r.shape, r.strides, r.dtype)
    buffer = r.buffer
    if buffer.argument is not None:
        return ("argument", buffer.argument, *how)
    return ("fresh", table.result(buffer.slot, buffer.size), *how)
