"""Cuts a long function into pieces, functions of their own that the rest of it calls.

Numba's time for a function grows faster than its length, so a program of 300 lines would take minutes. A piece is a
run of statements of one block: what it reads from outside comes as arguments, what is read after it is returned;
arrays, records and lists are references. As the IR is in SSA form, nothing else passes between a piece and its
surroundings: exits from loops are booleans like any others, a `raise` goes through calls by itself, and a record
that grows inside is a new symbol, which is returned.

    block: s0; s1; s2; s3          ->   block: s0; r = piece(a, b); s3
    (s1, s2 read a, b; r is read later)     piece(a, b): s1; s2; return r

Inner blocks are cut before outer ones, until each block is below the bound. Where to cut is decided in `cuts`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from adjit.codegen.cuts import STRAIGHT, Run, Weighed, choose
from adjit.ir.core import Atom, Block, Call, Custom, Function, If, Loop, Raise, Span, Stmt, Sym
from adjit.ir.visit import blocks, free, targets, walk

LONG = 400
"""Statements of IR from which a function prints its choices as calls of helpers, which Numba compiles faster."""
BOUND = 240
"""Statements that the body of a loop or a branch may have after cutting, and a piece. The function's own block, which
runs once, may have four times as many: each level of calls has LLVM optimise all code below it once more."""
_OWN = 4


@dataclass(frozen=True)
class Outlined:
    """A function whose long runs are calls, the pieces called, and what is passed to them."""

    main: Function
    pieces: tuple[Function, ...]
    passed: frozenset[Sym]


def is_long(function: Function) -> bool:
    """Whether the function has so many statements that compiling it well is worth less readable text."""
    return _size(function.body) > LONG


def outline(function: Function, fresh_name: Callable[[str], str]) -> Outlined:
    """Cut the function's blocks down to `BOUND` statements (its own to four times that).

    Arguments:
    - fresh_name: gives a name that no other function of the module has, from a wish.
    """
    cutter = _Cutter(function, fresh_name, BOUND)
    body = function.body
    if _size(body) > _OWN * BOUND:
        body = cutter.block(body, function.results, frozenset(), _OWN * BOUND)
    passed = frozenset(p for piece in cutter.pieces for p in piece.params)
    return Outlined(replace(function, body=body), tuple(cutter.pieces), passed)


def _size(block: Iterable[Stmt]) -> int:
    return sum(1 for _ in walk(tuple(block)))


class _Cutter:
    def __init__(self, function: Function, fresh_name: Callable[[str], str], bound: int):
        self.function, self.fresh_name, self.bound = function, fresh_name, bound
        self.pieces: list[Function] = []

    def block(
        self, block: Block, ends: tuple[Atom, ...], fixed: frozenset[int], most: int | None = None
    ) -> Block:
        """The block, cut down to `most` statements.

        `ends`: what is read at its end. `fixed`: positions from the end that stay in it.
        """
        straight = 2 * sum(map(_looped, block)) < _size(block)
        most = max(most or self.bound, STRAIGHT * self.bound if straight else 0)
        whole = tuple(self._inside(s) if _size((s,)) > self.bound else s for s in block)
        while _size(whole) > most:
            stays = {whole[-k] for k in fixed if k <= len(whole)}
            weighed = [self._weighed(s, s in stays) for s in whole]
            runs = choose(weighed, {a for a in ends if isinstance(a, Sym)}, self.bound)
            if not runs:
                break
            whole = self._replaced(whole, weighed, runs, ends)
        return whole

    def _inside(self, stmt: Stmt) -> Stmt:
        match stmt:
            case Loop():
                ends = (*stmt.nexts, *(() if stmt.stop is None else (stmt.stop,)))
                fixed = frozenset[int]() if stmt.stop is None else frozenset((1, 2))
                return replace(stmt, body=self.block(stmt.body, ends, fixed))
            case If():
                then = self.block(stmt.then, stmt.then_values, frozenset())
                els = self.block(stmt.els, stmt.else_values, frozenset())
                return replace(stmt, then=then, els=els)
            case Custom():
                return replace(stmt, body=self.block(stmt.body, stmt.values, frozenset()))
            case _:
                return stmt

    def _weighed(self, stmt: Stmt, stays: bool) -> Weighed:
        """The statement as `choose` sees it. What never returns stays: Numba has no type for it."""
        return Weighed(
            _size((stmt,)),
            free((stmt,)),
            frozenset(targets(stmt)),
            _looped(stmt),
            not stays and not _returns_never(stmt),
        )

    def _replaced(
        self, block: Block, weighed: list[Weighed], runs: tuple[Run, ...], ends: tuple[Atom, ...]
    ) -> Block:
        """The block with a call in place of each run."""
        later = {a for a in ends if isinstance(a, Sym)}
        after: list[set[Sym]] = []
        for w in reversed(weighed):
            after.append(set(later))
            later |= w.reads
        after.reverse()
        out: list[Stmt] = []
        at = 0
        made: list[Function] = []
        for run in runs:
            out += block[at : run.start]
            piece, call = self._piece(block[run.start : run.stop], after[run.stop - 1])
            made.append(piece)
            out.append(call)
            at = run.stop
        self.pieces += made
        return (*out, *block[at:])

    def _piece(self, run: Block, later: set[Sym]) -> tuple[Function, Call]:
        params = tuple(sorted(free(run), key=lambda s: s.uid))
        made = [s for stmt in run for s in targets(stmt)]
        results = tuple(s for s in made if s in later)
        name = self.fresh_name(f"{self.function.name}_part")
        spans = [s.span for s in walk(run) if s.span.line > 0 and s.span.file == self.function.span.file]
        span = spans[0] if spans else self.function.span
        piece = Function(name, params, run, results, _doc(self.function.name, spans), span)
        return piece, Call(results, name, params, span)


def _looped(stmt: Stmt) -> int:
    """How many statements are in loops."""
    if isinstance(stmt, Loop):
        return _size((stmt,))
    return sum(_looped(s) for sub in blocks(stmt) for s in sub)


def _returns_never(stmt: Stmt) -> bool:
    """Whether what follows the statement is surely not reached, as far as that is easy to see."""
    match stmt:
        case Raise():
            return True
        case If():
            return all(any(_returns_never(s) for s in sub) for sub in (stmt.then, stmt.els))
        case Loop():
            return stmt.index is None and (stmt.stop is None or any(_returns_never(s) for s in stmt.body))
        case Custom():
            return any(_returns_never(s) for s in stmt.body)
        case _:
            return False


def _doc(name: str, spans: list[Span]) -> str:
    """What a reader is told above a piece: which lines of the user's program it holds."""
    lines = [s.line for s in spans]
    if not lines:
        return f"A piece of {name}."
    return f"A piece of {name}: lines {min(lines)} to {max(lines)}."
