"""Names that never stand for the same memory at once, although each may stand for either.

    for _ in range(n): b[1:-1] = a[2:] + a[:-2]; a, b = b, a

In every turn `a` and `b` are two arrays, as they are before the loop and as each turn leaves them so. This is the
greatest set of pairs for which that holds: of all pairs of carried arrays those are dropped that some turn may bring
together.
"""

from __future__ import annotations

from itertools import combinations

from adjit.analysis.alias import Alias
from adjit.ir.core import Alloc, Atom, Block, Function, If, Loop, Sym, View
from adjit.ir.types import Array
from adjit.ir.visit import blocks, walk

Pair = frozenset[Sym]


class Distinct:
    """Which array symbols of one function surely differ in memory, where both are alive."""

    def __init__(self, function: Function, alias: Alias):
        self._alias = alias
        self._base: dict[Sym, Sym] = {}
        self._flows: dict[Sym, tuple[If | Loop, int]] = {}
        self._older: dict[Sym, frozenset[Sym]] = {}  # of an allocation: carried names of the loops around it
        self._pairs: set[Pair] = set()
        loops = [s for s in walk(function.body) if isinstance(s, Loop)]
        self._collect(function.body, frozenset())
        for loop in loops:
            arrays = [p for p in loop.params if isinstance(p.type, Array)]
            self._pairs |= {frozenset(pair) for pair in combinations(arrays, 2)}
        while any([self._drop(loop) for loop in loops]):
            pass

    def surely(self, a: Atom, b: Atom) -> bool:
        """Whether the two cannot share memory."""
        if not isinstance(a, Sym) or not isinstance(b, Sym):
            return True
        x, y = self._through(a), self._through(b)
        if x == y:
            return False
        if not self._alias.roots(x) & self._alias.roots(y) or frozenset((x, y)) in self._pairs:
            return True
        if y in self._older.get(x, ()) or x in self._older.get(y, ()):
            return True
        one, other = self._flows.get(x), self._flows.get(y)
        if one is None or other is None or one[0] is not other[0]:
            return False
        stmt, i, j = one[0], one[1], other[1]
        if isinstance(stmt, Loop):
            return frozenset((stmt.params[i], stmt.params[j])) in self._pairs
        sides = (stmt.then_values, stmt.else_values)
        return all(self.surely(values[i], values[j]) for values in sides)

    def _through(self, s: Sym) -> Sym:
        """The array of which a symbol is a view (of a view)."""
        while s in self._base:
            s = self._base[s]
        return s

    def _collect(self, block: Block, around: frozenset[Sym]) -> None:
        for stmt in block:
            if isinstance(stmt, View):
                self._base[stmt.target] = stmt.array
            elif isinstance(stmt, Alloc):
                self._older[stmt.target] = around
            elif isinstance(stmt, If | Loop):
                self._flows.update((r, (stmt, k)) for k, r in enumerate(stmt.results))
            inner = around | frozenset(stmt.params) if isinstance(stmt, Loop) else around
            for sub in blocks(stmt):
                self._collect(sub, inner)

    def _drop(self, loop: Loop) -> bool:
        """Drop the pairs that come in together, or that a turn may bring together; whether there were any."""
        dropped = False
        for (i, p), (j, q) in combinations(enumerate(loop.params), 2):
            pair = frozenset((p, q))
            if pair in self._pairs and not (
                self.surely(loop.inits[i], loop.inits[j]) and self.surely(loop.nexts[i], loop.nexts[j])
            ):
                self._pairs.discard(pair)
                dropped = True
        return dropped
