"""Sums that the work items of a nest add to places at constant distances from their own: what a pull can collect.

    for i, j in parallel: if 0 < i: w = da[i, j]; db[i - 1, j] += w; db[i, (j + 1) % m] += w; dc[k[i], 0] += w

Each loop of the nest is followed by one axis of the array, by a constant offset, around a ring, or stopped at an end
(`analysis.bends`); an index that may be negative counts from the end of the array. The other axes are the same for all
work items. The last sum above is at no such place.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from adjit.analysis.alias import Affine, Alias
from adjit.analysis.bends import HIGH, LOW, RING, Kinds
from adjit.analysis.carried import Amount, Carried
from adjit.analysis.guards import Guards, Path
from adjit.analysis.item_nests import Nest
from adjit.analysis.lattice import Head
from adjit.analysis.update_pairs import Pairs
from adjit.ir.core import ZERO, Alloc, Atom, Block, Const, If, Let, Load, Loop, Stmt, Store, Sym
from adjit.ir.types import INT64
from adjit.ir.visit import defined, targets, walk

End = tuple[Sym | None, int]
"""A number that is the same for all work items: a symbol (None: nothing) and a constant."""


@dataclass(frozen=True)
class Along:
    """How the place along an axis follows a loop's index.

    kinds: how it is brought back where it would leave the range (`analysis.bends`). end: what it stays below then;
    None: the end of the loop's range. It is right where the range goes no farther. size: the axis of the array whose
    extent is added where the index is negative; None: it never is.
    """

    offset: int
    kinds: Kinds = frozenset()
    end: End | None = None
    size: tuple[Sym, int] | None = None


@dataclass(frozen=True)
class Target:
    """Elements of an array, one for each place: axis `axes[l]` follows loop l, `rest` are the others."""

    array: Sym
    axes: tuple[int, ...]
    rest: tuple[tuple[int, Sym | None, int], ...]


@dataclass(frozen=True, eq=False)
class Push:
    """One sum. term: what is added, with its sign; None: what the stored value is if the element were 0 (`load`)."""

    store: Store
    load: Load
    term: tuple[int, Atom] | None
    target: Target
    step: tuple[Along, ...]
    rest: tuple[tuple[int, Amount], ...]


class ItemPushes:
    """The pushes of one nest, and where its statements stand."""

    def __init__(self, nest: Nest, alias: Alias, affine: Affine):
        self.nest, self._alias, self._affine = nest, alias, affine
        self.body: Block = (*nest.between, *nest.last.body)
        self.statements = list(walk(self.body))
        self.made: dict[Sym, Stmt] = {t: s for s in self.statements for t in targets(s)}
        self.order = {id(s): k for k, s in enumerate(self.statements)}
        self.paths: dict[int, Path] = {}
        self.loops: dict[int, tuple[Loop, ...]] = {}
        self._place(self.body, (), ())
        self._levels: dict[Sym, int] = {
            one.index: k for k, one in enumerate(nest.loops) if one.index is not None
        }
        self._guards = Guards(affine, self.made)
        self._pairs = Pairs(self.body, affine, nest.last.nexts)
        self._fixed = Carried(nest.loops[0]).fixed
        flows = {x for one in nest.loops for x in (one.index, *one.params)}
        self._inside = defined(self.body) | {x for x in flows if x is not None}
        self.local = frozenset(
            r for s in self.statements if isinstance(s, Alloc) for r in alias.roots(s.target)
        )
        self.ends: dict[End, Amount] = {}
        heads = [Head.of(one, {}) for one in nest.loops]
        self.heads = tuple(h for h in heads if h is not None)

    def _place(self, block: Block, path: Path, loops: tuple[Loop, ...]) -> None:
        for s in block:
            self.paths[id(s)], self.loops[id(s)] = path, loops
            if isinstance(s, If):
                self._place(s.then, (*path, (s.cond, True)), loops)
                self._place(s.els, (*path, (s.cond, False)), loops)
            elif isinstance(s, Loop):
                self._place(s.body, path, (*loops, s))

    def outside(self, array: Sym) -> bool:
        """Whether the array is none that a work item makes for itself."""
        return not self._alias.roots(array) <= self.local

    # pushes

    def pushes(self) -> list[Push]:
        """Sums at constant distances, in order."""
        if len(self.heads) != len(self.nest.loops):
            return []
        stores = (s for s in self.statements if isinstance(s, Store) and s.update == "add")
        found = (self._push(s) for s in stores if self.meets(s))
        return [p for p in found if p is not None]

    def pair_of(self, store: Store) -> Load | None:
        """The load of the element that an update begins with."""
        return self._pairs.load_of(store) if store.update else None

    def meets(self, store: Store) -> bool:
        """Whether work items may meet in the array."""
        roots = self._alias.roots(store.array)
        return any(
            t.meet is None or any(not self._alias.roots(a).isdisjoint(roots) for a in t.meet)
            for t in self.nest.turns
        )

    def _push(self, store: Store) -> Push | None:
        dtype = store.array.type.dtype  # type: ignore[union-attr]
        if not dtype.is_float or store.array in self._inside or not self.outside(store.array):
            return None
        direct = self._pairs.direct(store)
        load = direct[0] if direct is not None else self._pairs.load_of(store)
        if load is None:
            return None
        term = None if direct is None else (-1 if direct[2].op == "sub" else 1, direct[1])
        along: dict[int, tuple[int, Along]] = {}
        rest: list[tuple[int, Amount]] = []
        names: list[tuple[int, Sym | None, int]] = []
        for axis, a in enumerate(store.index):
            follows = self._along(store, axis, a)
            if follows is not None:
                level, step = follows
                if level in along:
                    return None
                along[level] = axis, step
                continue
            amount = self._fixed(a)
            if amount is None:
                return None
            rest.append((axis, amount))
            names.append((axis, *self._affine.split(a)))
        if len(along) != len(self.nest.loops):
            return None
        axes = tuple(along[k][0] for k in range(len(along)))
        steps = tuple(along[k][1] for k in range(len(along)))
        return Push(store, load, term, Target(store.array, axes, tuple(names)), steps, tuple(rest))

    def _along(self, store: Store, axis: int, a: Atom) -> tuple[int, Along] | None:
        """The loop that the index follows, and how."""
        bent = self._bent(a)
        if bent is not None and (bent[1].kinds or self._counts(bent, store, a)):
            return bent
        level, offset, sure = self.split(a)
        if level is None:
            return None
        if sure or self.nonnegative(a, self.paths[id(store)]):
            return level, Along(offset)
        return level, Along(offset, size=(store.array, axis))

    def _counts(self, bent: tuple[int, Along], store: Store, a: Atom) -> bool:
        """Whether the place, which nothing brings back at the start, is not counted from the end of the array."""
        return bent[1].offset >= 0 or self.nonnegative(a, self.paths[id(store)])

    def _bent(self, a: Atom) -> tuple[int, Along] | None:
        """A loop's index and a constant, brought back into a range that the loop's goes no farther than."""
        found = self._brought_back(a)
        if found is None:
            return None
        level, offset, kinds, end = found
        index = self.heads[level].index
        if not self.counting(index):
            return None
        if RING not in kinds:
            kinds = kinds & ({LOW} if offset < 0 else {HIGH} if offset > 0 else frozenset())
        elif offset == 0:
            kinds = frozenset()
        return level, Along(offset, kinds, end)

    def _brought_back(self, a: Atom) -> tuple[int, int, Kinds, End | None] | None:
        let = self.made.get(a) if isinstance(a, Sym) else None
        if not isinstance(let, Let) or any(x.type != INT64 for x in (let.target, *let.args)):
            return None
        if let.op == "nonneg":
            return self._brought_back(let.args[0])
        sides = (let.args, let.args[::-1]) if let.op in ("min", "max") else (let.args,)
        for x, end in sides if let.op in ("min", "max", "mod") else ():
            if let.op == "max" and end != ZERO:
                continue
            level, offset, _ = self.split(x)
            inner = None if level is None else (level, offset, frozenset[str](), None)
            if inner is None and let.op != "mod":
                inner = self._brought_back(x)
            if inner is None or RING in inner[2]:
                continue
            level, offset, kinds, known = inner
            if let.op == "max":
                return level, offset, kinds | {LOW}, known
            limit = self._end(level, end, 0 if let.op == "mod" else 1)
            if limit is not None and HIGH not in kinds:
                return level, offset, kinds | {RING if let.op == "mod" else HIGH}, limit[0]
        return None

    def _end(self, level: int, a: Atom, more: int) -> tuple[End | None] | None:
        """`a + more` as an end: (None,) where it is the end of the loop's range; None if it is no such number."""
        head = self.heads[level]
        base, offset = self._affine.split(a)
        last, after = self._affine.split(head.last)
        if (base, offset + more) == (last, after + head.after):
            return (None,)
        amount = self._fixed(a)
        if amount is None:
            return None
        self.ends[base, offset + more] = lambda b: b.op("add", amount(b), more) if more else amount(b)
        return ((base, offset + more),)

    def split(self, a: Atom) -> tuple[int | None, int, bool]:
        """A loop (None: not its index and a constant), the offset from its index, whether it is not negative."""
        offset, sure = 0, False
        while True:
            base, more = self._affine.split(a)
            offset += more
            stmt = self.made.get(base) if base is not None else None
            if isinstance(stmt, Let) and stmt.op == "nonneg":
                sure = sure or offset >= 0
                a = stmt.args[0]
                continue
            level = self._levels.get(base) if base is not None and base.type == INT64 else None
            return level, offset, sure

    def nonnegative(self, a: Atom, path: Path) -> bool:
        """Whether the integer is at least 0 where the conditions hold."""
        low = self._guards.least(a, path)
        return low is not None and low >= 0

    # what meets what in one work item

    def may_precede(self, a: Stmt, b: Stmt) -> bool:
        """Whether `a` may run before `b`."""
        if self.order[id(a)] < self.order[id(b)]:
            return True
        return any(loop in self.loops[id(b)] for loop in self.loops[id(a)])

    def apart(self, a: Load | Store, b: Load | Store) -> bool:
        """Whether two accesses of one array by one work item are never of one element."""
        if a.array != b.array:
            return False
        for x, y in zip(a.index, b.index, strict=True):
            (level, off, _), (other, more, _) = self.split(x), self.split(y)
            if level is None and other is None:
                (bx, off), (by, more) = self._affine.split(x), self._affine.split(y)
                if bx is not None or by is not None:
                    continue
            elif level != other:
                continue
            sure = self.nonnegative(x, self.paths[id(a)]) and self.nonnegative(y, self.paths[id(b)])
            if off != more and sure:
                return True
        return False

    def accesses(self) -> Iterable[Load | Store]:
        """Loads and stores of arrays from outside."""
        return (s for s in self.statements if isinstance(s, Load | Store) and self.outside(s.array))

    def guarded(self, does: Iterable[Stmt]) -> list[tuple[bool, bool]]:
        """By loop: whether the guards of all these statements keep its index from before its range, and from behind."""
        paths = list(dict.fromkeys(self.paths[id(s)] for s in does))
        found: list[tuple[bool, bool]] = []
        for head in self.heads:
            first = head.first.integer + head.before if isinstance(head.first, Const) else None
            lows = [self._guards.least(head.index, path, False) for path in paths]
            above = first is not None and all(low is not None and low >= first for low in lows)
            below = all(self._guards.below(head.index, head.last, head.after, path) for path in paths)
            found.append((above and bool(paths), below and bool(paths)))
        return found

    def counting(self, index: Sym) -> bool:
        """Whether a loop's index is never negative."""
        return self._affine.nonnegative(index)
