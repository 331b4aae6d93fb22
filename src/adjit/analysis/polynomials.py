"""Integers of a program as polynomials over symbols: sums of products, each with a factor."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from adjit.ir.core import Sym

Product = tuple[Sym, ...]
"""Symbols in the order of their numbers; the empty product is 1."""


@dataclass(frozen=True)
class Poly:
    """The sum of factor * product. No factor is 0, so that equal polynomials are equal."""

    terms: Mapping[Product, int]

    @staticmethod
    def of(*terms: tuple[Product, int]) -> Poly:
        """The sum of the terms."""
        found: dict[Product, int] = {}
        for product, factor in terms:
            found[product] = found.get(product, 0) + factor
        return Poly({p: k for p, k in found.items() if k})

    @staticmethod
    def number(n: int) -> Poly:
        """A constant."""
        return Poly.of(((), n))

    @staticmethod
    def symbol(s: Sym) -> Poly:
        """One symbol."""
        return Poly.of(((s,), 1))

    def plus(self, other: Poly, factor: int = 1) -> Poly:
        """self + factor * other."""
        return Poly.of(*self.terms.items(), *((p, factor * k) for p, k in other.terms.items()))

    def times(self, other: Poly) -> Poly:
        """The product of both."""
        return Poly.of(
            *(
                (tuple(sorted((*p, *q), key=lambda s: s.uid)), k * m)
                for p, k in self.terms.items()
                for q, m in other.terms.items()
            )
        )

    @property
    def constant(self) -> int | None:
        """The number, where it has no symbols."""
        return self.terms.get((), 0) if all(p == () for p in self.terms) else None

    @property
    def single(self) -> tuple[Sym, int] | None:
        """(s, c) of s + c."""
        if any(len(p) > 1 or (p and k != 1) for p, k in self.terms.items()) or len(self.symbols) != 1:
            return None
        return next(iter(self.symbols)), self.terms.get((), 0)

    @property
    def symbols(self) -> set[Sym]:
        """All symbols in it."""
        return {s for p in self.terms for s in p}

    def split(self, s: Sym) -> tuple[Poly, Poly] | None:
        """(a, b) of a * s + b, neither with s in it; None where s is multiplied with itself."""
        slope: list[tuple[Product, int]] = []
        rest: list[tuple[Product, int]] = []
        for p, k in self.terms.items():
            if p.count(s) > 1:
                return None
            (slope if s in p else rest).append((tuple(x for x in p if x != s), k))
        return Poly.of(*slope), Poly.of(*rest)

    def least(self, bound: Callable[[Sym], int | None]) -> int | None:
        """A lower bound, from lower bounds of the symbols; None where they say nothing."""
        total = 0
        for p, k in self.terms.items():
            value = k
            for s in p:
                low = bound(s)
                if low is None or low < 0 or k < 0:
                    return None
                value *= low
            total += value
        return total
