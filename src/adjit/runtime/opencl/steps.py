"""Orders and running sums on OpenCL devices, by kernels of our own.

pyopencl's scans and sorts need a package (mako) that it does not bring along, and no sort of its keeps the order of
equal floats. These work along an axis of an array with any strides:

* an order: each work item sorts a run of 16 places by insertion; runs are merged by twos, where each element finds its
  place by a binary search in the other run. NaN comes last, equal elements keep their order.
* a running sum: each work item adds up 32 elements; the running sum of these sums, found in the same way, is what the
  pieces start from. So the same sums are made in the same order every time.
"""

from __future__ import annotations

import math
import threading
from typing import Any

import numpy as np
import pyopencl as cl

from adjit.errors import DeviceError
from adjit.runtime.device_memory import DeviceArray

RUN = 16
"""Elements that one work item sorts."""
PIECE = 32
"""Elements that one work item adds up."""
_WORDS = {
    "bool": "uchar", "int8": "char", "int16": "short", "int32": "int", "int64": "long", "uint8": "uchar",
    "uint16": "ushort", "uint32": "uint", "uint64": "ulong", "float32": "float", "float64": "double",
}  # fmt: skip
_built: dict[tuple[Any, Any, str], Any] = {}
_lock = threading.Lock()


class Lanes:
    """An array as rows along one axis: where each starts, and the step to the next element, in elements."""

    def __init__(self, a: DeviceArray, axis: int, step: int = 1):
        size = a.dtype.itemsize
        others = [k for k in range(a.ndim) if k != axis]
        self.array, self.n, self.others = a, a.shape[axis], [a.shape[k] for k in others]
        self.count = math.prod(self.others)
        stride = a.strides[axis] // size
        start = a.offset // size + (stride * (self.n - 1) if step < 0 else 0)
        strides = [a.strides[k] // size for k in others]
        self.given = (a.buffer, *map(np.int64, (start, stride * step, *strides)))


def argsort(device: Any, out: DeviceArray, x: DeviceArray, axis: int) -> None:
    """`out` is the places of the elements of `x` in order, along an axis."""
    if not x.size:
        return
    rows, places = Lanes(x, axis), Lanes(out, axis)
    kernels = _Kernels(device, _order_text(x.dtype, len(rows.others)), rows)
    now, then = (device.empty((x.size,), np.int64) for _ in range(2))
    kernels("runs", rows.count * -(-rows.n // RUN), now.buffer, *rows.given)
    width = RUN
    while width < rows.n:
        kernels("merged", x.size, then.buffer, now.buffer, np.int64(width), *rows.given)
        now, then, width = then, now, 2 * width
    kernels("put", x.size, *places.given, now.buffer)


def cumsum(device: Any, out: DeviceArray, x: DeviceArray, axis: int, step: int) -> None:
    """`out` is the running sum of `x` along an axis; from the end on where the step is -1."""
    if x.size:
        _summed(device, Lanes(out, axis, step), Lanes(x, axis, step))


def _summed(device: Any, out: Lanes, x: Lanes) -> None:
    kernels = _Kernels(device, _sums_text(x.array.dtype, out.array.dtype, len(x.others)), x)
    pieces = -(-x.n // PIECE)
    start = device.empty((x.count, pieces), out.array.dtype)
    if pieces > 1:
        sums = device.empty((x.count, pieces), out.array.dtype)
        kernels("pieces", x.count * pieces, sums.buffer, *x.given)
        _summed(device, Lanes(start, 1), Lanes(sums, 1))
    kernels("running", x.count * pieces, *out.given, *x.given, start.buffer)


class _Kernels:
    """Launches the kernels of a text: each is given the length and the number of the rows, and their extents."""

    def __init__(self, device: Any, text: str, rows: Lanes):
        self._device, self._program = device, _program(device, text)
        self._head = tuple(map(np.int64, (rows.n, rows.count, *rows.others)))

    def __call__(self, name: str, items: int, *given: Any) -> None:
        device = self._device
        size = (-(-items // 64) * 64,)
        kernel = cl.Kernel(self._program, name)
        event = kernel(
            device.queue, size, (64,), np.int64(items), *self._head, *given, wait_for=device.before
        )
        device.enqueued(event)


def _program(device: Any, text: str) -> Any:
    key = (device.context, device.queue.device, text)
    with _lock:
        if key not in _built:
            if "double" in text and "cl_khr_fp64" not in device.queue.device.extensions.split():
                raise DeviceError(
                    f"the device '{device.queue.device.name}' has no float64, and this program sorts or adds it up",
                    "use float32 arrays, or run it on NumPy arrays",
                )
            _built[key] = cl.Program(device.context, text).build(["-w"], devices=[device.queue.device])
        return _built[key]


def _extents(others: int) -> str:
    return "".join(f", const long n{k}" for k in range(others))


def _rows(name: str, word: str, others: int) -> str:
    """The parameters of an array in rows."""
    strides = "".join(f", const long {name}_s{k}" for k in range(others))
    return f"__global {word} *{name}, const long {name}_start, const long {name}_step{strides}"


def _row(name: str, others: int) -> str:
    """Statements that find where row `lane` of an array starts."""
    lines = [f"long {name}_at = {name}_start, {name}_rest = lane;"]
    for k in reversed(range(others)):
        lines.append(f"{name}_at += ({name}_rest % n{k}) * {name}_s{k}; {name}_rest /= n{k};")
    return "\n    ".join(lines)


def _order_text(dtype: Any, others: int) -> str:
    word, nan = _WORDS[dtype.name], " || (b != b && a == a)" if dtype.kind == "f" else ""
    head = f"const long items, const long n, const long lanes{_extents(others)}"
    rows, row = _rows("x", f"const {word}", others), _row("x", others)
    return f"""{_FP64}
int before(const {word} a, const {word} b) {{ return a < b{nan}; }}

__kernel void runs({head}, __global long *order, {rows})
{{
    const long here = get_global_id(0), each = (n + {RUN - 1}) / {RUN};
    if (here >= items) return;
    const long lane = here / each, low = (here % each) * {RUN}, high = min(low + {RUN}, n);
    {row}
    __global long *own = order + lane * n;
    for (long k = low; k < high; k++) {{
        const {word} v = x[x_at + k * x_step];
        long j = k;
        for (; j > low && before(v, x[x_at + own[j - 1] * x_step]); j--) own[j] = own[j - 1];
        own[j] = k;
    }}
}}

__kernel void merged({head}, __global long *after, __global const long *order, const long width, {rows})
{{
    const long here = get_global_id(0);
    if (here >= items) return;
    const long lane = here / n, k = here % n, run = k / width;
    const long mine = run * width, other = (run ^ 1) * width;
    {row}
    __global const long *own = order + lane * n;
    const {word} v = x[x_at + own[k] * x_step];
    long low = min(other, n), high = min(other + width, n);
    const long first = low;
    while (low < high) {{
        const long middle = (low + high) / 2;
        const {word} w = x[x_at + own[middle] * x_step];
        const int further = run & 1 ? !before(v, w) : before(w, v);
        if (further) low = middle + 1; else high = middle;
    }}
    after[lane * n + min(mine, other) + (k - mine) + (low - first)] = own[k];
}}

__kernel void put({head}, {_rows("to", "long", others)}, __global const long *order)
{{
    const long here = get_global_id(0);
    if (here >= items) return;
    const long lane = here / n, k = here % n;
    {_row("to", others)}
    to[to_at + k * to_step] = order[here];
}}
"""


def _sums_text(source: Any, made: Any, others: int) -> str:
    word, total = _WORDS[source.name], _WORDS[made.name]
    head = f"const long items, const long n, const long lanes{_extents(others)}"
    rows, row = _rows("x", f"const {word}", others), _row("x", others)
    place = f"""const long here = get_global_id(0), each = (n + {PIECE - 1}) / {PIECE};
    if (here >= items) return;
    const long lane = here / each, low = (here % each) * {PIECE}, high = min(low + {PIECE}, n);
    {row}"""
    return f"""{_FP64}
__kernel void pieces({head}, __global {total} *sums, {rows})
{{
    {place}
    {total} sum = x[x_at + low * x_step];
    for (long k = low + 1; k < high; k++) sum += ({total})x[x_at + k * x_step];
    sums[here] = sum;
}}

__kernel void running({head}, {_rows("to", total, others)}, {rows}, __global const {total} *start)
{{
    {place}
    {_row("to", others)}
    {total} sum = x[x_at + low * x_step];
    if (low) sum = start[here - 1] + sum;
    to[to_at + low * to_step] = sum;
    for (long k = low + 1; k < high; k++) {{
        sum += ({total})x[x_at + k * x_step];
        to[to_at + k * to_step] = sum;
    }}
}}
"""


_FP64 = """#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
"""
