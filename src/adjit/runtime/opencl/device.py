"""The device of one call: the queue of its arrays, allocations on it, and arrays on their way in and out.

Nothing is kept between calls. All arrays of a call are in one context; those of another queue than the first's are
waited for before the program starts, and the program is waited for where such there were.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array

from adjit.errors import DeviceError, MemoryLimitError
from adjit.runtime.device_memory import DeviceArray, Groups, laid_out, local
from adjit.runtime.opencl import steps

_FLAGS = cl.mem_flags.READ_WRITE
GIVEN_QUEUE: ContextVar[Any] = ContextVar("queue", default=None)
"""The queue that a call was given, in place of its arrays'."""


class Device(Groups):
    """The queue of a call. last: (of a queue that runs out of order) the event that the next operation waits for."""

    def __init__(self, queue: Any):
        self.queue = queue
        self.context = queue.context
        self.in_order = not queue.properties & cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE
        self.last: Any = None

    @property
    def before(self) -> list[Any] | None:
        """What an operation must wait for."""
        return None if self.last is None else [self.last]

    def enqueued(self, event: Any) -> None:
        """Note what was enqueued last."""
        if not self.in_order:
            self.last = event

    local = staticmethod(local)

    def empty(self, shape: tuple[Any, ...], dtype: Any, order: str = "C") -> DeviceArray:
        """Fresh memory, not initialised."""
        shape, dtype, strides = laid_out(shape, dtype, order)
        count = math.prod(shape)
        size = count * self.groups * dtype.itemsize
        limit = self.queue.device.max_mem_alloc_size
        if size > limit:
            raise _too_large(size, limit, self.queue.device)
        try:
            buffer = cl.Buffer(self.context, _FLAGS, max(size, 1))
        except (cl.MemoryError, cl.RuntimeError) as error:
            raise _too_large(size, self.queue.device.global_mem_size, self.queue.device) from error
        return DeviceArray(buffer, 0, shape, strides, dtype, self.step(count))

    def room(self) -> int:
        """How many bytes the device has at most."""
        return int(self.queue.device.global_mem_size)

    def zeros(self, shape: tuple[Any, ...], dtype: Any, order: str = "C") -> DeviceArray:
        """Fresh memory of zeros."""
        return self.full(shape, 0, dtype, order)

    def full(self, shape: tuple[Any, ...], value: Any, dtype: Any, order: str = "C") -> DeviceArray:
        """Fresh memory that holds one value."""
        made = self.empty(shape, dtype, order)
        if made.size:
            pattern = np.array(value, dtype)
            size = made.size * self.groups * made.dtype.itemsize
            self.enqueued(
                cl.enqueue_fill_buffer(self.queue, made.buffer, pattern, 0, size, wait_for=self.before)
            )
        return made

    def grow(self, record: DeviceArray, need: Any) -> DeviceArray:
        """A larger copy of a record: at least `need` elements, at least twice as many as before."""
        self.alone()
        larger = self.empty((max(int(need), 2 * record.size),), record.dtype)
        size = record.size * record.dtype.itemsize
        if size:
            copied = cl.enqueue_copy(
                self.queue, larger.buffer, record.buffer, src_offset=record.offset, byte_count=size,
                wait_for=self.before,
            )  # fmt: skip
            self.enqueued(copied)
        return larger

    def put(self, out: DeviceArray, values: np.ndarray[Any, Any]) -> None:
        """`out` is a record of the host's."""
        self.alone()
        if out.size:
            source = np.ascontiguousarray(values, out.dtype)
            cl.enqueue_copy(self.queue, out.buffer, source, is_blocking=True, wait_for=self.before)

    def argsort(self, out: DeviceArray, x: DeviceArray, axis: int) -> None:
        """`out` is the places of the elements of `x` in order, along an axis (`steps`)."""
        self.alone()
        steps.argsort(self, out, x, axis)

    def cumsum(self, out: DeviceArray, x: DeviceArray, axis: int, step: int) -> None:
        """`out` is the running sum of `x` along an axis; from the end on where the step is -1 (`steps`)."""
        self.alone()
        steps.cumsum(self, out, x, axis, step)

    def shown(self, a: Any) -> Any:
        """An array as the user has arrays; anything else as it is."""
        if not isinstance(a, DeviceArray):
            return a
        return cl_array.Array(self.queue, a.shape, a.dtype, data=a.buffer, offset=a.offset, strides=a.strides)


def _too_large(size: int, limit: int, device: Any) -> MemoryLimitError:
    return MemoryLimitError(
        f"an array of {size} bytes does not fit on the device '{device.name}', which gives at most {limit}",
        "use smaller inputs; what the program had written before this array was made stays written",
    )


def on_device(call: Callable[..., Any], results: int) -> Callable[..., Any]:
    """A host function of generated code as one of pyopencl arrays; its first `results` results are the user's."""

    def run(*args: Any) -> tuple[Any, ...]:
        device, others = _device_of(args)
        for queue in others:
            queue.finish()
        flat = call(device, *[_taken(a) if isinstance(a, cl_array.Array) else a for a in args]) or ()
        if others or not device.in_order:
            device.queue.finish()
        return (*map(device.shown, flat[:results]), *flat[results:])

    return run


def _taken(a: Any) -> DeviceArray:
    return DeviceArray(a.base_data, a.offset, a.shape, a.strides, a.dtype)


def _device_of(args: Sequence[Any]) -> tuple[Device, list[Any]]:
    """The device of the arrays, and queues other than the one that the call runs on: the first array's unless given."""
    queues: list[Any] = [q for q in (GIVEN_QUEUE.get(),) if q is not None]
    for a in args:
        if isinstance(a, cl_array.Array):
            if a.queue is None:
                raise DeviceError("an array has no queue", "pass a.with_queue(queue)")
            if not any(a.queue is q or a.queue == q for q in queues):
                queues.append(a.queue)
    if not queues:
        raise DeviceError("no array of this call says on which device it runs", "pass a device array")
    if any(q.context != queues[0].context for q in queues):
        raise DeviceError(
            "the arrays of this call are in different OpenCL contexts", "make them with queues of one context"
        )
    if any(q.device != queues[0].device for q in queues):
        raise DeviceError(
            "the arrays of this call are on different devices", "make them with queues of one device"
        )
    return Device(queues[0]), queues[1:]
