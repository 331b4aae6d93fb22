"""The load that an update of an element begins with: `t = load a[i]; u = t + e; store a[i] = u, update add`.

What stands between may be sums through inner loops, branches and choices; nothing else may read what is on the way, so
that only the sum of the other terms matters.
"""

from __future__ import annotations

from collections import Counter

from adjit.analysis.alias import Affine
from adjit.analysis.carried import Chain
from adjit.ir.core import Atom, Block, Let, Load, Stmt, Store, Sym
from adjit.ir.types import Scalar
from adjit.ir.visit import operands, targets, walk, yields

KINDS = {"min": ("min", "minimum", "fmin"), "max": ("max", "maximum", "fmax")}
"""Operations of the IR that an update of each kind may be made by."""


class Pairs:
    """Pairs of one block (a loop's body). results: what is read at its end."""

    def __init__(self, block: Block, affine: Affine, results: tuple[Atom, ...] = ()):
        self._affine = affine
        self._made: dict[Sym, Stmt] = {}
        self._uses: Counter[Atom] = Counter(results)
        self._loads: list[Load] = []
        for s in walk(block):
            self._uses.update((*operands(s), *yields(s)))
            self._made.update((t, s) for t in targets(s))
            if isinstance(s, Load):
                self._loads.append(s)

    def direct(self, store: Store) -> tuple[Load, Atom, Let] | None:
        """(load, term, operation) where the store is one operation on the loaded element that nothing else reads.

        Casts between integers on the way change nothing: the element holds its last bits.
        """
        let = self._uncast(store.value)
        if not isinstance(let, Let) or len(let.args) != 2 or self._uses[let.target] != 1:
            return None
        if let.op not in (("add", "sub") if store.update == "add" else KINDS[store.update]):
            return None
        for mine, other in (let.args, let.args[::-1])[: 1 if let.op == "sub" else 2]:
            load = self._uncast(mine)
            if isinstance(load, Load) and self._same_place(load, store) and self._uses[load.target] == 1:
                return load, other, let
        return None

    def _uncast(self, a: Atom) -> Stmt | None:
        """What makes the number, before casts of integers that nothing else reads."""
        stmt = self._made.get(a) if isinstance(a, Sym) else None
        while isinstance(stmt, Let) and stmt.op == "cast" and _whole(stmt.target) and _whole(stmt.args[0]):
            if self._uses[stmt.target] != 1:
                return None
            inner = stmt.args[0]
            stmt = self._made.get(inner) if isinstance(inner, Sym) else None
        return stmt

    def load_of(self, store: Store) -> Load | None:
        """The load of the element that the store updates; None where the update is no such pair."""
        found = self.direct(store)
        if found is not None:
            return found[0]
        return self._summed(store) if store.update == "add" else None

    def _summed(self, store: Store) -> Load | None:
        for load in self._loads:
            if not self._same_place(load, store) or load.target.type != store.value.type:
                continue
            chain = Chain(self._made)
            if not chain.reaches(store.value, load.target) or chain.ops != {("add", None)}:
                continue
            if all(self._uses[s] == n for s, n in chain.consumed.items()):
                return load
        return None

    def _same_place(self, load: Load, store: Store) -> bool:
        return load.array == store.array and all(
            self._affine.same(a, b) for a, b in zip(load.index, store.index, strict=True)
        )


def _whole(a: Atom) -> bool:
    return isinstance(a.type, Scalar) and a.type.is_int
