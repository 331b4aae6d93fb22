"""Sums of terms with signs."""

from __future__ import annotations

from collections.abc import Iterable

from adjit.ir.builder import Builder
from adjit.ir.core import Atom

Term = tuple[int, Atom]
"""1 or -1, and what is added so many times."""


def summed(b: Builder, total: Atom | None, terms: Iterable[Term]) -> Atom:
    """total + terms, one after another; without a total there is at least one term."""
    for sign, a in terms:
        if total is None:
            total = a if sign > 0 else b.op("neg", a)
        else:
            total = b.op("add" if sign > 0 else "sub", total, a)
    assert total is not None
    return total
