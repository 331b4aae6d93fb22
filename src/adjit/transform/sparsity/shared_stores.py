"""A store that both sides of a branch end in comes after it.

    if c: ...; a[i] = v  else: ...; a[i] = w      ->   if c: ...; yield v else: ...; yield w -> r;  a[i] = r

So it is certain: what was there before is gone, whichever side runs.
"""

from __future__ import annotations

from dataclasses import replace

from adjit.analysis.alias import Alias
from adjit.ir.core import Block, Function, If, Let, Stmt, Store, Sym
from adjit.ir.visit import Rewriter, defined, operands, walk, yields


def shared_stores(function: Function) -> Function:
    """The function with such stores behind their branches (see the module)."""
    if not any(isinstance(s, If) and s.then and s.els for s in walk(function.body)):
        return function
    r = _Shared(Alias(function))
    return replace(function, body=r.block(function.body))


class _Shared(Rewriter):
    def __init__(self, alias: Alias):
        super().__init__()
        self._alias = alias

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        stmt = self.rebuild(stmt)
        if not isinstance(stmt, If):
            return (stmt,)
        after: tuple[Store, ...] = ()
        while (pair := self._pair(stmt)) is not None:
            stmt, store = _moved(stmt, *pair)
            after = (store, *after)
        return (stmt, *after)

    def _pair(self, stmt: If) -> tuple[Store, Store] | None:
        inside = defined(stmt.then) | defined(stmt.els)
        for a in self._last(stmt.then):
            for b in self._last(stmt.els):
                same = a.array == b.array and a.index == b.index and a.value.type == b.value.type
                if same and a.array not in inside and inside.isdisjoint(a.index):
                    return a, b
        return None

    def _last(self, block: Block) -> list[Store]:
        """Stores after which nothing in the block touches the same memory."""
        found: list[Store] = []
        for k, stmt in enumerate(block):
            if isinstance(stmt, Store):
                roots = self._alias.roots(stmt.array)
                if not any(self._touches(s, roots) for t in block[k + 1 :] for s in walk((t,))):
                    found.append(stmt)
        return found

    def _touches(self, stmt: Stmt, roots: frozenset[Sym]) -> bool:
        if isinstance(stmt, Let):
            return False
        return any(not self._alias.roots(a).isdisjoint(roots) for a in (*operands(stmt), *yields(stmt)))


def _moved(stmt: If, a: Store, b: Store) -> tuple[If, Store]:
    value = Sym(a.array.name, a.value.type)
    moved = replace(
        stmt,
        then=tuple(s for s in stmt.then if s is not a),
        els=tuple(s for s in stmt.els if s is not b),
        then_values=(*stmt.then_values, a.value),
        else_values=(*stmt.else_values, b.value),
        results=(*stmt.results, value),
    )
    return moved, Store(a.array, a.index, value, a.span)
