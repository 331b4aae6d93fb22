"""CuPy arrays as arguments: their types, whether they share memory, arrays beside them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from adjit.errors import ArgumentError
from adjit.runtime.cuda.library import cp, cupyx_sparse
from adjit.runtime.device_memory import ghost
from adjit.runtime.foreign import external_stream

AnyArray = np.ndarray[Any, Any]


def ghosts(arrays: Sequence[Any]) -> list[AnyArray]:
    """NumPy arrays with the addresses of device arrays, never to be read: for questions about overlap and layout."""
    return [ghost(a, a.data.ptr) for a in arrays]


def layout_of(a: Any) -> str:
    """Numba's layout rule: "C" where it is C-contiguous, else "F", else "A"."""
    return "C" if a.flags.c_contiguous else "F" if a.flags.f_contiguous else "A"


def check(a: Any, name: str) -> None:
    """Raise ArgumentError where an array is not what kernels take."""
    size = a.dtype.itemsize
    if a.data.ptr % size or any(s % size for s in a.strides):
        raise ArgumentError(f"'{name}' is not aligned in memory", "pass a copy")


class FixedArray(cp.ndarray):
    """A view of memory that may not be written, as JAX's is."""


def key(a: Any, name: str) -> tuple[Any, int, str, bool]:
    """Dtype, number of axes, layout, and whether it may not be written. Raises ArgumentError."""
    flags, dtype = a.flags, a.dtype
    layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
    if layout == "A" or a.data.ptr % dtype.itemsize:
        check(a, name)
    return dtype, a.ndim, layout, type(a) is FixedArray


def apart(arrays: Sequence[Any]) -> bool:
    """Whether no two elements surely share memory, by a quick look."""
    if not all([a.flags.c_contiguous or a.flags.f_contiguous for a in arrays]):
        return False
    if len(arrays) == 1:
        return True
    ranges = sorted([(a.data.ptr, a.nbytes) for a in arrays])
    return all([start + size <= then for (start, size), (then, _) in pairwise(ranges)])


def zeros(like: Any, dtype: Any, order: str) -> Any:
    """An array of zeros of the shape and on the device of another one."""
    with like.device:
        return cp.zeros(like.shape, dtype, order=order)


def empty(like: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """An array on the device of another one, not initialised."""
    with like.device:
        return cp.empty(shape, dtype)


def clear(a: Any) -> None:
    """Zero everywhere."""
    with a.device:
        a.fill(0)


def sent(a: AnyArray, like: Any) -> Any:
    """A contiguous array of the host's on the device of another one."""
    with like.device:
        return cp.asarray(a)


def sparse_form(pattern: Any, like: Any) -> Any:
    """What matrices of a pattern (a `scipy.sparse.csr_array`) share: columns, starts of rows, the shape."""
    return sent(pattern.indices, like), sent(pattern.indptr, like), pattern.shape


def sparse(data: Any, form: Any) -> Any:
    """A `cupyx.scipy.sparse.csr_matrix` of these entries."""
    indices, indptr, shape = form
    with data.device:
        return cupyx_sparse().csr_matrix((data, indices.copy(), indptr.copy()), shape=shape)


def stacked(arrays: Sequence[Any]) -> Any:
    """Arrays of one shape as one with a leading axis."""
    with arrays[0].device:
        return cp.stack(arrays)


def private(a: Any, order: str) -> Any:
    """A copy in the given order of memory."""
    with a.device:
        return cp.array(a, order=order, copy=True)


def launching(stream: Any) -> Any:
    """A context in which programs run on a stream of CuPy's, or on one that tells its address. Raises ArgumentError."""
    if isinstance(stream, (cp.cuda.Stream, cp.cuda.ExternalStream)):
        return stream
    address = getattr(stream, "cuda_stream", None)  # torch
    if address is None and hasattr(stream, "__cuda_stream__"):
        address = stream.__cuda_stream__()[1]
    if not isinstance(address, int):
        raise ArgumentError(f"stream is {stream!r}", "give a CuPy stream: cupy.cuda.Stream()")
    return external_stream(address)
