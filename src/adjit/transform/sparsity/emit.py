"""The statements of a pattern program, from those of the primal (see the package)."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from adjit.analysis.activity import Activity
from adjit.analysis.alias import Alias
from adjit.errors import UnsupportedError
from adjit.ir.core import (
    ONE,
    TRUE,
    ZERO,
    Alloc,
    Atom,
    Block,
    Const,
    Ensure,
    If,
    Let,
    Load,
    Loop,
    Raise,
    RefAppend,
    RefGet,
    RefNew,
    RefSet,
    Span,
    Stmt,
    Store,
    Sym,
    Undef,
    View,
    Whole,
    const,
    fresh,
)
from adjit.ir.types import BOOL, INT64, Array, RefList
from adjit.ir.visit import same_view, view_atoms
from adjit.transform.sparsity.needed import Needed
from adjit.transform.sparsity.opened import EVERY, carries, differ
from adjit.transform.sparsity.steered import Steered
from adjit.transform.sparsity.words import NOTHING, Mode, Words, beside, word_type, zero_of

_MOST_TURNS = 1_000_000
"""A `while` on a side that is not taken is cut off after so many turns."""
_BESIDE = Mode(certain=False, guarded=True, real=False)


@dataclass(frozen=True)
class Facts:
    """What is known of the program."""

    alias: Alias
    activity: Activity
    steered: Steered
    needed: Needed


class Emit:
    """Builds the pattern program of one function.

    env: what primal symbols are here, where they are needed. words: what they depend on. reasons: why the pattern may
    be another one for other floats. notes: an array of one number, set where a loop beside the path was cut off.
    """

    def __init__(self, facts: Facts, notes: Sym):
        self.facts, self.notes = facts, notes
        self.active, self.needed, self.steered = facts.activity.active, facts.needed, facts.steered
        self.b = Words(simplify=True)
        self.env: dict[Sym, Atom] = {}
        self.words: dict[Sym, Atom] = {}
        self.reasons: list[tuple[str, Span]] = []
        self._valid: dict[Sym, Atom] = {}
        self.mode = Mode(guarded=facts.steered.raises)

    # atoms

    def atom(self, a: Atom) -> Atom:
        return self.env[a] if isinstance(a, Sym) else a

    def atoms(self, atoms: tuple[Atom, ...]) -> tuple[Atom, ...]:
        return tuple(map(self.atom, atoms))

    def sym(self, a: Atom) -> Sym:
        found = self.atom(a)
        assert isinstance(found, Sym)
        return found

    def define(self, s: Sym) -> Sym:
        """A new symbol for a needed value."""
        new = self.env[s] = fresh(s)
        return new

    def define_words(self, s: Sym) -> Sym:
        """A new symbol for what a value depends on."""
        new = self.words[s] = beside(s)
        return new

    def word(self, a: Atom) -> Atom:
        """What a number depends on; the words of an array."""
        if isinstance(a, Sym) and a in self.words:
            return self.words[a]
        if isinstance(a, Undef) and isinstance(a.type, Array | RefList):
            return Undef(word_type(a.type))  # type: ignore[arg-type]
        return NOTHING

    def array(self, a: Atom) -> Sym:
        """The words of an array."""
        found = self.word(a)
        assert isinstance(found, Sym), f"{a} has no words"
        return found

    def mirrored(self, a: Atom) -> bool:
        """Whether words stand beside a value."""
        if isinstance(a, Sym) and isinstance(a.type, RefList):
            return not self.facts.alias.held(a).isdisjoint(self.facts.activity.roots)
        return self.active(a)

    def note(self, reason: str, span: Span) -> None:
        if (reason, span) not in self.reasons:
            self.reasons.append((reason, span))

    @contextmanager
    def as_(self, mode: Mode) -> Generator[None]:
        """Write the statements inside in another mode."""
        self.mode, before = mode, self.mode
        try:
            yield
        finally:
            self.mode = before

    # statements

    def block(self, block: Block) -> None:
        """Write the statements into the open block."""
        for stmt in block:
            self.b.span = stmt.span
            self.stmt(stmt)

    def stmt(self, stmt: Stmt) -> None:
        match stmt:
            case Let():
                self._let(stmt)
            case Load():
                self._load(stmt)
            case Store():
                self._store(stmt)
            case View():
                self._view(stmt)
            case Alloc():
                self._alloc(stmt)
            case Ensure() | RefNew() | RefAppend() | RefGet() | RefSet():
                self._reference(stmt)
            case Whole():
                self._whole(stmt)
            case Loop():
                self._loop(stmt)
            case If():
                self._if(stmt)
            case Raise():
                if self.mode.certain:
                    self.b.append(replace(stmt, args=tuple(a for a in stmt.args if not isinstance(a, Sym))))
            case _:
                raise UnsupportedError(
                    "the sparsity of a function that calls itself is not derived",
                    "write it as a loop, or give the pattern: sparse=pattern",
                    stmt.span,
                )

    def _let(self, stmt: Let) -> None:
        if self.needed(stmt.target):
            if stmt.op == EVERY:
                self.env[stmt.target] = self.atom(stmt.args[0])
            else:
                args = tuple(self._operand(stmt, a) for a in stmt.args)
                self.b.append(Let(self.define(stmt.target), stmt.op, args, stmt.fn, stmt.span))
        if self.active(stmt.target):
            moving = (self.word(a) for k, a in enumerate(stmt.args) if carries(stmt.op, k) and self.active(a))
            self.words[stmt.target] = self.b.either(*moving)

    def _operand(self, stmt: Let, a: Atom) -> Atom:
        return self.array(a) if stmt.op == "dim" and self.active(a) else self.atom(a)

    def _load(self, stmt: Load) -> None:
        if self.active(stmt.target) and self.steered.any(stmt.array, *stmt.index):
            self.note("an index that is computed from floats", stmt.span)
        if self.active(stmt.target):
            array, index = self.array(stmt.array), self.atoms(stmt.index)
            self.b.load_if(
                self._inside(stmt.array, array, index), self.define_words(stmt.target), array, index
            )
        if self.needed(stmt.target):
            array, index = self.sym(stmt.array), self.atoms(stmt.index)
            inside = self._inside(stmt.array, array, index)
            self.b.load_if(inside, self.define(stmt.target), array, index)

    def _inside(self, name: Sym, array: Sym, index: tuple[Atom, ...]) -> Atom:
        """Whether the element is there; True where the plain program reads it too."""
        if not self.mode.guarded:
            return TRUE
        return self.b.both(self._valid.get(name, TRUE), self.b.inside(array, index))

    def _store(self, stmt: Store) -> None:
        if self.active(stmt.array):
            if self.steered.any(stmt.array, *stmt.index):
                self.note("an index that is computed from floats", stmt.span)
            array, index = self.array(stmt.array), self.atoms(stmt.index)
            value = self.word(stmt.value)
            if self.mode.certain or value != NOTHING:
                inside = self._inside(stmt.array, array, index)
                self.b.store_if(inside, array, index, value, not self.mode.certain)
        if self.mode.real and self.needed.contents(stmt.array):
            array, index = self.sym(stmt.array), self.atoms(stmt.index)
            inside = self._inside(stmt.array, array, index)
            self.b.store_if(inside, array, index, self.atom(stmt.value), False)

    def _view(self, stmt: View) -> None:
        if stmt.array in self._valid:
            self._valid[stmt.target] = self._valid[stmt.array]
        for on, source, define in (
            (self.active(stmt.target), self.array, self.define_words),
            (self.needed(stmt.target), self.sym, self.define),
        ):
            if on:
                array = source(stmt.array)
                self.b.append(self._in_range(stmt, same_view(stmt, define(stmt.target), array, self.atom)))
        if self.active(stmt.target) and self.steered.any(*view_atoms(stmt)):
            self.note("a slice whose bounds are computed from floats", stmt.span)

    def _in_range(self, stmt: View, view: View) -> View:
        """The view with indices that are surely in range where nobody knows; what they were is remembered."""
        picked = tuple(None if not isinstance(i, Sym | Const) else i for i in view.index)
        if not self.mode.guarded or all(i is None for i in picked):
            return view
        inside = self.b.inside(view.array, picked)
        self._valid[stmt.target] = self.b.both(self._valid.get(stmt.array, TRUE), inside)
        index = tuple(
            item if i is None else self.b.op("select", inside, self.b.cast(i, INT64), ZERO)
            for item, i in zip(view.index, picked, strict=True)
        )
        return replace(view, index=index)

    def _alloc(self, stmt: Alloc) -> None:
        shape = ()
        if self.active(stmt.target) or self.needed(stmt.target):
            shape = tuple(self._extent(n) for n in stmt.shape)
        if self.active(stmt.target):
            if self.steered.any(*stmt.shape):
                self.note("an extent that is computed from floats", stmt.span)
            fill = NOTHING if stmt.fill is None else self.word(stmt.fill)
            like = None if stmt.like is None else self._like(stmt.like)
            self.b.append(Alloc(self.define_words(stmt.target), shape, fill, like, stmt.span))
        if self.needed(stmt.target):
            assert isinstance(stmt.target.type, Array)
            fill = None if self.mode.real else zero_of(stmt.target.type.dtype)
            if stmt.fill is not None and self.needed.contents(stmt.target):
                fill = self.atom(stmt.fill)
            like = None if stmt.like is None else self.sym(stmt.like)
            self.b.append(Alloc(self.define(stmt.target), shape, fill, like, stmt.span))

    def _like(self, a: Sym) -> Sym:
        return self.array(a) if self.active(a) else self.sym(a)

    def _extent(self, n: Atom) -> Atom:
        if not self.mode.guarded:
            return self.atom(n)
        return ZERO if self.steered(n) and not self.mode.real else self.b.extent(self.atom(n))

    def _reference(self, stmt: Ensure | RefNew | RefAppend | RefGet | RefSet) -> None:
        if not self.mode.real and not isinstance(stmt, RefNew):
            raise UnsupportedError(
                "the sparsity of arrays that are made in a loop under a condition on floats is not derived",
                "make the arrays before the loop, or give the pattern: sparse=pattern",
                stmt.span,
            )
        match stmt:
            case RefNew():
                if self.mirrored(stmt.target):
                    self.b.append(RefNew(self.define_words(stmt.target), stmt.span))
                if self.needed(stmt.target):
                    self.b.append(RefNew(self.define(stmt.target), stmt.span))
            case Ensure():
                if self.active(stmt.target):
                    array = self.array(stmt.array)
                    made = self.define_words(stmt.target)
                    self.b.append(Ensure(made, array, self.atom(stmt.need), stmt.span))
                if self.needed(stmt.target):
                    array = self.sym(stmt.array)
                    made = self.define(stmt.target)
                    self.b.append(Ensure(made, array, self.atom(stmt.need), stmt.span))
            case RefAppend():
                if self.mirrored(stmt.references):
                    words = self.array(stmt.references)
                    self.b.append(RefAppend(words, self.array(stmt.array), stmt.span))
                if self.needed(stmt.references):
                    self.b.append(RefAppend(self.sym(stmt.references), self.sym(stmt.array), stmt.span))
            case RefSet():
                if self.mirrored(stmt.references):
                    words, at = self.array(stmt.references), self.atom(stmt.position)
                    self.b.append(RefSet(words, at, self.array(stmt.array), stmt.span))
                if self.needed(stmt.references):
                    listed, at = self.sym(stmt.references), self.atom(stmt.position)
                    self.b.append(RefSet(listed, at, self.sym(stmt.array), stmt.span))
            case RefGet():
                if self.active(stmt.target) and self.steered.any(stmt.references, stmt.position):
                    self.note("an array that is chosen by floats", stmt.span)
                if self.active(stmt.target):
                    words, at = self.array(stmt.references), self.atom(stmt.position)
                    self.b.append(RefGet(self.define_words(stmt.target), words, at, stmt.span))
                if self.needed(stmt.target):
                    listed, at = self.sym(stmt.references), self.atom(stmt.position)
                    self.b.append(RefGet(self.define(stmt.target), listed, at, stmt.span))

    def _whole(self, stmt: Whole) -> None:
        """What it depends on follows as loops (`opened`)."""
        if self.mode.real and any(map(self.needed.contents, stmt.outs)):
            outs = tuple(map(self.sym, stmt.outs))
            self.b.append(Whole(outs, stmt.op, self.atoms(stmt.args), stmt.span))

    # loops

    def _loop(self, stmt: Loop) -> None:
        if not self.needed.matters(stmt):
            return
        on = self.steered
        if not self.mode.real and on.any(stmt.lo, stmt.hi, stmt.step):
            self._no_turn(stmt)
            return
        if self.needed.all_turns(stmt) or (not self.mode.real and stmt.index is not None and on(stmt.stop)):
            with self.as_(_BESIDE):
                self._turns(stmt, None)
            return
        if on.turns(stmt) and any(map(self._moves, (stmt,))):
            self.note("a loop whose number of turns depends on floats", stmt.span)
        if self.mode.real or stmt.index is not None:
            self._turns(stmt, stmt.stop)
        else:
            self._turns(stmt, TRUE if on(stmt.stop) else stmt.stop, cut=not on(stmt.stop))

    def _moves(self, stmt: Stmt) -> bool:
        from adjit.ir.visit import targets, walk

        return any(
            (isinstance(s, Store) and self.active(s.array)) or any(map(self.active, targets(s)))
            for s in walk((stmt,))
        )

    def _no_turn(self, stmt: Loop) -> None:
        for r, init in zip(stmt.results, stmt.inits, strict=True):
            if self.mirrored(r):
                self.words[r] = self.word(init)
            if self.needed(r):
                self.env[r] = self.atom(init)

    def _turns(self, stmt: Loop, stop: Atom | None, cut: bool = False) -> None:
        kept = [j for j, p in enumerate(stmt.params) if self.needed(p)]
        moved = [j for j, p in enumerate(stmt.params) if self.mirrored(p)]
        self._plain_references(stmt, moved)
        inits = [self.atom(stmt.inits[j]) for j in kept]
        inits += [self._initial(stmt, j) for j in moved]
        params = [self.define(stmt.params[j]) for j in kept]
        params += [self.define_words(stmt.params[j]) for j in moved]
        lo, hi, step = (None if a is None else self.atom(a) for a in (stmt.lo, stmt.hi, stmt.step))
        index = None if stmt.index is None else self.define(stmt.index)
        turn = Sym("turn", INT64)
        with self.b.collect() as body:
            self.block(stmt.body)
            self.b.span = stmt.span
            nexts = [self.atom(stmt.nexts[j]) for j in kept]
            nexts += [self._next(stmt, j, stop) for j in moved]
            end = None if stop is None else self.atom(stop)
            if cut:
                params.append(turn)
                inits.append(ZERO)
                nexts.append(self.b.op("add", turn, ONE))
                assert end is not None
                end = self._cut(turn, end)
        results = [self.define(stmt.results[j]) for j in kept]
        results += [self.define_words(stmt.results[j]) for j in moved]
        if cut:
            results.append(Sym("turns", INT64))
        flows = (tuple(params), tuple(inits), tuple(body), tuple(nexts), tuple(results), end)
        self.b.append(Loop(index, lo, hi, step, *flows, stmt.span))

    def _initial(self, stmt: Loop, j: int) -> Atom:
        return self.word(stmt.inits[j])

    def _next(self, stmt: Loop, j: int, stop: Atom | None) -> Atom:
        """The words of what a turn hands on; all turns before may have been the last where floats end the loop."""
        nxt = self.word(stmt.nexts[j])
        ended = stop is None and stmt.stop is not None
        return self.b.either(nxt, self.word(stmt.params[j])) if ended and not _is_memory(nxt) else nxt

    def _cut(self, turn: Sym, end: Atom) -> Atom:
        over = self.b.op("ge", turn, const(_MOST_TURNS))
        self.b.store_if(over, self.notes, (ZERO,), ONE, False)
        return self.b.let("or_", end, over, type=BOOL)

    def _plain_references(self, stmt: Loop, moved: list[int]) -> None:
        """Refuse arrays of an index that may be out of range where they take another name."""
        for j in moved:
            self._known(stmt.inits[j], stmt.span)

    def _known(self, a: Atom, span: Span) -> None:
        if isinstance(a, Sym) and self._valid.get(a, TRUE) != TRUE:
            raise UnsupportedError(
                "the sparsity of a row that takes another name under a condition on floats is not derived",
                "write the element with all its indices, or give the pattern: sparse=pattern",
                span,
            )

    # branches

    def _if(self, stmt: If) -> None:
        if not self.needed.matters(stmt):
            return
        if not self.steered(stmt.cond):
            self._plain(stmt)
        elif self.mode.real and self.needed.chooses(stmt):
            self._chosen(stmt)
        else:
            self._both(stmt)

    def _plain(self, stmt: If) -> None:
        """A branch that goes the same way whatever the floats are."""
        kept = [j for j, r in enumerate(stmt.results) if self.needed(r)]
        moved = [j for j, r in enumerate(stmt.results) if self.mirrored(r)]
        parts: list[tuple[Block, tuple[Atom, ...]]] = []
        cond = self.atom(stmt.cond)
        for block, values in ((stmt.then, stmt.then_values), (stmt.els, stmt.else_values)):
            with self.b.collect() as body:
                self.block(block)
                ends = [self.atom(values[j]) for j in kept] + [self.word(values[j]) for j in moved]
            for j in moved:
                self._known(values[j], stmt.span)
            parts.append((tuple(body), tuple(ends)))
        results = [self.define(stmt.results[j]) for j in kept]
        results += [self.define_words(stmt.results[j]) for j in moved]
        (then, then_values), (els, else_values) = parts
        self.b.append(If(cond, then, els, then_values, else_values, tuple(results), stmt.span))

    def _both(self, stmt: If) -> None:
        """Both sides, one after the other, neither of them certain; the condition decides nothing but numbers."""
        ends: list[tuple[dict[int, Atom], dict[int, Atom]]] = []
        for block, values in ((stmt.then, stmt.then_values), (stmt.els, stmt.else_values)):
            with self.as_(_BESIDE):
                self.block(block)
                ends.append((self._values(stmt, values), self._words(stmt, values)))
        (then, then_words), (els, else_words) = ends
        for j, r in enumerate(stmt.results):
            if j in then:
                self.env[r] = self._select(stmt, then[j], els[j], fresh(r))
            if j in then_words:
                a, b = then_words[j], else_words[j]
                memory = _is_memory(a) or _is_memory(b)
                self.words[r] = self._select(stmt, a, b, beside(r)) if memory else self.b.either(a, b)

    def _values(self, stmt: If, values: tuple[Atom, ...]) -> dict[int, Atom]:
        return {j: self.atom(values[j]) for j, r in enumerate(stmt.results) if self.needed(r)}

    def _words(self, stmt: If, values: tuple[Atom, ...]) -> dict[int, Atom]:
        found = {j: self.word(values[j]) for j, r in enumerate(stmt.results) if self.mirrored(r)}
        for j, a in found.items():
            if _is_memory(a) and differ(stmt.then_values[j], stmt.else_values[j]):
                self._known(values[j], stmt.span)
                self.note("an array that is chosen by floats", stmt.span)
        return found

    def _select(self, stmt: If, a: Atom, b: Atom, target: Sym) -> Atom:
        if not differ(a, b):
            return b if isinstance(a, Undef) else a
        self.b.append(If(self.atom(stmt.cond), (), (), (a,), (b,), (target,), stmt.span))
        return target

    def _chosen(self, stmt: If) -> None:
        """The side that these floats take as it is, the other one beside it."""
        sides = ((stmt.then, stmt.then_values), (stmt.els, stmt.else_values))
        cond = self.atom(stmt.cond)
        taken = Mode(certain=False, guarded=self.mode.guarded, real=True)
        parts: list[tuple[Block, tuple[Atom, ...]]] = []
        for own, other in (sides, sides[::-1]):
            with self.b.collect() as body:
                with self.as_(_BESIDE):
                    self.block(other[0])
                    beside_it = self._words(stmt, other[1])
                with self.as_(taken):
                    self.block(own[0])
                    values, words = self._values(stmt, own[1]), self._words(stmt, own[1])
                for j, a in words.items():
                    words[j] = a if _is_memory(a) else self.b.either(a, beside_it[j])
            parts.append((tuple(body), (*values.values(), *words.values())))
        results = [self.define(r) for r in stmt.results if self.needed(r)]
        results += [self.define_words(r) for r in stmt.results if self.mirrored(r)]
        (then, then_values), (els, else_values) = parts
        self.b.append(If(cond, then, els, then_values, else_values, tuple(results), stmt.span))


def _is_memory(a: Atom) -> bool:
    return isinstance(a.type, Array | RefList)
