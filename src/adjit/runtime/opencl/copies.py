"""Copies of strided memory into contiguous memory of either order: a kernel for each number of axes and item size."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pyopencl as cl

_WORDS = {1: "uchar", 2: "ushort", 4: "uint", 8: "ulong", 16: "ulong2"}
_built: dict[tuple[Any, int, int], Any] = {}
_lock = threading.Lock()


def copy_into(target: Any, source: Any, order: str) -> Any:
    """Copy an array, with any strides, into a contiguous one of the same extents and dtype; the event of it.

    order: "C" or "F", that of the target. Its first element is the first one of its buffer.
    """
    axes = range(source.ndim) if order == "C" else reversed(range(source.ndim))
    size = source.dtype.itemsize
    fastest_last = [(source.shape[k], source.strides[k] // size) for k in axes]
    program = _program(source.queue.context, len(fastest_last), size)
    numbers = [np.int64(x) for pair in fastest_last for x in pair]
    kernel = cl.Kernel(program, "copy")
    place = np.int64(source.offset // size)
    return kernel(
        source.queue, (source.size,), None, target.base_data, source.base_data, place, *numbers,
        wait_for=source.events,
    )  # fmt: skip


def _program(context: Any, ndim: int, size: int) -> Any:
    key = (context, ndim, size)
    with _lock:
        if key not in _built:
            _built[key] = cl.Program(context, _text(ndim, _WORDS[size])).build()
        return _built[key]


def _text(ndim: int, word: str) -> str:
    given = "".join(f", long n{k}, long s{k}" for k in range(ndim))
    lines = [
        f"__kernel void copy(__global {word} *target, __global const {word} *source, long place{given})",
        "{",
        "    const long here = get_global_id(0);",
        "    long rest = here;",
    ]
    for k in reversed(range(ndim)):
        lines.append(f"    place += (rest % n{k}) * s{k}; rest /= n{k};")
    return "\n".join([*lines, "    target[here] = source[place];", "}", ""])
