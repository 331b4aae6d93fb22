"""Allocations kept in a list of references, so that the reverse sweep finds each array again by its position.

a = alloc (n)   ->   t = alloc (n); k = load count[0]; refappend list t; store count[0] = k + 1; a = refget list k
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from adjit.ir.builder import Builder
from adjit.ir.core import ONE, ZERO, Alloc, Block, Load, RefAppend, RefGet, RefNew, Span, Sym
from adjit.ir.nests import nest
from adjit.ir.types import INT64, Array, RefList


@dataclass(frozen=True)
class Kept:
    """A list of arrays, and the array whose one element is the list's length."""

    listed: Sym
    count: Sym

    @staticmethod
    def named(name: str, element: Array) -> Kept:
        """A new list of arrays of one type."""
        return Kept(Sym(f"{name}_list", RefList(element)), Sym(f"{name}_count", Array(INT64, 1, "C")))

    def made(self, span: Span) -> Block:
        """The statements that make the list. It starts with an empty array, for names that a path leaves unbound."""
        assert isinstance(self.listed.type, RefList)
        element = self.listed.type.element
        nothing = Sym(self.listed.name.removesuffix("_list"), element)
        return (
            RefNew(self.listed, span),
            Alloc(nothing, (ZERO,) * element.ndim, None, None, span),
            RefAppend(self.listed, nothing, span),
            Alloc(self.count, (ONE,), ONE, None, span),
        )

    def keep(self, alloc: Alloc, at: Sym) -> Block:
        """The allocation, put in the list at the position that `at` receives, and read from there."""
        target, value = alloc.target, alloc.fill
        made = Sym(target.name, target.type)
        b = Builder(alloc.span)
        b.append(replace(alloc, target=made, fill=None if isinstance(value, Sym) else value))
        b.append(Load(at, self.count, (ZERO,), alloc.span))
        b.append(RefAppend(self.listed, made, alloc.span))
        # an update: turns of a parallel loop may come in any order (one at a time: see `transform/parts.py`)
        b.store(self.count, (ZERO,), b.op("add", at, ONE), update="add")
        b.append(RefGet(target, self.listed, at, alloc.span))
        if isinstance(value, Sym):
            nest(b, alloc.shape, lambda b, i, _: b.store(target, i, value))
        return b.block()
