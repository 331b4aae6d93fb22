"""What the conditions of branches say about integers where the branches are taken.

if (i + j) % 2 == c and 0 < i < n - 1: ...      there i is at least 1
if i == 0 or j == 0: return                     after it neither is 0
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from adjit.analysis.alias import Affine
from adjit.ir.core import FALSE, TRUE, Atom, If, Let, Stmt, Sym
from adjit.ir.types import INT64

Path = tuple[tuple[Atom, bool], ...]
"""Conditions, each with what it is."""

_NEGATED = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}
_MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}
_MOST = 64


class Guards:
    """Lower bounds under conditions. made: what defines each symbol."""

    def __init__(self, affine: Affine, made: Mapping[Sym, Stmt]):
        self._affine, self._made = affine, made

    def least(self, a: Atom, path: Path, proven: bool = True) -> int | None:
        """A lower bound of an integer where the conditions hold. proven: what is known of it anywhere counts too."""
        known = self._affine.least(a) if proven else None
        base, offset = self._affine.split(a)
        if base is None:
            return known
        low = self._affine.least(base) if proven else None
        others: set[int] = set()
        for op, x, y in self._all(path):
            for one, mine, other in ((op, x, y), (_MIRRORED[op], y, x)):
                (b, off), (c, value) = self._affine.split(mine), self._affine.split(other)
                if b != base or c is not None:
                    continue
                if one == "ne":
                    others.add(value - off)
                elif one in ("gt", "ge", "eq"):
                    least = value - off + (one == "gt")
                    low = least if low is None else max(low, least)
        while low is not None and low in others:
            low += 1
        if low is None:
            return known
        return low + offset if known is None else max(known, low + offset)

    def below(self, a: Sym, end: Atom, more: int, path: Path) -> bool:
        """Whether an integer is less than `end + more` where the conditions hold."""
        base, offset = self._affine.split(a)
        top, most = self._affine.split(end)
        most += more
        for op, x, y in self._all(path):
            for one, mine, other in ((op, x, y), (_MIRRORED[op], y, x)):
                (b, off), (c, value) = self._affine.split(mine), self._affine.split(other)
                if b == base and c == top and one in ("lt", "le", "eq"):
                    if value - off - (one == "lt") + offset < most:
                        return True
        return False

    def _all(self, path: Path) -> list[tuple[str, Atom, Atom]]:
        found: list[tuple[str, Atom, Atom]] = []
        for cond, truth in path:
            for fact in self._facts(cond, truth):
                found.append(fact)
                if len(found) > _MOST:
                    return found
        return found

    def _facts(self, cond: Atom, truth: bool) -> Iterator[tuple[str, Atom, Atom]]:
        """Comparisons of integers that hold."""
        stmt = self._made.get(cond) if isinstance(cond, Sym) else None
        match stmt:
            case Let(op="not_"):
                yield from self._facts(stmt.args[0], not truth)
            case Let(op="and_" | "or_") if (stmt.op == "and_") == truth:
                for a in stmt.args:
                    yield from self._facts(a, truth)
            case Let() if stmt.op in _NEGATED and all(a.type == INT64 for a in stmt.args):
                x, y = stmt.args
                yield stmt.op if truth else _NEGATED[stmt.op], x, y
            case If():
                k = stmt.results.index(cond)  # type: ignore[arg-type]
                yield from self._of_branch(stmt, k, truth)
            case _:
                pass

    def _of_branch(self, stmt: If, k: int, truth: bool) -> Iterator[tuple[str, Atom, Atom]]:
        """`x and y`, `x or y`: one of the branches gives a constant."""
        for taken, value, other in (
            (True, stmt.then_values[k], stmt.else_values[k]),
            (False, stmt.else_values[k], stmt.then_values[k]),
        ):
            if other == (FALSE if truth else TRUE):
                yield from self._facts(stmt.cond, taken)
                yield from self._facts(value, truth)
                return
