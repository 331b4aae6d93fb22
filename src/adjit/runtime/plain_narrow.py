"""Arrays of small integers for generated source that runs as plain Python: read and stored as in compiled code.

NumPy's scalars keep their type in arithmetic (`u[0] - 1` of a zero in uint8 is 255), and a number out of range cannot
be stored. In compiled code an element that is read is a wide integer, and what is stored is cut to the bits of the
type.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


class Narrow(np.ndarray[Any, Any]):
    """An array of integers of at most 32 bits; its elements are Python's integers."""

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        return int(found) if isinstance(found, np.integer) else found

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, cut(value, self.dtype) if isinstance(value, int | np.integer) else value)


def cut(value: Any, dtype: np.dtype[Any]) -> Any:
    """The integer as one of the type: its lowest bits."""
    return np.uint64(int(value) & (2**64 - 1)).astype(dtype)


def narrow(value: Any) -> Any:
    """The same array as `Narrow`, if its integers are small; anything else as it is."""
    small = isinstance(value, np.ndarray) and value.dtype.kind in "iu" and value.dtype.itemsize < 8
    return value.view(Narrow) if small else value


def made_narrow(make: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy that makes an array."""
    return lambda *args, **kwargs: narrow(make(*args, **kwargs))


def wide(value: Any, given: dict[int, Any]) -> Any:
    """NumPy's own array of a `Narrow` one; one that was given is itself."""
    if not isinstance(value, Narrow):
        return value
    return given[id(value)] if id(value) in given else value.view(np.ndarray)


def caster(dtype: str) -> Callable[[Any], int]:
    """What `int8(x)` does in compiled code."""
    return lambda x: int(cut(int(x), np.dtype(dtype)))
