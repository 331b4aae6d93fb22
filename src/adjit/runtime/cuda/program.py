"""A program on a CUDA device: its kernels are launched one by one, or replayed as a CUDA graph.

The first call with arguments of certain shapes (and with certain integers, which may steer the host's code) launches
directly. From the second call on a program of several launches is captured in a graph (see `capture`), and replayed
with whatever arrays and floats come in, as long as what the host's code compares comes out the same. Where the host's
code depends on what the device computes, and where CuPy makes steps of the program, launches stay direct.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from adjit.runtime.cuda.capture import FLOATS, captured
from adjit.runtime.cuda.device import HOLDERS, Device, one_device
from adjit.runtime.cuda.graph import Graph
from adjit.runtime.cuda.library import cp, runtime
from adjit.runtime.device_memory import DeviceArray
from adjit.runtime.traced import Unrepeatable

_SHAPES_KEPT = 32
_GRAPHS_KEPT = 4
_TAKEN = frozenset({DeviceArray, bool, int, type(None), *FLOATS, *np.sctypeDict.values()})
_PATIENCE = 8
FEWEST: int = 3
"""Programs of fewer launches are launched directly: a replay costs about two launches by itself."""


@dataclass
class _Known:
    """What is known of calls of one kind: how many launches they make, the graphs, whether there can be none.

    missed: how many calls no graph fitted; found: how many one did.
    """

    launches: int
    missed: int = 0
    found: int = 0
    graphs: list[Graph] = field(default_factory=list[Graph])
    direct: bool = False


class Program:
    """A host function of generated code as one of CuPy arrays; its first `results` results are the user's."""

    def __init__(self, call: Callable[..., Any], results: int):
        self._call, self._results = call, results
        self._known: OrderedDict[Hashable, _Known] = OrderedDict()
        self._graphs: list[tuple[_Known, Graph]] = []
        self._lock = threading.Lock()
        HOLDERS.add(self)

    def __call__(self, *args: Any) -> tuple[Any, ...]:
        given: list[Any] = []
        kinds: list[Hashable] = []  # what a recorded run depends on: all but addresses, and values of floats
        number, host = -1, False
        for a in args:
            cls = type(a)
            if cls in FLOATS:
                kinds.append(cls)
            elif cls is DeviceArray or isinstance(a, cp.ndarray):
                a = a if cls is DeviceArray else DeviceArray(a.data, 0, a.shape, a.strides, a.dtype)
                kinds.append((a.shape, a.strides, a.offset))
                on = a.buffer.device_id
                if on != number:
                    number = on if number < 0 else one_device(args)
            elif cls in _TAKEN:
                kinds.append((cls, a))
            else:
                host = True  # a record of the host's may steer it
            given.append(a)
        if number < 0:
            number = one_device(args)
        key = None if host else (number, *kinds)
        if runtime.getDevice() == number:
            return self._run(number, key, given)
        with cp.cuda.Device(number):
            return self._run(number, key, given)

    def _run(self, number: int, key: Hashable, given: list[Any]) -> tuple[Any, ...]:
        stream = cp.cuda.get_current_stream()
        known = None if key is None else self._known.get(key)
        if known is None and FEWEST == 0 and key is not None:
            known = self._note(key, _Known(0))
        if known is None or known.direct or known.launches < FEWEST or stream.is_capturing():
            device = Device(number, stream.ptr)
            flat = self._call(device, *given) or ()
            if known is None and key is not None:
                self._note(key, _Known(device.launches, direct=device.steps))
        else:
            flat = self._repeated(known, number, stream, given)
        return self._shown(flat)

    def _shown(self, flat: tuple[Any, ...]) -> tuple[Any, ...]:
        return (*map(Device.shown, flat[: self._results]), *flat[self._results :])

    def _keep(self, known: _Known, graph: Graph) -> None:
        """One more graph; the oldest of the program's goes where there are too many."""
        gone: list[Graph] = []
        with self._lock:
            known.graphs = [graph, *known.graphs]
            self._graphs.append((known, graph))
            while len(self._graphs) > _GRAPHS_KEPT:
                owner, oldest = self._graphs.pop(0)
                owner.graphs = [g for g in owner.graphs if g is not oldest]
                gone.append(oldest)
        for oldest in gone:
            oldest.wait()

    def release(self) -> None:
        """Give up the memory of the graphs."""
        with self._lock:
            gone, self._graphs = self._graphs, []
            for known, _ in gone:
                known.graphs = []
        for _, graph in gone:
            graph.wait()

    def _note(self, key: Hashable, known: _Known) -> _Known:
        with self._lock:
            self._known[key] = known
            while len(self._known) > _SHAPES_KEPT:
                self._known.popitem(last=False)
        return known

    def _repeated(self, known: _Known, number: int, stream: Any, given: list[Any]) -> tuple[Any, ...]:
        """Replayed by a graph; a new one is captured where none fits."""
        for graph in known.graphs:
            found = graph.replay(given, stream)
            if found is not None:
                known.found += 1
                return found
        known.missed += 1
        if known.missed > _PATIENCE + known.found // 4:  # what the host compares differs from call to call
            known.direct = True
            return self._call(Device(number, stream.ptr), *given) or ()
        try:
            graph = captured(self._call, number, stream, given)
        except Unrepeatable as why:
            known.direct = why.__cause__ is None  # else it raises with these numbers, perhaps not with others
            return self._call(Device(number, stream.ptr), *given) or ()
        self._keep(known, graph)
        found = graph.replay(given, stream)
        assert found is not None  # it was captured with these values
        return found
