"""Arrays on the test device and back.

The device is PoCL, the CPU as an OpenCL device; with ADJIT_TEST_PLACE=cuda the GPU that CuPy finds, and with
ADJIT_TEST_GRAPHS=1 every program there runs as a graph from its first call on.
"""

from __future__ import annotations

import os
from functools import cache
from typing import Any

import numpy as np

from tests.old_pocl import name_processor

CUDA = os.environ.get("ADJIT_TEST_PLACE") == "cuda"
"""Whether tests run on a CUDA device."""

if CUDA:
    import cupy as cp

    ARRAY: type = cp.ndarray
    """The type of arrays on the device."""
else:
    import pyopencl as cl
    import pyopencl.array as cla

    ARRAY = cla.Array


@cache
def device() -> Any:
    """The first PoCL device, else the first device there is."""
    name_processor()
    platforms = sorted(cl.get_platforms(), key=lambda p: "Portable" not in p.name)
    return platforms[0].get_devices()[0]


@cache
def context() -> Any:
    return cl.Context([device()])


@cache
def queue() -> Any:
    return cl.CommandQueue(context())


def _placed(a: np.ndarray[Any, Any]) -> Any:
    return cp.array(a, order="K") if CUDA else cla.to_device(queue(), a)


def to_device(tree: Any, order: str = "C") -> Any:
    """The same values with arrays on the device, in the order asked for."""
    if isinstance(tree, np.ndarray):
        return _placed(np.array(tree, order=order, copy=True))
    if isinstance(tree, tuple):
        items = [to_device(t, order) for t in tree]
        return type(tree)(*items) if hasattr(tree, "_fields") else tuple(items)
    return tree


def to_host(tree: Any) -> Any:
    """The same values with NumPy arrays."""
    if isinstance(tree, ARRAY):
        return tree.get() if tree.size else np.empty(tree.shape, tree.dtype)
    if isinstance(tree, tuple):
        items = [to_host(t) for t in tree]
        return type(tree)(*items) if hasattr(tree, "_fields") else tuple(items)
    return tree


def copies(tree: Any) -> Any:
    """The same values with arrays copied."""
    if isinstance(tree, np.ndarray):
        return tree.copy(order="K")
    return tuple(map(copies, tree)) if type(tree) is tuple else tree


def same(got: Any, want: Any, rtol: float = 1e-13, atol: float = 1e-14) -> None:
    """Both trees hold the same numbers, to rounding, of the same types of array."""
    got = to_host(got)
    if isinstance(want, tuple):
        assert len(got) == len(want)
        for a, b in zip(got, want, strict=True):
            same(a, b, rtol, atol)
    elif want is None:
        assert got is None
    else:
        if isinstance(want, np.ndarray):
            assert got.dtype == want.dtype and got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=rtol, atol=atol)
