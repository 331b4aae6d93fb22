"""What the probed form of a program computes in place of NumPy's functions that compare: they note what came out.

Elements are compared by their real parts, so that arrays of complex steps go the way of the real run.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np


class ArrayComparisons:
    """Comparisons of whole arrays; each is one outcome, its margin that of the closest elements."""

    def note(self, outcome: int, margin: float) -> None:
        """Take down an outcome and how close it was."""
        raise NotImplementedError

    def greater(self, a: Any, b: Any) -> Any:
        """a > b."""
        gap = np.asarray(np.real(a) - np.real(b))
        self.note(_number(gap > 0), float(np.min(np.abs(gap), initial=math.inf)))
        return gap > 0

    def maximum(self, a: Any, b: Any) -> Any:
        """np.maximum(a, b)."""
        return np.where(self.greater(a, b), a, b)

    def minimum(self, a: Any, b: Any) -> Any:
        """np.minimum(a, b)."""
        return np.where(self.greater(a, b), b, a)

    def absolute(self, a: Any) -> Any:
        """np.abs(a)."""
        return np.where(self.greater(a, 0.0), a, -np.asarray(a))

    def clip(self, a: Any, low: float, high: float) -> Any:
        """np.clip(a, low, high)."""
        return self.minimum(self.maximum(a, low), high)

    def greatest(self, a: Any, axis: int | None = None, keepdims: bool = False) -> Any:
        """np.max."""
        return self._end(a, axis, keepdims, last=True)

    def least(self, a: Any, axis: int | None = None, keepdims: bool = False) -> Any:
        """np.min."""
        return self._end(a, axis, keepdims, last=False)

    def sort(self, a: Any, axis: int = -1) -> Any:
        """np.sort."""
        order = np.argsort(np.real(a), axis=axis, kind="stable")
        found = np.take_along_axis(np.asarray(a), order, axis)
        gaps = np.diff(np.real(found), axis=axis)
        self.note(_number(order), float(np.min(gaps, initial=math.inf)))
        return found

    def _end(self, a: Any, axis: int | None, keepdims: bool, last: bool) -> Any:
        """The greatest or the least, one step from the next."""
        a = np.asarray(a)
        along = a.reshape(-1) if axis is None else np.moveaxis(a, axis, -1)
        order = np.argsort(np.real(along), axis=-1, kind="stable")
        found = np.take_along_axis(along, order, -1)
        if not last:
            found, order = found[..., ::-1], order[..., ::-1]
        gaps = np.abs(np.real(found[..., -1:]) - np.real(found[..., :-1]))
        self.note(_number(order[..., -1]), float(np.min(gaps, initial=math.inf)))
        if not keepdims:
            return found[..., -1]
        return (
            found[..., -1].reshape((1,) * a.ndim) if axis is None else np.moveaxis(found[..., -1:], -1, axis)
        )

    def fresh(self, a: Any) -> Any:
        """A new array that a name is bound to."""
        return a


def _number(outcomes: Any) -> int:
    """Outcomes of all elements as one number."""
    return int.from_bytes(np.asarray(outcomes, np.int16).tobytes(), "little", signed=True)
