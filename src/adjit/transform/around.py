"""What stands around the inner loops of a loop: which of it they need, and what of that can be computed again."""

from __future__ import annotations

from collections.abc import Sequence

from adjit.analysis.turns import Turns
from adjit.ir.core import Atom, Block, Const, Let, Load, Loop, Store, Sym
from adjit.ir.types import INT64
from adjit.ir.visit import defined, operands, used, walk

_CHEAP = frozenset({"add", "sub", "mul", "neg", "cast", "dim", "nonneg", "min", "max", "select"})
_STEADY = _CHEAP | {"lt", "le", "gt", "ge", "eq", "ne", "not_", "and_", "or_"}


def is_counted(loop: Loop) -> bool:
    """Whether it is a loop in order over integers that follow each other, up or down, to its end."""
    plain = loop.index is not None and loop.index.type == INT64 and loop.stop is None and not loop.parallel
    return plain and isinstance(loop.step, Const) and abs(loop.step.integer) == 1


class Around:
    """The statements `rest` of a loop, which are not its inner loops."""

    def __init__(self, turns: Turns, loop: Loop, rest: Block):
        self._turns, self._loop, self._rest = turns, loop, rest

    def range_of(self, inner: Sequence[Loop]) -> tuple[Atom, Atom, tuple[Let, ...]] | None:
        """The range that all inner loops have in every turn, and the statements that make it; None if there is none."""
        lo, hi = inner[0].lo, inner[0].hi
        assert lo is not None and hi is not None
        for line in inner:
            for a, b in ((line.lo, lo), (line.hi, hi)):
                if a is None or a.type != INT64 or not self._turns.affine.same(a, b):
                    return None
        made = self.steady([a for line in inner for a in (line.lo, line.hi) if a is not None])
        return None if made is None else (lo, hi, made)

    def steady(self, atoms: Sequence[Atom]) -> tuple[Let, ...] | None:
        """The statements that make atoms which are the same in every turn; None if they are not, or cost more."""
        own = {self._loop.index, *self._loop.params, *defined(self._loop.body)}
        made = {s.target: s for s in walk(self._loop.body) if isinstance(s, Let)}
        found: dict[Sym, Let] = {}

        def fixed(a: Atom) -> bool:
            if not isinstance(a, Sym) or a not in own or a in found:
                return True
            let = made.get(a)
            if let is None or let.op not in _STEADY or not all(map(fixed, let.args)):
                return False
            found[a] = let
            return True

        return tuple(found.values()) if all(map(fixed, atoms)) else None

    def needed(self, inner: Sequence[Loop]) -> tuple[Block, tuple[Sym, ...]]:
        """Which statements can be repeated where inner loops need them, and what else they need: of other statements.

        What is repeated is cheap, and loads nothing that the loop stores to.
        """
        loop, rest = self._loop, self._rest
        stores = [s for s in walk(loop.body) if isinstance(s, Store)]
        made = {s.target: k for k, s in enumerate(rest) if isinstance(s, Let | Load)}
        known = {*loop.params, *defined(rest)}
        again: set[int] = set()
        kept: dict[Sym, None] = {}
        todo: list[Atom] = [a for line in inner for a in used((line,)) if a in known]
        while todo:
            a = todo.pop()
            if not isinstance(a, Sym) or a not in known:
                continue
            k = made.get(a)
            stmt = None if k is None else rest[k]
            simple = (isinstance(stmt, Let) and stmt.op in _CHEAP) or (
                isinstance(stmt, Load) and all(self._turns.apart(stmt, s, loop) for s in stores)
            )
            if not simple or k is None or stmt is None:
                kept[a] = None
            elif k not in again:
                again.add(k)
                todo += operands(stmt)
        return tuple(s for k, s in enumerate(rest) if k in again), tuple(sorted(kept, key=lambda s: s.uid))
