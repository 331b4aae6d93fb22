"""Choices of the greatest or least of a loop's turns, and of where it is, as branches that are seldom taken.

    better = v > m; m = select(better, v, m); at = select(better, i, at)
    ->  if rarely(better, better): m = v; at = i

As choices each turn waits for what the one before chose, three or four operations; the processor guesses that a branch
is not taken, and goes on (`np.max`, which looks for NaN and remembers the place, takes an eighth of the time). A plain
`max(m, v)` is one operation, and stays. Used as the last step before code is printed.
"""

from __future__ import annotations

from dataclasses import replace

from adjit.analysis.extremes import extreme_of
from adjit.ir.core import Atom, Block, Function, If, Let, Loop, Stmt, Sym, fresh
from adjit.ir.visit import Rewriter, used

RARELY = '''@intrinsic
def rarely(context, a, b):
    """a and b, where that is not expected."""

    def make(target, builder, signature, args):
        bit = ir.IntType(1)
        expect = builder.module.declare_intrinsic("llvm.expect", [bit], ir.FunctionType(bit, [bit, bit]))
        return builder.call(expect, [builder.and_(*args), bit(0)])

    return types.boolean(a, b), make
'''


def rarely(function: Function) -> Function:
    """The function with such branches (see the module)."""
    return replace(function, body=_Rarely().block(function.body))


class _Rarely(Rewriter):
    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        if isinstance(stmt, Loop) and not any(isinstance(s, Loop) for s in stmt.body):
            found = extreme_of(stmt)
            if found is not None and (found.with_it or found.turn.nans):
                stmt = replace(stmt, body=_branched(stmt, found.places[0]))
        return (self.rebuild(stmt),)


def _branched(loop: Loop, place: int) -> Block:
    """The loop's turn with a branch for all that is chosen as the value that it carries there."""
    made = {s.target: s for s in loop.body if isinstance(s, Let)}
    value = loop.nexts[place]
    choice = made.get(value) if isinstance(value, Sym) else None
    if choice is None or choice.op != "select":
        return loop.body
    better = choice.args[0]
    chosen = [
        s
        for p, a in zip(loop.params, loop.nexts, strict=True)
        if isinstance(a, Sym) and (s := made.get(a)) is not None and s.op == "select"
        if (s.args[0], s.args[2]) == (better, p)
    ]
    gone = {id(s) for s in chosen}
    last = max(k for k, s in enumerate(loop.body) if id(s) in gone)
    before = tuple(s for s in loop.body[:last] if id(s) not in gone)
    if not used(before).isdisjoint(s.target for s in chosen):
        return loop.body
    let = made.get(better) if isinstance(better, Sym) else None
    both: tuple[Atom, ...] = (
        let.args if let is not None and let.op == "and_" and let.fn is None else (better, better)
    )
    rare = fresh(choice.args[0]) if isinstance(choice.args[0], Sym) else None
    if rare is None:
        return loop.body
    news, olds = tuple(s.args[1] for s in chosen), tuple(s.args[2] for s in chosen)
    branch = If(rare, (), (), news, olds, tuple(s.target for s in chosen), choice.span)
    return (*before, Let(rare, "and_", both, "rarely", choice.span), branch, *loop.body[last + 1 :])
