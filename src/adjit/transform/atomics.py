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
from adjit.ir.visit import Rewriter, used, walk


def with_atomics(
    block: Block, meets: Callable[[Store], bool], affine: Affine, results: tuple[Atom, ...] = ()
) -> Block:
    """The body of a kernel, its updates where `meets` is true as atomic ones. Raises UnsupportedError.

    results: what is read at the block's end.
    """
    rewriter = _Atomics(Pairs(block, affine, results), meets)
    for stmt in walk(block):
        if isinstance(stmt, Store) and stmt.update and meets(stmt):
            rewriter.find(stmt)
    made = rewriter.block(block)
    return living(made, results) if rewriter.changed else made


class _Atomics(Rewriter):
    def __init__(self, pairs: Pairs, meets: Callable[[Store], bool]):
        super().__init__()
        self._pairs, self._meets = pairs, meets
        self._terms: dict[int, tuple[Load, tuple[Atom, str] | None]] = {}
        self.changed = False

    def find(self, store: Store) -> None:
        """Note what an update adds."""
        direct = self._pairs.direct(store)
        load = direct[0] if direct is not None else self._pairs.load_of(store)
        if load is None:
            raise UnsupportedError(
                f"work items may meet in '{store.array.name}', and this update of it is more than one number added",
                "use what aj.atomic_add, aj.atomic_min or aj.atomic_max returns only where work items cannot meet",
                store.span,
            )
        self._terms[id(store)] = load, None if direct is None else (direct[1], direct[2].op)
        if direct is None:  # the sum of the other terms is what the element's sum is from nothing
            self.env[load.target] = const_of(0, load.target.type)
        self.changed = True

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
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


class _Living(Rewriter):
    """Leaves out scalars that nothing reads."""

    def __init__(self, read: set[Sym]):
        super().__init__()
        self._read = read

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        if isinstance(stmt, Let | Load) and stmt.target not in self._read:
            return ()
        return (self.rebuild(stmt),)


def living(block: Block, results: tuple[Atom, ...]) -> Block:
    """The block without scalars that nothing reads, there or among the results."""
    while True:
        read = used(block) | {a for a in results if isinstance(a, Sym)}
        if all(s.target in read for s in walk(block) if isinstance(s, Let | Load)):
            return block
        block = _Living(read).block(block)
