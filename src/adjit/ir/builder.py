"""Builds IR statement by statement: used by the frontend's lowering and by every derivative transform.

`Builder` types its results itself: all float operands of one operation have one dtype, comparisons give
bool, int arithmetic gives int64. It folds nothing by default; `simplify=True` drops `x + 0`, `x * 1` and
the like, which is legal in derivative code only (a primal must keep its bits).
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace

from adjit.ir.core import (
    NOWHERE,
    Alloc,
    Atom,
    Block,
    Const,
    If,
    Let,
    Load,
    Loop,
    Slice,
    Span,
    Stmt,
    Store,
    Sym,
    View,
    const,
)
from adjit.ir.types import BOOL, FLOAT64, INT64, Array, Scalar, Type
from adjit.ir.visit import targets

_COMPARISONS = frozenset(
    {"lt", "le", "gt", "ge", "eq", "ne", "not_", "isnan", "isinf", "isfinite", "signbit"}
    | {"logical_and", "logical_or", "logical_xor", "logical_not"}
)


_PARTS = frozenset({"real", "imag", "abs", "angle"})


class Builder:
    """Appends statements to the innermost open block."""

    def __init__(self, span: Span = NOWHERE, simplify: bool = False):
        self.span = span
        self.simplify = simplify
        self.wraps = False  # what stores do
        self._open: list[list[Stmt]] = [[]]
        self.scopes: list[dict[object, object]] = [{}]  # what is known in each open block, for who builds it
        self._sums: dict[Sym, tuple[Atom, int]] = {}
        self._negated: dict[Sym, Atom] = {}
        self._filling: set[Sym] = set()
        self.shapes: dict[Sym, tuple[Atom, ...]] = {}  # of the arrays that were made

    # blocks

    def append(self, stmt: Stmt) -> None:
        self._open[-1].append(stmt)

    def just_made(self, a: Atom) -> bool:
        """Whether one of the last two statements of the open block defines the atom (an array, and its filling)."""
        return isinstance(a, Sym) and any(a in targets(stmt) for stmt in self._open[-1][-2:])

    def mark(self) -> int:
        """Where the open block stands now, for `rewind`."""
        return len(self._open[-1])

    def rewind(self, mark: int) -> None:
        """Drop what was built in the open block since the mark."""
        del self._open[-1][mark:]
        self.scopes[-1].clear()

    def since(self, mark: int) -> Block:
        """What was built in the open block since the mark."""
        return tuple(self._open[-1][mark:])

    def insert(self, mark: int, block: Block) -> None:
        """Put statements where the open block stood at the mark."""
        self._open[-1][mark:mark] = block

    def extend(self, block: Block) -> None:
        self._open[-1].extend(block)

    @contextmanager
    def collect(self) -> Generator[list[Stmt]]:
        """Statements built inside the `with` go to the list it gives, not to the open block."""
        block: list[Stmt] = []
        self._open.append(block)
        self.scopes.append({})
        try:
            yield block
        finally:
            self._open.pop()
            self.scopes.pop()

    def block(self) -> Block:
        """The outermost block so far."""
        return tuple(self._open[0])

    # scalars

    def let(self, op: str, *args: Atom, type: Scalar, fn: str | None = None, name: str | None = None) -> Sym:
        target = Sym(name or _hint(args), type)
        self.append(Let(target, op, args, fn, self.span))
        return target

    def op(self, name: str, *args: Atom | complex, fn: str | None = None, hint: str | None = None) -> Atom:
        """`name(*args)`; Python numbers take the dtype of the float or complex operand, else int64."""
        dtype = _common(args)
        atoms = tuple(a if not isinstance(a, int | float | complex) else const_of(a, dtype) for a in args)
        if self.simplify:
            short = _simplified(name, atoms)
            if short is not None:
                return short
            short = self._offset(name, atoms)
            if short is not None:
                return short
            if name == "mul" and dtype.is_float and any(_is(a, -1) for a in atoms):
                return self.op("neg", atoms[1] if _is(atoms[0], -1) else atoms[0], hint=hint)
            if name == "neg" and isinstance(atoms[0], Sym) and atoms[0] in self._negated:
                return self._negated[atoms[0]]
        logic = name in ("and_", "or_", "xor") and all(a.type == BOOL for a in atoms)
        if name in _COMPARISONS or logic:
            type_: Scalar = BOOL
        elif name == "select":
            type_ = _wider(atoms[1], atoms[2])
        elif name in _PARTS:
            type_ = dtype.part
        elif name == "complex":
            type_ = dtype.complexified
        else:
            type_ = dtype
        target = self.let(name, *atoms, type=type_, fn=fn, name=hint)
        last = atoms[-1]
        if name == "neg":
            self._negated[target] = last
        if name in ("add", "sub") and type_ == INT64 and isinstance(last, Const) and last.type == INT64:
            value = int(last.value)  # type: ignore[arg-type]
            self._sums[target] = (atoms[0], value if name == "add" else -value)
        return target

    def _offset(self, name: str, a: tuple[Atom, ...]) -> Atom | None:
        """`(x + c) - d` as `x + (c - d)`, for integers."""
        if name not in ("add", "sub") or not isinstance(a[1], Const) or a[1].type != INT64:
            return None
        base = self._sums.get(a[0]) if isinstance(a[0], Sym) else None
        if base is None:
            return None
        x, c = base
        c += int(a[1].value) if name == "add" else -int(a[1].value)  # type: ignore[arg-type]
        if c == 0:
            return x
        return self.op("add", x, c) if c > 0 else self.op("sub", x, -c)

    def cast(self, a: Atom, type: Scalar) -> Atom:
        """`type(a)`; nothing where it already is. A complex number becomes a float by its real part."""
        if isinstance(a.type, Scalar) and a.type.lanes != type.lanes:  # by type of number; lanes stay
            type = replace(type, lanes=a.type.lanes)
        if a.type == type:
            return a
        if isinstance(a, Const) and type.is_float and not isinstance(a.value, complex):
            return Const(float(a.value), type)
        if isinstance(a, Const) and type.is_complex:
            return Const(complex(a.value), type)
        if isinstance(a.type, Scalar) and a.type.is_complex and type.is_float:
            return self.cast(self.op("real", a), type)
        return self.let("cast", a, type=type)

    def dim(self, array: Sym, axis: int) -> Sym:
        return self.let("dim", array, const(axis), type=INT64, name=f"{array.name}_n{axis}")

    # memory

    def load(self, array: Sym, index: tuple[Atom, ...], name: str | None = None) -> Sym:
        assert isinstance(array.type, Array)
        target = Sym(name or array.name, array.type.dtype)
        self.append(Load(target, array, index, self.span))
        return target

    def store(self, array: Sym, index: tuple[Atom, ...], value: Atom, update: str = "") -> None:
        self.append(Store(array, index, value, self.span, array in self._filling, update, self.wraps))

    @contextmanager
    def filling(self, array: Sym) -> Generator[None]:
        """Stores to the array inside the `with` give it its dtype, if it was made without one."""
        self._filling.add(array)
        try:
            yield
        finally:
            self._filling.discard(array)

    def view(self, array: Sym, index: tuple[Atom | Slice, ...], type: Array) -> Sym:
        target = Sym(array.name, type)
        self.append(View(target, array, index, span=self.span))
        shape = self.shapes.get(array)
        if shape is not None and all(not isinstance(i, Slice) or i == Slice() for i in index):
            self.shapes[target] = tuple(n for n, i in zip(shape, index, strict=True) if isinstance(i, Slice))
        return target

    def alloc_like(self, name: str, array: Sym, fill: Atom | None = None) -> Sym:
        """An array of another's extents: in its layout where that is "F", else "C", so that what is contiguous in
        one is so in the other.
        """
        type = array.type
        assert isinstance(type, Array)
        fortran = type.layout == "F" and type.ndim > 1
        shape = tuple(self.dim(array, k) for k in range(type.ndim))
        kind = replace(type, layout="F" if fortran else "C", readonly=False)
        return self.alloc(name, kind, shape, fill, array if fortran else None)

    def alloc(
        self,
        name: str,
        type: Array,
        shape: tuple[Atom, ...],
        fill: Atom | None = None,
        like: Sym | None = None,
    ) -> Sym:
        target = Sym(name, type)
        self.shapes[target] = shape
        self.append(Alloc(target, shape, fill, like, self.span))
        return target

    # control

    def if_(
        self,
        cond: Atom,
        then: Block,
        els: Block = (),
        then_values: tuple[Atom, ...] = (),
        else_values: tuple[Atom, ...] = (),
        results: tuple[Sym, ...] = (),
    ) -> None:
        self.append(If(cond, then, els, then_values, else_values, results, self.span))

    def loop(self, loop: Loop) -> None:
        self.append(loop)


def const_of(value: complex, type: Type) -> Const:
    """A Python number as a constant of a scalar type."""
    assert isinstance(type, Scalar)
    if type.is_complex:
        return Const(complex(value), type)
    assert not isinstance(value, complex)
    if type.is_float:
        return Const(float(value), type)
    if type.is_int:
        return Const(int(value), type)
    return const(value)


def _hint(args: tuple[Atom, ...]) -> str:
    return next((a.name for a in args if isinstance(a, Sym)), "t")


def _common(args: tuple[Atom | complex, ...]) -> Scalar:
    """The float or complex dtype among the operands (in lanes if one is), else the first scalar type, else int64."""
    scalars = [
        a.type for a in args if not isinstance(a, int | float | complex) and isinstance(a.type, Scalar)
    ]
    floats = [t for t in scalars if t.differentiable]
    kinds = {t.name for t in floats}
    assert len(kinds) <= 1, f"operands of different float types: {sorted(kinds)}"
    if floats:
        return max(floats, key=lambda t: t.lanes)
    others = [t for t in scalars if not t.is_bool]
    return others[0] if others else INT64


def _wider(a: Atom, b: Atom) -> Scalar:
    """The type of what is one of two numbers: in lanes if one of them is."""
    assert isinstance(a.type, Scalar)
    assert isinstance(b.type, Scalar)
    return b.type if b.type.lanes > a.type.lanes else a.type


def _is(a: Atom, value: float) -> bool:
    return isinstance(a, Const) and a.value == value


def _simplified(op: str, a: tuple[Atom, ...]) -> Atom | None:
    """A shorter form that is equal for every derivative that can reach it (signed zeros aside)."""
    folded = _folded(op, a)
    if folded is not None:
        return folded
    match op:
        case "add" if _is(a[0], 0):
            return a[1]
        case "add" | "sub" if _is(a[1], 0):
            return a[0]
        case "mul" if _is(a[0], 1):
            return a[1]
        case "mul" | "div" | "fdiv" if _is(a[1], 1):
            return a[0]
        case "szmul" if _is(a[1], 1):
            return a[0]
        case "szmul" if _is(a[0], 1):
            return a[1]
        case "real" | "imag" if isinstance(a[0], Const):
            value = complex(a[0].value)
            return Const(value.real if op == "real" else value.imag, a[0].type.part)
        case "neg" if isinstance(a[0], Const) and type(a[0].value) is float:
            return Const(-a[0].value, a[0].type)
        case _:
            return None


def _folded(op: str, a: tuple[Atom, ...]) -> Const | None:
    """Arithmetic on constants."""
    if all(isinstance(x, Const) and x.type == FLOAT64 for x in a):
        return _folded_floats(op, tuple(float(x.value) for x in a))  # type: ignore[union-attr, arg-type]
    values = [x.value for x in a if isinstance(x, Const) and type(x.value) is int]
    if len(values) != len(a) or len({x.type for x in a}) != 1:
        return None
    match op, values:
        case "add", [x, y]:
            return Const(x + y, INT64)
        case "sub", [x, y]:
            return Const(x - y, INT64)
        case "mul", [x, y]:
            return Const(x * y, INT64)
        case "neg", [x]:
            return Const(-x, INT64)
        case _:
            return None


def _folded_floats(op: str, a: tuple[float, ...]) -> Const | None:
    """The same arithmetic as when the program runs."""
    match op, a:
        case "fdiv", (x, y) if y != 0:
            return Const(x / y, FLOAT64)
        case "mul", (x, y):
            return Const(x * y, FLOAT64)
        case "szmul", (x, y):
            return Const(x * y if x != 0 else x, FLOAT64)
        case "add", (x, y):
            return Const(x + y, FLOAT64)
        case "sub", (x, y):
            return Const(x - y, FLOAT64)
        case _:
            return None
