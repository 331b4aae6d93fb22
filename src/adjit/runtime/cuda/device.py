"""The device of one call: the stream it runs on, allocations, and arrays on their way in and out.

A call runs on CuPy's current stream, as CuPy's own functions do, and on the device of its arrays. Memory is that of
CuPy's pool.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakSet

import numpy as np

from adjit.errors import DeviceError, MemoryLimitError
from adjit.runtime.cuda import steps
from adjit.runtime.cuda.library import cp, memory, runtime
from adjit.runtime.device_memory import DeviceArray, Groups, laid_out, local


class Device(Groups):
    """Where a call runs: the number of the device, and the address of the stream.

    launches: how many kernels were launched. steps: whether CuPy made steps of it (`steps`).
    """

    records = False
    """Whether launches are recorded, in place of run."""

    def __init__(self, number: int, stream: int):
        self.number, self.stream = number, stream
        self.launches = 0
        self.steps = False

    def memory(self, size: int) -> Any:
        """Fresh memory of so many bytes. Raises MemoryLimitError."""
        return allocated(size)

    local = staticmethod(local)

    def empty(self, shape: tuple[Any, ...], dtype: Any, order: str = "C") -> DeviceArray:
        """Fresh memory, not initialised."""
        shape, dtype, strides = laid_out(shape, dtype, order)
        count = math.prod(shape)
        memory = self.memory(count * self.groups * dtype.itemsize)
        return DeviceArray(memory, 0, shape, strides, dtype, self.step(count))

    def room(self) -> int:
        """How many bytes are free."""
        return int(runtime.memGetInfo()[0]) + int(cp.get_default_memory_pool().free_bytes())

    def zeros(self, shape: tuple[Any, ...], dtype: Any, order: str = "C") -> DeviceArray:
        """Fresh memory of zeros."""
        made = self.empty(shape, dtype, order)
        if made.size:
            size = made.size * self.groups * made.dtype.itemsize
            runtime.memsetAsync(made.buffer.ptr, 0, size, self.stream)
        return made

    def full(self, shape: tuple[Any, ...], value: Any, dtype: Any, order: str = "C") -> DeviceArray:
        """Fresh memory that holds one value."""
        made = self.empty(shape, dtype, order)
        if made.size:
            all_groups = cp.ndarray((made.size * self.groups,), made.dtype, memptr=made.buffer)
            all_groups.fill(made.dtype.type(value))
        return made

    def grow(self, record: DeviceArray, need: Any) -> DeviceArray:
        """A larger copy of a record: at least `need` elements, at least twice as many as before."""
        self.alone()
        larger = self.empty((max(int(need), 2 * record.size),), record.dtype)
        size = record.size * record.dtype.itemsize
        if size:
            source = record.buffer.ptr + record.offset
            runtime.memcpyAsync(larger.buffer.ptr, source, size, runtime.memcpyDeviceToDevice, self.stream)
        return larger

    def launch(self, launch: Any, counts: tuple[int, ...], given: tuple[Any, ...]) -> tuple[Any, ...]:
        """Launch a kernel (`launch.Launch`); the totals, if it has any."""
        self.launches += 1
        return launch.run(self, counts, given)

    def put(self, out: DeviceArray, values: np.ndarray[Any, Any]) -> None:
        """`out` is a record of the host's."""
        self.alone()
        self.shown(out).set(np.ascontiguousarray(values, out.dtype))

    def argsort(self, out: DeviceArray, x: DeviceArray, axis: int) -> None:
        """The places of the elements of `x` in order (`steps`)."""
        self._step(steps.argsort, out, x, axis)

    def cumsum(self, out: DeviceArray, x: DeviceArray, axis: int, step: int) -> None:
        """The running sum of `x` (`steps`)."""
        self._step(steps.cumsum, out, x, axis, step)

    def matmul(self, out: DeviceArray, x: DeviceArray, y: DeviceArray) -> None:
        """A product (`steps`)."""
        self._step(steps.matmul, out, x, y)

    def _step(self, make: Callable[..., None], *given: Any) -> None:
        """A step of CuPy's. Raises MemoryLimitError where the device has no room for what it needs."""
        self.alone()
        self.steps = True
        try:
            _with_room(lambda: make(*map(self.shown, given)))
        except Exception as error:
            if not _is_full(error):
                raise
            free, total = runtime.memGetInfo()
            raise MemoryLimitError(
                f"CuPy's {make.__name__} finds no room on the device: {free} of {total} bytes are free",
                "use smaller inputs; what the program had written before this step stays written",
            ) from error

    def counter(self) -> Any:
        """Where the blocks of a kernel count themselves: zero before a launch, and zero again after it."""
        key = (self.number, self.stream)
        found = _counters.get(key)
        if found is None:
            found = _counters[key] = cp.cuda.alloc(4)
            runtime.memsetAsync(found.ptr, 0, 4, self.stream)
        return found

    def numbers(self, memory: Any, dtypes: Sequence[np.dtype[Any]]) -> list[Any]:
        """Numbers that kernels put into memory, eight bytes apart; waits for them."""
        return numbers_in(read(memory.ptr, len(dtypes), self.stream), dtypes)

    @staticmethod
    def shown(a: Any) -> Any:
        """An array as the user has arrays; anything else as it is."""
        if not isinstance(a, DeviceArray):
            return a
        return cp.ndarray(a.shape, a.dtype, memptr=a.buffer + a.offset, strides=a.strides)


_counters: dict[tuple[int, int], Any] = {}
HOLDERS: WeakSet[Any] = WeakSet()
"""What holds memory that it can do without, and gives it up by `release()`."""


def allocated(size: int) -> Any:
    """Fresh memory of so many bytes; graphs are dropped where that is what it takes. Raises MemoryLimitError."""
    try:
        return _with_room(lambda: cp.cuda.alloc(size))
    except memory.OutOfMemoryError as error:
        raise too_large(size) from error


def _with_room(make: Callable[[], Any]) -> Any:
    """What `make` gives, which is tried again without the graphs where memory is short."""
    try:
        return make()
    except Exception as error:
        if not _is_full(error):
            raise
    for holder in list(HOLDERS):
        holder.release()
    return make()


def _is_full(error: Exception) -> bool:
    """Whether an error of CuPy or of its libraries says that the device has no more memory."""
    return isinstance(error, memory.OutOfMemoryError) or "ALLOC_FAILED" in str(error)


def read(address: int, count: int, stream: int) -> np.ndarray[Any, Any]:
    """So many words of eight bytes, once the stream has come to this point."""
    words = np.empty(count, np.uint64)
    runtime.memcpyAsync(words.ctypes.data, address, 8 * count, runtime.memcpyDeviceToHost, stream)
    runtime.streamSynchronize(stream)
    return words


def numbers_in(words: np.ndarray[Any, Any], dtypes: Sequence[np.dtype[Any]]) -> list[Any]:
    """The number at the start of each word."""
    found = [words[k : k + 1].view(dtype)[0] for k, dtype in enumerate(dtypes)]
    return [x if x.dtype == np.float32 else x.item() for x in found]


def too_large(size: int) -> MemoryLimitError:
    """The error of an allocation that fails."""
    free, total = runtime.memGetInfo()
    held = cp.get_default_memory_pool().used_bytes()
    return MemoryLimitError(
        f"an array of {size} bytes does not fit on the device: {free} of {total} bytes are free, "
        f"arrays of this process hold {held}",
        "use smaller inputs; what the program had written before this array was made stays written",
    )


def one_device(args: Sequence[Any]) -> int:
    """The device that all arrays of a call are on. Raises DeviceError."""
    numbers = {a.data.device_id for a in args if isinstance(a, cp.ndarray)}
    numbers |= {a.buffer.device_id for a in args if type(a) is DeviceArray}
    if not numbers:
        raise DeviceError("no array of this call says on which device it runs", "pass a device array")
    if len(numbers) > 1:
        listed = ", ".join(map(str, sorted(numbers)))
        raise DeviceError(
            f"the arrays of this call are on different devices ({listed})",
            "move them to one: with cupy.cuda.Device(n): a = cupy.asarray(a)",
        )
    return numbers.pop()
