"""What a nest pushes to several arrays is written down once, and each array adds it up from there.

    for i: for j: w = f(a[i, j], b[i, j], c[i, j]); x[i, j] += w; x[i + 1, j] -= w; y[i, j] += w; y[i, j + 1] -= w
    ->  h = alloc, with a border of zeros
        for i: for j: h[i + 1, j + 1] = f(a[i, j], b[i, j], c[i, j])
        for p: for q, over all of x: x[p, q] = h[p + 1, q + 1] - h[p, q + 1]
        for p: for q, over all of y: y[p, q] = h[p + 1, q + 1] - h[p + 1, q]

`gather` would compute w again for each place of x and of y, from all that it is made of. Done where the arrays hold
zeros and more arrays would be read again than are written and read here. The border makes every place of x alike, so
that `contract` can put its sum in place of its loads: cotangents of named intermediates are then not made at all.
Used on adjoint code, before `gather`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from adjit.analysis.scatter import Group, Nest, fills_box, needed_for
from adjit.ir.builder import Builder
from adjit.ir.core import ONE, ZERO, Atom, Function, Let, Load, Loop, Stmt, Sym, fresh
from adjit.ir.notes import Pulled
from adjit.ir.types import Array, Scalar
from adjit.transform.clear_arrays import ClearArrays
from adjit.transform.clear_outside import clear_outside
from adjit.transform.spans import Span, by_axis, moved, some_turns, spans_of
from adjit.transform.sums import Term, summed

_MOST_TERMS = 2
"""So many numbers of a turn are written down at most."""
_FAR = 4
"""Pushes farther out would make the border more than a border."""


def hold(function: Function, clear: Iterable[Sym] = ()) -> tuple[Function, frozenset[Sym]]:
    """The function with what is pushed to several arrays written down (see the module); itself where nothing is.

    clear: parameters that hold zeros. Returns also those that need not: all of them is stored before it is read.
    """
    return _Hold(function, clear).function()


@dataclass(frozen=True)
class _Held:
    """An array of what `term` is in each turn, `pad` places farther along each axis."""

    term: Sym
    array: Sym
    pad: tuple[int, ...]


Signs = dict[Sym, tuple[int, Sym]]
"""For what is pushed: that it is so many times, 1 or -1, another number that is pushed."""


class _Hold(ClearArrays):
    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        nest = self.clear_nest(stmt)
        made = None if nest is None else self._held(nest)
        return (self.rebuild(stmt),) if made is None else made

    def _held(self, nest: Nest) -> tuple[Stmt, ...] | None:
        loop = nest.loops[0]
        if any(h.modulus > 1 for h in nest.heads):
            return None
        affine = self.scatters.affine
        if not all(affine.nonnegative(h.index) for h in nest.heads):
            return None
        groups = [g for g in self.scatters.apart(nest) if self.is_clear(g.array) and _shifted(nest, g)]
        terms = _terms(nest, groups)
        if not groups or terms is None or not self._pays(nest, groups, terms):
            return None
        self.changed = True
        b = Builder(loop.span, simplify=True)
        spans = spans_of(b, nest, affine)
        pad = tuple(max(m.offset[k] for g in groups for m in g.members) for k in range(len(nest.loops)))
        pad = tuple(max(p, 0) for p in pad)
        shapes = {g.array: self.shape(b, g.array) for g in groups}
        kept = dict.fromkeys(one for _, one in terms.values())
        held = {a: self._made(b, nest, groups, spans, shapes, pad, a) for a in kept}
        gone = {id(m.what.store) for g in groups for m in g.members}
        b.extend((_writing(loop, nest, gone, held.values()),))
        for group in groups:
            extents = [shapes[group.array][axis] for axis in group.axes]
            _Places(b, nest, group, {a: (sign, held[one]) for a, (sign, one) in terms.items()}).build(extents)
            self.fills(group.array)
        return b.block()

    def _pays(self, nest: Nest, groups: Sequence[Group], terms: Signs) -> bool:
        """Whether fewer arrays are written and read than would be read again."""
        again = here = 0
        for g in groups:
            mine = {a for m in g.members for _, a in m.what.terms if isinstance(a, Sym)}
            needed = needed_for(nest, list(mine))
            if needed is None:
                return False
            again += len({s.array for s in needed if isinstance(s, Load)})
            here += len({terms[a][1] for a in mine})
        written = len({one for _, one in terms.values()})
        return written <= _MOST_TERMS and again > here + 2 * written

    def _made(
        self,
        b: Builder,
        nest: Nest,
        groups: Sequence[Group],
        spans: Sequence[Span],
        shapes: Mapping[Sym, tuple[Atom, ...]],
        pad: tuple[int, ...],
        term: Sym,
    ) -> _Held:
        """The array of a term, with zeros where no turn writes."""
        shape: list[Atom] = []
        for level in range(len(nest.loops)):
            most: Atom = ZERO
            for g in groups:
                low = min(m.offset[level] for m in g.members)
                most = b.op("max", most, moved(b, shapes[g.array][g.axes[level]], pad[level] - low))
            shape.append(b.op("nonneg", most) if isinstance(most, Sym) else most)
        assert isinstance(term.type, Scalar)
        array = b.alloc(term.name, Array(term.type, len(shape), "C"), tuple(shape))
        box = [(moved(b, s.start, p), moved(b, s.stop, p)) for s, p in zip(spans, pad, strict=True)]
        axes = range(len(shape))
        clear_outside(b, array, axes, shape, box, some_turns(b, spans), nest.loops)
        return _Held(term, array, pad)


class _Places:
    """Stores to every place of a group's array the sum of what reaches it."""

    def __init__(self, b: Builder, nest: Nest, group: Group, held: Mapping[Sym, tuple[int, _Held]]):
        self._b, self._nest, self._group, self._held = b, nest, group, held

    def build(self, extents: Sequence[Atom], place: tuple[Sym, ...] = ()) -> None:
        """extents: of the array, by loop."""
        b, group, level = self._b, self._group, len(place)
        if level == len(extents):
            b.store(group.array, by_axis(group.axes, place), self._total(place))
            return
        loop = self._nest.loops[level]
        assert loop.index is not None
        p = fresh(loop.index)
        with b.collect() as body:
            self.build(extents, (*place, p))
        note = None if level else Pulled(group.array.name)
        flows = ((), (), tuple(body), (), (), None)
        b.loop(Loop(p, ZERO, extents[level], ONE, *flows, loop.span, parallel=loop.parallel, note=note))

    def _total(self, place: Sequence[Atom]) -> Atom:
        b, terms = self._b, list[Term]()
        for m in self._group.members:
            for sign, a in m.what.terms:
                assert isinstance(a, Sym)
                turned, of = self._held[a]
                at = zip(place, m.offset, of.pad, strict=True)
                terms.append(
                    (sign * turned, b.load(of.array, tuple(moved(b, p, pad - o) for p, o, pad in at)))
                )
        return summed(b, None, terms)


def _terms(nest: Nest, groups: Sequence[Group]) -> Signs | None:
    """What is pushed; None where a constant is."""
    lets = {s.target: s for s in nest.body if isinstance(s, Let)}
    found: Signs = {}
    known: dict[object, tuple[int, Sym]] = {}
    for a in (a for g in groups for m in g.members for _, a in m.what.terms):
        if not isinstance(a, Sym):
            return None
        sign, key = _signed(a, lets)
        first, one = known.setdefault(key, (sign, a))
        found[a] = sign * first, one
    return found


def _signed(a: Atom, lets: Mapping[Sym, Let]) -> tuple[int, object]:
    """The atom as a sign and what has it; products of the same factors but for their signs have the same."""
    let = lets.get(a) if isinstance(a, Sym) else None
    if let is not None and let.op == "neg":
        sign, key = _signed(let.args[0], lets)
        return -sign, key
    if let is not None and let.op in ("mul", "szmul") and let.fn is None:
        (one, x), (other, y) = (_signed(factor, lets) for factor in let.args)
        return one * other, (let.op, x, y)
    return 1, a


def _shifted(nest: Nest, group: Group) -> bool:
    """Whether the turns push to several places of the array near by, in a box."""
    several = len({m.offset for m in group.members}) > 1
    return several and group.reach <= _FAR and fills_box(nest, group)


def _writing(loop: Loop, nest: Nest, gone: set[int], held: Iterable[_Held]) -> Loop:
    """The nest with its terms written down in place of the pushes."""
    body: list[Stmt] = []
    for s in loop.body:
        if isinstance(s, Loop):
            body.append(_writing(s, nest, gone, held))
        elif id(s) not in gone:
            body.append(s)
    if loop.index == nest.loops[-1].index:
        b = Builder(loop.span, simplify=True)
        for of in held:
            indices = zip(nest.heads, of.pad, strict=True)
            b.store(of.array, tuple(moved(b, h.index, pad) for h, pad in indices), of.term)
        body += b.block()
    return replace(loop, body=tuple(body))
