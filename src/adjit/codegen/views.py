"""Prints views: slices, permuted and new axes, other shapes.

A view of another shape is NumPy's `reshape` where Numba knows that the array is contiguous. In a function that calls
itself a shadow is declared with any layout, because it may stand beside arrays of any; that of a contiguous array is
contiguous all the same, and `seen_as` (see `module`) makes the view from the strides.
"""

from __future__ import annotations

from collections.abc import Iterable

from adjit.codegen.expressions import Expressions
from adjit.ir.core import Atom, Function, View
from adjit.ir.types import Array


def contiguous_by_type(function: Function) -> bool:
    """Whether an array that the IR calls contiguous is so in Numba's types too, shadows included."""
    return all(p.type.layout == "C" for p in function.params if isinstance(p.type, Array))


def view(stmt: View, show: Expressions, contiguous: bool) -> str:
    """The expression that makes the view; `contiguous`: see `contiguous_by_type`."""
    array = show.name(stmt.array)
    if stmt.axes is not None:
        return _rearranged(array, stmt.axes)
    if stmt.shape is None:
        return show.element(stmt.array, stmt.index)
    shape = _tuple(show.text(a) for a in stmt.shape)
    ndim = stmt.array.type.ndim if isinstance(stmt.array.type, Array) else 0
    if contiguous or not ndim or not stmt.shape:
        return f"{array}.reshape({shape})"
    return f"seen_as({array}, {shape}, {_tuple(_strides(array, stmt.shape, show))})"


def _rearranged(array: str, axes: tuple[int | None, ...]) -> str:
    if None in axes:
        last = len(axes) - axes[::-1].index(None)
        return f"{array}[{', '.join('None' if k is None else ':' for k in axes[:last])}]"
    if axes == tuple(range(len(axes)))[::-1]:
        return f"{array}.T"
    return f"np.transpose({array}, {axes})"


def _strides(array: str, shape: tuple[Atom, ...], show: Expressions) -> list[str]:
    """Bytes from one index to the next, along each axis."""
    inner = [f"{array}.itemsize"]
    strides: list[str] = []
    for extent in reversed(shape):
        strides.append(" * ".join(inner))
        inner.append(show.text(extent, 10))
    return strides[::-1]


def _tuple(items: Iterable[str]) -> str:
    parts = list(items)
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"
