"""CUDA graphs by the driver's own interface, node by node.

Nothing is captured from a stream: while a stream is in capture, other threads may not wait for the device.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any

from adjit.errors import DeviceError

_uint, _pointer = ctypes.c_uint, ctypes.c_void_p


class _KernelNode(ctypes.Structure):
    """CUDA_KERNEL_NODE_PARAMS_v2 of the CUDA driver API."""

    _fields_ = (
        ("func", _pointer),
        *((f"{what}Dim{axis}", _uint) for what in ("grid", "block") for axis in "XYZ"),
        ("sharedMemBytes", _uint),
        ("kernelParams", _pointer),
        ("extra", _pointer),
        ("kern", _pointer),
        ("ctx", _pointer),
    )


@cache
def _library() -> Any:
    """The driver; it is loaded in any process that has arrays on a device."""
    library = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    library.cuGraphLaunch.argtypes = [_pointer, _pointer]
    library.cuGraphExecDestroy.argtypes = [_pointer]
    library.cuGraphDestroy.argtypes = [_pointer]
    library.cuGraphAddKernelNode_v2.argtypes = [_pointer, _pointer, _pointer, ctypes.c_size_t, _pointer]
    library.cuGraphInstantiateWithFlags.argtypes = [_pointer, _pointer, ctypes.c_ulonglong]
    return library


def _check(status: int) -> None:
    if status:
        text = ctypes.c_char_p()
        _library().cuGetErrorString(status, ctypes.byref(text))
        raise DeviceError(
            f"a CUDA graph failed: {(text.value or b'unknown').decode()}", "report it, with the program"
        )


class Executable:
    """A graph that can be launched."""

    def __init__(self, handle: int):
        self._handle = handle
        self._launch, self._destroy = _library().cuGraphLaunch, _library().cuGraphExecDestroy

    def launch(self, stream: int) -> None:
        """Run it on a stream."""
        status = self._launch(self._handle, stream)
        if status:
            _check(status)

    def __del__(self) -> None:
        self._destroy(self._handle)


class Nodes:
    """A graph in the making: kernels that run one after another."""

    def __init__(self) -> None:
        self._graph, self._last, self.count = _pointer(), _pointer(), 0
        self._destroy = _library().cuGraphDestroy
        _check(_library().cuGraphCreate(ctypes.byref(self._graph), 0))

    def add(self, function: int, grid: tuple[int, ...], block: tuple[int, ...], arguments: int) -> None:
        """One more kernel; its arguments, an array of pointers, are copied."""
        params = _KernelNode(function, *grid, *block, 0, arguments, None, None, None)
        node = _pointer()
        before = ctypes.byref(self._last) if self.count else None
        _check(
            _library().cuGraphAddKernelNode_v2(
                ctypes.byref(node), self._graph, before, int(self.count > 0), ctypes.byref(params)
            )
        )
        self._last = node
        self.count += 1

    def finished(self) -> Executable:
        """The graph, ready to run."""
        made = _pointer()
        _check(_library().cuGraphInstantiateWithFlags(ctypes.byref(made), self._graph, 0))
        assert made.value is not None
        return Executable(made.value)

    def __del__(self) -> None:
        if self._graph:
            self._destroy(self._graph)
