"""How much work the turns of a loop are, as a number that the program computes before it runs the loop.

An estimate: a loop inside counts with the number of turns that it has in the middle of the outer loop's range, where
that can be computed, and a branch with both of its sides. The unit is an eighth of an operation: so much is one in a
loop that LLVM vectorises, where 27 of them take a nanosecond (array statements, measured), and 2 or 3 elsewhere.
"""

from __future__ import annotations

import operator

from adjit.analysis.trips import trip_count
from adjit.ir.builder import Builder
from adjit.ir.core import (
    ONE,
    Atom,
    Block,
    Const,
    If,
    Let,
    Load,
    Loop,
    Stmt,
    Store,
    Sym,
    Undef,
    Whole,
    const,
)
from adjit.ir.types import BOOL, INT64
from adjit.ir.visit import defined, targets, walk

_UNKNOWN_TURNS = 8
"""Assumed of a loop whose number of turns is not known before."""
_CHEAP = frozenset(
    {"add", "sub", "mul", "neg", "pos", "szmul", "select", "dim", "nonneg", "cast", "abs", "min", "max"}
    | {"lt", "le", "gt", "ge", "eq", "ne", "and_", "or_", "not_", "xor", "lshift", "rshift", "invert"}
)
_INTEGER = frozenset({"add", "sub", "mul", "neg", "min", "max", "dim", "nonneg", "mod", "floordiv", "cast"})
_COMPARED = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}
_CHOOSING = frozenset({*_COMPARED, "select", "and_", "or_", "not_"})
_COSTLY = 10
"""Operations that a division or a function counts for."""
_QUICK = frozenset(
    {"div", "fdiv", "mod", "floordiv", "sqrt", "floor", "ceil", "trunc", "rint", "sign", "nonneg"}
)
"""No cheap ones, but quicker than a number that is written and read again."""
_WHOLE = 1000
"""Operations that one of whole arrays counts for."""
ALONE = 8
"""Units of an operation by itself; one beside others of its kind, in a vectorised loop, is one."""
_VECTORS = _CHEAP | {"div", "fdiv", "sqrt"}
"""What the processor has instructions for that take several numbers."""


def work(b: Builder, loop: Loop, count: Atom) -> Atom:
    """The work of `count` turns of the loop (see the module)."""
    w = _Work(b, loop)
    fixed, more = w.block(loop.body, _unit(loop))
    total: Atom = const(max(fixed, 1))
    for a in more:
        total = b.op("add", total, a)
    return b.op("mul", count, total)


def is_slow(let: Let) -> bool:
    """Whether it takes longer than to write the result to memory and read it again."""
    if let.op == "pow" and isinstance(let.args[1], Const):
        return False
    return let.op not in _CHEAP and let.op not in _QUICK and let.target.type.differentiable


class _Work:
    def __init__(self, b: Builder, loop: Loop):
        self._b, self._loop = b, loop
        self._inside = defined(loop.body) | {*loop.params}
        self._made: dict[Sym, Stmt] = {t: s for s in walk(loop.body) for t in targets(s)}
        self._ranges = {s.index: s for s in (loop, *walk(loop.body)) if isinstance(s, Loop)}
        self._known: dict[Sym, Atom | None] = {}

    def block(self, block: Block, unit: int) -> tuple[int, list[Atom]]:
        """An amount of work, and others that are computed. unit: that of an operation."""
        fixed, more = 0, list[Atom]()
        for stmt in block:
            match stmt:
                case Let():
                    fixed += unit if _cheap(stmt) else unit * _COSTLY
                case If():
                    for sub in (stmt.then, stmt.els):
                        n, others = self.block(sub, unit)
                        fixed += n
                        more += others
                case Loop():
                    n, others = self._of_loop(stmt)
                    fixed += n
                    more += others
                case Whole():
                    fixed += unit * _WHOLE
                case _:
                    fixed += unit
        return fixed, more

    def _of_loop(self, loop: Loop) -> tuple[int, list[Atom]]:
        b, unit = self._b, _unit(loop)
        fixed, more = self.block(loop.body, unit)
        trips = self._trips(loop)
        if trips is None:
            return _UNKNOWN_TURNS * (fixed + unit), [b.op("mul", a, _UNKNOWN_TURNS) for a in more]
        each: Atom = const(fixed + unit)
        for a in more:
            each = b.op("add", each, a)
        if isinstance(trips, Const) and isinstance(each, Const):
            return trips.integer * each.integer, []
        return 0, [b.op("mul", trips, each)]

    def _trips(self, loop: Loop) -> Atom | None:
        if loop.stop is not None:  # around the loop that ends both: the chunks of one that records its turns
            return ONE if any(isinstance(s, Loop) and loop.stop in s.results for s in loop.body) else None
        if loop.lo is None or loop.hi is None or not isinstance(loop.step, Const):
            return None
        lo, hi, step = self._about(loop.lo), self._about(loop.hi), loop.step
        if isinstance(lo, Const) and isinstance(hi, Const):
            return const(len(range(lo.integer, hi.integer, step.integer)))
        return None if lo is None or hi is None else trip_count(self._b, lo, hi, step)

    def _about(self, a: Atom) -> Atom | None:
        """The integer in the middle of the range; None if that is not known."""
        if not isinstance(a, Sym):
            return None if isinstance(a, Undef) else a
        if a not in self._known:
            self._known[a] = self._computed(a)
        return self._known[a]

    def _computed(self, a: Sym) -> Atom | None:
        b, of = self._b, self._ranges.get(a)
        if of is not None and of.lo is not None and of.hi is not None:
            lo, hi = self._about(of.lo), self._about(of.hi)
            if lo is None or hi is None:
                return None
            return b.op("floordiv", b.op("add", b.cast(lo, INT64), b.cast(hi, INT64)), 2)
        if a not in self._inside:
            return a
        stmt = self._made.get(a)
        if not isinstance(stmt, Let) or stmt.target.type not in (INT64, BOOL):
            return None
        if stmt.op not in _INTEGER | _CHOOSING:
            return None
        if stmt.op in ("mod", "floordiv") and not (isinstance(stmt.args[1], Const) and stmt.args[1].value):
            return None
        args = [x for x in map(self._about, stmt.args) if x is not None]
        if len(args) < len(stmt.args):
            return None
        numbers = [x.value.real for x in args if isinstance(x, Const)]
        if stmt.op in _COMPARED and len(numbers) == 2:
            return Const(bool(_COMPARED[stmt.op](*numbers)), BOOL)
        if stmt.op == "select" and isinstance(args[0], Const):
            return args[1] if args[0].value else args[2]
        return b.let(stmt.op, *args, type=stmt.target.type, fn=stmt.fn, name=a.name)


def _unit(loop: Loop) -> int:
    """The units of an operation in the loop's body: whether LLVM vectorises it, as far as that can be said."""
    if loop.stop is not None or any(p.type != INT64 for p in loop.params):  # a counter is as good as an index
        return ALONE
    for s in loop.body:
        vector = (s.op in _VECTORS or _cheap(s)) if isinstance(s, Let) else isinstance(s, Load | Store)
        if not vector or (isinstance(s, Load) and s.target.type == INT64):  # that may be an index
            return ALONE
    return 1


def _cheap(let: Let) -> bool:
    """Whether an operation costs about as much as an addition: a square is a product."""
    if let.op == "pow" and isinstance(let.args[1], Const):
        return let.args[1].value in (1, 2, 3)
    return let.op in _CHEAP
