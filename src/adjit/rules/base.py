"""The form of a derivative rule: ONE object in ONE place per operation.

A rule holds every spelling of the operation, its slopes (partial derivatives), which operands carry
derivatives, and sample points. Tangents and adjoints follow from the slopes: the tangent is
`sum_k szmul(t_k, slope_k)`, the cotangent of operand k is `szmul(ct, slope_k)`, where the *strong zero*
`szmul(ct, s)` is 0 if ct == 0 else ct*s, so that an infinite or NaN slope behind a zero cotangent adds
nothing. `Rule.push` and `Rule.pull` build the two.

A slope is a function of one `Point`: it asks for operands (`p[k]`) and the result (`p.out`) only as it
needs them, and what it asks for is what the reverse sweep must keep or recompute. It returns an atom, a
Python number (a constant slope; 1 and -1 cost nothing), or None for "zero whatever comes".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from adjit.ir.builder import Builder
from adjit.ir.core import Atom, Const
from adjit.ir.types import BOOL, FLOAT64, Scalar


class Point:
    """Where a slope is evaluated: lazy operands, and arithmetic that never raises (IEEE division)."""

    def __init__(
        self,
        builder: Callable[[], Builder],
        arg: Callable[[int], Atom],
        out: Callable[[], Atom],
        type: Scalar,
    ):
        self._builder: Callable[[], Builder] = builder
        self._arg: Callable[[int], Atom] = arg
        self._out: Callable[[], Atom] = out
        self.type: Scalar = type

    def __getitem__(self, k: int) -> Atom:
        """Operand k, cast to the dtype of the result (integer operands become floats)."""
        value = self._arg(k)
        return self._builder().cast(value, self.type)

    def raw(self, k: int) -> Atom:
        """Operand k in its own dtype (an int exponent, a bool condition)."""
        return self._arg(k)

    @property
    def out(self) -> Atom:
        """The operation's result."""
        return self._out()

    def op(self, name: str, *args: Atom | float) -> Atom:
        """Any registered operation by its key, in its default spelling."""
        return self._builder().op(name, *args)

    def wide(self, name: str, *args: Atom) -> Atom:
        """An operation computed in float64 (a prelude helper), cast to the dtype of the result."""
        builder = self._builder()
        wide = tuple(builder.cast(a, FLOAT64) if _is_float(a) else a for a in args)
        return builder.cast(builder.op(name, *wide), self.type)

    def const(self, value: float) -> Atom:
        """A Python number in the dtype of the result."""
        return _atom(value, self.type)

    def both(self, a: Atom, b: Atom) -> Atom:
        """a and b, of two bools."""
        return self._builder().let("and_", a, b, type=BOOL)

    def either(self, a: Atom, b: Atom) -> Atom:
        """a or b, of two bools."""
        return self._builder().let("or_", a, b, type=BOOL)

    def as_float(self, a: Atom) -> Atom:
        """A number (an int exponent, a tangent of an operand) in the dtype of the result."""
        return self._builder().cast(a, self.type)

    def add(self, a: Atom | float, b: Atom | float) -> Atom:
        return self.op("add", a, b)

    def sub(self, a: Atom | float, b: Atom | float) -> Atom:
        return self.op("sub", a, b)

    def mul(self, a: Atom | float, b: Atom | float) -> Atom:
        return self.op("mul", a, b)

    def div(self, a: Atom | float, b: Atom | float) -> Atom:
        """IEEE division: x/0 is inf or NaN, never an exception."""
        return self.op("fdiv", a, b)

    def neg(self, a: Atom) -> Atom:
        return self.op("neg", a)

    def where(self, cond: Atom, a: Atom | float, b: Atom | float) -> Atom:
        """a if cond else b (both are evaluated)."""
        builder = self._builder()
        return builder.op("select", cond, builder.cast(_atom(a, self.type), self.type), _atom(b, self.type))


def _is_float(a: Atom) -> bool:
    return isinstance(a.type, Scalar) and a.type.is_float


def _atom(a: Atom | float, type: Scalar) -> Atom:
    from adjit.ir.builder import const_of

    return const_of(a, type) if isinstance(a, int | float) else a


Slope = Callable[[Point], Atom | float | None]
Tangent = Callable[[Point, tuple[Atom | None, ...]], Atom]
Adjoint = Callable[[Point, Atom], Atom]


@dataclass(frozen=True)
class Sample:
    """A point where the rule is tested: operand values (Python floats or ints), away from kinks."""

    args: tuple[float | int, ...]


def at(*points: float | int | tuple[float | int, ...]) -> tuple[Sample, ...]:
    """Samples of a unary operation (numbers) or of an n-ary one (tuples)."""
    return tuple(Sample(p if isinstance(p, tuple) else (p,)) for p in points)


@dataclass(frozen=True)
class Rule:
    """One operation.

    op: the IR's key ("sin"). spellings: dotted names of the Python callables that mean it and that Numba
    compiles on scalars, each with this derivative; `Let.fn` may be any of them. aliases: callables that
    mean it, but are never printed (Numba lacks them): `Let.fn` stays None. symbol: the Python operator to
    print ("+", "**", "not"), if it is one; template: else a format string such as
    "({1} if {0} else {2})". helpers: names of functions of `adjit.rules.special_functions` that the template
    calls; generated modules copy their source (see `adjit.rules.prelude`). slopes: one per operand; None
    where the operand carries no derivative (or the whole tuple empty: the result is piecewise constant,
    an int or a bool). convention: what happens at points without a derivative, for the documentation's
    table. tangent: builds the result's tangent from the operands' (None where inactive) where the sum of
    `szmul(t, slope)` would be wrong: a choice picks one tangent, since nan in the other times 0 is nan.
    adjoints: by operand, what its cotangent is made of the result's, where `szmul(ct, slope)` would be wrong
    likewise; None for an operand that has the product.
    reference: the source of a formula that is not textbook calculus.
    """

    op: str
    arity: int
    spellings: tuple[str, ...] = ()
    symbol: str | None = None
    template: str | None = None
    slopes: tuple[Slope | float | None, ...] = ()
    samples: tuple[Sample, ...] = ()
    convention: str = ""
    aliases: tuple[str, ...] = ()
    helpers: tuple[str, ...] = ()
    tangent: Tangent | None = None
    adjoints: tuple[Adjoint | None, ...] = ()
    reference: str = ""

    def slope(self, k: int) -> Slope | float | None:
        """The slope in operand k, or None."""
        return self.slopes[k] if self.slopes else None

    def push(self, p: Point, tangents: tuple[Atom | None, ...]) -> Atom | None:
        """The result's tangent in its own dtype, from the operands' (None where inactive); None for zero."""
        tangents = tuple(None if self.slope(k) is None else t for k, t in enumerate(tangents))
        if all(t is None for t in tangents):
            return None
        if self.tangent is not None:
            return self.tangent(p, tuple(None if t is None else p.as_float(t) for t in tangents))
        terms = [self.pull(p, t, k) for k, t in enumerate(tangents) if t is not None]
        total: Atom | None = None
        for term in terms:
            if term is not None:
                total = term if total is None else p.add(total, term)
        return total

    def pull(self, p: Point, cotangent: Atom, k: int) -> Atom | None:
        """szmul(cotangent, slope k) in the dtype of the result; None for zero whatever comes."""
        adjoint = self.adjoints[k] if self.adjoints else None
        if adjoint is not None:
            return adjoint(p, p.as_float(cotangent))
        slope = self.slope(k)
        if callable(slope):
            slope = slope(p)
        if slope is None:
            return None
        if isinstance(slope, Const) and not isinstance(slope.value, complex):
            slope = float(slope.value)
        cotangent = p.as_float(cotangent)
        if not isinstance(slope, int | float):
            return p.op("szmul", cotangent, slope)
        if not math.isfinite(slope):
            return p.op("szmul", cotangent, slope)
        if abs(slope) != 1.0:
            return p.mul(cotangent, slope)  # a finite number needs no strong zero
        return cotangent if slope == 1.0 else p.neg(cotangent)

    def form(self, fn: str | None = None) -> str:
        """The format string that prints a call: `fn`'s if given, else symbol, template or first spelling.

        Operands are "{0}", "{1}", ...; a dotted name is printed as it is ("math.sin({0})"); the template
        of "cast" also has "{type}".
        """
        if fn is not None:
            return _call(fn, self.arity)
        if self.symbol is not None:
            return _operator(self.symbol, self.arity)
        if self.template is not None:
            return self.template
        return _call(self.spellings[0], self.arity)


def _call(name: str, arity: int) -> str:
    return f"{name}({', '.join(f'{{{k}}}' for k in range(arity))})"


def _operator(symbol: str, arity: int) -> str:
    if arity == 1:
        return f"{symbol} {{0}}" if symbol.isalpha() else f"{symbol}{{0}}"
    return f"{{0}} {symbol} {{1}}"
