"""Lists of arrays made inside loops and branches live as long as the function: a turn's arrays follow the last turn's.

    for i: l = []; l.append(a); b = l[k]; m = len(l)
            ->   l = []; n = [0]; for i: base = n[0]; l.append(a); n[0] += 1; b = l[base + k]; m = n[0] - base

How many there are is in memory, where the reverse sweep finds what it was.

The reverse sweep finds the arrays of every turn there, and has a shadow for each. Turns that share a list run in order.
"""

from __future__ import annotations

from dataclasses import replace

from adjit.errors import UnsupportedError
from adjit.ir.core import (
    ONE,
    ZERO,
    Alloc,
    Call,
    Function,
    Let,
    Load,
    Loop,
    RefAppend,
    RefGet,
    RefNew,
    RefSet,
    Stmt,
    Store,
    Sym,
)
from adjit.ir.types import INT64, Array
from adjit.ir.visit import Rewriter, operands, walk


def lasting_lists(function: Function) -> Function:
    """The function with every list at its head (see the module)."""
    outer = {s.target for s in function.body if isinstance(s, RefNew)}
    inner = [s for s in walk(function.body) if isinstance(s, RefNew) and s.target not in outer]
    if not inner:
        return function
    counts = [Sym(f"{s.target.name}_count", Array(INT64, 1, "C")) for s in inner]
    rewriter = _Lists({s.target: (n, Sym("base", INT64)) for s, n in zip(inner, counts, strict=True)})
    body = rewriter.block(function.body)
    head = (*inner, *(Alloc(n, (ONE,), ZERO, None, s.span) for s, n in zip(inner, counts, strict=True)))
    return replace(function, body=(*head, *body))


class _Lists(Rewriter):
    """lists: where it is written how many arrays a list has, and how many it had when the turn's own began."""

    def __init__(self, lists: dict[Sym, tuple[Sym, Sym]]):
        super().__init__()
        self._lists = lists

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        made = isinstance(stmt, Loop) and any(isinstance(s, RefNew) for s in walk(stmt.body))
        stmt = self.rebuild(stmt)
        match stmt:
            case RefNew() if stmt.target in self._lists:
                count, base = self._lists[stmt.target]
                return (Load(base, count, (ZERO,), stmt.span),)
            case RefAppend() if stmt.references in self._lists:
                count, _ = self._lists[stmt.references]
                before, after = Sym("count", INT64), Sym("count", INT64)
                return (
                    stmt,
                    Load(before, count, (ZERO,), stmt.span),
                    Let(after, "add", (before, ONE), None, stmt.span),
                    Store(count, (ZERO,), after, stmt.span),
                )
            case RefGet() | RefSet() if stmt.references in self._lists:
                place, (_, base) = Sym("place", INT64), self._lists[stmt.references]
                add = Let(place, "add", (base, stmt.position), None, stmt.span)
                return (add, replace(stmt, position=place))
            case Let(op="dim", args=(Sym() as listed, _)) if listed in self._lists:
                total, (count, base) = Sym("count", INT64), self._lists[listed]
                sub = Let(stmt.target, "sub", (total, base), None, stmt.span)
                return (Load(total, count, (ZERO,), stmt.span), sub)
            case Loop() if made:
                return (replace(stmt, parallel=False, asked=False),)
            case Call() if any(a in self._lists for a in operands(stmt)):
                raise UnsupportedError(
                    "records of a function that calls itself, inside of a derivative that is taken in a loop",
                    "take the inner derivative outside the loop",
                    stmt.span,
                )
            case _:
                return (stmt,)
