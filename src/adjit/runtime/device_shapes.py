"""What launches on every kind of device share: how arrays stand among arguments, and how totals are combined."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from adjit.runtime.device_memory import DeviceArray

COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "mul": operator.mul,
    "min": lambda a, b: b if b < a else a,
    "max": lambda a, b: b if b > a else a,
    "and_": operator.and_,
    "or_": operator.or_,
    "first": lambda a, _: a,
}
"""What two groups of work items come to together, by the operation of a total."""


def places(a: DeviceArray, layout: str) -> tuple[int, ...]:
    """Extents of an array, and strides in elements unless its layout says them."""
    if layout == "A":
        size = a.dtype.itemsize
        return (*a.shape, *[s // size for s in a.strides])
    return a.shape
