"""A CUDA graph of one run, and what it takes to run it again with other arrays and floats."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjit.runtime.cuda.device import allocated, numbers_in, read
from adjit.runtime.cuda.library import cp
from adjit.runtime.cuda.nodes import Executable
from adjit.runtime.cuda.table import Table
from adjit.runtime.device_memory import DeviceArray
from adjit.runtime.traced import Trace


@dataclass(frozen=True)
class Owned:
    """Memory of a graph. totals: for each sum its index in the trace, and its type; the sums are in `sums`."""

    pool: Any
    sums: Any
    totals: list[tuple[int, np.dtype[Any]]]
    arrived: Any


class Graph:
    """results: for each ("value", x), ("number", index in the trace), ("argument", k, offset, shape, strides, dtype) or
    ("fresh", which of the table's results, offset, shape, strides, dtype).

    The graph's memory serves one replay at a time: a replay on another stream waits for the one before.
    """

    def __init__(
        self,
        graph: Executable,
        stream: Any,
        trace: Trace,
        table: Table,
        floats: list[int],
        results: list[tuple[Any, ...]],
        owned: Owned,
    ):
        self._graph, self._trace, self._table = graph, trace, table
        self._floats, self._results, self._owned = floats, results, owned
        self._lock = threading.Lock()
        self._done = cp.cuda.Event(disable_timing=True)
        self._done.record(stream)  # its memory was set up on this stream
        self._stream = stream.ptr

    def replay(self, given: Sequence[Any], stream: Any) -> tuple[Any, ...] | None:
        """The results for these arguments; None where the host's code would go another way. Raises MemoryLimitError."""
        try:
            values = self._trace.again([given[k] for k in self._floats])
        except (ArithmeticError, ValueError):  # what the host's code raises with these numbers
            return None
        if values is None:
            return None
        fresh = [allocated(size) for _, size in self._table.results]
        with self._lock:
            if self._stream != stream.ptr:
                stream.wait_event(self._done)
            self._table.fill(given, fresh, values, stream.ptr)
            self._graph.launch(stream.ptr)
            totals = self._owned.totals
            if totals and self._reads:
                words = read(self._owned.sums.ptr, len(totals), stream.ptr)
                numbers = numbers_in(words, [dtype for _, dtype in totals])
                for (index, _), number in zip(totals, numbers, strict=True):
                    values[index] = number
                self._trace.finish(values)
            self._done.record(stream)
            self._stream = stream.ptr
        return tuple([self._made(r, given, fresh, values) for r in self._results])

    def wait(self) -> None:
        """Wait for the last replay: then the graph's memory may go."""
        self._done.synchronize()

    @property
    def _reads(self) -> bool:
        return any(r[0] == "number" for r in self._results)

    @staticmethod
    def _made(r: tuple[Any, ...], given: Sequence[Any], fresh: list[Any], values: list[Any]) -> Any:
        match r:
            case ("value", value):
                return value
            case ("number", index):
                return values[index]
            case ("argument", k, *how):
                return DeviceArray(given[k].buffer, *how)
            case (_, which, *how):
                return DeviceArray(fresh[which], *how)
            case _:
                raise AssertionError(r)
