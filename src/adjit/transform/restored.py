"""A work item knows what it has just stored: loads of the same element give that number.

    store u[i] = r; t = load u[i]   ->   store u[i] = r; t = r

Elements that the reverse sweep puts back are read from the record then, so that other work items can read the same
number without waiting for the store. The loads that updates begin with stay. Used on adjoint code, for devices.
"""

from __future__ import annotations

from dataclasses import replace

from adjit.analysis.alias import Affine, Alias
from adjit.analysis.distinct import Distinct
from adjit.analysis.update_pairs import Pairs
from adjit.ir.core import Atom, Block, Function, If, Load, Loop, Stmt, Store, Sym
from adjit.ir.types import Array
from adjit.ir.visit import Rewriter, walk

_Known = tuple[Store, Atom]


def restored(function: Function) -> Function:
    """The function with such loads gone from its parallel loops (see the module)."""
    if not any(isinstance(s, Loop) and s.parallel for s in walk(function.body)):
        return function
    r = _Restored(function)
    return replace(function, body=r.block(function.body))


class _Restored(Rewriter):
    def __init__(self, function: Function):
        super().__init__()
        self._distinct = Distinct(function, Alias(function))
        self._affine = Affine.of(function)
        self._known: list[_Known] = []
        self._pairs: set[int] = set()
        self._inside = False

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        if isinstance(stmt, Loop):
            return (self._loop(stmt),)
        if not self._inside:
            return (self.rebuild(stmt),)
        match stmt:
            case Load():
                return self._load(stmt)
            case Store():
                rebuilt = self.rebuild(stmt)
                self._forget((stmt,))
                dtype = stmt.array.type.dtype if isinstance(stmt.array.type, Array) else None
                if not stmt.update and stmt.value.type == dtype and isinstance(rebuilt, Store):
                    self._known.append((stmt, rebuilt.value))
                return (rebuilt,)
            case If():
                return (self._if(stmt),)
            case _:
                return (self.rebuild(stmt),)

    def _loop(self, loop: Loop) -> Stmt:
        outer = self._inside, self._known, self._pairs
        if loop.parallel and not self._inside:
            self._inside = True
            pairs = Pairs(loop.body, self._affine, loop.nexts)
            updates = (s for s in walk(loop.body) if isinstance(s, Store) and s.update)
            self._pairs = {id(load) for s in updates if (load := pairs.load_of(s)) is not None}
        if self._inside:
            self._known = list(self._known)
            self._forget(loop.body)
        rebuilt = self.rebuild(loop)
        self._inside, self._known, self._pairs = outer
        if self._inside:
            self._forget(loop.body)
        return rebuilt

    def _if(self, stmt: If) -> Stmt:
        cond, before = self.atom(stmt.cond), self._known
        self._known = list(before)
        then, then_values = self.block(stmt.then), self.atoms(stmt.then_values)
        self._known = list(before)
        els, else_values = self.block(stmt.els), self.atoms(stmt.else_values)
        self._known = before
        self._forget((*stmt.then, *stmt.els))
        return If(cond, then, els, then_values, else_values, stmt.results, stmt.span)

    def _load(self, load: Load) -> tuple[Stmt, ...]:
        if id(load) not in self._pairs:
            for store, value in self._known:
                if store.array == load.array and self._same(store, load):
                    self.env[load.target] = value
                    return ()
        return (self.rebuild(load),)

    def _same(self, a: Load | Store, b: Load | Store) -> bool:
        return all(self._affine.same(x, y) for x, y in zip(a.index, b.index, strict=True))

    def _forget(self, block: Block) -> None:
        """What the block's stores may change is not known any more."""
        arrays: set[Sym] = {s.array for s in walk(block) if isinstance(s, Store)}
        if arrays and self._known:
            gone = {
                id(s)
                for s, _ in self._known
                for a in arrays
                if a == s.array or not self._distinct.surely(a, s.array)
            }
            self._known = [k for k in self._known if id(k[0]) not in gone]
