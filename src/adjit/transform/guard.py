"""Divisions of Python's error model in a program that is compiled under NumPy's raise by themselves.

t = a / b     ->   if b == 0: raise ZeroDivisionError("division by zero");  t = a / b
t = a ** b    ->   (integers) if a == 0 and b < 0: raise ...;  t = a ** b
"""

from __future__ import annotations

from dataclasses import replace

from adjit.frontend.options import DIVISIONS
from adjit.ir.builder import Builder, const_of
from adjit.ir.core import Atom, Const, Function, Let, Raise, Stmt, Sym
from adjit.ir.types import Scalar
from adjit.ir.visit import Rewriter, walk


class _Guard(Rewriter):
    def __init__(self, guarded: frozenset[Sym]):
        super().__init__()
        self._guarded = guarded

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        if isinstance(stmt, Let) and stmt.op in DIVISIONS and stmt.target in self._guarded:
            b = Builder(stmt.span)
            test = self._zero(b, stmt)
            if test is not None:
                b.if_(test, (Raise("ZeroDivisionError", (_message(stmt),), stmt.span),))
                return (*b.block(), self.rebuild(stmt))
        return (self.rebuild(stmt),)

    def _zero(self, b: Builder, let: Let) -> Atom | None:
        """Whether the operation raises; None where it cannot."""
        x, y = let.args
        if let.op != "pow":
            return _compared(b, "eq", y)
        if not all(isinstance(a.type, Scalar) and a.type.is_int for a in (x, y)):
            return None
        negative = _compared(b, "lt", y)
        zero = None if negative is None else _compared(b, "eq", x)
        return None if negative is None or zero is None else b.op("and_", zero, negative)


def _compared(b: Builder, op: str, a: Atom) -> Atom | None:
    """`a op 0`; None where that is known to be false."""
    assert isinstance(a.type, Scalar)
    if isinstance(a, Const) and not isinstance(a.value, complex):
        if not (a.value == 0 if op == "eq" else a.value < 0):
            return None
    return b.op(op, a, const_of(0, a.type))


def _message(let: Let) -> str:
    """Numba's words."""
    integers = all(isinstance(a.type, Scalar) and (a.type.is_int or a.type.is_bool) for a in let.args)
    if let.op == "pow":
        return "0 cannot be raised to a negative power"
    if let.op == "div" or (let.op == "floordiv" and not integers):
        return "division by zero"
    what = "division" if let.op == "floordiv" else "modulo"
    return f"integer {what} by zero" if integers else f"{what} by zero"


def guard(function: Function, guarded: frozenset[Sym]) -> Function:
    """The typed function with guards before the operations that define `guarded` (see the module)."""
    if not guarded:
        return function
    # A result that typing narrows (int32 % int) is a division of its own, and a cast to the symbol that is guarded.
    lets = [s for s in walk(function.body) if isinstance(s, Let)]
    wide = {a for s in lets if s.op == "cast" and s.target in guarded for a in s.args if isinstance(a, Sym)}
    guarded |= wide
    return replace(function, body=_Guard(guarded).block(function.body))
