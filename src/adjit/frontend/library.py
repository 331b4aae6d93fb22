"""Library functions as plain Python, after Numba's own implementations, so that values agree bit for bit.

A call of one is inlined as if the user had written it; what it does has the place of the call.
`np.int64(i)` is strong under NumPy's rules, so that `arange` of float32 numbers is float64 there too.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def linspace(made: Any, start: Any, stop: Any, num: Any) -> Any:
    """Fills `made`, an array of `num` elements."""
    start = start * 1.0
    stop = stop * 1.0
    if num == 0:
        return
    div = num - 1
    if div > 0:
        step = np.divide(stop - start, div)
        for i in range(num):
            made[i] = start + (i * step)
    else:
        made[0] = start
    if num > 1:
        made[num - 1] = stop


def spaced(made: Any, start: Any, stop: Any, num: Any) -> Any:
    """As `linspace`, without the end."""
    start = start * 1.0
    stop = stop * 1.0
    if num > 0:
        step = np.divide(stop - start, num)
        for i in range(num):
            made[i] = start + (i * step)


def arange_count(start: Any, stop: Any, step: Any) -> Any:
    """How many elements `arange` has."""
    if step == 0:
        raise ValueError("Maximum allowed size exceeded")
    count = math.ceil((stop - start) / step)
    return max(int(count), 0)


def arange(made: Any, start: Any, step: Any) -> Any:
    """Fills `made`."""
    for i in range(len(made)):
        made[i] = start + np.int64(i) * step


def smallest(items: Any) -> Any:
    """`min` of an array, with the comparisons of Python's."""
    if len(items) == 0:
        raise StopIteration
    least = items[0]
    for k in range(1, len(items)):
        if items[k] < least:
            least = items[k]
    return least


def largest(items: Any) -> Any:
    """`max` of an array, with the comparisons of Python's."""
    if len(items) == 0:
        raise StopIteration
    most = items[0]
    for k in range(1, len(items)):
        if items[k] > most:
            most = items[k]
    return most


def frexp(x: Any) -> Any:
    """`math.frexp`: x is mantissa * 2**exponent. Every step but the guess of the exponent is exact."""
    if x == 0.0 or x - x != 0.0:
        return x, 0
    exponent = math.floor(math.log2(abs(x))) + 1
    mantissa = math.ldexp(x, -exponent)
    if abs(mantissa) >= 1.0:
        return math.ldexp(x, -exponent - 1), exponent + 1
    if abs(mantissa) < 0.5:
        return math.ldexp(x, 1 - exponent), exponent - 1
    return mantissa, exponent


def eye(made: Any, offset: Any) -> Any:
    """Ones on a diagonal of `made`."""
    for i in range(made.shape[0]):
        if 0 <= i + offset < made.shape[1]:
            made[i, i + offset] = 1


def holds(items: Any, value: Any) -> Any:
    """`value in items`, for a 1-D array."""
    for k in range(len(items)):
        if items[k] == value:
            return True
    return False


def range_holds(lo: Any, hi: Any, step: Any, value: Any) -> Any:
    """`value in range(lo, hi, step)`."""
    if step > 0:
        return lo <= value < hi and (value - lo) % step == 0
    return hi < value <= lo and (value - lo) % step == 0


def check_unpacked(items: Any, count: Any) -> Any:
    """As many items as names."""
    if len(items) != count:
        raise ValueError("not as many values to unpack as there are names")


def slice_range(start: Any, stop: Any, has_start: Any, has_stop: Any, step: Any, n: Any) -> Any:
    """The first index and the count of `start:stop:step` on an axis of n, as Python's `slice.indices`."""
    if step == 0:
        raise ValueError("slice step cannot be zero")
    low, high = (0, n) if step > 0 else (-1, n - 1)
    first = low if step > 0 else high
    if has_start:
        first = start + n if start < 0 else start
        first = low if first < low else high if first > high else first
    last = high if step > 0 else low
    if has_stop:
        last = stop + n if stop < 0 else stop
        last = low if last < low else high if last > high else last
    if step > 0:
        return first, (last - first + step - 1) // step if last > first else 0
    return first, (first - last - step - 1) // -step if first > last else 0


def from_start(k: Any, size: Any) -> Any:
    """A place of `size`, counted from the end where negative."""
    if k < -size or k >= size:
        raise IndexError("index is out of bounds for this size")
    return k + size if k < 0 else k
