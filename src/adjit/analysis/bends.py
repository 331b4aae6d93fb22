"""Indices that stay in a loop's range by turning around, stopping or turning back at its ends.

    (i + 1) % n             i + 1 if i < n - 1 else 0            u[i - 1], where u has n places        a ring
    min(i + 1, n - 1)       i + 1 if i + 1 < n else i                                                  a clamp
                            i + 1 if i + 1 < n else n - 2                                              a mirror

The loop must run over all of 0 .. n - 1. Where `i + offset` is in the range, the index is that: the turn is *regular*.
Elsewhere it is at the other end (a ring), at the end itself (a clamp), or as far from the end on its other side (a
mirror; the range must be longer than the offset).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from adjit.analysis.alias import Affine
from adjit.analysis.lattice import Head
from adjit.analysis.ranges import Form
from adjit.ir.core import Atom, Const, Let, Sym
from adjit.ir.types import INT64

RING, LOW, HIGH = "ring", "low", "high"
BACK_LOW, BACK_HIGH = "back from the low end", "back from the high end"
MIRRORS = frozenset({BACK_LOW, BACK_HIGH})
Kinds = frozenset[str]
_OPPOSITE = {"lt": "ge", "ge": "lt", "le": "gt", "gt": "le", "eq": "ne", "ne": "eq"}
_TURNED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}


@dataclass(frozen=True)
class Bent:
    """loop index + offset; `kinds`: how that is brought back where it leaves the range, if it may.

    least: how many turns the loop must have for that.
    """

    level: int
    offset: int
    kinds: Kinds
    least: int = 0


class Bends:
    """The bent indices of one nest."""

    def __init__(
        self,
        heads: tuple[Head, ...],
        lets: dict[Sym, Let],
        affine: Affine,
        form: Callable[[Atom], Form],
    ):
        """form: an integer as a linear form of others."""
        self._level = {h.index: k for k, h in enumerate(heads)}
        self._heads, self._lets, self._affine, self._form = heads, lets, affine, form

    def of(self, a: Atom) -> Bent | None:
        """What the index is, if it is bent."""
        chosen = self._chosen(a)
        if chosen is not None:
            return chosen
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

    def counted_back(self, a: Atom) -> Bent | None:
        """A loop's index and a constant, or that less the size of the range, where it may be negative.

        It is a ring along an axis that has as many places as the range has turns.
        """
        form = self._form(a)
        level, size = self._over_all(form)
        if level is None or a.type != INT64:
            return None
        rest = form.plus(Form(0, {self._heads[level].index: 1}), -1)
        if rest == Form(rest.constant) and rest.constant < 0:
            return Bent(level, rest.constant, frozenset((RING,)))
        rest = rest.plus(size)
        if rest != Form(rest.constant) or rest.constant < 0:
            return None
        return Bent(level, rest.constant, frozenset((RING,)) if rest.constant else frozenset())

    def _over_all(self, form: Form) -> tuple[int | None, Form]:
        """The loop whose index the form has once, if it runs over 0 .. size - 1; and the size."""
        levels = [self._level[s] for s, factor in form.terms.items() if s in self._level and factor == 1]
        if len(levels) != 1:
            return None, Form(0)
        head = self._heads[levels[0]]
        if head.modulus != 1 or self._moved(head.first, head.before) != (None, 0):
            return None, Form(0)
        return levels[0], self._form(head.last).plus(Form(head.after))

    # branches: x if c else y

    def _chosen(self, a: Atom) -> Bent | None:
        """The index where a test of it decides."""
        let = self._lets.get(a) if isinstance(a, Sym) else None
        if let is None or let.op != "select" or let.target.type != INT64:
            return None
        test, x, y = let.args
        for regular, other, when in ((x, y, True), (y, x, False)):
            form = self._form(regular)
            level, size = self._over_all(form)
            if level is None or len(form.terms) != 1 or form.constant == 0:
                continue
            i, offset = Form(0, {self._heads[level].index: 1}), form.constant
            if self._stays(test, when, i, offset, size):
                kind = _kind(self._form(other), i, offset, size)
                if kind is None:
                    return None
                least = abs(offset) + 1 if kind in MIRRORS else abs(offset) if kind == RING else 0
                return Bent(level, offset, frozenset((kind,)), least if least > 1 else 0)
        return None

    def _stays(self, test: Atom, when: bool, i: Form, offset: int, size: Form) -> bool:
        """Whether the test comes to `when` exactly for those turns for which i + offset is in the range."""
        let = self._lets.get(test) if isinstance(test, Sym) else None
        if let is not None and let.op == "not_":
            return self._stays(let.args[0], not when, i, offset, size)
        if let is None or let.op not in _OPPOSITE or any(x.type != INT64 for x in let.args):
            return False
        op = let.op if when else _OPPOSITE[let.op]
        x, y = (self._form(x) for x in let.args)
        more = x.plus(y, -1)
        (index,) = i.terms
        if more.terms.get(index) == -1:
            op, more = _TURNED[op], Form(0).plus(more, -1)
        if op in ("le", "gt"):  # x <= 0 is x - 1 < 0
            op, more = "lt" if op == "le" else "ge", more.plus(Form(-1))
        if offset > 0:
            left = i.plus(Form(offset)).plus(size, -1)
            return more == left and (op == "lt" or (op == "ne" and offset == 1))
        left = i if op == "ne" else i.plus(Form(offset))
        return more == left and (op == "ge" or (op == "ne" and offset == -1))

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


def _kind(other: Form, i: Form, offset: int, size: Form) -> str | None:
    """How an index is brought back that is `other` where i + offset is outside of the range."""
    last = size.plus(Form(-1))
    if offset > 0:
        ends = {
            RING: i.plus(Form(offset)).plus(size, -1),
            HIGH: last,
            BACK_HIGH: last.plus(last).plus(i, -1).plus(Form(-offset)),
        }
    else:
        ends = {RING: i.plus(Form(offset)).plus(size), LOW: Form(0), BACK_LOW: Form(-offset).plus(i, -1)}
    if abs(offset) == 1:  # in one turn only
        (index,) = i.terms
        there = last if offset > 0 else Form(0)
        ends = {kind: _where(end, index, there) for kind, end in ends.items()}
        other = _where(other, index, there)
    return next((kind for kind, end in ends.items() if end == other), None)


def _where(form: Form, index: Sym, value: Form) -> Form:
    """The form for one value of the index."""
    factor = form.terms.get(index, 0)
    return form.plus(Form(0, {index: 1}), -factor).plus(value, factor)


def _zero(a: Atom) -> bool:
    return isinstance(a, Const) and a.value == 0
