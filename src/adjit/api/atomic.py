"""`atomic_add`, `atomic_min`, `atomic_max`: updates of one element in which work items may meet."""

from __future__ import annotations

from typing import Any


def atomic_add(a: Any, i: Any, v: Any) -> Any:
    """`a[i] += v` as one step, in a kernel or a `prange` loop; i is an int, or a tuple of as many as axes.

    Returns: the element as it was before.
    """
    old = a[i]
    a[i] = old + v
    return old


def atomic_min(a: Any, i: Any, v: Any) -> Any:
    """`a[i] = min(a[i], v)` as one step; see `atomic_add`. At a tie the derivative is that of the element."""
    old = a[i]
    a[i] = min(old, v)
    return old


def atomic_max(a: Any, i: Any, v: Any) -> Any:
    """`a[i] = max(a[i], v)` as one step; see `atomic_add`. At a tie the derivative is that of the element."""
    old = a[i]
    a[i] = max(old, v)
    return old
