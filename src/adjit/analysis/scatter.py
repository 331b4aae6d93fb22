"""Loop nests that add to an array at shifted places: which of these sums may be pulled instead of pushed.

    for i: for j: w = a[i, j] * 0.2; b[i, j - 1] += w; b[i, j + 1] += w; b[i - 1, j] += w

A *group* is a set of increments of one array at places that differ by constants (offsets), each of which meets a place
at most once. Nothing else in the nest may touch these places, and what the increments are made of must not change
in the nest, but for places that only their own turn has read before it stores.

Where the turns are of one residue class (`analysis.lattice`), so are the places of an offset: a red-black half sweep
reads points of one colour and adds to points of the other, which are other elements of the same array.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from adjit.analysis.alias import Affine, Alias
from adjit.analysis.bends import Bends, Bent, Kinds
from adjit.analysis.distinct import Distinct
from adjit.analysis.increments import Increment, increments
from adjit.analysis.lattice import Head
from adjit.analysis.raising import may_raise
from adjit.analysis.ranges import ranges_of
from adjit.analysis.regions import Regions
from adjit.ir.core import Atom, Block, Function, Let, Load, Loop, Stmt, Store, Sym
from adjit.ir.visit import operands

Offset = tuple[int, ...]


@dataclass(frozen=True)
class Nest:
    """Loops around one block without branches; between the heads stand only definitions of scalars."""

    loops: tuple[Loop, ...]
    heads: tuple[Head, ...]
    body: Block
    """Every statement that is no loop, outer ones first."""

    @staticmethod
    def of(loop: Loop) -> Nest | None:
        """The nest that starts with this loop."""
        loops: list[Loop] = []
        heads: list[Head] = []
        body: list[Stmt] = []
        table: dict[Sym, Let] = {}
        while True:
            head = Head.of(loop, table)
            if head is None:
                return None
            loops.append(loop)
            heads.append(head)
            lets = loop.body[:-1]
            if not loop.body or not isinstance(loop.body[-1], Loop):
                break
            if not all(isinstance(s, Let) for s in lets):
                return None
            body += lets
            table |= {s.target: s for s in lets if isinstance(s, Let)}
            loop = loop.body[-1]
        if not all(isinstance(s, Let | Load | Store) for s in loop.body):
            return None
        return Nest(tuple(loops), tuple(heads), (*body, *loop.body))

    @cached_property
    def own(self) -> set[Sym]:
        """What the nest defines."""
        flows = (p for loop in self.loops for p in (loop.index, *loop.params) if p is not None)
        return {*(s.target for s in self.body if isinstance(s, Let | Load)), *flows}

    def ends(self) -> list[Atom]:
        """What the ranges of the loops, and their residues, are made of."""
        indices = {h.index for h in self.heads}
        rest = [s for h in self.heads for s in h.residue.terms if s not in indices]
        return [*(a for h in self.heads for a in (h.first, h.last)), *rest]


@dataclass(frozen=True)
class Push:
    """An increment of the place at `index + offset` along the axis of each loop, bent back into its range or not."""

    what: Increment
    offset: Offset
    bends: tuple[Kinds, ...]


@dataclass
class Group:
    """Increments of one array: axis `axes[l]` follows loop l; the other axes of `rest` do not change in the nest."""

    array: Sym
    axes: tuple[int, ...]
    rest: dict[int, Atom]
    places: tuple[int, ...]
    """By loop: how far the residue class of the places is moved from that of the turns (0 where all turns are)."""
    members: list[Push] = field(default_factory=list)
    sized: set[tuple[int, int]] = field(default_factory=set)
    """Axes that are indexed from their end: each must have as many places as the loop of that level has turns."""
    least: set[tuple[int, int]] = field(default_factory=set)
    """Loops, and how many turns each must have."""

    @property
    def reach(self) -> int:
        """How far the farthest push goes along an axis."""
        return max(abs(o) for m in self.members for o in m.offset)


def fills_box(nest: Nest, group: Group) -> bool:
    """Whether the nest stores to these places of the array alone, and they are all of a box: no class, no bend."""
    stores = sum(isinstance(s, Store) and s.array == group.array for s in nest.body)
    if len(group.members) != stores:
        return False
    if group.rest or group.sized or group.least or any(h.modulus > 1 for h in nest.heads):
        return False
    return not any(any(m.bends) for m in group.members)


class Scatters:
    """Finds the groups of a function's nests."""

    def __init__(self, function: Function):
        self.distinct = Distinct(function, Alias(function))
        self._ranges = ranges_of(function)
        self.affine = Affine(Regions(function).definition, self._ranges.bounds)
        self._bends: tuple[Nest, Bends] | None = None

    def of(self, nest: Nest) -> list[Group]:
        """The groups of at least one increment that may be pulled."""
        touched = _Touched(nest)
        found = self.apart(nest, touched)
        return [g for g in found if all(self._steady(nest, m, touched) for m in g.members)]

    def apart(self, nest: Nest, touched: _Touched | None = None) -> list[Group]:
        """The groups whose places nothing else in the nest touches, whatever the increments are made of."""
        own, touched = nest.own, touched or _Touched(nest)
        arrays = (a for a in touched.arrays if a not in own)
        return [group for array in arrays for group in self._groups(nest, array, own, touched)]

    def _groups(self, nest: Nest, array: Sym, own: set[Sym], touched: _Touched) -> list[Group]:
        if any(not self.distinct.surely(array, a) for a in touched.others(array)):
            return []
        found, others = touched.increments(array)
        groups: list[Group] = []
        for one in found:
            form = self._form(nest, one.store, own)
            if form is None:
                continue
            places = _places(nest, form.offset)
            alike = (g for g in groups if (g.axes, g.places) == (form.axes, places))
            group = next((g for g in alike if self._same(g.rest, form.rest)), None)
            if group is None:
                group = Group(array, form.axes, form.rest, places)
                groups.append(group)
            group.members.append(Push(one, form.offset, form.bends))
            group.sized |= form.sized
            group.least |= form.least
        forms = [self._form(nest, access, own) for access in others]
        return [g for g in groups if all(f is not None and self._elsewhere(nest, g, f) for f in forms)]

    def _elsewhere(self, nest: Nest, group: Group, form: _Form) -> bool:
        """Whether an access of this form never meets a place of the group."""
        classes = form.axes == group.axes and _places(nest, form.offset) != group.places
        return classes or self._rows_apart(group.rest, form.rest)

    def _apart(self, nest: Nest, one: _Form, other: _Form) -> bool:
        """Whether the two never name one place, in whatever turns."""
        classes = one.axes == other.axes and _places(nest, one.offset) != _places(nest, other.offset)
        return classes or self._rows_apart(one.rest, other.rest)

    def _rows_apart(self, one: dict[int, Atom], other: dict[int, Atom]) -> bool:
        """Whether an axis that does not change in the nest has another index in each."""
        return any(self.affine.apart(one[axis], other[axis]) for axis in one.keys() & other.keys())

    def _same(self, a: dict[int, Atom], b: dict[int, Atom]) -> bool:
        return a.keys() == b.keys() and all(self.affine.same(a[k], b[k]) for k in a)

    def _form(self, nest: Nest, access: Load | Store, own: set[Sym]) -> _Form | None:
        """Which axis follows which loop, what the other axes are, the offsets. None: not of that form."""
        bends = self.bends(nest)
        along: dict[int, tuple[int, Bent]] = {}
        rest: dict[int, Atom] = {}
        sized: set[tuple[int, int]] = set()
        for axis, a in enumerate(access.index):
            base, _ = self.affine.split(a)
            found = bends.of(a) or bends.straight(a)
            if found is None:
                found = bends.counted_back(a)
                sized |= set() if found is None else {(axis, found.level)}
            if found is not None:
                if found.level in along:
                    return None
                along[found.level] = axis, found
            elif base not in own and a not in own:
                rest[axis] = a
            else:
                return None
        if len(along) != len(nest.heads):
            return None
        followed = [along[k] for k in range(len(along))]
        if any(f.kinds for _, f in followed) and any(h.modulus > 1 for h in nest.heads):
            return None
        axes, offset = tuple(axis for axis, _ in followed), tuple(f.offset for _, f in followed)
        least = frozenset((f.level, f.least) for _, f in followed if f.least)
        return _Form(rest, axes, offset, tuple(f.kinds for _, f in followed), frozenset(sized), least)

    def bends(self, nest: Nest) -> Bends:
        """The bent indices of a nest."""
        if self._bends is None or self._bends[0] is not nest:
            lets = {s.target: s for s in nest.body if isinstance(s, Let)}
            self._bends = nest, Bends(nest.heads, lets, self.affine, self._ranges.form)
        return self._bends[1]

    def _steady(self, nest: Nest, member: Push, touched: _Touched) -> bool:
        """Whether the terms are the same when they are computed before the nest."""
        needed = needed_for(nest, [a for _, a in member.what.terms])
        if needed is None:
            return False
        return all(self._unchanged(nest, s, touched) for s in needed if isinstance(s, Load))

    def _unchanged(self, nest: Nest, load: Load, touched: _Touched) -> bool:
        """Whether no store of an earlier turn, or of this one before it, can change what is loaded."""
        for store in touched.stores:
            if self.distinct.surely(store.array, load.array) or self._parted(nest, store, load):
                continue
            if store.array != load.array or touched.order[id(store)] < touched.order[id(load)]:
                return False
            if not all(self.affine.same(a, b) for a, b in zip(store.index, load.index, strict=True)):
                return False
            if not self._injective(nest, store):
                return False
        return True

    def _parted(self, nest: Nest, store: Store, load: Load) -> bool:
        """Whether the places of the two are of two residue classes, or rows."""
        if store.array != load.array:
            return False
        own = nest.own
        one, other = self._form(nest, store, own), self._form(nest, load, own)
        return one is not None and other is not None and self._apart(nest, one, other)

    def _injective(self, nest: Nest, store: Store) -> bool:
        """Whether every turn stores to a place of its own."""
        found: set[Sym | None] = set()
        for a in store.index:
            base, _ = self.affine.split(a)
            if self.affine.nonnegative(a):
                found.add(base)
        return all(loop.index in found for loop in nest.loops)


class _Touched:
    """What a nest reads and writes."""

    def __init__(self, nest: Nest):
        self.order = {id(s): k for k, s in enumerate(nest.body)}
        self.loads = [s for s in nest.body if isinstance(s, Load)]
        self.stores = [s for s in nest.body if isinstance(s, Store)]
        self.arrays = list(dict.fromkeys(s.array for s in self.stores))
        read = (a for loop in nest.loops for a in (*loop.nexts, *_head(loop)))
        self._increments = increments(nest.body, read)

    def others(self, array: Sym) -> set[Sym]:
        return {s.array for s in (*self.loads, *self.stores) if s.array != array}

    def increments(self, array: Sym) -> tuple[list[Increment], list[Load | Store]]:
        """The array's increments, and its other accesses."""
        found = [one for one in self._increments if one.store.array == array]
        known = {id(s) for one in found for s in (one.load, one.store)}
        every = (s for s in (*self.loads, *self.stores) if s.array == array)
        return found, [s for s in every if id(s) not in known]


@dataclass(frozen=True)
class _Form:
    """A place: by axis what does not change in the nest; by loop the axis that follows it, and how."""

    rest: dict[int, Atom]
    axes: tuple[int, ...]
    offset: Offset
    bends: tuple[Kinds, ...]
    sized: frozenset[tuple[int, int]]
    """Axis and loop, where the axis must have as many places as the loop has turns."""
    least: frozenset[tuple[int, int]]
    """Loop, and how many turns it must have."""


def _places(nest: Nest, offset: Offset) -> tuple[int, ...]:
    """The residue class of the places at an offset, by loop, measured from that of the turns."""
    level = {h.index: k for k, h in enumerate(nest.heads)}
    found: list[int] = []
    for k, h in enumerate(nest.heads):
        moved = sum(factor * offset[level[s]] for s, factor in h.residue.terms.items() if s in level)
        found.append((offset[k] - moved) % h.modulus)
    return tuple(found)


def _head(loop: Loop) -> tuple[Atom, ...]:
    return tuple(a for a in (loop.lo, loop.hi, *loop.inits) if a is not None)


def needed_for(nest: Nest, atoms: list[Atom]) -> list[Let | Load] | None:
    """The statements of the nest that these atoms are made of, in order; None if a carried value takes part."""
    carried = {p for loop in nest.loops for p in loop.params}
    wanted = {a for a in atoms if isinstance(a, Sym)}
    found: list[Let | Load] = []
    for s in reversed(nest.body):
        if isinstance(s, Let | Load) and s.target in wanted:
            found.append(s)
            wanted |= {a for a in operands(s) if isinstance(a, Sym)}
    return None if wanted & carried else found[::-1]


def steady_bounds(nest: Nest) -> bool:
    """Whether the loops' ranges are the same in every turn, but for residues of indices, and known before the nest."""
    loads = {s.target for s in nest.body if isinstance(s, Load)}
    indices = {h.index for h in nest.heads}
    moving: set[Sym] = indices | loads
    moving |= {p for loop in nest.loops for p in (*loop.params, *loop.results)}
    for s in nest.body:
        if isinstance(s, Let) and any(isinstance(a, Sym) and a in moving for a in s.args):
            moving.add(s.target)
    if moving.intersection(a for a in nest.ends() if isinstance(a, Sym)):
        return False
    needed = needed_for(nest, nest.ends())
    return needed is not None and not any(isinstance(s, Let) and may_raise(s) for s in needed)
