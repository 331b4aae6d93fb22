"""Launches of kernels: every work item once, in any order. `item` runs the kernel's body at an index."""

from __future__ import annotations

from typing import Any

from numba import prange


def launch_1(n0: Any, item: Any) -> Any:
    """One axis."""
    for i in prange(n0):
        item(i)


def launch_2(n0: Any, n1: Any, item: Any) -> Any:
    """Two axes."""
    for i in prange(n0):
        for j in prange(n1):
            item(i, j)


def launch_3(n0: Any, n1: Any, n2: Any, item: Any) -> Any:
    """Three axes."""
    for i in prange(n0):
        for j in prange(n1):
            for k in prange(n2):
                item(i, j, k)
