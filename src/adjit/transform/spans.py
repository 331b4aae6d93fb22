"""The ranges and residue classes of a nest's loops, as they are known before the nest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from adjit.analysis.alias import Affine
from adjit.analysis.lattice import Head
from adjit.analysis.scatter import Nest, needed_for
from adjit.ir.builder import Builder
from adjit.ir.core import TRUE, ZERO, Atom, Let, Load, Sym, const
from adjit.ir.types import INT64
from adjit.transform.copier import Copier


@dataclass(frozen=True)
class Span:
    """start <= index < stop; rest: what the residue is made of besides indices (0 where there is none)."""

    start: Atom
    stop: Atom
    rest: Atom


def spans_of(b: Builder, nest: Nest, affine: Affine) -> list[Span]:
    """The ranges of the nest's loops, ascending, computed before the nest."""
    copier = Copier(b, {})
    for s in made_of(nest, nest.ends()):
        copier.take(s)
    own = nest.own
    spans: list[Span] = []
    for head in nest.heads:
        start = _bound(copier, affine, own, head.first, head.before)
        stop = _bound(copier, affine, own, head.last, head.after)
        spans.append(Span(start, stop, _rest(copier, nest, head)))
    return spans


def by_axis(axes: Sequence[int], place: Sequence[Atom]) -> tuple[Atom, ...]:
    """A place that is given by loop, whose axes these are, as an index."""
    at = dict(zip(axes, place, strict=True))
    return tuple(at[axis] for axis in range(len(at)))


def some_turns(b: Builder, spans: Iterable[Span]) -> Atom:
    """Whether the nest has turns."""
    some: Atom = TRUE
    for span in spans:
        some = both(b, some, b.op("lt", span.start, span.stop))
    return some


def _bound(copier: Copier, affine: Affine, own: set[Sym], a: Atom, more: int) -> Atom:
    """a + more, before the nest."""
    base, _ = affine.split(a)
    if isinstance(base, Sym) and base.type == INT64 and base not in own:
        return affine.moved(copier.builder, a, more)
    return moved(copier.builder, copier.builder.cast(copier.atom(a), INT64), more)


def _rest(copier: Copier, nest: Nest, head: Head) -> Atom:
    """The part of a residue that is not made of indices."""
    b, total = copier.builder, const(head.residue.constant)
    indices = {h.index for h in nest.heads}
    for s, factor in head.residue.terms.items():
        if s not in indices:
            total = added(b, total, b.cast(copier.atom(s), INT64), factor, head.modulus)
    return total


def added(b: Builder, total: Atom, a: Atom, factor: int, modulus: int) -> Atom:
    """total + factor * a, modulo the modulus."""
    if factor % modulus == 0:
        return total
    if (factor + 1) % modulus == 0 and total == ZERO:
        return b.op("neg", a)
    if (factor + 1) % modulus == 0:
        return b.op("sub", total, a)
    return b.op("add", total, a if factor == 1 else b.op("mul", a, factor))


def moved(b: Builder, a: Atom, by: int) -> Atom:
    """a + by."""
    return a if by == 0 else b.op("add" if by > 0 else "sub", a, abs(by))


def made_of(nest: Nest, atoms: list[Atom]) -> list[Let | Load]:
    """The statements of the nest that these atoms are made of, which are steady, in order."""
    needed = needed_for(nest, atoms)
    assert needed is not None, "terms and bounds are steady"
    return needed


def both(b: Builder, x: Atom, y: Atom) -> Atom:
    """Whether both are true."""
    if x == TRUE:
        return y
    return x if y == TRUE else b.op("and_", x, y)
