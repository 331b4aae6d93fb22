"""What the turns of one loop share: which accesses meet, and whether only within one turn.

Used to run loops of adjoint code in another order, and to keep sums out of memory while they grow.
"""

from __future__ import annotations

from collections.abc import Iterator

from adjit.analysis.alias import Affine, Alias
from adjit.analysis.distinct import Distinct
from adjit.analysis.increments import Increment, increments, readers
from adjit.analysis.ranges import ranges_of
from adjit.analysis.regions import Regions
from adjit.ir.core import Atom, Block, Const, Function, If, Let, Load, Loop, Store, Sym
from adjit.ir.types import INT64
from adjit.ir.visit import blocks, defined, operands, walk, yields

Access = Load | Store


class Turns:
    """Questions about the loops of a function."""

    def __init__(self, function: Function):
        self._alias = Alias(function)
        self._distinct = Distinct(function, self._alias)
        self._ranges = ranges_of(function)
        self.affine = Affine(Regions(function).definition, self._ranges.bounds)
        self._asked: tuple[Loop, set[Sym]] | None = None

    @staticmethod
    def plain(loop: Loop) -> bool:
        """A counted loop around straight-line code."""
        counted = loop.index is not None and loop.index.type == INT64 and loop.stop is None
        return (
            counted
            and isinstance(loop.step, Const)
            and all(isinstance(s, Let | Load | Store) for s in loop.body)
        )

    @staticmethod
    def nest(loop: Loop) -> bool:
        """A counted loop around loops and branches of straight-line code."""
        counted = loop.index is not None and loop.index.type == INT64 and loop.stop is None
        return (
            counted
            and isinstance(loop.step, Const)
            and all(isinstance(s, Let | Load | Store | Loop | If) for s in walk(loop.body))
        )

    def apart(self, a: Access, b: Access, loop: Loop) -> bool:
        """Whether no turn's `a` meets any turn's `b`.

        A name that the loop binds (by a branch, by a loop inside) may be other memory in each turn: of such, only what
        it can ever be counts.
        """
        if self._bound_in(loop, a.array) or self._bound_in(loop, b.array):
            return not self._alias.roots(a.array) & self._alias.roots(b.array)
        if self._distinct.surely(a.array, b.array):
            return True
        return a.array == b.array and any(
            self._differ(x, y, loop) for x, y in zip(a.index, b.index, strict=True)
        )

    def _bound_in(self, loop: Loop, array: Sym) -> bool:
        if self._asked is None or self._asked[0] is not loop:
            self._asked = loop, {*loop.params, *defined(loop.body)}
        return array in self._asked[1]

    def _differ(self, x: Atom, y: Atom, loop: Loop) -> bool:
        """Whether two indices differ, each in a turn of its own."""
        if not (self.affine.nonnegative(x) and self.affine.nonnegative(y)):
            return False
        a, b = self._ranges.form(x), self._ranges.form(y)
        inside = {loop.index, *defined(loop.body), *loop.params}
        if any(s in inside for s in a.terms) and any(s in inside for s in b.terms):
            return False
        return any((self._ranges.least(p.plus(q, -1)) or 0) >= 1 for p, q in ((a, b), (b, a)))

    def within_one(self, a: Access, b: Access, loop: Loop) -> bool:
        """Whether the two meet within one turn only, if at all."""
        if a.array != b.array or self._bound_in(loop, a.array):
            return False
        return any(
            self.affine.split(x)[0] == loop.index
            and self.affine.same(x, y)
            and self.affine.nonnegative(x)
            and self.affine.nonnegative(y)
            for x, y in zip(a.index, b.index, strict=True)
        )

    def slope(self, a: Atom, loop: Loop) -> int:
        """By how much the integer grows each turn, where it is made of the index and of what turns do not change."""
        form = self._ranges.form(a)
        inside = {*loop.params, *defined(loop.body)}
        return 0 if any(s in inside for s in form.terms) else form.terms.get(loop.index, 0)  # type: ignore[arg-type]

    def any_order(self, loop: Loop) -> bool:
        """Whether the loop's turns may run in any order, as far as memory goes (sums change by rounding)."""
        accesses = [s for s in walk(loop.body) if isinstance(s, Load | Store)]
        sums = {id(s) for one in _sums(loop.body, loop.nexts) for s in (one.load, one.store)}
        for store in (s for s in accesses if isinstance(s, Store)):
            for other in accesses:
                if other is store or self.apart(store, other, loop) or self.within_one(store, other, loop):
                    continue
                if not (store.array == other.array and id(store) in sums and id(other) in sums):
                    return False
            if id(store) not in sums and not self.within_one(store, store, loop):
                return False
        return True


def _sums(block: Block, read: tuple[Atom, ...]) -> Iterator[Increment]:
    """The increments of a block and of those inside it; `read`: what is read where the block ends."""
    at = {id(s): k for k, s in enumerate(block)}
    deeper = [a for s in block for sub in blocks(s) for t in walk(sub) for a in (*operands(t), *yields(t))]
    ends = [a for s in block for a in yields(s)]
    for one in increments(block, (*read, *deeper, *ends)):
        between = block[at[id(one.load)] : at[id(one.store)]]
        if not any(isinstance(s, Loop | If) for s in between):
            yield one
    for s in block:
        for sub in blocks(s):
            yield from _sums(sub, yields(s))


def sum_of(p: Sym, after: Atom, loop: Loop) -> list[tuple[Let, Atom]] | None:
    """The additions that a carried value of straight-line code goes through, last one first, each with its term.

    None if anything else becomes of it, or if a term is of another type.
    """
    if not p.type.differentiable:  # type: ignore[union-attr]
        return None
    uses = readers(loop.body, loop.nexts)
    made = {s.target: s for s in loop.body if isinstance(s, Let)}
    found: list[tuple[Let, Atom]] = []
    a = after
    while isinstance(a, Sym) and a != p:
        stmt = made.get(a)
        if uses[a] != 1 or stmt is None or stmt.op not in ("add", "sub") or stmt.fn is not None:
            return None
        left, right = stmt.args
        a, term = (right, left) if stmt.op == "add" and right == p else (left, right)
        if term.type != p.type or stmt.target.type != p.type:
            return None
        found.append((stmt, term))
    return found if a == p and uses[p] == 1 else None
