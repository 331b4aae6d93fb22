"""The table of a graph: what kernels of a recorded run are given, eight bytes an entry, in the device's memory."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from adjit.runtime.cuda.library import cp, runtime
from adjit.runtime.traced import Unrepeatable

_ENTRIES = 1 << 15
_CODES = {"float32": "f", "float64": "d"}


class Table:
    """Entries are addresses of arrays (of arguments, of results, of the graph's own) and numbers.

    arguments: (entry, argument). results: (entry, bytes), in the order in which replays allocate them. numbers: (entry,
    index in the trace, struct code).
    """

    def __init__(self) -> None:
        self._memory = cp.cuda.alloc(8 * _ENTRIES)
        self._words = bytearray(8 * _ENTRIES)
        self._address = ctypes.addressof(ctypes.c_char.from_buffer(self._words))
        self._count = 0
        self.arguments: list[tuple[int, int]] = []
        self.results: list[tuple[int, int]] = []
        self.numbers: list[tuple[int, int, str]] = []
        self._constants: dict[int, int] = {}
        self._traced: dict[tuple[int, str], int] = {}
        self._results: dict[int, int] = {}
        self._end = 0

    def _entry(self) -> int:
        if self._count == _ENTRIES:
            raise Unrepeatable(f"more than {_ENTRIES} arrays and numbers")
        self._count += 1
        return self._count - 1

    def address(self, entry: int) -> int:
        """Where in the device's memory an entry is."""
        return self._memory.ptr + 8 * entry

    def argument(self, k: int) -> int:
        """An entry for the array that is argument k."""
        entry = self._entry()
        self.arguments.append((entry, k))
        return entry

    def constant(self, word: int, once: bool = False) -> int:
        """An entry that stays. once: it may become that of a result."""
        found = None if once else self._constants.get(word)
        if found is None:
            found = self._entry()
            struct.pack_into("Q", self._words, 8 * found, word)
            if not once:
                self._constants[word] = found
        return found

    def number(self, index: int, kind: str) -> int:
        """An entry for a number of the trace."""
        found = self._traced.get((index, kind))
        if found is None:
            if kind not in _CODES:
                raise Unrepeatable(f"memory filled with a number of type {kind}")
            found = self._traced[index, kind] = self._entry()
            self.numbers.append((found, index, _CODES[kind]))
        return found

    def result(self, entry: int, size: int) -> int:
        """Which of the fresh arrays a result in the memory of this entry is."""
        found = self._results.get(entry)
        if found is None:
            found = self._results[entry] = len(self.results)
            self.results.append((entry, size))
        return found

    def upload(self, stream: int) -> None:
        """Put every entry into the device's memory, once the stream has come to this point."""
        changing = (*self.arguments, *self.results, *self.numbers)
        self._end = max((c[0] + 1 for c in changing), default=0)
        if self._count:
            self._copy(self._count, stream)

    def fill(self, given: Sequence[Any], fresh: list[Any], values: list[Any], stream: int) -> None:
        """Let the device see these arguments, arrays and numbers, once the stream has come to this point."""
        words = self._words
        for entry, k in self.arguments:
            struct.pack_into("Q", words, 8 * entry, given[k].buffer.ptr)
        for (entry, _), made in zip(self.results, fresh, strict=True):
            struct.pack_into("Q", words, 8 * entry, made.ptr)
        for entry, index, code in self.numbers:
            value = values[index]
            struct.pack_into(code, words, 8 * entry, np.float32(value) if code == "f" else value)
        if self._end:
            self._copy(self._end, stream)

    def _copy(self, entries: int, stream: int) -> None:
        to_device = runtime.memcpyHostToDevice
        runtime.memcpyAsync(self._memory.ptr, self._address, 8 * entries, to_device, stream)
