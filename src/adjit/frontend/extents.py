"""What is known of integers while a program is lowered: which are equal, and which cannot be negative.

An integer is a *form*: a constant plus multiples of terms, where a term is a symbol or an operation on forms that is
not linear (`max(0, n - 2)`, an extent of an array). Equal forms are equal numbers. What a check at run time has made
sure of holds for the rest of its block.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from adjit.ir.core import Atom, Const, Sym

Form = tuple[int, tuple[tuple[object, int], ...]]
"""The constant, and the terms with their factors, in an order of their own."""

FUEL = 12
_LINEAR = frozenset({"add", "sub", "neg", "mul"})
_PURE = frozenset({"min", "max", "floordiv", "mod"})


@dataclass(slots=True)
class Extents:
    """Meanings of integer symbols.

    shapes: extents of the arrays that the program makes. scopes: for each open block, terms that are known to equal
    a form there. meanings: the operation that a symbol is the result of. counts: symbols that are never negative.
    units: terms that are at most one.
    """

    shapes: Mapping[Sym, tuple[Atom, ...]]
    scopes: Callable[[], list[dict[object, object]]]
    meanings: dict[Sym, tuple[str, tuple[object, ...]]] = field(default_factory=dict)
    counts: set[Sym] = field(default_factory=set)
    units: set[object] = field(default_factory=set)
    _forms: dict[Sym, Form] = field(default_factory=dict)

    def note(self, target: Sym, op: str, args: tuple[object, ...]) -> None:
        """Remember what a symbol is."""
        if op in _LINEAR or op in _PURE or op == "dim":
            self.meanings[target] = (op, args)

    def form(self, a: Atom) -> Form:
        """The atom's form."""
        return self._known(self._form(a))

    def same(self, a: Atom, b: Atom) -> bool | None:
        """Whether the two are equal; None if that is not known."""
        if a == b:
            return True
        p, q = self.form(a), self.form(b)
        if p == q:
            return True
        return False if p[1] == q[1] else None

    def learn(self, a: Atom, b: Atom) -> None:
        """From here on in this block, the two are equal."""
        constant, terms = _sum(self.form(a), self.form(b), -1)
        for term, factor in terms:
            rest = (constant, tuple(t for t in terms if t[0] != term))
            if factor in (1, -1) and not _within(term, rest):
                self.scopes()[-1][term] = _scaled(rest, -factor)
                return

    def negative(self, a: Atom) -> bool | None:
        """Whether the atom is below zero; None if that is not known."""
        if isinstance(a, Const):
            return None if isinstance(a.value, complex) else a.value < 0
        constant, terms = self.form(a)
        if not terms:
            return constant < 0
        return False if self._nonnegative((constant, terms)) else None

    def at_most(self, a: Atom, b: Atom) -> bool:
        """Whether `a <= b` is known."""
        return self._nonnegative(self._known(_sum(self._form(b), self._form(a), -1)))

    def at_most_one(self, a: Atom) -> bool:
        """Whether `a <= 1` is known."""
        return self._below(self._form(a), 1) or self._below(self.form(a), 1)

    def slim(self, view: Sym, axis: int) -> None:
        """That axis of a view is at most one long."""
        self.units.add(("dim", view, axis))

    def follows(self, a: Atom, b: Atom) -> bool:
        """Whether `a == b + 1` is known."""
        return _sum(self.form(a), self.form(b), -1) == (1, ())

    # forms

    def _below(self, f: Form, limit: int) -> bool:
        """Whether the form is known to be at most the limit: what is chosen by `min` and `max` is tried."""
        if self._nonnegative(_sum((limit, ()), f, -1)):
            return True
        for term, factor in f[1]:
            rest = (f[0], tuple(t for t in f[1] if t[0] != term))
            if term in self.units and factor > 0:
                return self._below(_sum(rest, (factor, ()), 1), limit)
            if not isinstance(term, tuple) or term[0] not in ("max", "min") or factor not in (1, -1):
                continue
            tries = [self._below(_sum(rest, part, factor), limit) for part in term[1]]
            if (all if (term[0] == "max") == (factor == 1) else any)(tries):
                return True
        return False

    def _form(self, a: object) -> Form:
        if isinstance(a, Const):
            return (int(a.value.real), ()) if isinstance(a.value, int) else (0, ((a, 1),))
        if not isinstance(a, Sym):
            return (0, ((a, 1),))
        if a not in self._forms:
            self._forms[a] = self._of(a)
        return self._forms[a]

    def _of(self, s: Sym) -> Form:
        op, args = self.meanings.get(s, ("", ()))
        if op == "dim":
            array, axis = args
            shape = self.shapes.get(array)  # type: ignore[arg-type]
            return (0, ((("dim", *args), 1),)) if shape is None else self._form(shape[axis])  # type: ignore[index]
        parts = [self._form(a) for a in args]
        match op:
            case "add":
                return _sum(parts[0], parts[1], 1)
            case "sub":
                return _sum(parts[0], parts[1], -1)
            case "neg":
                return _scaled(parts[0], -1)
            case "mul" if not parts[0][1]:
                return _scaled(parts[1], parts[0][0])
            case "mul" if not parts[1][1]:
                return _scaled(parts[0], parts[1][0])
            case "max" | "min":
                return (0, (((op, frozenset(parts)), 1),))
            case "":
                return (0, ((s, 1),))
            case _:
                return (0, (((op, tuple(parts)), 1),))

    def _known(self, f: Form, fuel: int = FUEL) -> Form:
        """The form with what the open blocks have made sure of.

        fuel: how many replacements may follow from each other; equalities may go round in circles.
        """
        if not fuel:
            return f
        for scope in reversed(self.scopes()):
            for term, factor in f[1]:
                if term in scope:
                    rest = (f[0], tuple(t for t in f[1] if t[0] != term))
                    return self._known(_sum(rest, scope[term], factor), fuel - 1)  # type: ignore[arg-type]
        constant, terms = f
        deep = tuple((self._deep(t, fuel - 1), k) for t, k in terms)
        return (constant, _ordered(deep)) if deep != terms else f

    def _deep(self, term: object, fuel: int) -> object:
        if isinstance(term, tuple) and term[0] in ("max", "min"):
            return (term[0], frozenset(self._known(f, fuel) for f in term[1]))
        if isinstance(term, tuple) and term[0] != "dim":
            return (term[0], tuple(self._known(f, fuel) for f in term[1]))
        return term

    def _count(self, term: object) -> bool:
        """Whether a term is never negative."""
        if isinstance(term, Sym):
            return term in self.counts
        if isinstance(term, tuple):
            if term[0] == "dim":
                return True
            parts = [self._nonnegative(f) for f in term[1]]
            return any(parts) if term[0] == "max" else all(parts)
        return False

    def _nonnegative(self, f: Form) -> bool:
        return f[0] >= 0 and all(k > 0 and self._count(t) for t, k in f[1])


def _within(term: object, whole: object) -> bool:
    """Whether the term stands somewhere inside: what it is known to equal must not mention it."""
    if whole == term:
        return True
    return isinstance(whole, tuple | frozenset) and any(_within(term, part) for part in whole)


def _ordered(terms: tuple[tuple[object, int], ...]) -> tuple[tuple[object, int], ...]:
    total: dict[object, int] = {}
    for term, factor in terms:
        total[term] = total.get(term, 0) + factor
    return tuple(sorted(((t, k) for t, k in total.items() if k), key=lambda pair: hash(pair[0])))


def _sum(a: Form, b: Form, sign: int) -> Form:
    return (a[0] + sign * b[0], _ordered((*a[1], *((t, sign * k) for t, k in b[1]))))


def _scaled(f: Form, factor: int) -> Form:
    return (f[0] * factor, tuple((t, k * factor) for t, k in f[1]) if factor else ())
