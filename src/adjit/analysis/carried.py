"""What a loop whose turns may run in any order carries from turn to turn, and how each part of it can have its own.

    s = s + x[i]              a reduction: each part starts from 0, the parts' results are added up afterwards
    cursor = cursor + 3       a counter: what it is in turn k follows from k
    c = c                     the same in every turn

Through inner loops and branches too: `s` may go into an inner loop as what that starts from. Any other value that
is carried ties each turn to the one before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from adjit.analysis.trips import trip_count
from adjit.ir.builder import Builder
from adjit.ir.core import Atom, Const, If, Let, Loop, Stmt, Sym, Undef
from adjit.ir.types import INT64, Scalar
from adjit.ir.visit import defined, operands, targets, walk, yields

_PLAIN_INTEGERS = frozenset({"add", "sub", "mul", "neg", "min", "max", "dim", "nonneg"})

Amount = Callable[[Builder], Atom]


@dataclass(frozen=True)
class Same:
    """The value is that of before the loop, in every turn."""


@dataclass(frozen=True)
class Reduction:
    """Each turn combines the value with one of its own by `op` (spelled `fn`); nothing else reads it."""

    op: str
    fn: str | None = None


@dataclass(frozen=True)
class Count:
    """Each turn adds `by`, which is the same for all: `by(b)` computes it where `b` stands, before the loop."""

    by: Amount


class Carried:
    """Classifies what one parallel loop carries."""

    def __init__(self, loop: Loop):
        self._loop = loop
        self._uses: Counter[Atom] = Counter((*loop.nexts, *(() if loop.stop is None else (loop.stop,))))
        self._made: dict[Sym, Stmt] = {}
        for s in walk(loop.body):
            self._uses.update((*operands(s), *yields(s)))
            self._made.update((t, s) for t in targets(s))
        self._inside = defined(loop.body) | {*loop.params, *(() if loop.index is None else (loop.index,))}

    def of(self, k: int) -> Same | Reduction | Count | None:
        """What the loop's k-th value is; None if it ties the turns together."""
        loop = self._loop
        p, after = loop.params[k], loop.nexts[k]
        if after == p:
            return Same()
        if p.type == INT64:
            by = self._change(after, p)
            if by is not None:
                return Count(by)
        chain = Chain(self._made)
        if not chain.reaches(after, p) or len(chain.ops) > 1 or not isinstance(p.type, Scalar):
            return None
        if any(self._uses[s] != n for s, n in chain.consumed.items()):
            return None
        return Reduction(*next(iter(chain.ops))) if chain.ops else Same()

    # counters

    def fixed(self, a: Atom) -> Amount | None:
        """How the integer is computed before the loop; None if it changes in it."""
        if not isinstance(a, Sym) or a not in self._inside:
            return None if isinstance(a, Undef) else lambda b: a
        stmt = self._made.get(a)
        if not isinstance(stmt, Let) or not _cannot_fail(stmt) or stmt.target.type != INT64:
            return None
        parts = [self.fixed(x) for x in stmt.args]
        if any(part is None for part in parts):
            return None

        def again(b: Builder) -> Atom:
            args = tuple(part(b) for part in parts if part is not None)
            return b.let(stmt.op, *args, type=INT64, fn=stmt.fn, name=a.name)

        return again

    def _change(self, after: Atom, p: Sym) -> Amount | None:
        """after - p, the same in every turn."""
        if after == p:
            return lambda b: Const(0, INT64)
        stmt = self._made.get(after) if isinstance(after, Sym) else None
        match stmt:
            case Let(op="nonneg"):
                return self._change(stmt.args[0], p)
            case Let(op="add" | "sub", fn=None):
                x, y = stmt.args
                if stmt.op == "add" and not isinstance(x, Sym):
                    x, y = y, x
                return self._sum(stmt.op, self._change(x, p), self.fixed(y))
            case Loop():
                return self._of_loop(stmt, stmt.results.index(after), p)  # type: ignore[arg-type]
            case _:
                return None

    @staticmethod
    def _sum(op: str, x: Amount | None, y: Amount | None) -> Amount | None:
        if x is None or y is None:
            return None
        return lambda b: b.op(op, x(b), y(b))

    def _of_loop(self, loop: Loop, k: int, p: Sym) -> Amount | None:
        before = self._change(loop.inits[k], p)
        inner = self._change(loop.nexts[k], loop.params[k])
        trips = self.trips(loop)
        if before is None or inner is None or trips is None:
            return None
        return lambda b: b.op("add", before(b), b.op("mul", trips(b), inner(b)))

    def trips(self, loop: Loop) -> Amount | None:
        """The number of an inner loop's turns, where that is known before the parallel one."""
        if loop.stop is not None or loop.index is None or not isinstance(loop.step, Const):
            return None
        assert loop.lo is not None
        assert loop.hi is not None
        lo, hi, step = self.fixed(loop.lo), self.fixed(loop.hi), loop.step
        if lo is None or hi is None:
            return None
        return lambda b: trip_count(b, lo(b), hi(b), step)


def _cannot_fail(stmt: Let) -> bool:
    """Whether the statement may be computed where the program does not."""
    if stmt.op in ("floordiv", "mod") and stmt.fn is None:  # the start of a reversed range in steps
        return isinstance(stmt.args[1], Const) and stmt.args[1].integer != 0
    return stmt.op in _PLAIN_INTEGERS


class Chain:
    """Follows a value back to what the turn started with, through operations of one kind."""

    def __init__(self, made: dict[Sym, Stmt]):
        self._made = made
        self.ops: set[tuple[str, str | None]] = set()
        self.consumed: Counter[Atom] = Counter()
        self._seen: set[Sym] = set()

    def reaches(self, a: Atom, start: Sym) -> bool:
        """Whether `a` is `start` and some terms; `consumed` then has every use on the way."""
        if not isinstance(a, Sym):
            return False
        self.consumed[a] += 1
        if a == start or a in self._seen:  # by another branch: what it is made of uses its operands once
            return True
        found = self._made_of(a, start)
        if found:
            self._seen.add(a)
        return found

    def _made_of(self, a: Sym, start: Sym) -> bool:
        stmt = self._made.get(a)
        match stmt:
            case Let(op="add" | "mul" | "min" | "max" | "and_" | "or_") if stmt.fn in (None, "min", "max"):
                return self._operation(stmt, start)
            case Let(op="sub" | "div", fn=None):
                self.ops.add(("add" if stmt.op == "sub" else "mul", None))
                return stmt.args[0].type == stmt.target.type and self.reaches(stmt.args[0], start)
            case Let(op="select"):
                return all(self._same_type(x, stmt) and self.reaches(x, start) for x in stmt.args[1:])
            case Loop():
                k = stmt.results.index(a)
                inner = self.reaches(stmt.nexts[k], stmt.params[k])
                return inner and self.reaches(stmt.inits[k], start)
            case If():
                k = stmt.results.index(a)
                return self.reaches(stmt.then_values[k], start) and self.reaches(stmt.else_values[k], start)
            case _:
                return False

    @staticmethod
    def _same_type(x: Atom, stmt: Let) -> bool:
        return x.type == stmt.target.type

    def _operation(self, stmt: Let, start: Sym) -> bool:
        self.ops.add((stmt.op, stmt.fn))
        for x in stmt.args:
            if not self._same_type(x, stmt):
                continue
            before = self.consumed.copy(), set(self.ops), set(self._seen)
            if self.reaches(x, start):
                return True
            self.consumed, self.ops, self._seen = before
        return False
