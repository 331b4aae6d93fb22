"""Called functions in reverse mode: what is known of each while the program is planned.

    t, b = call f(x, a)   ->   forward:  t, b, cursors, records = call f_augmented(x, a, cursors, records)
                               reverse:  dx, cursors = call f_reverse(a, da, dt, cursors, records)

A callee and its calls of itself share one stack of records per region and dtype (`state`): the forward form pushes, the
reverse form pops. Facts about memory are those of the whole program: a parameter stands for whatever is passed
to it anywhere. A callee's reverse form puts back what the callee stored wherever someone needs that (`restore`), and
says what memory it loads again (`reads`), so that its callers put back what they store later.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from adjit.analysis.activity import Activity
from adjit.analysis.alias import Alias, Roots
from adjit.errors import UnsupportedError
from adjit.ir.core import Call, Custom, Function, Store, Sym, unique_name
from adjit.ir.types import Array, RefList
from adjit.ir.visit import walk, walk_program
from adjit.transform.reverse.record import Tape

_NONE: Roots = frozenset()


@dataclass(eq=False)
class Callee:
    """One called function. Positions are those of its parameters and results.

    shadowed: active arrays. inputs: active scalar parameters. seeded: active results. needed: parameters that the
    reverse form reads. reads, rolled: memory that it loads again, and puts back. state: every tape that a call moves.
    """

    function: Function
    shadowed: tuple[int, ...]
    inputs: tuple[int, ...]
    seeded: tuple[int, ...]
    forward: str
    backward: str
    needed: tuple[int, ...] = ()
    reads: Roots = _NONE
    rolled: Roots = _NONE
    state: tuple[Tape, ...] = ()
    active: bool = field(init=False)

    def __post_init__(self) -> None:
        self.active = bool(self.shadowed or self.inputs or self.seeded)


class Calls:
    """The called functions of a program, and what the whole program needs of them."""

    def __init__(self, program: Function, alias: Alias, activity: Activity):
        self.alias = alias
        self.restore: Roots = _NONE
        self._members: dict[Sym, Sym] = {}
        self.functions = {f.name: f for f in program.functions}
        self._direct = {name: set(_callees(f)) for name, f in self.functions.items()}
        self.written = {name: self._written(name) for name in self.functions}
        self.callees = {f.name: _callee(f, activity, alias) for f in program.functions}

    def of(self, call: Call) -> Callee:
        return self.callees[call.callee]

    def written_by(self, call: Call) -> tuple[Sym, ...]:
        """The arguments through which the call may write."""
        return self._meeting(call, self.written[call.callee])

    def read_by(self, call: Call) -> tuple[Sym, ...]:
        """The arguments through which the reverse of the call loads again what it loaded."""
        return self._meeting(call, self.callees[call.callee].reads)

    def _meeting(self, call: Call, roots: Roots) -> tuple[Sym, ...]:
        given = (a if isinstance(a.type, Array) else self._held(a) for a in call.args if isinstance(a, Sym))
        return tuple(a for a in given if a is not None and not self.alias.roots(a).isdisjoint(roots))

    def _held(self, listed: Sym) -> Sym | None:
        """A symbol that stands for all arrays in a list; None for a number."""
        if not isinstance(listed.type, RefList):
            return None
        if listed not in self._members:
            member = self._members[listed] = Sym(listed.name, listed.type.element)
            self.alias.assume(member, self.alias.held(listed))
        return self._members[listed]

    def reached(self, name: str) -> list[str]:
        """The function and all that it calls, in the program's order."""
        seen: set[str] = set()
        todo = [name]
        while todo:
            n = todo.pop()
            if n not in seen:
                seen.add(n)
                todo += self._direct[n]
        return [n for n in self.functions if n in seen]

    def _written(self, name: str) -> Roots:
        found: set[Sym] = set()
        for n in self.reached(name):
            for stmt in walk(self.functions[n].body):
                if isinstance(stmt, Store):
                    found |= self.alias.roots(stmt.array)
        return frozenset(found)

    def want_back(self, roots: Iterable[Sym]) -> None:
        """Have what callees store in this memory put back by their reverse forms."""
        self.restore |= frozenset(roots)
        for name, callee in self.callees.items():
            callee.active = callee.active or not self.written[name].isdisjoint(self.restore)

    def rolled(self) -> Roots:
        """Memory that any callee's reverse form puts back."""
        return _NONE.union(*(c.rolled for c in self.callees.values()))

    def facts(self) -> object:
        """What must stop changing while the program is planned."""
        each = [(c.active, c.needed, c.reads, c.rolled) for c in self.callees.values()]
        return self.restore, each


def _callees(f: Function) -> list[str]:
    return [s.callee for s in walk(f.body) if isinstance(s, Call)]


def _callee(f: Function, activity: Activity, alias: Alias) -> Callee:
    def shadowed(p: Sym) -> bool:
        if isinstance(p.type, RefList):
            return p.type.differentiable and not alias.held(p).isdisjoint(activity.roots)
        return isinstance(p.type, Array) and activity.active(p)

    stem = f.name.partition(".")[0]
    return Callee(
        f,
        tuple(k for k, p in enumerate(f.params) if shadowed(p)),
        tuple(
            k
            for k, p in enumerate(f.params)
            if not isinstance(p.type, Array | RefList) and activity.active(p)
        ),
        tuple(k for k, a in enumerate(f.results) if activity.active(a)),
        unique_name(f"{stem}_augmented"),
        unique_name(f"{stem}_reverse"),
    )


def refuse_unsupported(program: Function) -> None:
    """What reverse mode cannot follow through calls.

    Raises: UnsupportedError for a gradient of a gradient through them, and for such calls in functions with a rule of
        their own.
    """
    augmented = {f.name for f in program.functions if f.augmented}
    for stmt in walk_program(program):
        if isinstance(stmt, Call) and any(isinstance(r.type, Array) for r in stmt.results):
            if stmt.callee in augmented:
                raise UnsupportedError(
                    "a gradient of a gradient through a function that calls itself, both in reverse mode",
                    "use forward mode for one of them: aj.jvp of aj.grad",
                    stmt.span,
                )
        if isinstance(stmt, Custom) and any(isinstance(s, Call) for s in walk(stmt.body)):
            raise UnsupportedError(
                "a function with a rule of its own calls one that calls itself",
                "write the recursion as a loop there",
                stmt.span,
            )
