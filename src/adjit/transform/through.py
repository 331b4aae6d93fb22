"""Elements of a view are read and written in the array that it is a view of.

    v = a[1:-1, k]; t = load v[i]; store v[i] = x   ->   t = load a[i + 1, k]; store a[i + 1, k] = x

Two names of one array become one, whose places can be told apart. Only where the index is proven not to be negative, as
-1 means another place in the view than in the array.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from adjit.analysis.alias import Affine
from adjit.analysis.ranges import lower_bounds
from adjit.ir.builder import Builder
from adjit.ir.core import Atom, Const, Function, Load, Slice, Stmt, Store, Sym, View
from adjit.ir.types import INT64
from adjit.ir.visit import Rewriter, walk


@dataclass(frozen=True)
class _Seen:
    """A view as places of an array: by axis of the array a fixed index, or a start that is added to the view's."""

    array: Sym
    items: tuple[Atom | Slice, ...]


def through(function: Function) -> Function:
    """The function with its accesses through views at the arrays themselves (see the module)."""
    if not any(isinstance(s, View) for s in walk(function.body)):
        return function
    t = _Through(lower_bounds(function))
    return replace(function, body=t.block(function.body))


class _Through(Rewriter):
    def __init__(self, bounds: dict[Sym, int]):
        super().__init__()
        self._bounds = bounds
        self._nonnegative = Affine({}, bounds).nonnegative
        self._seen: dict[Sym, _Seen] = {}

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        if isinstance(stmt, View) and stmt.axes is None and stmt.shape is None:
            if all(self._plain(item) for item in stmt.index):
                self._seen[stmt.target] = _Seen(stmt.array, stmt.index)
        elif isinstance(stmt, Load | Store) and stmt.array in self._seen:
            b = Builder(stmt.span, simplify=True)
            array, index = stmt.array, stmt.index
            while array in self._seen:
                moved = self._moved(self._seen[array], index, b)
                if moved is None:
                    break
                array, index = self._seen[array].array, moved
            return (*b.block(), replace(stmt, array=array, index=index))
        return (self.rebuild(stmt),)

    def _plain(self, item: Atom | Slice) -> bool:
        """Whether view and array count the same way along an axis, from a start."""
        if not isinstance(item, Slice):
            return item.type == INT64
        if item.step is not None and item.step != Const(1, INT64):
            return False
        return item.start is None or (item.start.type == INT64 and self._nonnegative(item.start))

    def _moved(self, seen: _Seen, index: tuple[Atom, ...], b: Builder) -> tuple[Atom, ...] | None:
        """The index into the array; None where it may be negative in the view."""
        left = list(index)
        found: list[Atom] = []
        for item in seen.items:
            if not isinstance(item, Slice):
                found.append(item)
                continue
            i = left.pop(0)
            whole = item.start is None and item.stop is None
            if not whole and not (i.type == INT64 and self._nonnegative(i)):
                return None
            start = item.start if item.start is not None else Const(0, INT64)
            moved = i if start == Const(0, INT64) else b.op("add", i, start)
            if isinstance(moved, Sym):
                self._bounds.setdefault(moved, 0)
            found.append(moved)
        return tuple(found)
