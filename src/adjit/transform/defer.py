"""Loads first, stores last: elements of straight-line code are kept in scalars until they must be in memory.

    t = load a[i]; store a[i] = t + x; u = load a[i]; store a[i] = u + y; v = load a[i-1]; store a[i-1] = v + z
    ->  t = load a[i]; v = load a[i-1]; store a[i] = (t + x) + y; store a[i-1] = v + z

Only where two places are surely the same or surely apart (indices that differ by constants, both proven
non-negative). The processor need not wait for a store before the next load, and each element moves once. Used on
adjoint code, whose increments come in groups.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from adjit.analysis.alias import Affine, Alias
from adjit.ir.core import Atom, Block, Call, Function, If, Load, Loop, Stmt, Store, Sym, Whole
from adjit.ir.types import Array
from adjit.ir.visit import Rewriter, walk


@dataclass
class _Place:
    """An element whose value is known; `dirty` if memory does not hold it yet."""

    array: Sym
    index: tuple[Atom, ...]
    value: Atom
    dirty: bool
    store: Store | None = None


class _Defer(Rewriter):
    def __init__(self, function: Function):
        super().__init__()
        self.alias = Alias(function)
        self.affine = Affine.of(function)
        self.places: list[_Place] = []

    def block(self, block: Block) -> Block:
        outer, self.places = self.places, []
        out: list[Stmt] = []
        for stmt in block:
            self._visit(stmt, out)
        self._flush(out, lambda _: True)
        self.places = outer
        return tuple(out)

    def _visit(self, stmt: Stmt, out: list[Stmt]) -> None:
        match stmt:
            case Load():
                self._load(stmt, out)
            case Store() if stmt.value.type == stmt.array.type.dtype:  # type: ignore[union-attr]
                self._store(stmt, out)
            case Store():
                roots = self.alias.roots(stmt.array)
                self._flush(out, lambda p: not roots.isdisjoint(self.alias.roots(p.array)))
                out.append(self.rebuild(stmt))
            case Loop() | Call() | Whole():
                self._flush(out, lambda _: True)
                out.append(self.rebuild(stmt))
            case If() if any(isinstance(s, Call | Whole) for s in walk((stmt,))):
                self._flush(out, lambda _: True)
                out.append(self.rebuild(stmt))
            case If():
                touched = self._touched(stmt)
                self._flush(out, lambda p: not touched.isdisjoint(self.alias.roots(p.array)))
                out.append(self.rebuild(stmt))
            case _:
                out.append(self.rebuild(stmt))

    def _touched(self, stmt: Stmt) -> frozenset[Sym]:
        found: frozenset[Sym] = frozenset()
        for s in walk((stmt,)):
            if isinstance(s, Load | Store):
                found |= self.alias.roots(s.array)
        return found

    def _flush(self, out: list[Stmt], which: object) -> None:
        kept: list[_Place] = []
        for p in self.places:
            if not which(p):  # type: ignore[operator]
                kept.append(p)
            elif p.dirty:
                assert p.store is not None
                out.append(replace(p.store, array=p.array, index=p.index, value=p.value))
        self.places = kept

    def _find(self, array: Sym, index: tuple[Atom, ...], out: list[Stmt]) -> _Place | None:
        """The known place of that element; what may be the same element is put in memory and forgotten."""
        roots = self.alias.roots(array)

        def unsure(p: _Place) -> bool:
            if roots.isdisjoint(self.alias.roots(p.array)):
                return False
            if p.array != array:
                return True
            pairs = list(zip(p.index, index, strict=True))
            same = all(self.affine.same(a, b) for a, b in pairs)
            return not same and not any(self.affine.apart(a, b) for a, b in pairs)

        self._flush(out, unsure)
        for p in self.places:
            if p.array == array and all(self.affine.same(a, b) for a, b in zip(p.index, index, strict=True)):
                return p
        return None

    def _load(self, stmt: Load, out: list[Stmt]) -> None:
        rebuilt = self.rebuild(stmt)
        assert isinstance(rebuilt, Load)
        place = self._find(rebuilt.array, rebuilt.index, out)
        if place is not None:
            self.env[stmt.target] = place.value
            return
        out.append(rebuilt)
        self.places.append(_Place(rebuilt.array, rebuilt.index, rebuilt.target, False))

    def _store(self, stmt: Store, out: list[Stmt]) -> None:
        rebuilt = self.rebuild(stmt)
        assert isinstance(rebuilt, Store) and isinstance(rebuilt.array.type, Array)
        place = self._find(rebuilt.array, rebuilt.index, out)
        if place is None:
            place = _Place(rebuilt.array, rebuilt.index, rebuilt.value, True)
            self.places.append(place)
        place.value, place.dirty, place.store = rebuilt.value, True, rebuilt


def defer_stores(function: Function) -> Function:
    """Loads first, stores last (see the module)."""
    d = _Defer(function)
    body = d.block(function.body)
    return replace(function, body=body, results=d.atoms(function.results))
