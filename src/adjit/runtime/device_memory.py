"""Strided device memory, as generated host code handles it: allocations and views; nothing is read or copied."""

from __future__ import annotations

import math
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import numpy as np

from adjit.errors import MemoryLimitError

SMALL = 2**31 - 1
"""The greatest span of an array whose places fit into 32 bits."""
Words = tuple[tuple[int, ...], tuple[int, ...], bool]
"""Address, place of the first element, extents; all that with strides; whether its places need 64 bits."""


class Ungrouped(Exception):
    """Raised where a program cannot run for many groups of arrays at once."""


class Groups:
    """Of a call's device: for how many groups of arrays what is launched and made is (see `DeviceArray.step`)."""

    groups = 1

    @contextmanager
    def grouped(self, groups: int) -> Generator[None, None, None]:
        """A context in which it is for so many."""
        before, self.groups = self.groups, groups
        try:
            yield
        finally:
            self.groups = before

    def several(self, count: int, shape: tuple[Any, ...], dtype: Any, order: str = "C") -> list[DeviceArray]:
        """So many arrays of zeros, side by side in fresh memory where there is room for that."""
        extents, kind, strides = laid_out(shape, dtype, order)
        size = math.prod(extents)
        try:
            whole = self.zeros((count * size,), kind)
        except MemoryLimitError:
            return [self.zeros(shape, dtype, order) for _ in range(count)]
        return [
            DeviceArray(whole.buffer, k * size * kind.itemsize, extents, strides, kind, whole.step)
            for k in range(count)
        ]

    def zeros(self, shape: tuple[Any, ...], dtype: Any, order: str = "C") -> DeviceArray:
        """Fresh memory of zeros."""
        raise NotImplementedError

    def alone(self) -> None:
        """Raise Ungrouped where there are several groups: what follows is made for one."""
        if self.groups > 1:
            raise Ungrouped

    def step(self, size: int) -> int:
        """The step of fresh memory of so many elements."""
        return size if self.groups > 1 else 0


class DeviceArray:
    """An array in a buffer: byte offset of its first element, shape, strides in bytes.

    step: how many elements the same array of the next group is behind it; 0 where all groups have one.
    """

    __slots__ = ("_words", "buffer", "dtype", "offset", "shape", "step", "strides")

    def __init__(
        self,
        buffer: Any,
        offset: int,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        dtype: Any,
        step: int = 0,
    ):
        self.buffer, self.offset, self.shape, self.strides = buffer, offset, shape, strides
        self.dtype, self.step = dtype, step
        self._words: Words | None = None

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def span(self) -> int:
        """The greatest distance of an element from the first one, in elements, or the greatest extent."""
        far = sum(abs(s) * max(n - 1, 0) for n, s in zip(self.shape, self.strides, strict=True))
        return max(far // self.dtype.itemsize, *self.shape, 0)

    def first(self, grouped: bool) -> tuple[int, ...]:
        """The place of the first element, and for groups the step."""
        at = self.offset // self.dtype.itemsize
        return (at, self.step) if grouped else (at,)

    def places(self, layout: str) -> tuple[int, ...]:
        """Extents, and strides in elements unless the layout says them."""
        if layout != "A":
            return self.shape
        size = self.dtype.itemsize
        return (*self.shape, *[s // size for s in self.strides])

    @property
    def words(self) -> Words:
        """What kernels may be given for it."""
        found = self._words
        if found is None:
            start = (self.buffer.ptr, self.offset // self.dtype.itemsize)
            found = self._words = (
                (*start, *self.places("C")), (*start, *self.places("A")), self.span > SMALL,
            )  # fmt: skip
        return found

    def __len__(self) -> int:
        return self.shape[0]

    __iter__ = None  # an element is a launch: nothing goes through elements by itself

    def __getitem__(self, index: Any) -> DeviceArray:
        items = index if isinstance(index, tuple) else (index,)
        offset, shape, strides = self.offset, list[int](), list[int]()
        axis = 0
        for item in items:
            if item is None:
                shape.append(1)
                strides.append(0)
                continue
            n, stride = self.shape[axis], self.strides[axis]
            axis += 1
            if isinstance(item, slice):
                start, stop, step = item.indices(n)
                count = len(range(start, stop, step))
                offset += start * stride if count else 0
                shape.append(count)
                strides.append(step * stride)
            else:
                at = int(item)
                offset += (at + n if at < 0 else at) * stride
        shape, strides = [*shape, *self.shape[axis:]], [*strides, *self.strides[axis:]]
        return DeviceArray(self.buffer, offset, tuple(shape), tuple(strides), self.dtype, self.step)

    @property
    def T(self) -> DeviceArray:
        return self.transpose(tuple(range(self.ndim))[::-1])

    def transpose(self, axes: tuple[int, ...]) -> DeviceArray:
        """The axes in another order."""
        shape, strides = (tuple(x[k] for k in axes) for x in (self.shape, self.strides))
        return DeviceArray(self.buffer, self.offset, shape, strides, self.dtype, self.step)

    def reshape(self, shape: int | tuple[int, ...]) -> DeviceArray:
        """Contiguous memory by other extents."""
        shape = shape if isinstance(shape, tuple) else (shape,)
        if math.prod(shape) != self.size:
            raise ValueError(f"an array of {self.size} elements has no shape {shape}")
        strides = c_strides(shape, self.dtype.itemsize)
        return DeviceArray(self.buffer, self.offset, shape, strides, self.dtype, self.step)


def laid_out(shape: tuple[Any, ...], dtype: Any, order: str) -> tuple[tuple[int, ...], Any, tuple[int, ...]]:
    """Extents, dtype and strides of fresh memory. Raises ValueError, as NumPy does, for a negative extent."""
    extents = tuple(map(int, shape))
    if min(extents, default=0) < 0:
        raise ValueError("negative dimensions are not allowed")
    dtype = np.dtype(dtype)
    return extents, dtype, (f_strides if order == "F" else c_strides)(extents, dtype.itemsize)


def c_strides(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Strides of contiguous memory in C's order."""
    strides, step = list[int](), itemsize
    for n in reversed(shape):
        strides.append(step)
        step *= max(n, 1)
    return tuple(strides[::-1])


def f_strides(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Strides of contiguous memory in Fortran's order."""
    return c_strides(shape[::-1], itemsize)[::-1]


def local(shape: tuple[Any, ...], dtype: Any, fill: Any = None) -> np.ndarray[Any, Any]:
    """Memory of the host's part of a program, for its numbers."""
    return np.empty(shape, dtype) if fill is None else np.full(shape, fill, dtype)


class _Addresses:
    """The addresses of an array, without memory behind them."""

    def __init__(self, a: Any, start: int):
        self.__array_interface__ = {
            "data": (start, False),
            "shape": a.shape,
            "strides": a.strides,
            "typestr": a.dtype.str,
            "version": 3,
        }


def ghost(a: Any, start: int) -> np.ndarray[Any, Any]:
    """A NumPy array with the addresses of a device array that starts there; never to be read."""
    return np.asarray(_Addresses(a, start))
