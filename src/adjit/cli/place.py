"""Where a demonstration runs: on the CPU, or on a device, whose library is imported when asked for."""

from __future__ import annotations

import importlib
import time
from typing import Any

import numpy as np

from adjit.errors import DeviceError


class Place:
    """The CPU: arrays are NumPy's, and a call is over when it returns."""

    name = "CPU"
    compiled = True
    """Whether programs are compiled by themselves (dispatchers)."""

    def put(self, a: Any) -> Any:
        """The array there; anything else as it is."""
        return a

    def get(self, a: Any) -> Any:
        """The array in the host's memory."""
        return a

    def clock(self) -> float:
        """Seconds of this thread on the processor: what else the machine does should not count."""
        return time.thread_time()


class _Device(Place):
    """A device: calls are over when it has come to rest."""

    compiled = False

    def get(self, a: Any) -> Any:
        return a.get() if hasattr(a, "get") else a

    def wait(self) -> None:
        """Wait for what was begun."""
        raise NotImplementedError

    def clock(self) -> float:
        self.wait()
        return time.perf_counter()


class _OpenCL(_Device):
    def __init__(self) -> None:
        cl = _library("pyopencl", "opencl")
        self._arrays = importlib.import_module("pyopencl.array")
        try:
            context = cl.create_some_context(interactive=False)
        except cl.Error as error:
            raise DeviceError(
                f"there is no OpenCL device: {error}", "install its driver, or pip install pyopencl[pocl]"
            ) from error
        self._queue = cl.CommandQueue(context)
        self.name = str(self._queue.device.name)

    def put(self, a: Any) -> Any:
        return self._arrays.to_device(self._queue, a) if isinstance(a, np.ndarray) else a

    def wait(self) -> None:
        self._queue.finish()


class _Cuda(_Device):
    def __init__(self) -> None:
        self._cp: Any = _library("cupy", "cuda")
        try:
            properties = self._cp.cuda.runtime.getDeviceProperties(self._cp.cuda.Device().id)
        except self._cp.cuda.runtime.CUDARuntimeError as error:
            raise DeviceError(f"there is no CUDA device: {error}", "install its driver") from error
        self.name = properties["name"].decode()

    def put(self, a: Any) -> Any:
        return self._cp.asarray(a) if isinstance(a, np.ndarray) else a

    def wait(self) -> None:
        self._cp.cuda.get_current_stream().synchronize()


def _library(name: str, extra: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise DeviceError(f"{name} is not installed", f"pip install adjit[{extra}]") from error


PLACES: dict[str, type[Place]] = {"cpu": Place, "cuda": _Cuda, "opencl": _OpenCL}
"""The places by their names."""
