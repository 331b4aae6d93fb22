"""Prints the host's part of a program on a device: as for the CPU, with device memory and launches.

Every function has the device as its first parameter, and passes it on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import groupby

from adjit.codegen.expressions import dtype_name
from adjit.codegen.numba_cpu import Printer
from adjit.ir.core import Alloc, Atom, Block, Const, Ensure, Function, Stmt, Whole
from adjit.ir.types import Array
from adjit.ir.visit import targets

DEVICE = "device"


class HostPrinter(Printer):
    """Prints one host function. on_host: whether an array is in the host's memory."""

    def __init__(self, function: Function, callees: Mapping[str, str], on_host: Callable[[Atom], bool]):
        self._on_host = on_host
        super().__init__(function, "python", True, callees, None, taken=frozenset({DEVICE}))
        self.contiguous = True  # device arrays know their strides
        self.show.helpers = True  # choices are calls, which are traced

    def given(self, arguments: Iterable[str]) -> Iterable[str]:
        return (DEVICE, *arguments)

    def allocated(self, stmt: Alloc) -> str:
        type, fill = stmt.target.type, stmt.fill
        assert isinstance(type, Array)
        axes = [self.show.text(a) for a in stmt.shape]
        shape = f"({axes[0]},)" if len(axes) == 1 else f"({', '.join(axes)})"
        if self._on_host(stmt.target):
            if stmt.like is not None or type.layout == "F":
                return super().allocated(stmt)
            value = "" if fill is None else f", {self.show.text(fill)}"
            return f"{DEVICE}.local({shape}, {dtype_name(type.dtype)}{value})"
        order = ', "F"' if type.layout == "F" and type.ndim > 1 else ""
        if fill is None:
            return f"{DEVICE}.empty({shape}, {dtype_name(type.dtype)}{order})"
        if isinstance(fill, Const) and not fill.value:
            return f"{DEVICE}.zeros({shape}, {dtype_name(type.dtype)}{order})"
        return f"{DEVICE}.full({shape}, {self.show.text(fill)}, {dtype_name(type.dtype)}{order})"

    def block(self, block: Block) -> None:
        for _, run in groupby(block, self._lanes):
            stmts = tuple(run)
            allocs = [s for s in stmts if isinstance(s, Alloc)]
            if len(stmts) == 1 or len(allocs) < len(stmts):
                super().block(stmts)
                continue
            made = self.allocated(allocs[0]).replace(".zeros(", f".several({len(allocs)}, ", 1)
            self.line(f"{', '.join(self.name(s.target) for s in allocs)} = {made}", allocs[0].span)

    def _lanes(self, stmt: Stmt) -> tuple[str, str] | int:
        """What zeros of tangents have in common that are carried beside each other; its own for any other statement."""
        made = "" if not isinstance(stmt, Alloc) or self._on_host(stmt.target) else self.allocated(stmt)
        return (targets(stmt)[0].name, made) if made.startswith(f"{DEVICE}.zeros(") else id(stmt)

    def grown(self, stmt: Ensure, name: str, need: str) -> str:
        return (
            super().grown(stmt, name, need)
            if self._on_host(stmt.target)
            else f"{DEVICE}.grow({name}, {need})"
        )

    def list_of(self, element: Array) -> str:
        return "[]"

    def _whole(self, stmt: Whole) -> None:
        """A step that the device's library makes."""
        given = ", ".join(self.show.text(a) for a in (*stmt.outs, *stmt.args))
        self.line(f"{DEVICE}.{stmt.op}({given})", stmt.span)
