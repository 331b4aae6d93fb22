"""Whether memory that a program writes is shared: between two arrays, or inside one.

Checked before anything is touched. Two arrays that own their memory share none; others are compared exactly, with
bounded work (`np.shares_memory`), so that `pos[:, 0]` and `pos[:, 1]` pass; under a microsecond for a pair. A set of
many views is remembered by identity, so that a loop over the same arrays compares them once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import ref

import numpy as np

from adjit.errors import ArgumentError

_WORK = 1000
_FEW = 4
_CONTIGUOUS, _OWNS = 0x3, 0x4  # flags of NumPy: in C or Fortran order; the memory is the array's own

AnyArray = np.ndarray[Any, Any]


def overlap(a: AnyArray, b: AnyArray) -> bool:
    """Whether two arrays share an element. True where that is not settled within bounded work."""
    try:
        return np.shares_memory(a, b, _WORK)  # pyright: ignore[reportArgumentType]  # the stub knows two values
    except (np.exceptions.TooHardError, OverflowError):
        return True


def overlaps_itself(a: AnyArray) -> bool:
    """Whether two indices of the array may reach one element (strides nested by size are the proof that not)."""
    if a.size == 0:
        return False
    reach = a.itemsize
    for stride, extent in sorted((abs(s), n) for s, n in zip(a.strides, a.shape, strict=True) if n > 1):
        if stride < reach:
            return True
        reach += stride * (extent - 1)
    return False


class Disjoint:
    """The arrays of a call of which some are written: those may share memory with no other.

    names: what each is called in a message. written: which of them the program writes.
    """

    def __init__(self, names: Sequence[str], written: Sequence[bool]):
        self._names, self._written = tuple(names), tuple(written)
        n = len(names)
        self._pairs = [(i, j) for i in range(n) for j in range(i + 1, n) if written[i] or written[j]]
        self._alone = [i for i in range(n) if written[i]]
        self._last: tuple[ref[AnyArray], ...] = ()
        self.needed = any(written)

    def check(self, arrays: Sequence[AnyArray]) -> None:
        """Raise ArgumentError, by name, if a written array shares memory with another or with itself."""
        flags, own = [], _OWNS
        for a in arrays:
            found = a.flags.num
            flags.append(found)
            own &= found
        for i in self._alone:
            if not flags[i] & _CONTIGUOUS and overlaps_itself(arrays[i]):
                reason = f"{self._names[i]} is written, and several of its elements share memory"
                raise ArgumentError(reason, "pass a copy of it")
        if own and len({*map(id, arrays)}) == len(flags):
            return
        last = self._last
        if last and all([known() is a for known, a in zip(last, arrays, strict=True)]):
            return
        for i, j in self._pairs:
            a, b = arrays[i], arrays[j]
            if flags[i] & flags[j] & _OWNS and a is not b:
                continue
            if overlap(a, b):
                self._refuse(i, j)
        if len(self._pairs) > _FEW:
            self._last = tuple(ref(a) for a in arrays)

    def _refuse(self, i: int, j: int) -> None:
        first, second = (i, j) if self._written[i] else (j, i)
        both = "both are written" if self._written[second] else "is written"
        verb = f"{self._names[first]} {both}" if both == "is written" else both
        raise ArgumentError(
            f"{self._names[first]} shares memory with {self._names[second]}, and {verb}",
            "pass a copy of one of them",
        )
