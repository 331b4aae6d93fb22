"""Records that the turns of a loop add to, so many values each as its data asks for.

    for i carry (cursor, record): record = ensure record (cursor + room); store record[cursor] = x; cursor = cursor + 1
                                  store ends[..] = cursor

Nothing depends on where in a record a turn's values stand but the ends that the turns keep. So a run of turns can fill
a record of its own from its start; the runs' records follow each other in the end, and each end moves by what stands
before.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field

from adjit.analysis.carried import Amount, Carried, Count
from adjit.ir.builder import Builder
from adjit.ir.core import Atom, Const, Ensure, If, Let, Loop, Raise, Stmt, Store, Sym
from adjit.ir.types import INT64, Array, Scalar
from adjit.ir.visit import defined, operands, targets, walk, yields


@dataclass(frozen=True)
class End:
    """Where the turns keep the cursor: `array[first + turn * by + slot]`."""

    array: Sym
    first: Atom
    by: Amount
    slot: int

    def at(self, b: Builder, turn: Atom) -> Atom:
        """The place of one turn, counted from 0."""
        return b.op("add", b.op("add", self.first, b.op("mul", turn, self.by(b))), self.slot)


@dataclass
class Recorded:
    """A cursor and the growing records that it is the place in; positions are those among what the loop carries.

    limit: the bytes that a record may take. line: which line a record over it is said to be of.
    """

    cursor: int
    buffers: list[int] = field(default_factory=list)
    ends: list[End] = field(default_factory=list)
    limit: Atom | None = None
    line: int = 0


def is_over_limit(stmt: Stmt) -> bool:
    """Whether the statement says that a record would be too large."""
    return isinstance(stmt, Raise) and stmt.exception == "MemoryError" and stmt.args[:1] == ("record",)


def recorded(loop: Loop, carried: Carried, candidates: Container[int]) -> list[Recorded] | None:
    """The records that the loop's turns add to; None if any candidate among what it carries is anything else."""
    found = _Recorded(loop, carried, candidates)
    return found.all() if found.flows() and found.uses() else None


@dataclass(frozen=True)
class Followed:
    """What a loop's turns do with their records.

    versions: the records in the body, under all their names, by what the loop carries. checks: conditions of the guards
    that hold records to the limit. kept: the stores that keep cursors.
    """

    records: list[Recorded]
    versions: dict[Sym, int]
    checks: frozenset[Atom]
    kept: tuple[Store, ...]


def followed(loop: Loop, carried: Carried, candidates: Container[int]) -> Followed | None:
    """As `recorded`, for turns that start from the cursors of the turns in order, wherever these are kept."""
    found = _Recorded(loop, carried, candidates, as_in_order=True)
    if not (found.flows() and found.uses()):
        return None
    records = found.all()
    return None if records is None else Followed(records, found.versions(), found.checks(), tuple(found.kept))


class _Recorded:
    def __init__(self, loop: Loop, carried: Carried, candidates: Container[int], as_in_order: bool = False):
        """as_in_order: turns start from the cursors of the turns in order, so that these may be kept anywhere."""
        self._loop, self._carried, self._as_in_order = loop, carried, as_in_order
        self.kept: list[Store] = []
        self._body = list(walk(loop.body))
        self._made: dict[Sym, Stmt] = {t: s for s in self._body for t in targets(s)}
        self._inside = defined(loop.body)
        self._top = {id(s) for s in loop.body}
        self._of: dict[Atom, int] = {p: k for k, p in enumerate(loop.params) if k in candidates}
        self._checks: dict[Atom, int] = {}  # sizes in bytes, of which the limit is made sure
        self._cursor_of: dict[int, int] = {}
        self._found = {
            k: Recorded(k) for k, p in enumerate(loop.params) if k in candidates and p.type == INT64
        }

    def all(self) -> list[Recorded] | None:
        """What was found; None where a record has no cursor."""
        for k, p in enumerate(self._loop.params):
            if p in self._of and isinstance(p.type, Array):
                if k not in self._cursor_of:
                    return None
                self._found[self._cursor_of[k]].buffers.append(k)
        return list(self._found.values())

    def versions(self) -> dict[Sym, int]:
        """The records, under all their names."""
        return {s: k for s, k in self._of.items() if isinstance(s, Sym) and isinstance(s.type, Array)}

    def checks(self) -> frozenset[Atom]:
        """What guards of the limit test."""
        return frozenset(self._checks)

    # what is a cursor, and what a record

    def flows(self) -> bool:
        """Follow the cursors and records through the body; False where something else is carried."""
        if any(p.type != INT64 and not isinstance(p.type, Array) for p in self._of):
            return False
        before = -1
        while before != len(self._of) + len(self._checks):
            before = len(self._of) + len(self._checks)
            for s in self._body:
                self._follow(s)
        nexts = zip(self._loop.params, self._loop.nexts, strict=True)
        return all(self._of.get(n) == self._of.get(p) for p, n in nexts)

    def _follow(self, s: Stmt) -> None:
        match s:
            case Ensure():
                self._same(s.target, s.array)
            case Let(op="add" | "nonneg", fn=None) if s.target.type == INT64:
                for a in s.args:
                    self._same(s.target, a)
            case Let(op="cast" | "add" | "mul" | "gt") if isinstance(s.target.type, Scalar):
                for a in s.args:
                    k = self._checks.get(a, self._of.get(a) if s.op == "cast" else None)
                    if k is not None:
                        self._checks[s.target] = k
            case Loop():
                for p, i, r in zip(s.params, s.inits, s.results, strict=True):
                    self._same(p, i)
                    self._same(r, i)
            case If():
                for r, a in zip(s.results, s.then_values, strict=True):
                    self._same(r, a)
            case _:
                pass

    def _same(self, target: Sym, source: Atom) -> None:
        if source in self._of:
            self._of[target] = self._of[source]

    # what becomes of them

    def uses(self) -> bool:
        """Whether nothing depends on the cursors but the places in records; learns which record is whose."""
        return all(map(self._use, self._body))

    def _use(self, s: Stmt) -> bool:
        match s:
            case Let():
                return self._let(s)
            case Ensure():
                return self._belongs(s.array, s.need)
            case Store():
                return self._store(s)
            case Loop():
                heads = (s.lo, s.hi, s.step, s.stop)
                flows = zip(s.params, s.inits, s.nexts, strict=True)
                return not any(map(self._known, heads)) and all(
                    self._of.get(p) == self._of.get(i) == self._of.get(n) and not {i, n} & self._checks.keys()
                    for p, i, n in flows
                )
            case If():
                return self._if(s)
            case _:
                return is_over_limit(s) or not any(map(self._known, (*operands(s), *yields(s))))

    def _known(self, a: Atom | None) -> bool:
        return a in self._of or a in self._checks

    def _let(self, s: Let) -> bool:
        known = [a for a in s.args if self._known(a)]
        if not known:
            return True
        if s.op == "gt" and s.target in self._checks:
            self._learn_limit(s)
        return len(known) == 1 and self._known(s.target)

    def _learn_limit(self, s: Let) -> None:
        found = self._found[self._checks[s.target]]
        limit = s.args[1]
        made = self._made.get(limit) if isinstance(limit, Sym) else None
        if isinstance(made, Let) and made.op == "cast":
            limit = made.args[0]
        if limit not in self._inside:
            found.limit = limit

    def _if(self, s: If) -> bool:
        if s.cond in self._checks:
            if s.results or s.els or not all(map(is_over_limit, s.then)):
                return False
            for stmt in s.then:
                assert isinstance(stmt, Raise)
                self._found[self._checks[s.cond]].line = int(stmt.args[2])  # type: ignore[arg-type]
            return True
        flows = zip(s.results, s.then_values, s.else_values, strict=True)
        return s.cond not in self._of and all(
            self._of.get(r) == self._of.get(a) == self._of.get(b) and not {a, b} & self._checks.keys()
            for r, a, b in flows
        )

    def _belongs(self, array: Atom, place: Atom) -> bool:
        """Whether the place is of the record's own cursor."""
        k, c = self._of.get(array), self._of.get(place)
        if k is None or c is None or not isinstance(self._loop.params[k].type, Array) or c not in self._found:
            return False
        return self._cursor_of.setdefault(k, c) == c

    def _store(self, s: Store) -> bool:
        if s.array in self._of:
            return not self._known(s.value) and self._belongs(s.array, s.index[0])
        if any(map(self._known, s.index)) or s.value in self._checks:
            return False
        return s.value not in self._of or self._end(s, self._of[s.value])

    def _end(self, s: Store, k: int) -> bool:
        """`ends[..] = cursor`, at the end of each turn."""
        if self._as_in_order:
            self.kept.append(s)
            return True
        if id(s) not in self._top or s.value != self._loop.nexts[k] or s.array in self._inside or s.update:
            return False
        place, slot = s.index[0], 0
        made = self._made.get(place) if isinstance(place, Sym) else None
        if isinstance(made, Let) and made.op == "add" and isinstance(made.args[1], Const):
            place, slot = made.args[0], made.args[1].integer
        if len(s.index) != 1 or place not in self._loop.params:
            return False
        j = self._loop.params.index(place)  # type: ignore[arg-type]
        kind = self._carried.of(j)
        if not isinstance(kind, Count):
            return False
        self._found[k].ends.append(End(s.array, self._loop.inits[j], kind.by, slot))
        return True
