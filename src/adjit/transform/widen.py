"""A sweep for one cotangent becomes a sweep for several: what depends on cotangents holds one number for each.

    dx = szmul(dt, slope); da[i] = da[i] + dx     ->   the same, where dt and dx are float64x8, and da an array of those

A reverse sweep reads cotangents in arithmetic alone: no branch, index or extent depends on one. So its statements stay
as they are, in the order in which every pass has put them, and each lane gets what a sweep for it alone gives. Values
of the primal, records, loops and branches are there once for all lanes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from adjit.ir.builder import Builder
from adjit.ir.core import (
    ONE,
    ZERO,
    Alloc,
    Atom,
    Call,
    Const,
    Custom,
    Ensure,
    Function,
    If,
    Let,
    Load,
    Loop,
    Raise,
    RefAppend,
    RefGet,
    RefSet,
    Stmt,
    Store,
    Sym,
    Undef,
    View,
    Whole,
)
from adjit.ir.types import Array, RefList, Scalar, Type
from adjit.ir.visit import Rewriter, operands, targets, walk
from adjit.transform.packing import OPERATIONS


def widened(function: Function, cotangents: Sequence[Sym], lanes: int) -> Function | None:
    """The sweep with `lanes` cotangents in place of one; None where a cotangent is in anything but arithmetic.

    Arguments: cotangents: the parameters (shadows, seeds) that hold one each. An array's come in an array of lanes, a
    number's, and what is returned of a number, in an array of lanes that has one element.
    """
    dependent = _Dependence(function, cotangents)
    if not dependent.allowed(function):
        return None
    return _Widen(dependent.found, lanes).function(function, frozenset(cotangents))


class _Dependence:
    """What depends on a cotangent. Arrays of one memory do or do not together."""

    def __init__(self, function: Function, cotangents: Iterable[Sym]):
        self.found: set[Sym] = set(cotangents)
        size = -1
        while size != len(self.found):
            size = len(self.found)
            for stmt in walk(function.body):
                self._follow(stmt)

    def on(self, a: Atom | None) -> bool:
        return a in self.found

    def any(self, atoms: Iterable[Atom | None]) -> bool:
        return any(a in self.found for a in atoms)

    def _follow(self, stmt: Stmt) -> None:
        match stmt:
            case Let():
                if self.any(stmt.args) and stmt.op != "dim":
                    self.found.add(stmt.target)
            case Load():
                if self.on(stmt.array):
                    self.found.add(stmt.target)
            case Store():
                if self.on(stmt.value):
                    self.found.add(stmt.array)
            case Alloc():
                if self.on(stmt.fill):
                    self.found.add(stmt.target)
            case View() | Ensure():
                self._together(stmt.target, stmt.array)
            case RefGet():
                self._together(stmt.target, stmt.references)
            case RefAppend() | RefSet():
                self._together(stmt.references, stmt.array)
            case Loop():
                for result, param, *ends in zip(
                    stmt.results, stmt.params, stmt.inits, stmt.nexts, strict=True
                ):
                    self._flow((param, result), ends)
            case If():
                for result, *ends in zip(stmt.results, stmt.then_values, stmt.else_values, strict=True):
                    self._flow((result,), ends)
            case Custom():
                for result, value in zip(stmt.results, stmt.values, strict=True):
                    self._flow((result,), (value,))
            case _:
                pass

    def _flow(self, into: tuple[Sym, ...], ends: Sequence[Atom]) -> None:
        """What is one of the ends: a number that may be a lane's is one, arrays of one memory are one kind."""
        if not isinstance(into[0].type, Scalar):
            self._together(*into, *ends)
        elif self.any((*into, *ends)):
            self.found.update(into)

    def _together(self, *arrays: Atom) -> None:
        if self.any(arrays):
            self.found.update(a for a in arrays if isinstance(a, Sym))

    def allowed(self, function: Function) -> bool:
        """Whether cotangents and adjoints are real, and nothing but arithmetic and memory has to do with them."""
        real = all(_is_real(s.type) for s in (*self.found, *function.results))
        return real and all(map(self._allowed, walk(function.body)))

    def _allowed(self, stmt: Stmt) -> bool:
        match stmt:
            case Let(op="dim"):
                return True
            case Let():
                return not self.on(stmt.target) or stmt.op in OPERATIONS
            case Alloc():
                zero = stmt.fill is None or (isinstance(stmt.fill, Const) and stmt.fill.value == 0)
                return not self.on(stmt.target) or zero
            case Whole() | Call() | Raise():
                return not self.any((*targets(stmt), *operands(stmt)))
            case _:
                return True


def _is_real(type: Type) -> bool:
    array = type.element if isinstance(type, RefList) else type
    return (array.dtype if isinstance(array, Array) else array).is_float


class _Widen(Rewriter):
    """Puts lanes in place of the numbers that depend on cotangents."""

    def __init__(self, dependent: set[Sym], lanes: int):
        super().__init__({}, lambda s: Sym(s.name, self._type(s.type)) if s in dependent else s)
        self._dependent, self._lanes = dependent, lanes

    def function(self, f: Function, cotangents: frozenset[Sym]) -> Function:
        """The widened function; numbers come and go in arrays of one element."""
        b = Builder(f.span)
        params: list[Sym] = []
        for p in f.params:
            own = self.define(p)
            if p in cotangents and isinstance(own.type, Scalar):
                box = Sym(own.name, Array(own.type, 1, "C"))
                b.append(Load(own, box, (ZERO,), f.span))
                own = box
            params.append(own)
        b.extend(self.block(f.body))
        results = tuple(self._boxed(b, a) for a in f.results)
        groups = tuple(frozenset(self.sym(s) for s in g) for g in f.overlapping)
        whole = replace(f, params=tuple(params), body=b.block(), results=results, overlapping=groups)
        return replace(whole, name=f"{f.name}_{self._lanes}")

    def _boxed(self, b: Builder, a: Atom) -> Sym:
        """A result in an array of its own."""
        assert isinstance(a.type, Scalar)
        box = b.alloc("adjoint", Array(replace(a.type, lanes=self._lanes), 1, "C"), (ONE,))
        b.store(box, (ZERO,), self.atom(a))
        return box

    def _type(self, type: Type) -> Type:
        if isinstance(type, RefList):
            element = type.element
            return replace(type, element=replace(element, dtype=replace(element.dtype, lanes=self._lanes)))
        if isinstance(type, Array):
            return replace(type, dtype=replace(type.dtype, lanes=self._lanes))
        assert isinstance(type, Scalar)
        return replace(type, lanes=self._lanes)

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        before = Builder(stmt.span)
        match stmt:
            case Loop():
                inits = self._values(before, stmt.params, stmt.inits)
                after = Builder(stmt.span)
                nexts = self._values(after, stmt.params, stmt.nexts)
                stmt = replace(stmt, inits=inits, body=(*stmt.body, *after.block()), nexts=nexts)
            case If():
                then, els = Builder(stmt.span), Builder(stmt.span)
                values = (
                    self._values(then, stmt.results, stmt.then_values),
                    self._values(els, stmt.results, stmt.else_values),
                )
                bodies = (*stmt.then, *then.block()), (*stmt.els, *els.block())
                stmt = If(stmt.cond, *bodies, *values, stmt.results, stmt.span)
            case Custom():
                inner = Builder(stmt.span)
                ends = self._values(inner, stmt.results, stmt.values)
                stmt = replace(stmt, body=(*stmt.body, *inner.block()), values=ends)
            case Alloc() if stmt.target in self._dependent and isinstance(stmt.fill, Const):
                stmt = replace(stmt, fill=Const(stmt.fill.value, self._number(stmt.fill)))
            case _:
                pass
        return (*before.block(), self.rebuild(stmt))

    def _values(self, b: Builder, into: tuple[Sym, ...], values: tuple[Atom, ...]) -> tuple[Atom, ...]:
        """What flows into symbols: a number that is the same for all lanes goes into each."""
        return tuple(
            self._spread(b, v) if s in self._dependent and v not in self._dependent else v
            for s, v in zip(into, values, strict=True)
        )

    def _spread(self, b: Builder, a: Atom) -> Atom:
        match a:
            case Undef():
                return Undef(self._type(a.type))
            case Const():
                return Const(a.value, self._number(a))
            case Sym():
                return b.let("cast", a, type=self._number(a), name=a.name)

    def _number(self, a: Atom) -> Scalar:
        assert isinstance(a.type, Scalar)
        return replace(a.type, lanes=self._lanes)
