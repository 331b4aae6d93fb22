"""Clears the places of an array outside of a box.

for i in range(n): inside = lo <= i & i < hi; for j in range(select(inside, first, m)): d[i, j] = 0
                                              for j in range(select(inside, last, m), m): d[i, j] = 0
"""

from __future__ import annotations

from collections.abc import Sequence

from adjit.ir.builder import Builder, const_of
from adjit.ir.core import ONE, TRUE, ZERO, Atom, Const, Let, Loop, Stmt, Store, Sym, fresh
from adjit.ir.types import Array
from adjit.ir.visit import walk
from adjit.transform.spans import both, by_axis

Range = tuple[Atom, Atom]


def clear_outside(
    b: Builder,
    array: Sym,
    axes: Sequence[int],
    shape: Sequence[Atom],
    box: Sequence[Range],
    some: Atom,
    like: Sequence[Loop],
    tight: bool = True,
) -> None:
    """Store zero to every place of the array that is not in the box: to all of them, unless there are `some` turns.

    axes: the axes in the order of the loops that are built; shape, box: by loop. like: loops whose indices give
    names and lines. tight: whether the box has as many places as there are turns: it may else have some, of an array
    smaller than what a turn reaches, without a turn.
    """
    if tight and all((start, stop) == (ZERO, n) for (start, stop), n in zip(box, shape, strict=True)):
        return
    start, stop = (b.op("select", some, a, shape[0]) for a in box[0])
    _Clearing(b, array, axes, shape, [(start, stop), *box[1:]], like).level((), TRUE)


def clears(stmt: Stmt, array: Sym | None = None) -> bool:
    """Whether it is a loop that stores constants, and does nothing else: to that array alone, if one is given."""
    if not isinstance(stmt, Loop) or stmt.params:
        return False
    return all(
        isinstance(s, Let | Loop)
        or (isinstance(s, Store) and isinstance(s.value, Const) and array in (None, s.array))
        for s in walk(stmt.body)
    )


class _Clearing:
    def __init__(
        self,
        b: Builder,
        array: Sym,
        axes: Sequence[int],
        shape: Sequence[Atom],
        box: Sequence[Range],
        like: Sequence[Loop],
    ):
        self._b, self._array, self._axes, self._like = b, array, axes, like
        self._shape, self._box = shape, box

    def level(self, place: tuple[Sym, ...], inside: Atom) -> None:
        """What follows for these outer indices. inside: whether they are in the box."""
        b, level = self._b, len(place)
        (start, stop), extent = self._box[level], self._shape[level]
        whole = (start, stop) == (ZERO, extent)
        if level < len(self._shape) - 1:
            i = self._index(level)
            with b.collect() as body:
                here = TRUE if whole else b.op("and_", b.op("le", start, i), b.op("lt", i, stop))
                self.level((*place, i), both(b, inside, here))
            self._loop(i, ZERO, extent, body)
            return
        first = start if inside == TRUE else b.op("select", inside, start, extent)
        self._row(place, ZERO, first)
        if not whole:
            self._row(place, stop if inside == TRUE else b.op("select", inside, stop, extent), extent)

    def _row(self, place: tuple[Sym, ...], start: Atom, stop: Atom) -> None:
        j = self._index(len(place))
        with self._b.collect() as body:
            self._b.store(self._array, by_axis(self._axes, (*place, j)), self._zero())
        self._loop(j, start, stop, body)

    def _index(self, level: int) -> Sym:
        index = self._like[level].index
        assert index is not None
        return fresh(index)

    def _loop(self, i: Sym, start: Atom, stop: Atom, body: Sequence[Stmt]) -> None:
        flows = ((), (), tuple(body), (), (), None)
        self._b.loop(Loop(i, start, stop, ONE, *flows, self._like[-1].span))

    def _zero(self) -> Const:
        assert isinstance(self._array.type, Array)
        return const_of(0.0, self._array.type.dtype)
