"""Which memory an array symbol may refer to, and whether two accesses may meet.

A *root* is a piece of memory: an array parameter or an allocation. Parameters are distinct memory wherever one
of them is written (calls with overlapping arguments are refused), unless the function says that they overlap. A
symbol's roots are those that flow into it through views, branches, loops and calls; the parameters of a called
function have the roots of what is passed to it anywhere in the program.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from adjit.analysis.ranges import lower_bounds
from adjit.analysis.regions import Regions
from adjit.ir.builder import Builder
from adjit.ir.core import (
    Alloc,
    Atom,
    Call,
    Const,
    Custom,
    Derive,
    Ensure,
    Function,
    If,
    Let,
    Load,
    Loop,
    RefAppend,
    RefGet,
    RefSet,
    Store,
    Sym,
    View,
    const,
)
from adjit.ir.types import Array, RefList
from adjit.ir.visit import walk_program

Roots = frozenset[Sym]
_NONE: Roots = frozenset()


class Alias:
    """Roots of every array symbol of a function and of those that it calls."""

    def __init__(self, function: Function):
        self._roots: dict[Sym, Roots] = {}
        self._held: dict[Sym, Roots] = {}  # what a list of references holds
        for p in function.params:
            own = next((g for g in function.overlapping if p in g), frozenset((p,)))
            if isinstance(p.type, Array):
                self._roots[p] = own
            elif isinstance(p.type, RefList):
                self._held[p] = own  # what came in with the list, under the list's own name
        self._functions = {f.name: f for f in function.functions}
        stmts = [
            s for s in walk_program(function) if not isinstance(s, Let | Load | Store)
        ]  # these name no memory
        while any([self._visit(s) for s in stmts]):
            pass

    def roots(self, array: Atom) -> Roots:
        """The memory that `array` may refer to."""
        return self._roots.get(array, _NONE) if isinstance(array, Sym) else _NONE

    def assume(self, array: Sym, roots: Roots) -> None:
        """Let a symbol of no statement stand for some memory."""
        self._roots[array] = roots

    def held(self, listed: Sym) -> Roots:
        """The memory that the arrays in a list may refer to."""
        return self._held.get(listed, _NONE)

    def _grow(self, table: dict[Sym, Roots], s: Sym, more: Roots) -> bool:
        old = table.get(s, _NONE)
        new = old | more
        table[s] = new
        return new != old

    def _flow(self, target: Sym, *sources: Atom) -> bool:
        if isinstance(target.type, Array):
            more = frozenset[Sym]().union(*(self.roots(a) for a in sources))
            return self._grow(self._roots, target, more)
        if isinstance(target.type, RefList):
            more = frozenset[Sym]().union(*(self._held.get(a, _NONE) for a in sources if isinstance(a, Sym)))
            return self._grow(self._held, target, more)
        return False

    def _visit(self, stmt: object) -> bool:
        match stmt:
            case Alloc():
                return self._grow(self._roots, stmt.target, frozenset((stmt.target,)))
            case View():
                return self._flow(stmt.target, stmt.array)
            case Ensure():
                own = self._grow(self._roots, stmt.target, frozenset((stmt.target,)))
                return self._flow(stmt.target, stmt.array) or own
            case RefAppend() | RefSet():
                return self._grow(self._held, stmt.references, self.roots(stmt.array))
            case RefGet():
                return self._grow(self._roots, stmt.target, self._held.get(stmt.references, _NONE))
            case Loop():
                changed = False
                flows = zip(stmt.params, stmt.inits, stmt.nexts, stmt.results, strict=True)
                for p, init, nxt, r in flows:
                    changed |= self._flow(p, init, nxt)
                    changed |= self._flow(r, init, nxt)
                return changed
            case If():
                changed = False
                for r, a, b in zip(stmt.results, stmt.then_values, stmt.else_values, strict=True):
                    changed |= self._flow(r, a, b)
                return changed
            case Custom():
                changed = False
                for r, a in zip(stmt.results, stmt.values, strict=True):
                    changed |= self._flow(r, a)
                return changed
            case Derive():
                flows = zip(stmt.params, stmt.args, strict=False)  # none of a "pull"
                changed = any([self._flow(p, a) for p, a in flows])
                for r, a in zip(stmt.results, stmt.values, strict=False):
                    changed |= self._flow(r, a)
                return changed | self._derived(stmt)
            case Call():
                callee = self._functions.get(stmt.callee)
                if callee is None:
                    return self._unknown(stmt)
                pairs = (*zip(callee.params, stmt.args, strict=True),)
                pairs += (*zip(stmt.results, callee.results, strict=True),)
                lists = ((a, p) for a, p in zip(stmt.args, callee.params, strict=True) if isinstance(a, Sym))
                back = [self._flow(a, p) for a, p in lists if isinstance(a.type, RefList)]
                return any([*back, *(self._flow(target, source) for target, source in pairs)])
            case _:
                return False

    def _derived(self, stmt: Derive) -> bool:
        """What it returns beside values is its own memory; a tangent may be one that is given, too."""
        changed = False
        for r in stmt.results[len(stmt.values) :]:
            if isinstance(r.type, Array):
                changed |= self._grow(self._roots, r, frozenset((r,)))
                changed |= self._flow(r, *stmt.given)
        return changed

    def _unknown(self, stmt: Call) -> bool:
        """A call whose callee is not at hand: what it returns is its own memory, or any of its arguments'."""
        changed = False
        for r in stmt.results:
            if isinstance(r.type, Array):
                changed |= self._grow(self._roots, r, frozenset((r,)))
                changed |= self._flow(r, *stmt.args)
        return changed


def first_stores(function: Function, alias: Alias) -> dict[Sym, Store]:
    """The first store into each array parameter that the function may write."""
    params, found = frozenset(function.params), dict[Sym, Store]()
    for stmt in walk_program(function):
        if isinstance(stmt, Store):
            for p in alias.roots(stmt.array) & params:
                found.setdefault(p, stmt)
    return found


def written_params(function: Function, alias: Alias) -> set[Sym]:
    """Array parameters that the function may write."""
    return set(first_stores(function, alias))


def overlapping(params: Iterable[Sym], alias: Alias) -> tuple[frozenset[Sym], ...]:
    """Groups of arrays, and lists of arrays, that may share memory."""
    groups: list[tuple[set[Sym], set[Sym]]] = []
    for p in params:
        if not isinstance(p.type, Array | RefList):
            continue
        members, roots = {p}, set(alias.roots(p) | alias.held(p))
        for g in [g for g in groups if not g[1].isdisjoint(roots)]:
            groups.remove(g)
            members |= g[0]
            roots |= g[1]
        groups.append((members, roots))
    return tuple(frozenset(m) for m, _ in groups if len(m) > 1)


def overlaps_stated(function: Function) -> Function:
    """The program whose called functions say what their callers may pass twice, for passes that see one at a time."""
    if not function.functions:
        return function
    alias = Alias(function)
    said = (replace(f, overlapping=overlapping(f.params, alias)) for f in function.functions)
    return replace(function, functions=tuple(said))


class Affine:
    """Index atoms as `base + constant`, seen through `x + c` and `x - c`; and proven lower bounds."""

    def __init__(self, definition: Mapping[Sym, object], bounds: Mapping[Sym, int]):
        self._definition = definition
        self._bounds = bounds

    @staticmethod
    def of(function: Function) -> Affine:
        """The index atoms of a whole function."""
        return Affine(Regions(function).definition, lower_bounds(function))

    def definition(self, a: Atom) -> object:
        """The statement that makes a symbol; None of what is no symbol, or comes from outside."""
        return self._definition.get(a) if isinstance(a, Sym) else None

    def split(self, a: Atom) -> tuple[Sym | None, int]:
        """(base, offset); base None for a constant."""
        offset = 0
        while isinstance(a, Sym):
            stmt = self._definition.get(a)
            if not isinstance(stmt, Let) or stmt.op not in ("add", "sub"):
                return a, offset
            x, y = stmt.args
            if isinstance(y, Const) and isinstance(y.value, int) and isinstance(x, Sym):
                offset += y.value if stmt.op == "add" else -y.value
                a = x
            elif stmt.op == "add" and isinstance(x, Const) and isinstance(x.value, int):
                offset += x.value
                a = y
            else:
                return a, offset
        return None, offset + (a.value if isinstance(a, Const) and isinstance(a.value, int) else 0)

    def moved(self, b: Builder, a: Atom, by: int) -> Atom:
        """a + by, built anew where the atom is itself a sum."""
        base, offset = self.split(a)
        total = offset + by
        if base is None:
            return const(total)
        return base if total == 0 else b.op("add" if total > 0 else "sub", base, abs(total))

    def least(self, a: Atom) -> int | None:
        """A proven lower bound of an integer."""
        if isinstance(a, Const):
            return a.value if isinstance(a.value, int) else None
        return self._bounds.get(a) if isinstance(a, Sym) else None

    def nonnegative(self, a: Atom) -> bool:
        """Whether the index is proven >= 0 (so that it does not wrap around)."""
        if isinstance(a, Const):
            return isinstance(a.value, int) and a.value >= 0
        return isinstance(a, Sym) and self._bounds.get(a, -1) >= 0

    def apart(self, a: Atom, b: Atom) -> bool:
        """Whether two index values of the same turn never name the same place along an axis."""
        base_a, off_a = self.split(a)
        base_b, off_b = self.split(b)
        return base_a == base_b and off_a != off_b and self.nonnegative(a) and self.nonnegative(b)

    def same(self, a: Atom, b: Atom) -> bool:
        """Whether two index values of the same turn are surely equal."""
        return self.split(a) == self.split(b)


def apart(affine: Affine, load: Load | Store, store: Store) -> bool:
    """Whether two accesses in the same turn of every common loop never meet."""
    if load.array != store.array:
        return False
    return any(affine.apart(a, b) for a, b in zip(load.index, store.index, strict=True))
