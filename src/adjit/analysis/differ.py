"""Whether two array names are names of different memory: proven, or by a test that the program can make.

    da = a if t == 0 else b;  db = a if u == 0 else b        they differ where (t == 0) != (u == 0)

Arrays that are swapped in a time loop are chosen by numbers in its reverse.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from adjit.analysis.distinct import Distinct
from adjit.ir.builder import Builder
from adjit.ir.core import Atom, If, Stmt, Sym, View, const
from adjit.ir.visit import defined

_DEEPEST = 6


@dataclass(frozen=True)
class Choice:
    """One of two arrays, or choices of arrays, by a condition."""

    cond: Atom
    then: Choice | Sym
    other: Choice | Sym

    def leaves(self) -> set[Sym]:
        """The arrays."""
        return _leaves(self.then) | _leaves(self.other)


def _leaves(c: Choice | Sym) -> set[Sym]:
    return {c} if isinstance(c, Sym) else c.leaves()


class Differ:
    """Answers for one function. definition: what defines each symbol."""

    def __init__(self, distinct: Distinct, definition: Mapping[Sym, Stmt]):
        self._distinct, self._definition = distinct, definition

    def surely(self, a: Sym, b: Sym) -> bool:
        """Whether the two are proven to differ."""
        return self._distinct.surely(a, b)

    def testable(self, a: Sym, b: Sym) -> bool:
        """Whether a test tells."""
        x, y = self._choice(a), self._choice(b)
        if x is None or y is None or (isinstance(x, Sym) and isinstance(y, Sym)):
            return False
        leaves = sorted(_leaves(x) | _leaves(y), key=lambda s: s.uid)
        return all(self.surely(p, q) for k, p in enumerate(leaves) for q in leaves[:k])

    def test(self, b: Builder, a: Sym, other: Sym) -> Atom:
        """A condition that is true where the two differ."""
        x, y = self._choice(a), self._choice(other)
        assert x is not None and y is not None
        leaves = sorted(_leaves(x) | _leaves(y), key=lambda s: s.uid)
        number = {s: const(k) for k, s in enumerate(leaves)}
        return b.op("ne", _number(b, x, number), _number(b, y, number))

    def _choice(self, a: Sym, depth: int = 0) -> Choice | Sym | None:
        stmt = self._definition.get(a)
        while isinstance(stmt, View):
            a = stmt.array
            stmt = self._definition.get(a)
        if not isinstance(stmt, If):
            return a
        k = stmt.results.index(a)
        sides = (stmt.then_values[k], stmt.else_values[k])
        hidden = defined(stmt.then) | defined(stmt.els)
        found = [
            self._choice(s, depth + 1)
            if isinstance(s, Sym) and s not in hidden and depth < _DEEPEST
            else None
            for s in sides
        ]
        if found[0] is None or found[1] is None:
            return None
        return Choice(stmt.cond, found[0], found[1])


def _number(b: Builder, c: Choice | Sym, number: Mapping[Sym, Atom]) -> Atom:
    if isinstance(c, Sym):
        return number[c]
    return b.op("select", c.cond, _number(b, c.then, number), _number(b, c.other, number))
