"""The form of a rule for an operation of whole arrays (`ir.core.Whole`): ONE object in ONE place per operation.

A rule says how the operation prints, what its results are, its tangent and its adjoint. These two build IR, of other
such operations and of loop nests, so that every transform applies to them as well. What the adjoint asks for (`arg`,
`out`) is what the reverse sweep must keep or put back.

No strong zero holds inside: a product of matrices is the library's, in which 0 times inf is NaN.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace

from adjit.ir.builder import Builder
from adjit.ir.core import Atom, Sym, View, Whole
from adjit.ir.nests import nest
from adjit.ir.types import Array, Scalar

Dtypes = tuple[Scalar, ...]


class Matrices:
    """Whole arrays in a builder: products and solutions by a library, the rest by loop nests."""

    def __init__(self, b: Builder):
        self.b = b

    def shape(self, a: Sym) -> tuple[Atom, ...]:
        """The extents."""
        return tuple(self.b.dim(a, k) for k in range(rank(a)))

    def new(self, shape: tuple[Atom, ...], dtype: Scalar, name: str = "t") -> Sym:
        """Memory for an operation to fill."""
        return self.b.alloc(name, Array(dtype, len(shape), "C"), shape)

    def whole(self, op: str, outs: tuple[Sym, ...], *args: Atom) -> None:
        """`outs = op(*args)`."""
        self.b.append(Whole(outs, op, args, self.b.span))

    def transposed(self, a: Sym) -> Sym:
        """`a.T`, a view."""
        assert isinstance(a.type, Array)
        if a.type.ndim < 2:
            return a
        layout = {"C": "F", "F": "C"}.get(a.type.layout, a.type.layout)
        target = Sym(a.name, replace(a.type, layout=layout))
        self.b.append(View(target, a, (), (1, 0), span=self.b.span))
        return target

    def conjugated(self, a: Sym) -> Sym:
        """`a.conj()`; of real numbers the array itself."""
        if not dtype_of(a).is_complex:
            return a
        return self.made(self.shape(a), dtype_of(a), lambda *i: self.b.op("conj", self.b.load(a, i)))

    def adjoint(self, a: Sym) -> Sym:
        """`a.conj().T`."""
        return self.transposed(self.conjugated(a))

    def product(self, x: Sym, y: Sym) -> Sym:
        """`x @ y`, not of two vectors."""
        shape = (*self.shape(x)[:-1], *self.shape(y)[1:])
        out = self.new(shape, dtype_of(x))
        self.whole("matmul", (out,), x, y)
        return out

    def made(self, shape: tuple[Atom, ...], dtype: Scalar, f: Callable[..., Atom]) -> Sym:
        """A new array of `f(i, j)`."""
        out = self.new(shape, dtype)
        nest(self.b, shape, lambda b, i, _: b.store(out, i, f(*i)))
        return out

    def set(self, target: Sym, source: Sym, sign: int = 1) -> None:
        """`target[...] = sign * source`."""
        nest(
            self.b,
            self.shape(target),
            lambda b, i, _: b.store(target, i, _signed(b, b.load(source, i), sign)),
        )

    def add(self, target: Sym, source: Sym, sign: int = 1) -> None:
        """`target[...] += sign * source`."""
        op = "add" if sign > 0 else "sub"

        def one(b: Builder, i: tuple[Atom, ...], _: object) -> None:
            b.store(target, i, b.op(op, b.load(target, i), b.load(source, i)))

        nest(self.b, self.shape(target), one)

    def add_outer(self, target: Sym, x: Sym, y: Sym, sign: int = 1) -> None:
        """`target[i, j] += sign * x[i] * y[j]`."""
        op = "add" if sign > 0 else "sub"

        def one(b: Builder, i: tuple[Atom, ...], _: object) -> None:
            term = b.op("mul", b.load(x, i[:1]), b.load(y, i[1:]))
            b.store(target, i, b.op(op, b.load(target, i), term))

        nest(self.b, self.shape(target), one)


def _signed(b: Builder, a: Atom, sign: int) -> Atom:
    return a if sign > 0 else b.op("neg", a)


def real(b: Builder, a: Atom) -> Atom:
    """The real part, in the type of the number."""
    assert isinstance(a.type, Scalar)
    return b.op("complex", b.op("real", a), 0.0) if a.type.is_complex else a


def conjugate(b: Builder, a: Atom) -> Atom:
    """The conjugate; of a real number the number itself."""
    assert isinstance(a.type, Scalar)
    return b.op("conj", a) if a.type.is_complex else a


def alike(b: Builder, a: Atom, other: Atom) -> Atom:
    """A number in the type of another one, such as a real factor of a complex number."""
    assert isinstance(other.type, Scalar)
    return b.cast(a, other.type)


def rank(a: Atom) -> int:
    """The number of axes."""
    return a.type.ndim if isinstance(a.type, Array) else 0


def dtype_of(a: Atom) -> Scalar:
    """The element type."""
    assert isinstance(a.type, Array)
    return a.type.dtype


class Point(ABC):
    """Where a rule is applied: the arrays of a statement, by position."""

    m: Matrices

    @abstractmethod
    def arg(self, k: int) -> Sym:
        """Argument k."""

    @abstractmethod
    def out(self, k: int) -> Sym:
        """Result k."""

    @abstractmethod
    def number(self, k: int) -> Atom:
        """Argument k, a number."""


class Push(Point):
    """Where a tangent is built."""

    @abstractmethod
    def dot(self, k: int) -> Sym | None:
        """The tangent of argument k; None where it has none."""

    @abstractmethod
    def into(self, k: int) -> Sym | None:
        """Where the tangent of result k belongs (new memory); None where nobody wants it."""


class Pull(Point):
    """Where an adjoint is built."""

    @abstractmethod
    def ct(self, k: int) -> Sym | None:
        """The cotangent of result k; None where it has none."""

    @abstractmethod
    def shadow(self, k: int) -> Sym | None:
        """Where the cotangent of argument k is added up; None where it is not wanted."""


def first(dtypes: Dtypes) -> Dtypes:
    """One result, of the element type of the first argument."""
    return dtypes[:1]


@dataclass(frozen=True, eq=False)
class WholeRule:
    """A rule.

    text: the statement that computes it, with operands {0}, {1} and results {out0}, {out1}. strided: in place of it
        where results are not contiguous and `text` wants them so.
    spellings: what a user calls. dtypes: the results' element types from the arguments'.
    raises: whether it may raise, so that it stays though nobody reads the result.
    takes_complex: whether the formulas hold for complex matrices too. A cotangent c of z means Re(sum(c * dz)), the
        conjugate of what papers call a gradient: so holomorphic operations have transposes and no conjugates.
    takes_integers: whether an array of integers is converted to float64, as NumPy does; else it is refused.
    any_numbers: whether arrays of integers and bools are taken as they are.
    real_only: whether arguments are real numbers.
    carries(k, j): whether result k has a derivative in argument j.
    convention: singular and degenerate cases, for the documentation. reference: where the formula is from.
    """

    op: str
    text: str
    spellings: tuple[str, ...]
    tangent: Callable[[Push], None]
    adjoint: Callable[[Pull], None]
    dtypes: Callable[[Dtypes], Dtypes] = first
    raises: bool = True
    takes_complex: bool = False
    takes_integers: bool = False
    any_numbers: bool = False
    real_only: bool = False
    carries: Callable[[int, int], bool] = lambda k, j: True
    convention: str = ""
    reference: str = ""
    strided: str = ""

    @property
    def spelled(self) -> str:
        """What a user calls, for messages."""
        return self.spellings[0].replace("numpy.", "np.") if self.spellings else self.op
