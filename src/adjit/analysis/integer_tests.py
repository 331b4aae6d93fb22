"""Tests that raise where a Python integer is none of NumPy's type, or a result would depend on the path.

A test of numbers from outside of a loop is made once, ahead of it, if the first turn would make it before all else that
can be seen:

for i in range(n): s += u[i] + k        ->   if 0 < n: if not 0 <= k <= 255: raise ...
                                             for i in range(n): s += u[i] + k

Work that runs at once cannot raise. Its tests are ahead of it wherever they are in it; what it does in a branch, or
with numbers of its own, is not tested.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial, reduce

from adjit.analysis.facts import Split
from adjit.analysis.several import limits
from adjit.ir.builder import Builder, const_of
from adjit.ir.core import TRUE, Atom, Block, Const, Loop, Raise, Span, Stmt, Sym
from adjit.ir.types import INT64, Scalar
from adjit.ir.visit import defined

_DEPENDS = "a Python integer here is a {} of NumPy on another path, which this result does not fit: convert it, int(k)"
_OUTSIDE = "a Python integer is out of bounds for {}, as in NumPy: convert the other operand, int(...)"


@dataclass(eq=False)
class _Place:
    """A loop, or a branch (None), around what is being built. open: whether what it does comes first, for certain.

    inner: what is defined in it. ahead: the tests to make before it.
    """

    loop: Loop | None
    bounds: tuple[Atom | None, ...] = ()
    open: bool = True
    inner: set[Sym] = field(default_factory=set)
    ahead: list[Stmt] = field(default_factory=list)

    @property
    def at_once(self) -> bool:
        return self.loop is not None and (self.loop.at_once or self.loop.parallel)


class IntegerTests:
    """Makes the tests of one function; what the methods give stands before the operation, or after it (`agree`)."""

    def __init__(self) -> None:
        self._places: list[_Place] = []

    def fit(self, splits: tuple[Split, ...], args: tuple[Atom, ...], span: Span) -> Block:
        """Raise where NumPy does, of a Python integer that is none of its type."""
        made: list[Stmt] = []
        for split in splits:
            if not split.wraps:
                made += self.require(split.type, [a for a, f in zip(args, split.fit, strict=True) if f], span)
        return tuple(made)

    def require(self, type: Scalar, numbers: list[Atom], span: Span) -> Block:
        """Raise where one of the integers is not of the type."""
        found: list[Stmt] = []
        for a in numbers:
            b = Builder(span, simplify=True)
            _raise_unless(b, [_lies_in(b, a, limits(type))], [], _OUTSIDE, type)
            found += self._ahead(b.block(), {a})
        return tuple(found)

    def _ahead(self, test: Block, read: set[Atom]) -> Block:
        """The test, if it is to be here; else it is made ahead of a loop, or not at all."""
        outer = len(self._places)
        while outer and self._places[outer - 1].open and not read & self._places[outer - 1].inner:
            outer -= 1
            place = self._places[outer]
            test = _guarded(place, test)
            read |= {a for a in place.bounds if a is not None}
        if any(p.at_once for p in self._places[:outer]):
            return ()
        if outer == len(self._places):
            return test
        self._places[outer].ahead += test
        return ()

    def agree(self, splits: tuple[Split, ...], args: tuple[Atom, ...], result: Atom, span: Span) -> Block:
        """Raise where the result would depend on which of its types an operand has; turns that run at once do not."""
        b = Builder(span, simplify=True)
        at_once = any(p.loop is not None and p.loop.parallel for p in self._places)
        for split in splits if not at_once else ():
            if split.wraps:
                holds = [_lies_in(b, a, r) for a, r in zip(args, split.ranges, strict=True) if r is not None]
                inside = [
                    _lies_in(b, a, limits(split.type)) for a, f in zip(args, split.fit, strict=True) if f
                ]
                inside.append(_lies_in(b, result, limits(split.type)))
                _raise_unless(b, inside, holds, _DEPENDS, split.type)
        return b.block()

    def seen(self) -> None:
        """Something is done here that can be seen after the function has raised."""
        if not any(p.at_once for p in self._places):
            for place in self._places:
                place.open = False

    @contextmanager
    def branch(self) -> Generator[None]:
        """What is inside the `with` may not be run."""
        self._places.append(_Place(None, open=False))
        yield
        self._places.pop()

    @contextmanager
    def turns(self, loop: Loop, bounds: tuple[Atom | None, ...], before: list[Stmt]) -> Generator[None]:
        """What is inside the `with` is the loop's body. Tests ahead of it are added to `before`."""
        place = _Place(loop, bounds, inner=defined((loop,)))
        self._places.append(place)
        yield
        self._places.pop()
        before += place.ahead


def _guarded(place: _Place, test: Block) -> Block:
    """The test, if the loop has a turn; NumPy tests the numbers beside an empty array too."""
    assert place.loop is not None
    if place.loop.at_once or place.loop.index is None:
        return test
    lo, hi, step = place.bounds
    assert lo is not None
    assert hi is not None
    b = Builder(place.loop.span)
    if isinstance(step, Sym):
        up, down = (b.op("and_", b.op(op, lo, hi), b.op(op, 0, step)) for op in ("lt", "gt"))
        b.if_(b.op("or_", up, down), test)
    else:
        down = isinstance(step, Const) and step.integer < 0
        b.if_(b.op("gt" if down else "lt", lo, hi), test)
    return b.block()


def _raise_unless(b: Builder, inside: list[Atom], holds: list[Atom], why: str, type: Scalar) -> None:
    beyond = b.op("not_", reduce(partial(b.op, "and_"), inside))
    told = b.span.told(why.format(type))
    b.if_(reduce(partial(b.op, "and_"), [*holds, beyond]), (Raise("OverflowError", (told,), b.span),))


def _lies_in(b: Builder, a: Atom, ends: tuple[int, int]) -> Atom:
    """Whether a number is a whole one of the range."""
    if not isinstance(a.type, Scalar) or a.type.is_bool:
        return TRUE
    least, most = ends
    if a.type.is_int and a.type != INT64:
        least, most = max(least, limits(a.type)[0]), min(most, limits(a.type)[1])
    inside = b.op("and_", b.op("le", const_of(least, a.type), a), b.op("le", a, const_of(most, a.type)))
    return b.op("and_", inside, b.op("eq", b.op("floor", a), a)) if a.type.is_float else inside
