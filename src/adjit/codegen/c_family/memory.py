"""What an array symbol is in a kernel: a pointer, extents, strides in elements; and the views of it.

The text of an extent or a stride is a name or a number, so that it can stand anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass

from adjit.ir.types import Array


@dataclass(frozen=True)
class Memory:
    """base: the pointer's name. local: whether it is the work item's own memory."""

    base: str
    extents: tuple[str, ...]
    strides: tuple[str, ...]
    local: bool = False


def contiguous(extents: tuple[str, ...], fortran: bool = False) -> tuple[str, ...]:
    """Strides of memory without gaps."""
    strides: list[str] = []
    inner: list[str] = []
    for n in extents if fortran else reversed(extents):
        strides.append("1" if not inner else inner[0] if len(inner) == 1 else f"({' * '.join(inner)})")
        inner.append(n)
    return tuple(strides if fortran else reversed(strides))


def layout_strides(type: Array, extents: tuple[str, ...]) -> tuple[str, ...] | None:
    """The strides that follow from the layout; None where they must be told."""
    if type.layout == "C":
        return contiguous(extents)
    return contiguous(extents, fortran=True) if type.layout == "F" else None
