"""Single steps of programs on CUDA devices that CuPy makes: orders, running sums, products of matrices.

They run on the stream of the call, on views of its memory as CuPy has arrays. CuPy allocates what it needs on the way
and picks kernels by sizes, so a program with such a step is no graph: its kernels are launched one by one.
"""

from __future__ import annotations

from typing import Any

from adjit.runtime.cuda.library import cp


def argsort(out: Any, x: Any, axis: int) -> None:
    """`out` is the places of the elements of `x` in order, along an axis: NaN last, equal elements in their order."""
    if x.size:
        out[...] = cp.argsort(x, axis=axis)


def cumsum(out: Any, x: Any, axis: int, step: int) -> None:
    """`out` is the running sum of `x` along an axis; from the end on where the step is -1."""
    if not x.size:
        return
    given, made = (a if step > 0 else cp.flip(a, axis) for a in (x, out))
    along = None if x.ndim == 1 else axis  # CuPy takes CUB's scan where no axis is named
    cp.cumsum(given, axis=along, dtype=made.dtype, out=made)


def matmul(out: Any, x: Any, y: Any) -> None:
    """`out = x @ y`, by cuBLAS."""
    if out.size:
        cp.matmul(x, y, out=out)
