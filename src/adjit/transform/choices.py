"""Branches that keep the greatest (or least) value so far become choices, as `transform.extremes` knows them.

    if x[i] > m: m = x[i]; at = i     ->   m = x[i] if x[i] > m else m; at = i if x[i] > m else at

Where the branch computes nothing that may fail, and loads only what was loaded before it.
"""

from __future__ import annotations

from dataclasses import replace

from adjit.analysis.raising import RAISING
from adjit.ir.core import Atom, Block, Function, If, Let, Load, Loop, Stmt, Store, Sym
from adjit.ir.types import Scalar
from adjit.ir.visit import Rewriter, walk

_EXTREMES = frozenset({"max", "min", "maximum", "minimum"})


def choices(function: Function) -> Function:
    """The function with such branches as choices (see the module)."""
    rewriter = _Choices()
    body = rewriter.block(function.body)
    return replace(function, body=body, results=rewriter.atoms(function.results))


class _Choices(Rewriter):
    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        if isinstance(stmt, Loop) and not any(isinstance(s, Store) for s in walk(stmt.body)):
            stmt = replace(stmt, body=_chosen(stmt))
        return (self.rebuild(stmt),)


def _chosen(loop: Loop) -> Block:
    out: list[Stmt] = []
    for s in loop.body:
        flat = _flat(s, loop, out) if isinstance(s, If) else None
        out += (s,) if flat is None else flat
    return tuple(out)


def _flat(branch: If, loop: Loop, before: list[Stmt]) -> Block | None:
    """The branch as choices; None where it is another one. before: what comes before it in the loop."""
    rewriter, known = Rewriter(), dict[object, Sym]()
    for s in before:
        again = rewriter.rebuild(s) if isinstance(s, Let | Load) else s
        if isinstance(again, Let | Load):
            rewriter.env[again.target] = known.setdefault(_meaning(again), again.target)
    test = next((s for s in before if isinstance(s, Let) and s.target == branch.cond), None)
    carried = [a for a in branch.else_values if a in loop.params]
    if branch.els or not carried or test is None or not _keeps(test, carried, branch):
        return None
    made: list[Stmt] = []
    for s in branch.then:
        again = rewriter.rebuild(s)
        if not isinstance(again, Let | Load):
            return None
        if _meaning(again) in known:
            rewriter.env[again.target] = known[_meaning(again)]
        elif isinstance(again, Load) or again.op in RAISING:
            return None
        else:
            made.append(again)
    for r, then, other in zip(
        branch.results, rewriter.atoms(branch.then_values), branch.else_values, strict=True
    ):
        if not isinstance(r.type, Scalar):
            return None
        made.append(Let(r, "select", (branch.cond, then, other), None, branch.span))
    return tuple(made)


def _keeps(test: Let, carried: list[Atom], branch: If) -> bool:
    """Whether the branch keeps a greatest value: it compares with that, or is the place of `max(m, v)`."""
    if test.op in ("gt", "lt") and any(a in test.args for a in carried):
        return True
    return any(
        isinstance(s, Let) and s.op in _EXTREMES and not {*s.args}.isdisjoint(carried) for s in branch.then
    )


def _meaning(s: Let | Load) -> tuple[object, ...]:
    """Equal for statements that compute the same."""
    return (s.array, s.index) if isinstance(s, Load) else (s.op, s.fn, s.args, s.target.type)
