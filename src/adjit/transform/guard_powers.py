"""Powers of integers raise where compiled code would cut off to an integer what is a fraction in Python.

    for i in range(n): t = a[i] ** k      ->      if k < 0 and 0 < n: raise ValueError(...)
                                                  for i in range(n): t = a[i] ** k

Unless k is proven not to be negative. The test stands before the loops whose first turn comes to the power for certain
and that do not change k: a kernel or a parallel loop whose turns raise could be neither launched nor shared out.
Elsewhere it stands before the power, where a base of zero raises what Python does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace

from adjit.analysis.ranges import nonnegative
from adjit.ir.builder import Builder, const_of
from adjit.ir.core import (
    Atom,
    Block,
    Call,
    Const,
    Custom,
    Derive,
    Function,
    Let,
    Loop,
    Raise,
    Stmt,
    Sym,
    Undef,
)
from adjit.ir.types import Scalar
from adjit.ir.visit import Rewriter, defined, walk
from adjit.transform.copier import Copier

_CUT_OFF = "an integer to a negative power is no integer: make its base a float"
_OF_ZERO = "0 cannot be raised to a negative power"
_MOVABLE = frozenset({"dim", "add", "sub", "mul", "neg", "pos", "abs", "cast", "min", "max"})
_RAISING = Raise | Call | Custom | Derive


def guard_powers(function: Function, by_numba: Collection[Sym] = ()) -> Function:
    """The typed plain function with tests of the exponents of integers (see the module).

    by_numba: results of powers that are Numba's, which cut off.
    """
    if not any(isinstance(s, Let) and s.op == "pow" for s in walk(function.body)):
        return function
    signed = {s.target: s.args[0] for s in walk(function.body) if isinstance(s, Let) and _takes_sign(s)}
    return replace(function, body=_GuardPowers(nonnegative(function), signed, by_numba).block(function.body))


@dataclass(frozen=True)
class _Check:
    """That the exponent of a power is not negative.

    exponent: before a conversion to unsigned integers.
    made: what the exponent and the ranges are made of, where the check has moved past it. loops: those it was moved
    out of, inner ones first: if one has no turns, nothing is raised.
    """

    power: Let
    exponent: Atom
    made: tuple[Let, ...] = ()
    loops: tuple[Loop, ...] = ()

    def needs(self) -> set[Sym]:
        """What must be known where it stands."""
        ends = (a for loop in self.loops for a in (loop.lo, loop.hi))
        atoms = (self.exponent, *ends, *(a for s in self.made for a in s.args))
        return {a for a in atoms if isinstance(a, Sym)} - {s.target for s in self.made}

    def block(self) -> Block:
        b = Builder(self.power.span, simplify=True)
        copier = Copier(b, {})
        for s in self.made:
            copier.take(s)
        test = _compared(b, "lt", copier.atom(self.exponent))
        for loop in self.loops:
            assert isinstance(loop.step, Const) and loop.lo is not None and loop.hi is not None
            order = "lt" if loop.step.integer > 0 else "gt"
            test = b.op("and_", test, b.op(order, copier.atom(loop.lo), copier.atom(loop.hi)))
        b.if_(
            test, (*self._of_zero(), Raise("ValueError", (self.power.span.told(_CUT_OFF),), self.power.span))
        )
        return b.block()

    def _of_zero(self) -> Block:
        if self.loops or self.power.fn not in (None, "pow"):
            return ()
        b = Builder(self.power.span, simplify=True)
        test = _compared(b, "eq", self.power.args[0])
        b.if_(test, (Raise("ZeroDivisionError", (_OF_ZERO,), self.power.span),))
        return b.block()


@dataclass
class _Turn:
    """A loop's turn, as far as it has been looked at. moved: checks that go before the loop."""

    loop: Loop
    inside: set[Sym]
    lets: list[Let] = field(default_factory=list)
    certain: bool = True
    moved: list[_Check] = field(default_factory=list)

    @staticmethod
    def of(loop: Loop) -> _Turn | None:
        """None where a first turn is not certain, or its number not known."""
        plain = loop.index is not None and loop.stop is None and isinstance(loop.step, Const)
        if not plain or loop.step.integer == 0:  # type: ignore[union-attr]
            return None
        assert loop.index is not None
        return _Turn(loop, {loop.index, *loop.params})

    def takes(self, check: _Check) -> bool:
        """Whether the check moves before the loop."""
        if not self.certain:
            return False
        needs, made = check.needs(), list[Let]()
        for s in reversed(self.lets):
            if s.target in needs:
                made.insert(0, s)
                needs = (needs - {s.target}) | {a for a in s.args if isinstance(a, Sym)}
        if needs & self.inside or any(isinstance(a, Undef) for s in made for a in s.args):
            return False
        moved = _Check(check.power, check.exponent, (*made, *check.made), (*check.loops, self.loop))
        if not any(one.exponent == moved.exponent and one.loops == moved.loops for one in self.moved):
            self.moved.append(moved)
        return True

    def passes(self, stmt: Stmt) -> None:
        """What follows comes after this statement."""
        if isinstance(stmt, Let) and stmt.op in _MOVABLE and _whole(stmt):
            self.lets.append(stmt)
            return
        self.inside |= defined((stmt,))
        self.certain = self.certain and not any(isinstance(s, _RAISING) for s in walk((stmt,)))


class _GuardPowers(Rewriter):
    def __init__(self, counts: set[Sym], signed: dict[Sym, Atom], by_numba: Collection[Sym]):
        super().__init__()
        self._counts, self._signed, self._by_numba = counts, signed, by_numba
        self._turn: _Turn | None = None

    def block(self, block: Block) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            out += self.stmt(stmt)
            if self._turn is not None:
                self._turn.passes(stmt)
        return tuple(out)

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        if isinstance(stmt, Let):
            exponent = self._exponent(stmt) if stmt.op == "pow" else None
            checks = () if exponent is None else (_Check(stmt, exponent),)
            return (*self._placed(checks), self.rebuild(stmt))
        outer, self._turn = self._turn, _Turn.of(stmt) if isinstance(stmt, Loop) else None
        after, inner = self.rebuild(stmt), self._turn
        self._turn = outer
        return (after,) if inner is None else (*self._placed(inner.moved), after)

    def _placed(self, checks: Iterable[_Check]) -> Block:
        """The checks that stay here."""
        here = [c for c in checks if self._turn is None or not self._turn.takes(c)]
        return tuple(s for c in here for s in c.block())

    def _exponent(self, let: Let) -> Atom | None:
        """The exponent, where it may be negative and cut off what the power is."""
        base, exponent = let.args
        if let.target in self._by_numba:
            return None
        if not all(isinstance(a.type, Scalar) and a.type.is_int for a in (base, exponent, let.target)):
            return None
        if isinstance(base, Const) and abs(base.integer) == 1:
            return None  # its powers are whole
        if isinstance(exponent, Sym):
            exponent = self._signed.get(exponent, exponent)
        known = isinstance(exponent, Const) and exponent.integer >= 0
        return None if known or exponent in self._counts else exponent


def _takes_sign(let: Let) -> bool:
    """Whether it makes an unsigned integer of a signed one."""
    kinds = [a.type for a in (let.target, *let.args)]
    ints = [t for t in kinds if isinstance(t, Scalar) and t.is_int]
    return let.op == "cast" and len(ints) == 2 and ints[0].is_unsigned and not ints[1].is_unsigned


def _compared(b: Builder, op: str, a: Atom) -> Atom:
    return b.op(op, a, const_of(0, a.type))


def _whole(let: Let) -> bool:
    """Whether it makes an integer of integers, or an extent."""
    if let.op == "dim":
        return True
    return all(isinstance(a.type, Scalar) and a.type.is_integral for a in (let.target, *let.args))
