"""Loop nests that add to an array at shifted places: which of these sums may be pulled instead of pushed.

    for i: for j: w = a[i, j] * 0.2; b[i, j - 1] += w; b[i, j + 1] += w; b[i - 1, j] += w

A *group* is a set of increments of one array at places that differ by constants (offsets), each of which meets a place
at most once. Nothing else in the nest may touch the array's memory, and what the increments are made of must not change
in the nest, but for places that only their own turn has read before it stores.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from adjit.analysis.alias import Affine, Alias
from adjit.analysis.distinct import Distinct
from adjit.analysis.increments import Increment, increments
from adjit.ir.core import Atom, Block, Const, Function, Let, Load, Loop, Stmt, Store, Sym
from adjit.ir.types import INT64
from adjit.ir.visit import operands

Offset = tuple[int, ...]
_RAISING = frozenset({"div", "floordiv", "mod", "pow"})


@dataclass(frozen=True)
class Nest:
    """Loops around one block without branches; between the heads stand only definitions of scalars."""

    loops: tuple[Loop, ...]
    body: Block
    """Every statement that is no loop, outer ones first."""

    @staticmethod
    def of(loop: Loop) -> Nest | None:
        """The nest that starts with this loop."""
        loops: list[Loop] = []
        body: list[Stmt] = []
        while True:
            if not _one_by_one(loop):
                return None
            loops.append(loop)
            lets = loop.body[:-1]
            if not loop.body or not isinstance(loop.body[-1], Loop):
                break
            if not all(isinstance(s, Let) and s.op not in _RAISING for s in lets):
                return None
            body += lets
            loop = loop.body[-1]
        if not all(isinstance(s, Let | Load | Store) for s in loop.body):
            return None
        return Nest(tuple(loops), (*body, *loop.body))


def _one_by_one(loop: Loop) -> bool:
    step = loop.step
    one = isinstance(step, Const) and step.value in (1, -1)
    return one and loop.stop is None and loop.index is not None and loop.index.type == INT64


@dataclass(frozen=True)
class Push:
    """An increment of the place at `index + offset` along the axis of each loop."""

    what: Increment
    offset: Offset


@dataclass
class Group:
    """Increments of one array: axis `axes[l]` follows loop l; the other axes of `rest` do not change in the nest."""

    array: Sym
    axes: tuple[int, ...]
    rest: dict[int, Atom]
    members: list[Push] = field(default_factory=list)


class Scatters:
    """Finds the groups of a function's nests."""

    def __init__(self, function: Function):
        self._distinct = Distinct(function, Alias(function))
        self.affine = Affine.of(function)

    def of(self, nest: Nest) -> list[Group]:
        """The groups of at least one increment that may be pulled."""
        own = {s.target for s in nest.body if isinstance(s, Let | Load)}
        own |= {p for loop in nest.loops for p in (loop.index, *loop.params) if p is not None}
        groups: list[Group] = []
        touched = _Touched(nest)
        for array in (a for a in touched.arrays if a not in own):
            for group in self._groups(nest, array, own, touched):
                if all(self._steady(nest, member, touched) for member in group.members):
                    groups.append(group)
        return groups

    def _groups(self, nest: Nest, array: Sym, own: set[Sym], touched: _Touched) -> list[Group]:
        found = touched.increments(array)
        if found is None or any(not self._distinct.surely(array, a) for a in touched.others(array)):
            return []
        groups: list[Group] = []
        for one in found:
            form = self._form(nest, one.store, own)
            if form is None:
                continue
            axes, rest, offset = form
            group = next((g for g in groups if g.axes == axes and self._same(g.rest, rest)), None)
            if group is None:
                group = Group(array, axes, rest)
                groups.append(group)
            group.members.append(Push(one, offset))
        return groups

    def _same(self, a: dict[int, Atom], b: dict[int, Atom]) -> bool:
        return a.keys() == b.keys() and all(self.affine.same(a[k], b[k]) for k in a)

    def _form(
        self, nest: Nest, store: Store, own: set[Sym]
    ) -> tuple[tuple[int, ...], dict[int, Atom], Offset] | None:
        """Which axis follows which loop, what the other axes are, the offsets. None: not of that form."""
        indices = [loop.index for loop in nest.loops]
        axes: dict[int, int] = {}
        offsets: dict[int, int] = {}
        rest: dict[int, Atom] = {}
        for axis, a in enumerate(store.index):
            base, offset = self.affine.split(a)
            if base in indices:
                level = indices.index(base)
                if level in axes or not self.affine.nonnegative(a):
                    return None
                axes[level], offsets[level] = axis, offset
            elif base is None or base not in own:
                if isinstance(a, Sym) and a in own:
                    return None
                rest[axis] = a
            else:
                return None
        if len(axes) != len(indices):
            return None
        order = range(len(indices))
        return tuple(axes[k] for k in order), rest, tuple(offsets[k] for k in order)

    def _steady(self, nest: Nest, member: Push, touched: _Touched) -> bool:
        """Whether the terms are the same when they are computed before the nest."""
        needed = needed_for(nest, [a for _, a in member.what.terms])
        if needed is None:
            return False
        return all(self._unchanged(nest, s, touched) for s in needed if isinstance(s, Load))

    def _unchanged(self, nest: Nest, load: Load, touched: _Touched) -> bool:
        """Whether no store of an earlier turn, or of this one before it, can change what is loaded."""
        for store in touched.stores:
            if self._distinct.surely(store.array, load.array):
                continue
            if store.array != load.array or touched.order[id(store)] < touched.order[id(load)]:
                return False
            if not all(self.affine.same(a, b) for a, b in zip(store.index, load.index, strict=True)):
                return False
            if not self._injective(nest, store):
                return False
        return True

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

    def increments(self, array: Sym) -> list[Increment] | None:
        """The array's accesses as increments; None if there is another access to it."""
        found = [one for one in self._increments if one.store.array == array]
        known = {id(s) for one in found for s in (one.load, one.store)}
        every = all(id(s) in known for s in (*self.loads, *self.stores) if s.array == array)
        return found if every else None


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
    """Whether the loops' ranges are the same in every turn of the loops around them."""
    loads = {s.target for s in nest.body if isinstance(s, Load)}
    moving: set[Sym] = {loop.index for loop in nest.loops if loop.index is not None} | loads
    moving |= {p for loop in nest.loops for p in (*loop.params, *loop.results)}
    for s in nest.body:
        if isinstance(s, Let) and any(isinstance(a, Sym) and a in moving for a in s.args):
            moving.add(s.target)
    ends = {a for loop in nest.loops[1:] for a in (loop.lo, loop.hi) if isinstance(a, Sym)}
    return not ends & moving
