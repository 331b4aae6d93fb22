"""The instrumented form of a program that looks for work items that meet (`aj.check_races`).

rewrite: parallel i: y[j] = v
         ->  base = state[0]; state[0] = base + count
             loop i: item = base + 1 + i; cell = y_notes[j, :]; note_store(cell, state, item, ...); y[j] = v

Every array that a parallel loop writes, and that does not belong to one turn, has an array of notes beside it, with a
last axis of `CELL` numbers: views of it are views of its notes, names that are rebound carry both. Each access in a
parallel loop is noted (`race_notes`); the first meeting is left in `state`. Turns run one after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from adjit.analysis.alias import Alias
from adjit.errors import UnsupportedError
from adjit.ir.builder import Builder
from adjit.ir.core import (
    ONE,
    ZERO,
    Alloc,
    Atom,
    Block,
    Call,
    Custom,
    Function,
    If,
    Let,
    Load,
    Loop,
    Slice,
    Span,
    Stmt,
    Store,
    Sym,
    Undef,
    View,
    Whole,
    const,
    unique_name,
)
from adjit.ir.nests import nest
from adjit.ir.structure import Leaf
from adjit.ir.types import BOOL, INT64, Array, Scalar
from adjit.ir.visit import Rewriter, defined, walk, with_own_symbols
from adjit.transform import race_notes
from adjit.transform.lowered import lowered

STATE = Array(INT64, 1, "C")
_ELEMENT = Array(INT64, 1, "A")
AXES, INDEX = 6, 16
"""Where in `state` the item axes are (first value, step, count of each), and the index of the element."""
STATE_SIZE = 32


@dataclass(frozen=True, slots=True)
class Site:
    """An access in the source. does: "reads", "writes" or "updates"."""

    array: str
    ndim: int
    does: str
    span: Span


@dataclass(frozen=True, slots=True)
class Checked:
    """The instrumented function (its last parameter is `state`), its accesses, the arrays that have notes."""

    function: Function
    sites: tuple[Site, ...]
    arrays: tuple[str, ...]


def race_checked(function: Function) -> Checked:
    """The instrumented form (see the module). Raises UnsupportedError for what cannot be followed."""
    for f in function.functions:
        if any(isinstance(s, Loop) and s.parallel for s in walk(f.body)):
            raise UnsupportedError(
                f"check_races: '{f.name.partition('.')[0]}' calls itself and has a parallel loop",
                "check that loop in a function of its own",
                f.span,
            )
    state = Sym("state", STATE)
    noted = _Noted(function, state)
    return noted.function(function)


def _shared(function: Function, alias: Alias) -> frozenset[Sym]:
    """Memory that parallel loops write and that outlives their turns, with all that shares a name with it."""
    regions = [s for s in walk(function.body) if isinstance(s, Loop) and s.parallel]
    inside = [s for r in regions for s in walk(r.body)]
    private = {s.target for s in inside if isinstance(s, Alloc)}
    stores = (s for s in inside if isinstance(s, Store))
    found = frozenset[Sym]().union(*(alias.roots(s.array) for s in stores)) - private
    names = {
        s for s in (*function.params, *defined(function.body)) if isinstance(s.type, Array) and alias.roots(s)
    }
    while True:
        more = found.union(*(alias.roots(s) for s in names if alias.roots(s) & found))
        if more == found:
            return found
        found = more


class _Noted(Rewriter):
    def __init__(self, function: Function, state: Sym):
        super().__init__()
        self._alias = Alias(function)
        self._shared = _shared(function, self._alias)
        self._notes: dict[Sym, Sym] = {}
        self._state = state
        self._sites: list[Site] = []
        self._calls: dict[object, Function] = {}
        self._region: _Region | None = None
        self._parts = _parts_of_updates(function)

    def function(self, function: Function) -> Checked:
        b = Builder(function.span)
        arrays = [p for p in function.params if self._followed(p)]
        for p in arrays:
            self._make(b, p)
        body = (*b.block(), *self.block(function.body))
        made = replace(
            function,
            params=(*function.params, self._state),
            body=body,
            results=self.atoms(function.results),
            functions=(*function.functions, *self._calls.values()),
        )
        names = dict.fromkeys(s.name for s in sorted(self._shared, key=lambda s: s.uid))
        return Checked(made, tuple(self._sites), tuple(names))

    def _followed(self, a: Atom) -> bool:
        return isinstance(a, Sym) and isinstance(a.type, Array) and bool(self._alias.roots(a) & self._shared)

    def _make(self, b: Builder, array: Sym) -> None:
        type_ = array.type
        assert isinstance(type_, Array)
        shape = (*(b.dim(array, k) for k in range(type_.ndim)), const(race_notes.CELL))
        self._notes[array] = b.alloc(f"{array.name}_notes", Array(INT64, type_.ndim + 1, "C"), shape, ZERO)

    def _note(self, a: Atom, like: Sym) -> Atom:
        """The notes of an array that flows where `like` is noted."""
        return self._notes[a] if isinstance(a, Sym) else Undef(like.type)

    # statements

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        match stmt:
            case Alloc() if self._followed(stmt.target):
                b = Builder(stmt.span)
                self._make(b, stmt.target)
                return (stmt, *b.block())
            case View() if self._followed(stmt.target):
                return (stmt, self._view(stmt))
            case Load() | Store() if self._region is not None and self._followed(stmt.array):
                return (*self._access(stmt, self._region), stmt)
            case Whole() if self._region is not None:
                return (*self._reads(stmt, self._region), self.rebuild(stmt))
            case Custom():
                body = self.block(stmt.body)
                self.env.update(zip(stmt.results, self.atoms(stmt.values), strict=True))
                return body
            case Call() if self._region is not None and any(map(self._followed, stmt.args)):
                raise UnsupportedError(
                    "check_races: a function that calls itself is called in a parallel loop",
                    "write it as a loop",
                    stmt.span,
                )
            case If():
                return (self._if(stmt),)
            case Loop():
                return self._loop(stmt)
            case _:
                return (self.rebuild(stmt),)

    def _reads(self, stmt: Whole, region: _Region) -> Block:
        """What an operation of whole arrays reads: every element of what it is given."""
        b = Builder(stmt.span)
        arrays = (a for a in stmt.args if isinstance(a, Sym) and self._followed(a))
        for array in dict.fromkeys(arrays):
            assert isinstance(array.type, Array)
            dtype = array.type.dtype

            def note(
                b: Builder, index: tuple[Atom, ...], _: object, a: Sym = array, t: Scalar = dtype
            ) -> None:
                b.extend(self._access(Load(Sym(a.name, t), a, index, stmt.span), region))

            nest(b, tuple(b.dim(array, k) for k in range(array.type.ndim)), note)
        return b.block()

    def _view(self, view: View) -> View:
        type_ = view.target.type
        assert isinstance(type_, Array)
        layout = "A" if view.shape is None else "C"
        notes = self._notes[view.target] = Sym(
            f"{view.target.name}_notes", Array(INT64, type_.ndim + 1, layout)
        )
        base = self._notes[view.array]
        assert isinstance(base.type, Array)
        if view.shape is not None:
            return replace(view, target=notes, array=base, shape=(*view.shape, const(race_notes.CELL)))
        if view.axes is not None:
            return replace(view, target=notes, array=base, axes=(*view.axes, base.type.ndim - 1))
        return replace(view, target=notes, array=base, index=(*view.index, Slice()))

    def _notes_of(self, names: tuple[Sym, ...]) -> list[int]:
        """Which of a statement's results or params have notes; they are made."""
        found = [k for k, s in enumerate(names) if self._followed(s)]
        for k in found:
            type_ = names[k].type
            assert isinstance(type_, Array)
            self._notes[names[k]] = Sym(f"{names[k].name}_notes", Array(INT64, type_.ndim + 1, "A"))
        return found

    def _if(self, stmt: If) -> If:
        then, els = self.block(stmt.then), self.block(stmt.els)
        at = self._notes_of(stmt.results)
        notes = tuple(self._notes[stmt.results[k]] for k in at)
        a, b = self.atoms(stmt.then_values), self.atoms(stmt.else_values)
        more = [tuple(self._note(v[k], n) for k, n in zip(at, notes, strict=True)) for v in (a, b)]
        return If(
            self.atom(stmt.cond),
            then,
            els,
            (*a, *more[0]),
            (*b, *more[1]),
            (*stmt.results, *notes),
            stmt.span,
        )

    def _loop(self, stmt: Loop) -> tuple[Stmt, ...]:
        enters = stmt.parallel and self._region is None
        head: Block = ()
        if enters:
            b = Builder(stmt.span)
            self._region = _region_of(stmt, b, self._state)
            head = b.block()
        at = self._notes_of(stmt.params)
        params = tuple(self._notes[stmt.params[k]] for k in at)
        inits = self.atoms(stmt.inits)
        begin = tuple(self._note(inits[k], p) for k, p in zip(at, params, strict=True))
        body = self.block(stmt.body)
        nexts = self.atoms(stmt.nexts)
        end = tuple(self._note(nexts[k], p) for k, p in zip(at, params, strict=True))
        results = tuple(Sym(p.name, p.type) for p in params)
        self._notes.update(zip((stmt.results[k] for k in at), results, strict=True))
        region = self._region
        if region is not None and stmt is region.innermost:
            body = (*region.number(stmt.span), *body)
        if enters:
            self._region = None
        whole = replace(
            stmt,
            params=(*stmt.params, *params),
            inits=(*inits, *begin),
            body=body,
            nexts=(*nexts, *end),
            results=(*stmt.results, *results),
            stop=self._opt(stmt.stop),
            lo=self._opt(stmt.lo),
            hi=self._opt(stmt.hi),
            step=self._opt(stmt.step),
            parallel=False,
        )
        return (*head, whole)

    def _called(self, note: Callable[..., Any], count: int) -> Function:
        if note not in self._calls:
            made = with_own_symbols(_typed(note, count))
            self._calls[note] = replace(made, name=unique_name(note.__name__))
        return self._calls[note]

    def _access(self, access: Load | Store, region: _Region) -> Block:
        if isinstance(access, Load) and access in self._parts:
            return ()
        b = Builder(access.span)
        notes = self._notes[access.array]
        index = self.atoms(access.index)
        cell = b.view(notes, (*index, Slice()), _ELEMENT)
        update = access.update if isinstance(access, Store) else ""
        does = "updates" if update else "writes" if isinstance(access, Store) else "reads"
        site = const(len(self._sites))
        self._sites.append(Site(access.array.name, len(index), does, access.span))
        given: tuple[Atom, ...] = (cell, self._state, region.item, site, region.base)
        if update:
            note, given = race_notes.note_update, (*given, const(race_notes.KINDS.index(update)))
        else:
            note = race_notes.note_store if isinstance(access, Store) else race_notes.note_load
        meets = Sym("meets", BOOL)
        b.append(Call((meets,), self._called(note, len(given)).name, given, access.span))
        with b.collect() as found:
            for k, a in enumerate((*region.axes, *([ZERO] * (INDEX - AXES - len(region.axes))), *index)):
                b.store(self._state, (const(AXES + k),), a)
        b.if_(meets, tuple(found))
        return b.block()


@dataclass(frozen=True, slots=True)
class _Region:
    """A nest of parallel loops. axes: first value, step and count of each item axis. item: the number of a turn."""

    innermost: Loop
    indices: tuple[Sym, ...]
    axes: tuple[Atom, ...]
    base: Atom
    item: Sym

    def number(self, span: Span) -> Block:
        """What computes `item` at the head of the innermost loop."""
        b = Builder(span)
        linear: Atom = ZERO
        for k, index in enumerate(self.indices):
            lo, step, count = self.axes[3 * k : 3 * k + 3]
            place = b.op("floordiv", b.op("sub", index, lo), step)
            linear = b.op("add", b.op("mul", linear, count), place)
        last = b.op("add", b.op("add", self.base, linear), 1)
        return (*b.block(), Let(self.item, "add", (last, ZERO), None, span))


def _region_of(loop: Loop, b: Builder, state: Sym) -> _Region:
    """The item axes of a parallel loop and of those that are its whole body; its items are taken from `state`."""
    loops = [loop]
    bound = {loop.index}
    while loops[-1].body and isinstance(inner := loops[-1].body[-1], Loop) and inner.parallel:
        between = loops[-1].body[:-1]
        bound |= {s.target for s in between if isinstance(s, Let)}
        fixed = not any(a in bound for a in (inner.lo, inner.hi, inner.step))
        if inner.params or loops[-1].params or not fixed or not all(isinstance(s, Let) for s in between):
            break
        loops.append(inner)
        bound.add(inner.index)
    axes: list[Atom] = []
    total: Atom = ONE
    ordered = sorted(loops, key=lambda item: 0 if item.index is None else item.index.uid)
    for one in ordered:
        assert one.lo is not None and one.hi is not None and one.step is not None
        down = b.op("floordiv", b.op("sub", one.lo, one.hi), one.step)
        count = b.op("max", b.op("neg", down), 0, fn="max")
        axes += (one.lo, one.step, count)
        total = b.op("mul", total, count)
    base = b.load(state, (ZERO,), "base")
    b.store(state, (ZERO,), b.op("add", base, total))
    indices = tuple(one.index for one in ordered if one.index is not None)
    return _Region(loops[-1], indices, tuple(axes), base, Sym("item", INT64))


def _parts_of_updates(function: Function) -> set[Load]:
    """The loads that atomic updates begin with."""
    made: dict[Sym, Stmt] = {s.target: s for s in walk(function.body) if isinstance(s, Let | Load)}
    found: set[Load] = set()
    for store in walk(function.body):
        if not isinstance(store, Store) or not store.update:
            continue
        todo: list[Atom] = [store.value]
        for _ in range(4):
            stmts = [made[a] for a in todo if isinstance(a, Sym) and a in made]
            mine = [s for s in stmts if isinstance(s, Load) and _same_place(s, store)]
            found.update(mine)
            todo = [] if mine else [a for s in stmts if isinstance(s, Let) for a in s.args]
    return found


def _same_place(load: Load, store: Store) -> bool:
    return load.array == store.array and load.index == store.index


@lru_cache(maxsize=8)
def _typed(note: Callable[..., Any], count: int) -> Function:
    """A note as a function of the program."""
    arrays = (Leaf(_ELEMENT), Leaf(STATE))
    return lowered(note, (*arrays, *[Leaf(INT64)] * (count - 2))).function


__all__ = ["AXES", "INDEX", "STATE_SIZE", "Checked", "Site", "race_checked"]
