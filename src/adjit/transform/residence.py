"""Which arrays of a host function are in a device's memory, and which in the host's.

Arguments and results are on the device, and so is what a loop touches together with them. What host code alone reads
and writes, number by number, is in the host's memory: the records of numbers that steer it.
"""

from __future__ import annotations

from collections.abc import Iterable

from adjit.analysis.alias import Alias
from adjit.ir.core import Atom, Block, Function, Load, Loop, Store, Sym, Whole
from adjit.ir.types import RefList
from adjit.ir.visit import blocks, targets, walk


class Residence:
    """Where the memory of each array symbol is. hosts: parameters in the host's memory; results: that the user gets."""

    def __init__(self, function: Function, alias: Alias, hosts: Iterable[Sym], results: Iterable[Atom]):
        self._alias = alias
        self._parents: dict[Sym, Sym] = {}
        self._device: set[Sym] = set()
        self._touched: set[Sym] = set()
        kept = set(hosts)
        for p in function.params:
            if p not in kept:
                self._on_device(self._memory(p))
        for a in results:
            self._on_device(alias.roots(a))
        self._block(function.body, False)
        for stmt in walk(function.body):
            for s in targets(stmt):
                self._together(self._memory(s))
        device = {self._root(s) for s in self._device}
        self._host = {s for s in self._touched if self._root(s) not in device}

    def on_host(self, array: Atom) -> bool:
        """Whether host code reads and writes the array, or those of a list."""
        roots = self._memory(array)
        return bool(roots) and roots <= self._host

    def _memory(self, a: Atom) -> frozenset[Sym]:
        """The memory that an array, or the arrays of a list, may refer to."""
        if isinstance(a, Sym) and isinstance(a.type, RefList):
            return self._alias.held(a)
        return self._alias.roots(a)

    def _block(self, block: Block, parallel: bool) -> None:
        for stmt in block:
            if isinstance(stmt, Load | Store):
                self._touched |= self._alias.roots(stmt.array)
                if parallel:
                    self._on_device(self._alias.roots(stmt.array))
            elif isinstance(stmt, Whole):
                for s in stmt.outs if stmt.op == "put" else (*stmt.outs, *stmt.args):
                    self._on_device(self._alias.roots(s))
            inside = parallel or (isinstance(stmt, Loop) and stmt.parallel)
            if isinstance(stmt, Loop) and not any(isinstance(s, Loop) for s in walk(stmt.body)):
                self._together(_accessed(stmt.body, self._alias))
            for sub in blocks(stmt):
                self._block(sub, inside)

    def _on_device(self, roots: Iterable[Sym]) -> None:
        self._device |= set(roots)

    def _together(self, roots: Iterable[Sym]) -> None:
        first, *others = [self._root(s) for s in roots] or [None]
        for s in others:
            if s is not None and first is not None and s != first:
                self._parents[s] = first

    def _root(self, s: Sym) -> Sym:
        while s in self._parents:
            s = self._parents[s]
        return s


def _accessed(block: Block, alias: Alias) -> list[Sym]:
    found: dict[Sym, None] = {}
    for stmt in walk(block):
        if isinstance(stmt, Load | Store):
            found.update(dict.fromkeys(alias.roots(stmt.array)))
    return list(found)
