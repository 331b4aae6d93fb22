"""A program on a CUDA device: its kernels are launched one by one, or replayed as a CUDA graph.

The first call with arguments of certain shapes (and with certain integers, which may steer the host's code) launches
directly. From the second call on a program of several launches is captured in a graph (see `capture`), and replayed
with whatever arrays and floats come in, as long as what the host's code compares comes out the same. Where the host's
code depends on what the device computes, launches stay direct.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from adjit.runtime.cuda.capture import captured
from adjit.runtime.cuda.device import Device, number_of, taken
from adjit.runtime.cuda.graph import Graph
from adjit.runtime.cuda.library import cp, runtime
from adjit.runtime.device_memory import DeviceArray
from adjit.runtime.traced import Unrepeatable

_SHAPES_KEPT = 32
_GRAPHS_KEPT = 4
_FLOATS = (float, np.float32, np.float64)
_TAKEN = frozenset({DeviceArray, bool, int, type(None), *_FLOATS, *np.sctypeDict.values()})
FEWEST = 3
"""Programs of fewer launches are launched directly: a replay costs about two launches by itself."""


@dataclass
class _Known:
    """What is known of calls of one kind: how many launches they make, the graphs, whether there can be none."""

    launches: int
    graphs: list[Graph] = field(default_factory=list[Graph])
    direct: bool = False


class Program:
    """A host function of generated code as one of CuPy arrays; its first `results` results are the user's."""

    def __init__(self, call: Callable[..., Any], results: int):
        self._call, self._results = call, results
        self._known: OrderedDict[Hashable, _Known] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, *args: Any) -> tuple[Any, ...]:
        number = number_of(args)
        if runtime.getDevice() == number:
            return self._run(number, args)
        with cp.cuda.Device(number):
            return self._run(number, args)

    def _run(self, number: int, args: tuple[Any, ...]) -> tuple[Any, ...]:
        given = tuple([taken(a) if isinstance(a, cp.ndarray) else a for a in args])
        stream = cp.cuda.get_current_stream()
        if not all(type(a) in _TAKEN for a in given):  # a record of the host's may steer it
            return self._shown(self._call(Device(number, stream.ptr), *given) or ())
        key = (number, *[_kind(a) for a in given])
        known = self._known.get(key)
        if known is None and FEWEST == 0:
            known = self._note(key, _Known(0))
        if known is None or known.direct or known.launches < FEWEST or stream.is_capturing():
            device = Device(number, stream.ptr)
            flat = self._call(device, *given) or ()
            if known is None:
                self._note(key, _Known(device.launches))
        else:
            flat = self._repeated(known, number, stream, given)
        return self._shown(flat)

    def _shown(self, flat: tuple[Any, ...]) -> tuple[Any, ...]:
        return (*map(Device.shown, flat[: self._results]), *flat[self._results :])

    def _note(self, key: Hashable, known: _Known) -> _Known:
        with self._lock:
            self._known[key] = known
            while len(self._known) > _SHAPES_KEPT:
                self._known.popitem(last=False)
        return known

    def _repeated(self, known: _Known, number: int, stream: Any, given: tuple[Any, ...]) -> tuple[Any, ...]:
        """Replayed by a graph; a new one is captured where none fits."""
        for graph in known.graphs:
            found = graph.replay(given, stream)
            if found is not None:
                return found
        try:
            graph = captured(self._call, number, stream, given)
        except Unrepeatable:
            known.direct = True
            return self._call(Device(number, stream.ptr), *given) or ()
        known.graphs = [graph, *known.graphs[: _GRAPHS_KEPT - 1]]
        found = graph.replay(given, stream)
        assert found is not None  # it was captured with these values
        return found


def _kind(a: Any) -> Hashable:
    """What of an argument a recorded run depends on: all but the addresses of arrays, and the values of floats."""
    if type(a) is DeviceArray:
        return a.shape, a.strides, a.offset
    return type(a) if type(a) in _FLOATS else (type(a), a)
