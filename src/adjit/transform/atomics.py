"""Updates in which work items may meet, as what is to be added: the load of the element is not made.

    t = load a[j]; u = t + e; store a[j] = u, update add   ->   store a[j] = e, update add

The printed kernel makes an atomic operation of it. Updates of elements that belong to one work item are stores like any
others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from adjit.analysis.alias import Affine
from adjit.analysis.update_pairs import Pairs
from adjit.errors import UnsupportedError
from adjit.ir.builder import const_of
from adjit.ir.core import Atom, Block, Let, Load, Stmt, Store, Sym
from adjit.ir.types import Array
from adjit.ir.visit import Rewriter


def with_atomics(block: Block, meets: Callable[[Store], bool], affine: Affine) -> Block:
    """The body of a kernel, its updates where `meets` is true as atomic ones. Raises UnsupportedError."""
    return _Atomics(Pairs(block, affine), meets).block(block)


class _Atomics(Rewriter):
    def __init__(self, pairs: Pairs, meets: Callable[[Store], bool]):
        super().__init__()
        self._pairs, self._meets = pairs, meets
        self._terms: dict[int, tuple[Load, tuple[Atom, str] | None]] = {}
        self._gone: set[int] = set()

    def block(self, block: Block) -> Block:
        for stmt in block:
            if isinstance(stmt, Store) and stmt.update and self._meets(stmt):
                self._find(stmt)
        return super().block(block)

    def _find(self, store: Store) -> None:
        direct = self._pairs.direct(store)
        load = direct[0] if direct is not None else self._pairs.load_of(store)
        if load is None:
            raise UnsupportedError(
                f"work items may meet in '{store.array.name}', and this update of it is more than one number added",
                "use what aj.atomic_add, aj.atomic_min or aj.atomic_max returns only where work items cannot meet",
                store.span,
            )
        self._terms[id(store)] = load, None if direct is None else (direct[1], direct[2].op)
        self._gone |= set() if direct is None else {id(direct[2])}
        if direct is None:  # the sum of the other terms is what the element's sum is from nothing
            self.env[load.target] = const_of(0, load.target.type)
        self._gone.add(id(load))

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        if id(stmt) in self._gone:
            return ()
        if not isinstance(stmt, Store) or not stmt.update:
            return (self.rebuild(stmt),)
        found = self._terms.get(id(stmt))
        if found is None:
            rebuilt = self.rebuild(stmt)
            assert isinstance(rebuilt, Store)
            return (replace(rebuilt, update=""),)
        _, term = found
        if term is None:
            return (self.rebuild(stmt),)
        value, op = self.atom(term[0]), term[1]
        array, index = self.sym(stmt.array), self.atoms(stmt.index)
        if op != "sub":
            return (replace(stmt, array=array, index=index, value=value),)
        assert isinstance(stmt.array.type, Array)
        minus = Sym("minus", value.type)
        change = Let(minus, "neg", (value,), None, stmt.span)
        return change, replace(stmt, array=array, index=index, value=minus)



