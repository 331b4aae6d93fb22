"""Innermost loops of adjoint code that start where nobody can prove that it is not negative: one form for each sign.

    for i: for k in range(starts[i], starts[i + 1]): d = dy[i]; c = columns[k]; dx[c] += d * values[k]
    ->  for i: lo = starts[i]; hi = starts[i + 1]
            if lo < hi:
                d = dy[i]
                if lo >= 0: for k in range(nonneg(lo), hi): ... (k is never negative: no wrap-around)
                else: for k in range(lo, hi): ...

An element that the loop reads each turn, of an array that it does not write, is read once: LLVM cannot know that
`dx[c]` is not `dy[i]`, and where the place of a store depends on what was loaded it does not ask at run time either.
"""

from __future__ import annotations

from dataclasses import replace

from adjit.analysis.turns import Turns
from adjit.ir.builder import Builder
from adjit.ir.core import ONE, ZERO, Atom, Block, Function, If, Let, Load, Loop, Stmt, Store, Sym
from adjit.ir.types import INT64
from adjit.ir.visit import Rewriter, defined, renamed, walk

_LONGEST = 48
"""Statements of a loop that is printed twice."""


def signs(function: Function) -> Function:
    """The function with such loops in two forms (see the module)."""
    if not any(isinstance(s, Loop) for s in walk(function.body)):
        return function
    return replace(function, body=_Signs(Turns(function)).block(function.body))


class _Signs(Rewriter):
    def __init__(self, turns: Turns):
        super().__init__()
        self._turns = turns
        self._asked: dict[Atom, Atom] = {}  # of which start a condition is whether it is not negative
        self._negative: set[Atom] = set()  # starts that have been asked about

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        if isinstance(stmt, Let) and stmt.op == "ge" and stmt.args[1] == ZERO:
            self._asked[stmt.target] = stmt.args[0]
        asked = self._asked.get(stmt.cond) if isinstance(stmt, If) else None
        if asked is not None:
            self._negative.add(asked)  # a loop from there is one of the two forms already
        stmt = self.rebuild(stmt)
        if asked is not None:
            self._negative.discard(asked)
        if not isinstance(stmt, Loop) or not self._innermost(stmt) or stmt.step != ONE:
            return (stmt,)
        first, rest = self._steady(stmt)
        both = rest.lo is not None and self._unknown(rest)
        if not first and not both:
            return (stmt,)
        b = Builder(stmt.span, simplify=True)
        block = _by_sign(rest) if both else (rest,)
        if not first:
            b.extend(block)
            return b.block()
        assert rest.lo is not None
        assert rest.hi is not None
        b.append(_guarded(b.op("lt", rest.lo, rest.hi), (*first, *block), rest))
        return b.block()

    def _innermost(self, loop: Loop) -> bool:
        return self._turns.nest(loop) and not any(isinstance(s, Loop) for s in walk(loop.body))

    def _steady(self, loop: Loop) -> tuple[list[Load], Loop]:
        """What the loop reads anew each turn and never writes, and the loop without it."""
        inside = defined(loop.body) | {loop.index, *loop.params}
        stores = [s for s in walk(loop.body) if isinstance(s, Store)]
        if not any(self._anywhere(s, loop) for s in stores):
            return [], loop
        loads = [s for s in loop.body if isinstance(s, Load) and inside.isdisjoint((s.array, *s.index))]
        first = [s for s in loads if all(self._turns.apart(s, t, loop) for t in stores)]
        gone = {id(s) for s in first}
        return first, replace(loop, body=tuple(s for s in loop.body if id(s) not in gone))

    def _anywhere(self, store: Store, loop: Loop) -> bool:
        """Whether the place of a store depends on what the loop has loaded."""
        loaded = {s.target for s in walk(loop.body) if isinstance(s, Load)}
        return any(self._turns.affine.split(a)[0] in loaded for a in store.index)

    def _unknown(self, loop: Loop) -> bool:
        """Whether the index may be negative for all that is known, and is the index of an element."""
        if sum(1 for _ in walk(loop.body)) > _LONGEST or loop.index is None or not isinstance(loop.lo, Sym):
            return False
        if loop.lo.type != INT64 or loop.lo in self._negative or self._turns.affine.nonnegative(loop.index):
            return False
        used = (a for s in walk(loop.body) if isinstance(s, Load | Store) for a in s.index)
        return any(self._turns.affine.split(a)[0] == loop.index for a in used)


def _by_sign(loop: Loop) -> Block:
    """The loop for a start that is not negative, and for one that is."""
    b = Builder(loop.span)
    assert loop.lo is not None
    positive = b.op("ge", loop.lo, ZERO)
    with b.collect() as then:
        low = b.op("nonneg", loop.lo)
        (one,) = renamed((replace(loop, lo=low),), {})
        b.append(one)
    (other,) = renamed((loop,), {})
    assert isinstance(one, Loop)
    assert isinstance(other, Loop)
    b.append(If(positive, tuple(then), (other,), one.results, other.results, loop.results, loop.span))
    return b.block()


def _guarded(cond: Atom, block: Block, loop: Loop) -> Stmt:
    """The block, which ends with what the loop results in, only if the loop has a turn."""
    env: dict[Sym, Atom] = {}
    copy = renamed(block, env)
    ends = tuple(env.get(r, r) for r in loop.results)
    return If(cond, copy, (), ends, loop.inits, loop.results, loop.span)
