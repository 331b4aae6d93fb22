"""Kernels of a generated module: built once for each context, launched on the queue of a call.

Places in memory are 32 bits wide where every array of a launch is small enough, else 64: two builds of one text, made
when they are first needed.
"""

from __future__ import annotations

import functools
import operator
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pyopencl as cl

from adjit.errors import DeviceError
from adjit.runtime.device_memory import SMALL, DeviceArray
from adjit.runtime.opencl.device import Device

BLOCK = 64
"""Work items of a work-group that makes totals."""
_GROUPS = 256
_SHAPES = ((1,), (BLOCK,), (32, 4), (32, 2, 2))

_COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "mul": operator.mul,
    "min": lambda a, b: b if b < a else a,
    "max": lambda a, b: b if b > a else a,
    "and_": operator.and_,
    "or_": operator.or_,
    "first": lambda a, _: a,
}
"""What two groups of work items come to together, by the operation of a total."""


_STRICT = "#pragma OPENCL FP_CONTRACT OFF"


class Source:
    """The text of a module's kernels. fp64, wide_atomics: what a device must have for it.

    strict: whether products and sums are rounded one by one, so that kernels come to the same numbers.
    """

    def __init__(self, text: str, fp64: bool, wide_atomics: bool, strict: bool = False):
        self._text = f"{_STRICT}\n{text}" if strict else text
        self._fp64, self._wide_atomics = fp64, wide_atomics
        self._built: dict[tuple[Any, Any, str, bool], Any] = {}
        self._lock = threading.Lock()

    def kernel(self, name: str, axes: int, given: tuple[str, ...], totals: tuple[str, ...] = ()) -> Launch:
        """What launches one kernel (see `Launch`)."""
        return Launch(self, name, axes, given, totals)

    def check(self, device: Any) -> None:
        """Raise DeviceError if the device lacks what the kernels need."""
        extensions = device.extensions.split()
        if self._fp64 and "cl_khr_fp64" not in extensions:
            raise DeviceError(
                f"the device '{device.name}' has no float64, and this program computes in it",
                "use float32 arrays and numbers (np.float32(2.0)), or run it on NumPy arrays",
            )
        if self._wide_atomics and "cl_khr_int64_base_atomics" not in extensions:
            raise DeviceError(
                f"the device '{device.name}' has no atomic operations on 64 bits, and work items of this program meet",
                "use float32 arrays, or run it on NumPy arrays",
            )

    def program(self, context: Any, device: Any, index: str, grouped: bool) -> Any:
        """The built program. Raises DeviceError."""
        key = (context, device, index, grouped)
        found = self._built.get(key)
        if found is None:
            with self._lock:
                found = self._built[key] = self._build(context, device, index, grouped)
        return found

    def _build(self, context: Any, device: Any, index: str, grouped: bool) -> Any:
        self.check(device)
        options = [f"-DINDEX={index}", f"-DBLOCK={BLOCK}", "-w", *(["-DGROUPED"] if grouped else [])]
        if device.single_fp_config & cl.device_fp_config.CORRECTLY_ROUNDED_DIVIDE_SQRT:
            options.append("-cl-fp32-correctly-rounded-divide-sqrt")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", cl.CompilerWarning)
                return cl.Program(context, self._text).build(options, devices=[device])
        except cl.RuntimeError as error:
            raise DeviceError(
                f"the kernels of this program do not compile on '{device.name}':\n{error}",
                "this PoCL is older than the processor: take a newer one, of the system or of conda-forge"
                if "unknown target CPU" in str(error)
                else "",
            ) from error


class Launch:
    """Launches one kernel: `launch(device, *counts, *given)` gives the totals, as a tuple of numbers.

    axes: how many counts there are. given: for each argument the type of a number, or the layout of an array. totals:
    for each the operation and the type.
    """

    def __init__(self, source: Source, name: str, axes: int, given: tuple[str, ...], totals: tuple[str, ...]):
        self._source, self._name, self._axes, self._given = source, name, axes, given
        self._totals = [(op, np.dtype(type)) for op, type in (t.split() for t in totals)]
        self._makers = [None if g in "CFA" else np.dtype("uint8" if g == "bool" else g).type for g in given]
        self._kernels = threading.local()

    def __call__(self, device: Device, *args: Any) -> tuple[Any, ...]:
        counts, given = args[: self._axes], args[self._axes :]
        if not self._totals and self._axes and 0 in counts:
            return ()
        flat: list[Any] = [np.int64(n) for n in counts]
        wide, groups = False, device.groups
        if self._totals or self._axes > 2:
            device.alone()
        for kind, make, a in zip(self._given, self._makers, given, strict=True):
            if make is not None:
                flat.append(make(a))
                continue
            wide = wide or a.span > SMALL
            _append(flat, a, kind, groups > 1)
        kernel = self._kernel(device, "long" if wide else "int", groups > 1)
        index = np.int64 if wide else np.int32
        flat = [index(x) if type(x) is int else x for x in flat]
        if self._totals:
            return self._with_totals(device, kernel, int(np.prod(counts, dtype=np.int64)), flat)
        shape = _SHAPES[self._axes]
        items = tuple(-(-int(n) // b) * b for n, b in zip(reversed(counts or (1,)), shape, strict=True))
        if groups > 1:
            items, shape = (*items, groups), (*shape, 1)
        device.enqueued(kernel(device.queue, items, shape, *flat, wait_for=device.before))
        return ()

    def _kernel(self, device: Device, index: str, grouped: bool) -> Any:
        """The kernel, one for each thread: its arguments are part of it."""
        kept = self._kernels.__dict__.setdefault("kept", {})
        key = (device.context, device.queue.device, index, grouped)
        found = kept.get(key)
        if found is None:
            program = self._source.program(device.context, device.queue.device, index, grouped)
            found = kept[key] = cl.Kernel(program, self._name)
        return found

    def _with_totals(self, device: Device, kernel: Any, turns: int, flat: list[Any]) -> tuple[Any, ...]:
        groups = max(1, min(_GROUPS, -(-turns // BLOCK)))
        parts = [device.empty((groups,), np.uint8 if t.kind == "b" else t) for _, t in self._totals]
        event = kernel(
            device.queue,
            (groups * BLOCK,),
            (BLOCK,),
            *flat,
            *(p.buffer for p in parts),
            wait_for=device.before,
        )
        device.enqueued(event)
        found: list[Any] = []
        for (op, dtype), part in zip(self._totals, parts, strict=True):
            host = np.empty(groups, part.dtype)
            cl.enqueue_copy(device.queue, host, part.buffer, is_blocking=True, wait_for=device.before)
            with np.errstate(all="ignore"):
                total = functools.reduce(_COMBINE[op], host.astype(dtype))
            found.append(total if dtype == np.float32 else total.item())
        return tuple(found)


def _append(flat: list[Any], a: DeviceArray, layout: str, grouped: bool) -> None:
    """What stands for an array: buffer, place of its first element, extents, strides unless the layout says them."""
    flat.append(a.buffer)
    flat.append(np.int64(a.offset // a.dtype.itemsize))
    if grouped:
        flat.append(np.int64(a.step))
    flat += a.places(layout)
