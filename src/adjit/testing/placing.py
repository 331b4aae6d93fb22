"""Arrays placed inside guarded buffers: any write outside the array is seen afterwards."""

from __future__ import annotations

from typing import Any

import numpy as np

GUARD = 4


def _canary(dtype: np.dtype[Any]) -> Any:
    """A value that no program stores (of bools there is none)."""
    if dtype.kind in "fc":
        return dtype.type(-7.25e30)
    return dtype.type(-123456789 if dtype.kind == "i" and dtype.itemsize > 3 else 107)


class Placed:
    """An array with the values, dtype and layout asked for, inside a buffer of canaries.

    Layouts: "C", "F", "A" (every other element of each axis), "N" (the same backwards: negative strides).
    """

    def __init__(self, values: np.ndarray, layout: str = "C", dtype: Any = None):
        values = np.asarray(values, dtype or values.dtype)
        stride = {"A": 2, "N": -2}.get(layout, 1)
        shape = values.shape[::-1] if layout == "F" else values.shape
        shape = tuple(n * abs(stride) for n in shape)
        count = int(np.prod(shape))
        self._canary = _canary(values.dtype)
        self._buffer = np.full(count + 2 * GUARD, self._canary)
        inside = self._buffer[GUARD : GUARD + count].reshape(shape)
        view = inside[tuple(slice(None, None, stride) for _ in shape)]
        self.array = view.T if layout == "F" else view
        self.array[...] = values

    def intact(self) -> bool:
        """Whether everything around the array is as it was."""
        held = self.array.copy()
        self.array[...] = self._canary
        good = bool(np.all(self._buffer == self._canary))
        self.array[...] = held
        return good


class Placement:
    """A full set of arguments, arrays placed, scalars as they are."""

    def __init__(self, values: tuple[Any, ...], layouts: tuple[str, ...], dtype: Any = None):
        self._placed: list[Placed] = []
        self.args: list[Any] = []
        for value, layout in zip(values, layouts, strict=True):
            if isinstance(value, np.ndarray):
                placed = Placed(value, layout, dtype if value.dtype.kind in "fc" else None)
                self._placed.append(placed)
                self.args.append(placed.array)
            else:
                self.args.append(value)

    def intact(self) -> bool:
        """Whether nothing was written outside the arrays."""
        return all(placed.intact() for placed in self._placed)

    def snapshot(self) -> list[Any]:
        """Contiguous copies of the arguments."""
        return [value.copy() if isinstance(value, np.ndarray) else value for value in self.args]


def same_bits(a: Any, b: Any) -> bool:
    """Equal in every bit (NaNs too), scalars compared as float64, sequences item by item."""
    if isinstance(a, (tuple, list)):
        return isinstance(b, (tuple, list)) and len(a) == len(b) and all(map(same_bits, a, b))
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return bool(a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes())
    if a is None or b is None:
        return a is b
    if isinstance(a, complex) or isinstance(b, complex):
        return np.complex128(a).tobytes() == np.complex128(b).tobytes()
    return np.float64(a).tobytes() == np.float64(b).tobytes()
