"""Accesses in parallel loops are checked: an index that is out of range raises, with its place (`boundscheck=True`).

rewrite: parallel i: t = load x[j]
         ->  loop i: n = dim(x, 0); if j < -n or j >= n: raise IndexError(text, j, n, i); t = load x[j]

Checked loops are not parallel any more, so that the first access that fails is the one that raises. The text has a
field for each number (`formatted` puts them in place).
"""

from __future__ import annotations

from dataclasses import replace

from adjit.ir.builder import Builder
from adjit.ir.core import Const, Function, If, Load, Loop, Raise, Stmt, Store, Sym
from adjit.ir.notes import InOrder
from adjit.ir.types import BOOL
from adjit.ir.visit import Rewriter, everywhere

_START = "index {} is out of bounds"


def bounds_checked(function: Function) -> Function:
    """The function with checks in its parallel loops (see the module)."""
    return everywhere(function, lambda f: replace(f, body=_Checked().block(f.body)))


def formatted(error: IndexError) -> IndexError | None:
    """The error as it is shown; None where it is another one."""
    text, *numbers = error.args or ("",)
    if not isinstance(text, str) or not text.startswith(_START):
        return None
    return IndexError(text.format(*numbers))


class _Checked(Rewriter):
    def __init__(self) -> None:
        super().__init__()
        self._turns: list[Sym] = []

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        if isinstance(stmt, Loop) and stmt.parallel and stmt.index is not None:
            self._turns.append(stmt.index)
            stmt = self.rebuild(stmt)
            self._turns.pop()
            assert isinstance(stmt, Loop)
            note = None if self._turns else InOrder("its indices are checked")
            return (replace(stmt, parallel=False, note=note),)
        if isinstance(stmt, Load | Store) and self._turns:
            return (*self._checks(stmt), self.rebuild(stmt))
        return (self.rebuild(stmt),)

    def _checks(self, access: Load | Store) -> tuple[Stmt, ...]:
        b = Builder(access.span)
        items = sorted(
            self._turns, key=lambda s: s.uid
        )  # as the program has them, not as they are nested now
        place = "{}" if len(items) == 1 else f"({', '.join('{}' for _ in items)})"
        file = access.span.file.replace("{", "{{").replace("}", "}}")
        for axis, index in enumerate(access.index):
            extent = b.dim(access.array, axis)
            low, high = b.op("lt", index, b.op("neg", extent)), b.op("ge", index, extent)
            outside = b.let("or_", low, high, type=BOOL, name="outside")
            text = (
                f"{_START} for axis {axis} of '{access.array.name}', which has {{}} elements: "
                f"work item {place}, {file}:{access.span.line}"
            )
            number = index.integer if isinstance(index, Const) else index
            if not isinstance(number, Sym | int):
                continue
            b.append(If(outside, (Raise("IndexError", (text, number, extent, *items), access.span),), ()))
        return b.block()


__all__: list[str] = ["bounds_checked", "formatted"]
