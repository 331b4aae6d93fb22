"""The form of a derivative rule: ONE object in ONE place per operation.

A rule holds every spelling of the operation, its slopes (partial derivatives), which operands carry
derivatives, and sample points. Tangents and adjoints follow from the slopes: the tangent is
`sum_k szmul(t_k, slope_k)`, the cotangent of operand k is `szmul(ct, slope_k)`, where the *strong zero*
`szmul(ct, s)` is 0 if ct == 0 else ct*s, so that an infinite or NaN slope behind a zero cotangent adds nothing.

A slope is a function of one `Point`: it asks for operands (`p[k]`) and the result (`p.out`) only as it
needs them, and what it asks for is what the reverse sweep must keep or recompute. It returns an atom, a
Python number (a constant slope; 1 and -1 cost nothing), or None for "zero whatever comes".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from adjit.ir.builder import Builder
from adjit.ir.core import Atom
from adjit.ir.types import Scalar


class Point:
    """Where a slope is evaluated: lazy operands, and arithmetic that never raises (IEEE division)."""

    def __init__(
        self,
        builder: Callable[[], Builder],
        arg: Callable[[int], Atom],
        out: Callable[[], Atom],
        type: Scalar,
    ):
        self._builder, self._arg, self._out, self.type = builder, arg, out, type

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


def _atom(a: Atom | float, type: Scalar) -> Atom:
    from adjit.ir.builder import const_of

    return const_of(a, type) if isinstance(a, int | float) else a


Slope = Callable[[Point], Atom | float | None]


@dataclass(frozen=True)
class Sample:
    """A point where the rule is tested: operand values (Python floats or ints), away from kinks."""

    args: tuple[float | int, ...]


@dataclass(frozen=True)
class Rule:
    """One operation.

    op: the IR's key ("sin"). spellings: dotted names of the Python callables that mean it, the first
    one is what derivative code prints ("numpy.sin", "math.sin"); empty for operators. symbol: the Python
    operator to print ("+", "**", "not"), if it is one; template: else a format string such as
    "({1} if {0} else {2})". slopes: one per operand; None where the operand carries no derivative (or
    the whole tuple empty: the result is piecewise constant, an int or a bool). convention: what happens
    at points without a derivative, for the documentation's table.
    """

    op: str
    arity: int
    spellings: tuple[str, ...] = ()
    symbol: str | None = None
    template: str | None = None
    slopes: tuple[Slope | float | None, ...] = ()
    samples: tuple[Sample, ...] = ()
    convention: str = ""

    def slope(self, k: int) -> Slope | float | None:
        """The slope in operand k, or None."""
        return self.slopes[k] if self.slopes else None
