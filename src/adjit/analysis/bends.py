"""Indices that stay in a loop's range by turning around or stopping at its ends: `(i + 1) % n`, `min(i + 1, n - 1)`.

The loop must run over all of 0 .. n - 1. Where `i + offset` is in the range, the index is that: the turn is *regular*.
Elsewhere it is at the other end (a ring), or at the end itself (a clamp).
"""

from __future__ import annotations

from dataclasses import dataclass

from adjit.analysis.alias import Affine
from adjit.analysis.lattice import Head
from adjit.ir.core import Atom, Const, Let, Sym
from adjit.ir.types import INT64

RING, LOW, HIGH = "ring", "low", "high"
Kinds = frozenset[str]


@dataclass(frozen=True)
class Bent:
    """loop index + offset; `kinds`: RING, LOW or HIGH if that may leave the range and is brought back there."""

    level: int
    offset: int
    kinds: Kinds


class Bends:
    """The bent indices of one nest."""

    def __init__(self, heads: tuple[Head, ...], lets: dict[Sym, Let], affine: Affine):
        self._level = {h.index: k for k, h in enumerate(heads)}
        self._heads, self._lets, self._affine = heads, lets, affine

    def of(self, a: Atom) -> Bent | None:
        """What the index is, if it is bent."""
        bent = self._of(a)
        if bent is None:
            return None
        leaves = {LOW} if bent.offset < 0 else {HIGH} if bent.offset > 0 else set[str]()
        if leaves and RING in bent.kinds:
            return bent
        if LOW in leaves and LOW not in bent.kinds:
            return None  # it counts from the end of the array
        return Bent(bent.level, bent.offset, bent.kinds & leaves)

    def straight(self, a: Atom) -> Bent | None:
        """A loop's index and a constant, which is not negative."""
        base, offset = self._affine.split(a)
        if base is None or base not in self._level or not self._affine.nonnegative(a):
            return None
        return Bent(self._level[base], offset, frozenset())

    def _of(self, a: Atom) -> Bent | None:
        let = self._lets.get(a) if isinstance(a, Sym) else None
        if let is None or any(x.type != INT64 for x in (let.target, *let.args)):
            return None
        if let.op == "mod":
            x, n = let.args
            return self._made(x, RING, n, 0)
        if let.op == "max":
            found = (self._made(x, LOW, None, 0) for x, zero in (let.args, let.args[::-1]) if _zero(zero))
        elif let.op == "min":
            found = (self._made(x, HIGH, end, -1) for x, end in (let.args, let.args[::-1]))
        else:
            return None
        return next((bent for bent in found if bent is not None), None)

    def _made(self, x: Atom, kind: str, end: Atom | None, before: int) -> Bent | None:
        """x brought back, where `end` is the size of the range, or that and `before`."""
        base, offset = self._affine.split(x)
        if base is not None and base in self._level:
            bent = Bent(self._level[base], offset, frozenset((kind,)))
        else:
            inner = self._of(x) if kind != RING else None
            if inner is None or RING in inner.kinds:
                return None
            bent = Bent(inner.level, inner.offset, inner.kinds | {kind})
        head = self._heads[bent.level]
        start, size = self._moved(head.first, head.before), self._moved(head.last, head.after)
        if head.modulus != 1 or start != (None, 0):
            return None
        return bent if end is None or self._affine.split(end) == (size[0], size[1] + before) else None

    def _moved(self, a: Atom, by: int) -> tuple[Sym | None, int]:
        base, offset = self._affine.split(a)
        return base, offset + by


def _zero(a: Atom) -> bool:
    return isinstance(a, Const) and a.value == 0
