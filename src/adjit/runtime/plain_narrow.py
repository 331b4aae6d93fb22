"""Arrays of small integers for generated source that runs as plain Python: read and stored as in compiled code.

NumPy's scalars keep their type in arithmetic (`u[0] - 1` of a zero in uint8 is 255), and a number out of range cannot
be stored. In compiled code an element that is read is a wide integer, and what is stored is cut to the bits of the
type.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


class Cutting(np.ndarray[Any, Any]):
    """An array of integers that keeps the lowest bits of what is stored."""

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, cut(value, self.dtype) if isinstance(value, int | np.integer) else value)


class Narrow(Cutting):
    """An array of integers of at most 32 bits; its elements are Python's integers."""

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        return int(found) if isinstance(found, np.integer) else found


def cut(value: Any, dtype: np.dtype[Any]) -> Any:
    """The integer as one of the type: its lowest bits."""
    return np.uint64(int(value) & (2**64 - 1)).astype(dtype)


def narrow(value: Any) -> Any:
    """The same array as `Narrow`, if its integers are small, as `Cutting`, if they are uint64; else as it is."""
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "iu":
        return value
    if value.dtype.itemsize < 8:
        return value.view(Narrow)
    return value.view(Cutting) if value.dtype.kind == "u" else value


def made_narrow(make: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy that makes an array."""
    return lambda *args, **kwargs: narrow(make(*args, **kwargs))


def wide(value: Any, given: dict[int, Any]) -> Any:
    """NumPy's own array of one of these; one that was given is itself."""
    if not isinstance(value, Cutting):
        return value
    return given[id(value)] if id(value) in given else value.view(np.ndarray)


def caster(dtype: str) -> Callable[[Any], int]:
    """What `int8(x)` does in compiled code."""
    return lambda x: int(cut(int(x), np.dtype(dtype)))
