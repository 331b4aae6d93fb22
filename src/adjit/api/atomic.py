"""`atomic_add`, `atomic_min`, `atomic_max`: updates of one element in which work items may meet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjit.api.custom import NumbaCallable
from adjit.errors import ArgumentError


def _add(a: Any, i: Any, v: Any) -> Any:
    old = a[i]
    a[i] = old + v
    return old


def _min(a: Any, i: Any, v: Any) -> Any:
    old = a[i]
    a[i] = min(old, v)
    return old


def _max(a: Any, i: Any, v: Any) -> Any:
    old = a[i]
    a[i] = max(old, v)
    return old


class AtomicUpdate(NumbaCallable):
    """The type of `atomic_add` and its kin: an update in adjit's programs, the plain operation everywhere else."""

    def __init__(self, name: str, plain: Callable[[Any, Any, Any], Any], doc: str):
        self.__name__ = self.__qualname__ = name
        self.__module__ = "adjit"
        self.__doc__ = doc
        self._plain = plain

    def __call__(self, a: Any, i: Any, v: Any) -> Any:
        kind = getattr(getattr(a, "dtype", None), "kind", None)
        if kind in ("i", "u", "b") and isinstance(v, float | complex | np.floating | np.complexfloating):
            raise ArgumentError(
                f"{self.__name__} of {v!r} to an element of an array of {a.dtype} would lose the fraction",
                "give the array a float dtype, or convert the value: int(v)",
            )
        return self._plain(a, i, v)

    def __repr__(self) -> str:
        return f"adjit.{self.__name__}"


atomic_add = AtomicUpdate(
    "atomic_add",
    _add,
    """`a[i] += v` as one step, in a kernel or a `prange` loop; i is an int, or a tuple of as many as axes.

    Returns: the element as it was before. A float is not added to an integer array, as in `np.add.at`. In plain njit
    code, which adjit does not compile, it is not one step: loops there must run in order.
    """,
)
atomic_min = AtomicUpdate(
    "atomic_min",
    _min,
    "`a[i] = min(a[i], v)` as one step; see `atomic_add`. At a tie the derivative is that of the element.",
)
atomic_max = AtomicUpdate(
    "atomic_max",
    _max,
    "`a[i] = max(a[i], v)` as one step; see `atomic_add`. At a tie the derivative is that of the element.",
)
