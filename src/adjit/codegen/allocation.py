"""Prints allocations: np.empty, np.zeros, np.ones, np.full, and their `_like` forms."""

from __future__ import annotations

from adjit.codegen.expressions import Expressions, dtype_name
from adjit.ir.core import Alloc, Const
from adjit.ir.types import Array


def allocation(alloc: Alloc, show: Expressions) -> str:
    """The call that makes the array."""
    type_, fill = alloc.target.type, alloc.fill
    assert isinstance(type_, Array)
    value = repr(fill.value) if isinstance(fill, Const) else ""
    kind = "empty" if fill is None else "zeros" if value in ("0", "0.0", "False") else "full"
    kind = "ones" if value in ("1", "1.0", "True") else kind
    dtype = dtype_name(type_.dtype)
    tail = "" if kind != "full" or fill is None else f"{show.text(fill)}, "
    if alloc.like is not None:
        like = alloc.like.type
        same = isinstance(like, Array) and like.dtype == type_.dtype
        parts = f"{show.name(alloc.like)}, {tail}{'' if same else dtype}"
        return f"np.{kind}_like({parts.removesuffix(', ')})"
    fortran = type_.layout == "F" and type_.ndim > 1
    axes = [show.text(a) for a in (reversed(alloc.shape) if fortran else alloc.shape)]
    shape = axes[0] if len(axes) == 1 else f"({', '.join(axes)})"
    return f"np.{kind}({shape}, {tail}{dtype})" + (".T" if fortran else "")
