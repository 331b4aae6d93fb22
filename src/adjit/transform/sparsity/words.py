"""Builds the statements of a pattern program: words of 64 inputs each, guarded and weak where a side may not run.

A *word* says by its bits which of 64 groups of inputs a number depends on; beside an array stands one of words.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from adjit.ir.builder import Builder, const_of
from adjit.ir.core import TRUE, ZERO, Atom, Const, If, Load, Store, Sym, Undef
from adjit.ir.types import BOOL, INT64, UINT64, Array, RefList, Scalar, Type

NOTHING = Const(0, UINT64)


def word_type(t: Type) -> Type:
    """The type of what stands beside a value of type t."""
    match t:
        case Array():
            return replace(t, dtype=UINT64, readonly=False)
        case RefList():
            return RefList(replace(t.element, dtype=UINT64, readonly=False))
        case Scalar():
            return UINT64


def beside(s: Sym) -> Sym:
    """A new symbol for the words of a value."""
    return Sym(f"{s.name}_on", word_type(s.type))


@dataclass(frozen=True, slots=True)
class Mode:
    """How statements are written.

    certain: the statement runs whatever the floats are: a store replaces what was there. Else it adds to it.
    guarded: what is out of range is left alone. real: it runs in the plain program too, for these floats; else it
    leaves the program's own memory alone.
    """

    certain: bool = True
    guarded: bool = False
    real: bool = True


class Words(Builder):
    """A builder with what patterns need beside."""

    def either(self, *words: Atom) -> Atom:
        """What depends on whatever one of them depends on."""
        total: Atom = NOTHING
        for w in dict.fromkeys(words):
            if isinstance(w, Undef) or w == NOTHING:
                continue
            total = w if total == NOTHING else self.let("or_", total, w, type=UINT64)
        return total

    def both(self, *conditions: Atom) -> Atom:
        """Whether all conditions hold."""
        total: Atom = TRUE
        for c in conditions:
            if c != TRUE:
                total = c if total == TRUE else self.let("and_", total, c, type=BOOL, name="inside")
        return total

    def inside(self, array: Sym, index: tuple[Atom | None, ...]) -> Atom:
        """Whether an index is in range, with Python's negative ones; None for a whole axis."""
        tests: list[Atom] = []
        for k, i in enumerate(index):
            if i is None:
                continue
            i, n = self.cast(i, INT64), self.dim(array, k)
            tests.append(self.op("lt", i, n))
            if not (isinstance(i, Const) and i.integer >= 0):
                tests.append(self.op("ge", i, self.op("neg", n)))
        return self.both(*tests)

    def load_if(self, cond: Atom, target: Sym, array: Sym, index: tuple[Atom, ...]) -> None:
        """`target = array[index] if cond else 0`."""
        if cond == TRUE:
            self.append(Load(target, array, index, self.span))
            return
        t = Sym(target.name, target.type)
        self.when(
            cond, lambda: self.append(Load(t, array, index, self.span)), t, zero_of(target.type), target
        )

    def store_if(self, cond: Atom, array: Sym, index: tuple[Atom, ...], value: Atom, add: bool) -> None:
        """`array[index] = value` (or `|= value`) if cond."""
        if add and value == NOTHING:
            return

        def store() -> None:
            new = self.either(self.load(array, index), value) if add else value
            self.append(Store(array, index, new, self.span))

        if cond == TRUE:
            store()
            return
        with self.collect() as body:
            store()
        self.if_(cond, tuple(body))

    def when(self, cond: Atom, build: Callable[[], object], value: Atom, other: Atom, target: Sym) -> None:
        """`target = value, after build(), if cond else other`."""
        with self.collect() as body:
            build()
        self.append(If(cond, tuple(body), (), (value,), (other,), (target,), self.span))

    def extent(self, n: Atom) -> Atom:
        """An extent that is not negative."""
        if isinstance(n, Const):
            return n if n.integer >= 0 else ZERO
        n = self.cast(n, INT64)
        return self.op("select", self.op("lt", n, ZERO), ZERO, n)


def zero_of(t: Type) -> Const:
    """0 or False."""
    assert isinstance(t, Scalar)
    return Const(False, t) if t.is_bool else const_of(0, t)
