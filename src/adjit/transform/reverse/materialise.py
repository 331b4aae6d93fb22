"""Primal values in the reverse sweep: available, computed again, or taken from the record.

The reverse sweep walks the regions of the primal backwards. At any moment the open regions form a stack of
`Scope`s, each with the index of the statement being reversed: memory then holds what it held just after that
statement (later stores have been rolled back where that matters). A value is needed "now"; it is emitted in the
outermost open scope where it is right:

* pure operations: wherever their operands are;
* a load: where no store between the load and that scope's position may have changed the element;
* a branch's result: by running the branch's own slice again;
* loop results, carried values and loads that were overwritten: from the record.

What can't be had is put on `wanted`, and the sweep is run again with it recorded.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from adjit.analysis.alias import Affine, Alias, apart
from adjit.analysis.order import Order
from adjit.analysis.regions import Region, Regions
from adjit.errors import UnsupportedError
from adjit.ir.builder import Builder
from adjit.ir.core import (
    Alloc,
    Atom,
    Custom,
    If,
    Let,
    Load,
    Loop,
    RefGet,
    RefNew,
    Span,
    Store,
    Sym,
    View,
    fresh,
)
from adjit.ir.types import Array, Scalar
from adjit.ir.visit import operands, same_view, view_atoms
from adjit.transform.reverse.record import Decisions, Layout
from adjit.transform.reverse.stored import Stored


class KeepAllocationError(Exception):
    """Internal: the plan needs references to an allocation inside a loop or branch; start again with it kept."""

    def __init__(self, array: Sym):
        super().__init__(str(array))
        self.array = array


class NumberBranchError(Exception):
    """Internal: an array chosen by a branch cannot be chosen again from outside; start again with it numbered."""

    def __init__(self, array: Sym, span: Span):
        super().__init__(str(array))
        self.array, self.span = array, span


@dataclass(eq=False)
class Scope:
    """One open region of the reverse sweep."""

    region: Region
    builder: Builder
    position: int
    replayed: bool = False  # a branch being run again, not reversed
    values: dict[Sym, Atom] = field(default_factory=dict)
    shadows: dict[Sym, Sym] = field(default_factory=dict)
    base: dict[Scalar, Atom] = field(default_factory=dict)


class Materialiser:
    """The stack of scopes, and the search for values."""

    def __init__(
        self,
        regions: Regions,
        alias: Alias,
        affine: Affine,
        order: Order,
        decisions: Decisions,
        layout: Layout,
    ):
        self.regions, self.alias, self.affine = regions, alias, affine
        self.decisions, self.layout = decisions, layout
        self.memory = Stored(regions, alias, affine, order, decisions)
        self.stack: list[Scope] = []
        self.wanted: dict[tuple[Sym, Region], None] = {}
        self.repeated: dict[int, Load] = {}
        self.recomputed: dict[int, Let] = {}
        self.versions: dict[Sym, Sym] = {}  # growing records: any version -> the last one
        self._level_memo: dict[Sym, int | None] = {}
        self._not_outside: set[Sym] = (
            set()
        )  # numbers of branches found by `_want` to be no better from outside
        self._chosen_from: dict[Sym, list[Atom]] = {}

    # scopes

    @property
    def top(self) -> Scope:
        return self.stack[-1]

    @property
    def b(self) -> Builder:
        return self.stack[-1].builder

    def push(self, scope: Scope) -> None:
        self.stack.append(scope)
        self._level_memo.clear()

    def pop(self) -> Scope:
        self._level_memo.clear()
        return self.stack.pop()

    def move(self, position: int) -> None:
        """The statement now being reversed in the innermost scope."""
        self.top.position = position
        self._level_memo.clear()

    def _open(self, region: Region) -> int | None:
        for level in range(len(self.stack) - 1, -1, -1):
            if self.stack[level].region is region:
                return level
        return None

    # values

    def need(self, a: Atom) -> Atom:
        """The primal value now, as an atom of the reverse function."""
        return self._get(a)[0] if isinstance(a, Sym) else a

    def need_at(self, a: Atom, level: int) -> Atom:
        """The primal value as an atom that is there at a level of the stack, not only further in."""
        if isinstance(a, Sym):
            found = self.level(a)
            if found is None or found > level:
                self.wanted[a, self.regions.where[a][0]] = None
                self.decisions.needed_at.setdefault(a, self.b.span)
                return fresh(a)
        return self.need(a)

    def need_sym(self, s: Sym) -> Sym:
        """An array reference now."""
        got = self.need(s)
        assert isinstance(got, Sym)
        return got

    def _find(self, s: Sym) -> tuple[Atom, int] | None:
        for level in range(len(self.stack) - 1, -1, -1):
            if s in self.stack[level].values:
                return self.stack[level].values[s], level
        return None

    def _get(self, s: Sym) -> tuple[Atom, int]:
        hit = self._find(s)
        if hit is not None:
            return hit
        if s in self.versions:
            return self.versions[s], 0
        level = self.level(s)
        if level is None:
            self._want(s)
            return fresh(s), len(self.stack) - 1
        atom = self._emit(s, level)
        self.stack[level].values[s] = atom
        return atom, level

    def _want(self, s: Sym) -> None:
        """Decide what to record so that `s` can be had: the one cause, or `s` itself."""
        causes: dict[Sym, None] = {}
        self._not_outside.clear()
        self._causes(s, causes, set())
        if len(causes) == 1 and not isinstance(next(iter(causes)).type, Array):
            self._record(*causes)
        elif isinstance(s.type, Array) or any(isinstance(c.type, Array) for c in causes):
            self._record(*(c for c in causes if not isinstance(c.type, Array)))
            for c in causes:
                if isinstance(c.type, Array):
                    self._keep(c)
        else:
            self._record(s)

    def _record(self, *syms: Sym) -> None:
        """Ask for records: where the value is defined, or at the entry of the branch that alone needs it."""
        for s in syms:
            region = self.regions.where[s][0]
            d = self._open(region)
            inner = None if d is None or d + 1 >= len(self.stack) else self.stack[d + 1]
            if inner is not None and not inner.replayed and isinstance(inner.region.owner, If):
                region = inner.region
            self.wanted[s, region] = None
            self.decisions.needed_at.setdefault(s, self.b.span)

    def _choices(self, stmt: If, s: Sym) -> list[Atom]:
        """What a result of a branch is made from, outside the branches."""
        if s not in self._chosen_from:
            self._chosen_from[s] = self._outside(stmt, s)
        return self._chosen_from[s]

    def _outside(self, stmt: If, s: Sym) -> list[Atom]:
        j = stmt.results.index(s)
        found: list[Atom] = []
        for region, values in zip(
            self.regions.inner[id(stmt)], (stmt.then_values, stmt.else_values), strict=True
        ):
            inside = self.regions.defined(region)
            todo: list[Atom] = [values[j]]
            while todo:
                a = todo.pop()
                made = self.regions.definition.get(a) if isinstance(a, Sym) and a in inside else None
                if made is None:
                    found.append(a)
                else:
                    todo += operands(made)
                    if isinstance(made, If) and isinstance(a, Sym):
                        k = made.results.index(a)
                        todo += [made.then_values[k], made.else_values[k]]
        return found

    def _keep(self, array: Sym) -> None:
        """An array made inside a loop or branch is needed: keep a reference to it, or refuse."""
        stmt = self.regions.definition.get(array)
        if isinstance(stmt, Alloc):
            raise KeepAllocationError(array)
        if isinstance(stmt, If):
            raise NumberBranchError(array, stmt.span)
        if isinstance(stmt, Custom):
            raise UnsupportedError(
                "a function with a rule of its own returns an array, in a loop, a branch or a recursion",
                "pass the array in and let the function write it, or call the function outside",
                stmt.span,
            )
        raise UnsupportedError(
            f"the array `{array.name}` is rebound in a way that the reverse sweep cannot follow",
            "allocate the array before the loop and overwrite it, or swap two arrays by name",
            None if stmt is None else stmt.span,
        )

    def _causes(self, s: Sym, causes: dict[Sym, None], seen: set[Sym]) -> bool:
        """Collect what stands in the way of `s`; False if nothing does."""
        if self.level(s) is not None:
            return False
        if s in seen:
            return True
        seen.add(s)
        stmt = self.regions.definition.get(s)
        inner: list[Atom] = []
        match stmt:
            case Let():
                inner = list(stmt.args)
            case View():
                inner = [stmt.array, *view_atoms(stmt)]
            case Load():
                inner = [stmt.array, *stmt.index]
            case RefGet():
                inner = [stmt.references, stmt.position]
            case If() if isinstance(s.type, Array):
                inner = [stmt.cond, *self._choices(stmt, s)]
            case If() if self._causes_outside(stmt, s, causes, seen):
                return True
            case _:
                pass
        if not any([self._causes(a, causes, seen) for a in inner if isinstance(a, Sym)]):
            causes[s] = None
        return True

    def _causes_outside(self, stmt: If, s: Sym, causes: dict[Sym, None], seen: set[Sym]) -> bool:
        """Whether a number that a branch gives is at hand once what stands in its way, in fewer loops, is."""
        if s in self._not_outside:
            return False
        depth = len(self.regions.where[s][0].loops)
        found: dict[Sym, None] = {}
        known = set(seen)
        for a in (stmt.cond, *self._choices(stmt, s)):
            if isinstance(a, Sym):
                self._causes(a, found, known)
        if not found or any(len(self.regions.where[c][0].loops) >= depth for c in found):
            self._not_outside.add(s)
            return False
        seen |= known
        causes |= found
        return True

    # where

    def level(self, s: Sym) -> int | None:
        """The outermost level of the stack where `s` can be emitted now, or None."""
        hit = self._find(s)
        if hit is not None:
            return hit[1]
        if s in self.versions:
            return 0
        if s not in self._level_memo:
            self._level_memo[s] = None
            self._level_memo[s] = self._level(s)
        return self._level_memo[s]

    def at_level(self, a: Atom, least: int) -> int:
        """The level where an atom that was just needed stands, at least `least`."""
        if not isinstance(a, Sym):
            return least
        level = self.level(a)
        return len(self.stack) - 1 if level is None else max(least, level)

    def _level(self, s: Sym) -> int | None:
        region, _ = self.regions.where[s]
        d = self._open(region)
        if d is None:
            return None
        homes = (self._open(home) for home in self.layout.home.get(s, ()))
        levels = [level for level in homes if level is not None and not self.stack[level].replayed]
        if levels:
            return min(levels)
        stmt = self.regions.definition.get(s)
        match stmt:
            case None:
                return 0
            case Let():
                level = self._memory_level(stmt, d)
                return self._all(stmt.args, d) if level is None else level
            case View():
                return self._all((stmt.array, *view_atoms(stmt)), d)
            case RefGet():
                return self._all((stmt.references, stmt.position), d)
            case RefNew():
                return 0 if self._lasting(region) else None
            case Load():
                return self._load_level(stmt, d)
            case Alloc() | Custom():
                return 0 if self._lasting(region) else None
            case If():
                return self._if_level(stmt, s, d)
            case _:
                return None

    def _lasting(self, region: Region) -> bool:
        """Whether what the region defines is passed on to the reverse function as it is."""
        return region is self.regions.root and not self.layout.called

    def _all(self, atoms: tuple[Atom, ...], least: int) -> int | None:
        for a in atoms:
            if isinstance(a, Sym):
                level = self.level(a)
                if level is None:
                    return None
                least = max(least, level)
        return least

    def _load_level(self, load: Load, d: int) -> int | None:
        if id(load) in self.decisions.unrepeatable:
            return None
        least = self._all((load.array, *load.index), d)
        if least is None:
            return None
        for level in range(least, len(self.stack)):
            if self.undisturbed(load, level):
                return level
        return None

    def _if_level(self, stmt: If, s: Sym, d: int) -> int | None:
        # An array is made again where all that it is made from is at hand, which a record may give further in only.
        outside = self._choices(stmt, s) if isinstance(s.type, Array) else []
        least = self._all((stmt.cond, *outside), d)
        if least is None:
            return None
        j = stmt.results.index(s)
        for branch, values in enumerate((stmt.then_values, stmt.else_values)):
            with_scope = self._replay(stmt, branch, least)
            fine = self._all((values[j],), least)
            self._unreplay(with_scope)
            if fine is None:
                return None
        return least

    def _replay(self, stmt: If, branch: int, level: int) -> list[Scope]:
        """Open the branch above `level`, to run a slice of it again. Gives the stack to put back."""
        before = self.stack
        region = self.regions.inner[id(stmt)][branch]
        builder = Builder(stmt.span, simplify=True)
        scope = Scope(region, builder, len(region.block), replayed=True)
        self.stack = [*before[: level + 1], scope]
        self._level_memo = {}
        return before

    def _unreplay(self, before: list[Scope]) -> Scope:
        scope = self.stack[-1]
        self.stack = before
        self._level_memo = {}
        return scope

    # memory

    def undisturbed(self, load: Load, level: int) -> bool:
        """Whether the element still holds what the load saw, at the position of stack[level]."""
        region, at = self.regions.place[id(load)]
        main = level
        while self.stack[main].replayed:
            main -= 1
        d = self._open(region)
        assert d is not None
        while d > main:
            if self._clash_any(load, region, at + 1, len(region.block)):
                return False
            assert region.parent is not None
            region, at = region.parent, region.at
            d = self._open(region)
            assert d is not None
        for lev in range(d, main + 1):
            scope = self.stack[lev]
            start = at + 1 if lev == d else 0
            stop = scope.position + (1 if lev == main else 0)
            if self._clash_any(load, scope.region, start, stop):
                return False
            if lev < main:
                inside = scope.region.block[scope.position]
                if isinstance(inside, Loop) and self.clash(load, inside):
                    return False
        return True

    def _clash_any(self, load: Load, region: Region, start: int, stop: int) -> bool:
        return any(self.clash(load, s) for s in region.block[start:stop])

    def clash(self, load: Load, stmt: object) -> bool:
        """Whether some store in the statement may write the loaded element, in the same turn."""
        roots = self.alias.roots(load.array)
        return any(
            not roots.isdisjoint(self.alias.roots(s.array)) and not apart(self.affine, load, s)
            for s in self.regions.stores(stmt)  # type: ignore[arg-type]
        )

    # emission

    def _emit(self, s: Sym, level: int) -> Atom:
        scope = self.stack[level]
        if not scope.replayed and scope.region in self.layout.home.get(s, ()):
            return self._recorded(s, scope.region, level)
        stmt = self.regions.definition.get(s)
        match stmt:
            case None:
                return s
            case Let() if self._memory_level(stmt, self._opened(s)) is not None:
                load = self.memory.of(stmt)
                assert load is not None
                return self._repeat(load, level)
            case Let():
                args = tuple(self.need(a) for a in stmt.args)
                self.recomputed[id(stmt)] = stmt
                b = self.stack[level].builder
                target = fresh(s)
                b.append(Let(target, stmt.op, args, stmt.fn, stmt.span))
                return target
            case View():
                array = self.need_sym(stmt.array)
                view = same_view(stmt, fresh(s), array, self.need)
                self.stack[level].builder.append(view)
                return view.target
            case Load():
                return self._repeat(stmt, level)
            case RefGet():
                references = self.need_sym(stmt.references)
                position = self.need(stmt.position)
                target = fresh(s)
                self.stack[level].builder.append(RefGet(target, references, position, stmt.span))
                return target
            case Alloc() | RefNew() | Custom():
                return s
            case If():
                return self._emit_if(stmt, s, level)
            case _:
                raise AssertionError(f"cannot emit {s}")

    def _repeat(self, load: Load, level: int) -> Atom:
        array = self.need_sym(load.array)
        index = tuple(self.need(i) for i in load.index)
        self.repeated[id(load)] = load
        target = fresh(load.target)
        self.stack[level].builder.append(Load(target, array, index, load.span))
        return target

    def _opened(self, s: Sym) -> int:
        d = self._open(self.regions.where[s][0])
        assert d is not None
        return d

    def _memory_level(self, let: Let, d: int) -> int | None:
        """Where the value can be read from memory instead of being computed again."""
        if self.layout.called or self.stack[-1].replayed:
            return None
        load = self.memory.of(let)
        return None if load is None else self._load_level(load, d)

    def _recorded(self, s: Sym, region: Region, level: int) -> Atom:
        if self._lasting(region):
            return s
        scope = self.stack[level]
        assert isinstance(s.type, Scalar)
        tape = self.layout.tape(region, s.type)
        assert tape is not None
        slot = tape.slots[s]
        b = scope.builder
        at = b.op("add", scope.base[s.type], slot) if slot else scope.base[s.type]
        return b.load(tape.buffer, (at,), s.name)

    def _emit_if(self, stmt: If, s: Sym, level: int) -> Atom:
        cond = self.need(stmt.cond)
        j = stmt.results.index(s)
        bodies, values = [], []
        for branch, yields in enumerate((stmt.then_values, stmt.else_values)):
            before = self._replay(stmt, branch, level)
            values.append(self.need(yields[j]))
            scope = self._unreplay(before)
            bodies.append(scope.builder.block())
        target = fresh(s)
        b = self.stack[level].builder
        b.append(If(cond, bodies[0], bodies[1], (values[0],), (values[1],), (target,), stmt.span))
        return target

    def old_value(self, store: Store) -> Atom:
        """What a rolled-back store overwrote."""
        s = self.decisions.old(store)
        (region,) = self.layout.home[s]
        level = self._open(region)
        assert level is not None
        return self._recorded(s, region, level)
