"""Copies that stand for views: refused where a view would show something else.

r = z.real               ->    r = empty(n); for i in range(n): r[i] = z[i].real
z[0] = 1.0; use(r)       ->    refused: NumPy's r shows what is written

Names may stand for one memory where views, loops, branches and calls join them. A store to what is shown matters from
where the copy is made to where it is last used (to the end of the loops that this is in); a store to the copy matters
where the array that it shows is used afterwards. What fills a new array is no store.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import NoReturn

from adjit.frontend.fence import refuse
from adjit.ir.core import (
    Atom,
    Block,
    Call,
    Custom,
    Derive,
    Function,
    If,
    Let,
    Loop,
    Span,
    Stmt,
    Store,
    Sym,
    View,
)
from adjit.ir.types import Array
from adjit.ir.visit import blocks, operands, targets, yields


@dataclass(frozen=True)
class Copy:
    """What an array is made for: a view of `source` by an attribute (".real") or a function ("np.diagonal")."""

    source: Sym
    name: str
    span: Span


@dataclass(frozen=True)
class _Place:
    """A position in the text, and where the loops around it end, outermost first."""

    at: int
    loops: tuple[int, ...]


class _Names:
    """Names of arrays, joined where they may stand for one memory."""

    def __init__(self) -> None:
        self._parent: dict[Sym, Sym] = {}

    def root(self, a: Sym) -> Sym:
        while a in self._parent:
            a = self._parent[a]
        return a

    def join(self, *several: Atom) -> None:
        roots = list(dict.fromkeys(self.root(a) for a in arrays(several)))
        self._parent.update((other, roots[0]) for other in roots[1:])


def arrays(atoms: tuple[Atom, ...]) -> list[Sym]:
    """The arrays among them."""
    return [a for a in atoms if isinstance(a, Sym) and isinstance(a.type, Array)]


class _Text:
    """Where the arrays of a function are made, used and written."""

    def __init__(self, function: Function):
        self.names = _Names()
        self.names.join(*function.params)
        self.lasting = set(
            arrays(function.params)
        )  # what is there before the text, or from one turn to the next
        self.made: dict[Sym, _Place] = {}
        self.uses: dict[Sym, list[_Place]] = defaultdict(list)
        self.fills: dict[Sym, _Place] = {}
        self.writes: list[tuple[Sym, _Place]] = []
        self._now = 0
        self._ends: dict[int, int] = {}  # where a loop ends, by where it starts
        self._block(function.body, ())
        for a in arrays(function.results):
            self.uses[a].append(_Place(self._now + 1, ()))

    def _block(self, block: Block, loops: tuple[int, ...], read: _Place | None = None) -> None:
        """`read`: where the block reads memory, if not where it stands: before an array statement's first store."""
        for stmt in block:
            self._now += 1
            here = _Place(self._now, loops)
            self._stmt(stmt, here, read or here)
            at_once = here if isinstance(stmt, Loop) and stmt.at_once else read
            for sub in blocks(stmt):
                self._block(sub, (*loops, here.at) if isinstance(stmt, Loop) else loops, at_once)
            for a in arrays(yields(stmt)):
                self.uses[a].append(_Place(self._now, loops))
            self._ends[here.at] = self._now

    def _stmt(self, stmt: Stmt, here: _Place, read: _Place) -> None:
        self.made.update((a, here) for a in arrays(targets(stmt)))
        match stmt:
            case Store() if stmt.fills:
                self.fills[stmt.array] = here
                return
            case Store():
                self.writes.append((stmt.array, here))
            case Let(op="dim"):
                return
            case View():
                self.names.join(stmt.target, stmt.array)
            case Loop():
                for p, *others in zip(stmt.params, stmt.inits, stmt.nexts, stmt.results, strict=True):
                    self.names.join(p, *others)
                self.lasting.update(arrays(stmt.params))
            case If():
                for three in zip(stmt.results, stmt.then_values, stmt.else_values, strict=True):
                    self.names.join(*three)
            case Call():
                self.names.join(*stmt.args, *stmt.results)
                self.writes += [(a, here) for a in arrays(stmt.args)]
            case Custom():
                self.names.join(*stmt.results, *stmt.values)
            case Derive():
                self.names.join(*stmt.results, *stmt.values)
                for param, arg in zip(stmt.params, stmt.args, strict=False):  # a "pull" has no params
                    self.names.join(param, arg)
                if stmt.kind == "jvp":
                    for tangent in stmt.results[len(stmt.values) :]:
                        self.names.join(tangent, *stmt.given)
            case _:
                pass
        for a in arrays(operands(stmt)):
            self.uses[a].append(read)

    def lasts(self, root: Sym) -> bool:
        """Whether the memory is there before the text, or from one turn of a loop to the next."""
        return any(self.names.root(a) == root for a in self.lasting)

    def last_use(self, root: Sym, since: _Place) -> int:
        """The end of the last loop, or the place, in which the memory is used; not of the loops around `since`."""
        ends = [0]
        for a, places in self.uses.items():
            if self.names.root(a) == root:
                ends += [self._end(p, since) for p in places]
        return max(ends)

    def _end(self, place: _Place, since: _Place) -> int:
        inner = [start for start in place.loops if start not in since.loops]
        return self._ends[inner[0]] if inner else place.at

    def filled(self, array: Sym, made: _Place) -> int:
        """Where a new array has its elements."""
        return self._end(self.fills[array], made) if array in self.fills else made.at

    def written(self, root: Sym, first: int, last: float) -> bool:
        """Whether the memory is written between two places."""
        return any(first < at.at <= last for a, at in self.writes if self.names.root(a) == root)


def refuse_stale(function: Function, copies: dict[Sym, Copy]) -> None:
    """Refuse copies that would not show what a view shows, or through which nobody sees what is written."""
    if not copies:
        return
    text = _Text(function)
    for target, copy in copies.items():
        if target not in text.made:
            continue
        made = text.made[target]
        own, source = text.names.root(target), text.names.root(copy.source)
        everywhere = text.lasts(own)
        first = -1 if everywhere else made.at
        if text.written(source, first, float("inf") if everywhere else text.last_use(own, made)):
            _refuse(copy, "and what it shows is written while it is in use")
        filled = text.filled(target, made)
        born = text.made.get(copy.source)
        alive = text.lasts(source) or born is None or born.loops != made.loops
        if text.written(own, -1, float("inf")) and (alive or text.last_use(source, made) > filled):
            _refuse(copy, "which is written, and the array that it shows is used elsewhere")


def _refuse(copy: Copy, why: str) -> NoReturn:
    refuse(f"'{copy.name}' gives a view, {why}", copy.span, "take a copy: append .copy()")
