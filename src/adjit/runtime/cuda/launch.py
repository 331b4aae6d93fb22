"""Kernels of a generated module: built once for each device, launched on the stream of a call.

Places in memory are 32 bits wide where every array of a launch is small enough, else 64. For a recorded run (see
`graph`) each is built once more, with arrays and floats read from a table. All builds are made when first needed.
"""

from __future__ import annotations

import ctypes
import struct
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from adjit.errors import DeviceError
from adjit.runtime.cuda.device import Device
from adjit.runtime.cuda.library import cp, driver
from adjit.runtime.cuda.nodes import Nodes
from adjit.runtime.device_memory import SMALL

BLOCK = 256
"""Work items of a block that makes totals."""
GROUPS = 1024
_GRIDS_KEPT = 256
_SHAPES = ((1, 1, 1), (256, 1, 1), (32, 8, 1), (32, 4, 2))
_MOST = (2**31 - 1, 2**16 - 1, 2**16 - 1)
_WIDEST = (1024, 1024, 64)
_CODES = {
    "bool": "B", "int8": "b", "int16": "h", "int32": "i", "int64": "q", "uint8": "B", "uint16": "H", "uint32": "I",
    "uint64": "Q", "float32": "f", "float64": "d",
}  # fmt: skip
_MAKERS: dict[str, Callable[[Any], Any]] = {"bool": int, "float32": np.float32}
"""What makes of a number one that its struct code takes."""


class Source:
    """The text of a module's kernels. fp64, wide_atomics: whether it needs numbers, and atomics, of 64 bits.

    strict: whether products and sums are rounded one by one, so that kernels come to the same numbers.
    """

    def __init__(self, text: str, fp64: bool, wide_atomics: bool, strict: bool = False):
        self._text, self._wide_atomics, self._strict = text, wide_atomics, strict
        self._built: dict[tuple[int, str, bool, bool], Any] = {}
        self._lock = threading.Lock()

    def kernel(self, name: str, axes: int, given: tuple[str, ...], totals: tuple[str, ...] = ()) -> Launch:
        """What launches one kernel (see `Launch`)."""
        return Launch(self, name, axes, given, totals)

    def module(self, number: int, index: str, table: bool, grouped: bool = False) -> Any:
        """The built text for the current device, which has this number. Raises DeviceError."""
        key = (number, index, table, grouped)
        found = self._built.get(key)
        if found is None:
            with self._lock:
                found = self._built.get(key) or self._build(index, table, grouped)
                self._built[key] = found
        return found

    def _build(self, index: str, table: bool, grouped: bool) -> Any:
        device = cp.cuda.Device()
        if self._wide_atomics and int(device.compute_capability) < 60:
            raise DeviceError(
                f"a device of compute capability {device.compute_capability} has no atomic sums of float64, "
                "and work items of this program meet",
                "use float32 arrays, or run it on NumPy arrays",
            )
        options = [
            "--std=c++17",
            "-w",
            f"-DINDEX={'long long' if index == 'q' else 'int'}",
            f"-DBLOCK={BLOCK}",
        ]
        options += [*(["-DTABLE"] if table else []), *(["-DGROUPED"] if grouped else [])]
        options += ["--fmad=false"] if self._strict else []
        try:
            module = cp.RawModule(code=self._text, options=tuple(options))
            module.compile()
        except cp.cuda.compiler.CompileException as error:
            raise DeviceError(f"the kernels of this program do not compile:\n{error}") from error
        return module


class Ready:
    """A kernel that is built, and where its arguments are put: `fields` are struct codes, one per argument."""

    def __init__(self, module: Any, name: str, fields: str):
        kernel = module.get_function(name).kernel
        self._keep = (module, kernel)
        self._function = kernel.ptr
        packed = struct.Struct(f"@{fields}")
        self._memory = bytearray(packed.size)
        start = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        offsets, at = list[int](), 0
        for code in fields:
            size = struct.calcsize(code)
            at = -(-at // size) * size
            offsets.append(at)
            at += size
        self._pointers = (ctypes.c_void_p * len(offsets))(*[start + o for o in offsets])
        self._arguments = ctypes.addressof(self._pointers)
        self._pack = packed.pack_into

    def __call__(self, grid: tuple[int, ...], block: tuple[int, ...], stream: int, values: list[Any]) -> None:
        """Launch it. The driver copies the arguments before it returns."""
        self._pack(self._memory, 0, *values)
        driver.launchKernel(self._function, *grid, *block, 0, stream, self._arguments, 0)

    def added(self, grid: tuple[int, ...], block: tuple[int, ...], nodes: Nodes, values: list[Any]) -> None:
        """Add its launch to a graph."""
        self._pack(self._memory, 0, *values)
        nodes.add(self._function, grid, block, self._arguments)


class Launch:
    """Launches one kernel: `launch(device, *counts, *given)` gives the totals, as a tuple of numbers.

    axes: how many counts there are. given: for each argument the type of a number, or the layout of an array. totals:
    for each the operation and the type.
    """

    def __init__(self, source: Source, name: str, axes: int, given: tuple[str, ...], totals: tuple[str, ...]):
        self.source, self.name, self.axes, self.given = source, name, axes, given
        self.totals = [np.dtype(t.split()[1]) for t in totals]
        self._kept = threading.local()
        self._forms = [
            (None, _MAKERS.get(kind)) if kind in _CODES else (int(kind == "A"), None) for kind in given
        ]
        self._grids: dict[tuple[int, ...], tuple[tuple[int, ...], tuple[int, ...]]] = {}
        self._shape = _SHAPES[axes]
        self._most = [n * b for n, b in zip(_MOST, self._shape, strict=True)]

    def __call__(self, device: Device, *args: Any) -> tuple[Any, ...]:
        counts = args[: self.axes]
        if self.totals or self.axes > 2:
            device.alone()
        if self.totals or device.records or device.groups > 1:
            return () if 0 in counts and not self.totals else device.launch(self, counts, args[self.axes :])
        device.launches += 1
        shape = self._grids.get(counts)
        if shape is None:
            if 0 in counts:
                return ()
            if len(self._grids) == _GRIDS_KEPT:
                self._grids.clear()
            shape = self._grids[counts] = self.grid(counts)
        flat = [*counts]
        index = self._flat(flat, args[self.axes :])
        kept: dict[Any, Ready] = self._kept.__dict__
        kernel = kept.get((device.number, index, False))
        if kernel is None:
            kernel = self.ready(device, index, False, args[self.axes :])
        kernel(*shape, device.stream, flat)
        return ()

    def _flat(self, flat: list[Any], given: tuple[Any, ...]) -> str:
        """Put what stands for the arguments into a list; the code of places in memory."""
        index = "i"
        for (which, make), a in zip(self._forms, given, strict=True):
            if which is None:
                flat.append(a if make is None else make(a))
            else:
                words = a.words
                flat += words[which]
                if words[2]:
                    index = "q"
        return index

    def run(self, device: Device, counts: tuple[int, ...], given: tuple[Any, ...]) -> tuple[Any, ...]:
        """Launch one that makes totals, and wait for them; or one for many groups of arrays."""
        if device.groups > 1:
            self._run_grouped(device, counts, given)
            return ()
        flat: list[Any] = [*counts]
        index = self._flat(flat, given)
        groups = self.groups(counts)
        out = device.memory(8 * len(self.totals))
        parts = [device.memory(8 * groups) for _ in self.totals]
        for k, part in enumerate(parts):
            flat += (part.ptr, out.ptr + 8 * k)
        flat.append(device.counter().ptr)
        self.ready(device, index, False, given)((groups, 1, 1), (BLOCK, 1, 1), device.stream, flat)
        return tuple(device.numbers(out, self.totals))

    def _run_grouped(self, device: Device, counts: tuple[int, ...], given: tuple[Any, ...]) -> None:
        flat: list[Any] = [*counts]
        index = "i"
        for kind, (which, make), a in zip(self.given, self._forms, given, strict=True):
            if which is None:
                flat.append(a if make is None else make(a))
            else:
                flat += (a.buffer.ptr, *a.first(True), *a.places(kind))
                index = "q" if a.span > SMALL else index
        self.ready(device, index, False, given)(*self.grid(counts, device.groups), device.stream, flat)

    def ready(self, device: Device, index: str, table: bool, given: tuple[Any, ...]) -> Ready:
        """The kernel, built; one for each thread, since its arguments are put in memory of its own."""
        kept: dict[Any, Ready] = self._kept.__dict__
        grouped = device.groups > 1
        key = (device.number, index, table, True) if grouped else (device.number, index, table)
        found = kept.get(key)
        if found is None:
            module = self.source.module(device.number, index, table, grouped)
            fields = "q" * self.axes
            for kind, a in zip(self.given, given, strict=True):
                if kind in _CODES:
                    fields += "Q" if table and kind in ("float32", "float64") else _CODES[kind]
                else:
                    fields += ("Qqq" if grouped else "Qq") + index * len(a.places(kind))
            fields += "QQ" * len(self.totals) + ("Q" if self.totals else "")
            found = kept[key] = Ready(module, self.name, fields)
        return found

    def grid(self, counts: tuple[int, ...], groups: int = 1) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Blocks, and items in each, along x (the last axis), y and z; groups of arrays along the first free one."""
        block = list(self._shape)
        sides = (*reversed(counts), 1, 1, 1)[:3]
        for k in (1, 2):
            if sides[k] > self._most[k]:
                block = _high(sides, block, k)
        blocks = [-(-n // b) for n, b in zip(sides, block, strict=True)]
        if groups > 1:
            blocks[max(1, len(counts))] = groups
        return tuple(blocks), tuple(block)

    def groups(self, counts: tuple[int, ...]) -> int:
        """How many blocks make totals."""
        turns = 1
        for n in counts:
            turns *= n
        return max(1, min(GROUPS, -(-turns // BLOCK)))


def _high(sides: tuple[int, ...], block: list[int], axis: int) -> list[int]:
    """A block that reaches further along an axis which has too many blocks otherwise. Raises DeviceError."""
    made = [1, block[1], block[2]]
    while sides[axis] > _MOST[axis] * made[axis] and made[axis] < _WIDEST[axis]:
        made[axis] *= 2
    if sides[axis] > _MOST[axis] * made[axis] or made[0] * made[1] * made[2] > 1024:
        raise DeviceError(
            f"a launch of {' x '.join(map(str, reversed(sides)))} work items", "put the longest axis last"
        )
    return made


__all__ = ["BLOCK", "Launch", "Ready", "Source"]
