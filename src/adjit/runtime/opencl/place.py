"""pyopencl arrays as arguments: their types, whether they share memory, arrays beside them."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array

from adjit.errors import ArgumentError, DeviceError
from adjit.runtime.device_memory import ghost
from adjit.runtime.opencl.copies import copy_into
from adjit.runtime.opencl.device import GIVEN_QUEUE
from adjit.runtime.opencl.matrix import CompressedRows

AnyArray = np.ndarray[Any, Any]

_ROOM = 2**44


def _root(a: Any) -> tuple[int, int]:
    """The buffer that an array is in, and where in it the array starts."""
    base, offset = a.base_data, a.offset
    if base is None:
        return 0, offset
    parent: Any = (
        base.get_info(cl.mem_info.ASSOCIATED_MEMOBJECT) if isinstance(base, cl.MemoryObject) else None
    )
    if parent is None:
        return base.int_ptr, offset
    return parent.int_ptr, offset + base.get_info(cl.mem_info.OFFSET)


def ghosts(arrays: Sequence[Any]) -> list[AnyArray]:
    """NumPy arrays with the addresses of device arrays, never to be read: for questions about overlap and layout."""
    numbers: dict[int, int] = {}
    found: list[AnyArray] = []
    for a in arrays:
        root, offset = _root(a)
        number = numbers.setdefault(root, len(numbers) + 1)
        found.append(ghost(a, number * _ROOM + offset))
    return found


def layout_of(a: Any) -> str:
    """Numba's layout rule: "C" where it is C-contiguous, else "F", else "A"."""
    (ghost,) = ghosts((a,))
    return "C" if ghost.flags.c_contiguous else "F" if ghost.flags.f_contiguous else "A"


def check(a: Any, name: str) -> None:
    """Raise ArgumentError or DeviceError where an array is not what kernels take."""
    if a.queue is None:
        raise DeviceError(f"'{name}' has no queue", f"pass {name}.with_queue(queue)")
    if a.size and not isinstance(a.base_data, cl.MemoryObject):
        raise ArgumentError(f"'{name}' is not in a buffer", "make it with cl.array.empty, zeros or to_device")
    size = a.dtype.itemsize
    if a.offset % size or any(s % size for s in a.strides):
        raise ArgumentError(f"'{name}' is not aligned in memory", "pass a copy")


def key(a: Any, name: str) -> tuple[Any, int, str, bool]:
    """Dtype, number of axes, layout, and whether it may not be written. Raises ArgumentError, DeviceError."""
    check(a, name)
    return a.dtype, a.ndim, layout_of(a), False


def apart(arrays: Sequence[Any]) -> bool:
    """Whether no two elements surely share memory, by a quick look."""
    return False


def zeros(like: Any, dtype: Any, order: str) -> Any:
    """An array of zeros of the shape and on the queue of another one."""
    made = cl_array.empty(like.queue, like.shape, dtype, order=order)
    if made.size:
        made.fill(np.zeros((), dtype)[()])
    return made


def empty(like: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """An array on the queue of another one, not initialised."""
    return cl_array.empty(like.queue, shape, dtype)


def clear(a: Any) -> None:
    """Zero everywhere in contiguous memory."""
    if a.size:
        a.fill(np.zeros((), a.dtype)[()])


def sent(a: AnyArray, like: Any) -> Any:
    """A contiguous array of the host's on the queue of another one."""
    return cl_array.to_device(like.queue, a)


def sparse_form(pattern: Any, like: Any) -> Any:
    """What matrices of a pattern (a `scipy.sparse.csr_array`) share."""
    return pattern


def sparse(data: Any, form: Any) -> CompressedRows:
    """A matrix of these entries."""
    return CompressedRows(data, form.indices.copy(), form.indptr.copy(), form.shape)


def stacked(arrays: Sequence[Any]) -> Any:
    """Arrays of one shape as one with a leading axis."""
    first = arrays[0]
    made = empty(first, (len(arrays), *first.shape), first.dtype)
    nbytes = first.size * first.dtype.itemsize
    for k, a in enumerate(arrays if nbytes else ()):
        own = a if layout_of(a) == "C" else private(a, "C")
        made.add_event(
            cl.enqueue_copy(
                made.queue,
                made.base_data,
                own.base_data,
                src_offset=own.offset,
                dst_offset=k * nbytes,
                byte_count=nbytes,
                wait_for=own.events,
            )
        )
    return made


def private(a: Any, order: str) -> Any:
    """A copy in the given order of memory."""
    made = cl_array.empty(a.queue, a.shape, a.dtype, order=order)
    if a.size == 0:
        return made
    layout = layout_of(a)
    if layout == "A" or (layout != order and a.ndim > 1):
        made.add_event(copy_into(made, a, order))
        return made
    nbytes = a.size * a.dtype.itemsize
    target: Any = made.base_data
    made.add_event(cl.enqueue_copy(a.queue, target, a.base_data, src_offset=a.offset, byte_count=nbytes))
    return made


@contextmanager
def launching(queue: Any) -> Generator[None, None, None]:
    """A context in which programs run on this queue in place of their arrays'. Raises ArgumentError."""
    if not isinstance(queue, cl.CommandQueue):
        raise ArgumentError(f"stream is {queue!r}", "give a pyopencl queue: cl.CommandQueue(context)")
    token = GIVEN_QUEUE.set(queue)
    try:
        yield
    finally:
        GIVEN_QUEUE.reset(token)
