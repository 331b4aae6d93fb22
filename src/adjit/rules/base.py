"""The form of a derivative rule: ONE object in ONE place per operation.

A rule holds every spelling of the operation, its slopes (partial derivatives), which operands carry
derivatives, and sample points. Tangents and adjoints follow from the slopes: the tangent is
`sum_k szmul(t_k, slope_k)`, the cotangent of operand k is `szmul(ct, slope_k)`, where the *strong zero*
`szmul(ct, s)` is 0 if ct == 0 else ct*s, so that an infinite or NaN slope behind a zero cotangent adds
nothing. `Rule.push` and `Rule.pull` build the two.

Complex numbers. Tangents t are complex, and so are cotangents ct, paired by Re(ct * t): no conjugation. Where the
operation is holomorphic its slope is its complex derivative, and both formulas above stay as they are
(`Rule.analytic`). Where it has a real operand or a real result, its slope is the complex number s with
tangent Re(s * t) and cotangent Re(ct * s): the product, cast to the type that it is for (a cast to a real type takes
the real part). What is neither (conj) has `tangent` and `cotangent` of its own.

A slope is a function of one `Point`: it asks for operands (`p[k]`) and the result (`p.out`) only as it
needs them, and what it asks for is what the reverse sweep must keep or recompute. It returns an atom, a
Python number (a constant slope; 1 and -1 cost nothing), or None for "zero whatever comes".
"""

from __future__ import annotations

import cmath
from collections.abc import Callable
from dataclasses import dataclass

from adjit.ir.builder import Builder
from adjit.ir.core import Atom, Const
from adjit.ir.types import BOOL, FLOAT64, Scalar, Type


class Point:
    """Where a slope is evaluated: lazy operands, and arithmetic that never raises (IEEE division)."""

    def __init__(
        self,
        builder: Callable[[], Builder],
        arg: Callable[[int], Atom],
        out: Callable[[], Atom],
        type: Scalar,
        operands: tuple[Type, ...] | None = None,
    ):
        """`type` is the result's; `operands` are the operands' (None: all of the result's type)."""
        self._builder: Callable[[], Builder] = builder
        self._arg: Callable[[int], Atom] = arg
        self._out: Callable[[], Atom] = out
        self.type: Scalar = type
        self._operands: tuple[Type, ...] | None = operands

    def operand(self, k: int) -> Type:
        """The type of operand k (asking for it does not ask for the operand)."""
        return self.type if self._operands is None else self._operands[k]

    @property
    def is_complex(self) -> bool:
        """Whether an operand or the result is complex."""
        return any(isinstance(t, Scalar) and t.is_complex for t in (self.type, *(self._operands or ())))

    def dot(self, t: Atom, k: int) -> Atom:
        """A tangent of operand k in the precision of the result: complex where the operand is, real where it is not."""
        own = self.operand(k)
        wide = isinstance(own, Scalar) and own.is_complex
        return self._builder().cast(t, self.type.complexified if wide else self.type.part)

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

    def op(self, name: str, *args: Atom | complex) -> Atom:
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

    def real(self, value: float) -> Atom:
        """A Python number in the type of the result's parts."""
        return _atom(value, self.type.part)

    def both(self, a: Atom, b: Atom) -> Atom:
        """a and b, of two bools."""
        return self._builder().let("and_", a, b, type=BOOL)

    def either(self, a: Atom, b: Atom) -> Atom:
        """a or b, of two bools."""
        return self._builder().let("or_", a, b, type=BOOL)

    def as_float(self, a: Atom) -> Atom:
        """A number (an int exponent, a tangent of an operand) in the dtype of the result."""
        return self._builder().cast(a, self.type)

    def add(self, a: Atom | complex, b: Atom | complex) -> Atom:
        return self.op("add", a, b)

    def sub(self, a: Atom | complex, b: Atom | complex) -> Atom:
        return self.op("sub", a, b)

    def mul(self, a: Atom | complex, b: Atom | complex) -> Atom:
        return self.op("mul", a, b)

    def div(self, a: Atom | complex, b: Atom | complex) -> Atom:
        """IEEE division: x/0 is inf or NaN, never an exception."""
        return self.op("fdiv", a, b)

    def neg(self, a: Atom) -> Atom:
        return self.op("neg", a)

    def where(self, cond: Atom, a: Atom | float, b: Atom | float) -> Atom:
        """a if cond else b (both are evaluated)."""
        builder = self._builder()
        a, b = (builder.cast(_atom(x, self.type), self.type) for x in (a, b))
        return builder.op("select", cond, a, b)

    def root(self, u: Atom) -> Atom:
        """The square root of u as a divisor: at 0 it is u, whose slope is not 0 there as that of sqrt."""
        return self.where(self.op("eq", u, 0.0), u, self.op("sqrt", u))

    def scaled(self, x: Atom, slope: Atom | complex) -> Atom:
        """szmul(x, slope), complex where one of the two is; a finite number needs no strong zero."""
        builder = self._builder()
        is_complex = (
            isinstance(slope, complex) if isinstance(slope, int | float | complex) else _complex(slope)
        )
        if is_complex or _complex(x):
            x = builder.cast(x, self.type.complexified)
        if isinstance(slope, int | float | complex):
            if slope in (1.0, -1.0):
                return x if slope == 1.0 else self.neg(x)
            return self.op("mul" if cmath.isfinite(slope) else "szmul", x, slope)
        assert isinstance(x.type, Scalar)
        return self.op("szmul", x, builder.cast(slope, x.type))


def _is_float(a: Atom) -> bool:
    return isinstance(a.type, Scalar) and a.type.is_float


def _complex(a: Atom) -> bool:
    return isinstance(a.type, Scalar) and a.type.is_complex


def _atom(a: Atom | complex, type: Scalar) -> Atom:
    from adjit.ir.builder import const_of

    return const_of(a, type) if isinstance(a, int | float | complex) else a


Slope = Callable[[Point], Atom | complex | None]
Tangent = Callable[[Point, tuple[Atom | None, ...]], Atom]
Adjoint = Callable[[Point, Atom], Atom]
Cotangent = Callable[[Point, Atom, int], Atom | None]


@dataclass(frozen=True)
class Sample:
    """A point where the rule is tested: operand values (Python floats or ints), away from kinks."""

    args: tuple[complex, ...]


def at(*points: complex | tuple[complex, ...]) -> tuple[Sample, ...]:
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

    For complex operands or results: analytic: the slopes hold as they are. complex_slopes: else these do. cotangent:
    builds the cotangent of operand k where no slope can (then `tangent` is there too). complex_samples: points for
    the tests, complex numbers. complex_spellings: callables that give this operation's complex result whatever they
    are given (`cmath.exp`). A rule with none of these is refused where it meets active complex numbers.
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
    analytic: bool = False
    complex_slopes: tuple[Slope | complex | None, ...] = ()
    cotangent: Cotangent | None = None
    complex_samples: tuple[Sample, ...] = ()
    complex_spellings: tuple[str, ...] = ()

    def slope(self, k: int) -> Slope | float | None:
        """The slope in operand k among real numbers, or None."""
        return self.slopes[k] if self.slopes else None

    def carries(self, k: int) -> bool:
        """Whether operand k can carry a derivative, among real or complex numbers."""
        return self.slope(k) is not None or (bool(self.complex_slopes) and self.complex_slopes[k] is not None)

    @property
    def takes_complex(self) -> bool:
        """Whether the derivative is known where numbers are complex."""
        return self.analytic or bool(self.complex_slopes)

    def slope_at(self, p: Point, k: int) -> Atom | complex | None:
        """The slope in operand k at a point; None for zero whatever comes."""
        own = self.complex_slopes if p.is_complex and not self.analytic else self.slopes
        slope = own[k] if own else None
        if callable(slope):
            slope = slope(p)
        if isinstance(slope, Const):
            slope = slope.value
        if isinstance(slope, complex) and slope.imag == 0:
            slope = slope.real
        return slope

    def push(self, p: Point, tangents: tuple[Atom | None, ...]) -> Atom | None:
        """The result's tangent in its own dtype, from the operands' (None where inactive); None for zero."""
        own = self.complex_slopes if p.is_complex and not self.analytic else self.slopes
        tangents = tuple(None if not own or own[k] is None else t for k, t in enumerate(tangents))
        if all(t is None for t in tangents):
            return None
        if self.tangent is not None:
            return self.tangent(p, tuple(None if t is None else p.dot(t, k) for k, t in enumerate(tangents)))
        total: Atom | None = None
        for k, t in enumerate(tangents):
            slope = None if t is None else self.slope_at(p, k)
            if t is None or slope is None:
                continue
            term = p.as_float(p.scaled(p.dot(t, k), slope))
            total = term if total is None else p.add(total, term)
        return total

    def pull(self, p: Point, cotangent: Atom, k: int) -> Atom | None:
        """szmul(cotangent, slope k) in the dtype of the result, or in the complex one where the slope is complex.

        None for zero whatever comes.
        """
        if self.cotangent is not None and p.is_complex:
            return self.cotangent(p, p.as_float(cotangent), k)
        adjoint = self.adjoints[k] if self.adjoints else None
        if adjoint is not None:
            return adjoint(p, p.as_float(cotangent))
        slope = self.slope_at(p, k)
        return None if slope is None else p.scaled(p.as_float(cotangent), slope)

    def form(self, fn: str | None = None, is_complex: bool = False) -> str:
        """The format string that prints a call: `fn`'s if given, else symbol, template or first spelling.

        Operands are "{0}", "{1}", ...; a dotted name is printed as it is ("math.sin({0})"); the template
        of "cast" also has "{type}". `is_complex`: operands are complex, which `math` does not take.
        """
        if fn is not None:
            return _call(fn, self.arity)
        if self.symbol is not None:
            return _operator(self.symbol, self.arity)
        if self.template is not None:
            return self.template
        return _call(self.default(is_complex), self.arity)

    def default(self, is_complex: bool = False) -> str:
        """The spelling of a call that has none of its own."""
        names = self.spellings
        if is_complex:
            names = (*(name for name in names if not name.startswith("math.")), *names)
        return names[0]


def _call(name: str, arity: int) -> str:
    return f"{name}({', '.join(f'{{{k}}}' for k in range(arity))})"


def _operator(symbol: str, arity: int) -> str:
    if arity == 1:
        return f"{symbol} {{0}}" if symbol.isalpha() else f"{symbol}{{0}}"
    return f"{{0}} {symbol} {{1}}"
