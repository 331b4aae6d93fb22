"""Out of SSA: which symbols share one Python variable.

A loop's (init, param, next, result) and a branch's (value, result) should be one variable, so that a
reduction prints as `s += x[i]` and not as copies. They may be where they do not *interfere*: no symbol is
assigned while the other is live, except by a copy of the one into the other (Chaitin 1982). Liveness is
exact on structured code in one backward walk: what a loop's body reads from outside is live all through it.
"""

from __future__ import annotations

from adjit.codegen.nesting import Plan
from adjit.codegen.while_form import While
from adjit.ir.core import (
    Atom,
    Block,
    Custom,
    Ensure,
    Function,
    If,
    Loop,
    Stmt,
    Sym,
    Undef,
)
from adjit.ir.visit import inner_targets, targets, walk

Live = set[Sym]


class Variables:
    """The variable (a representative symbol) of every symbol."""

    def __init__(self, function: Function, plan: Plan):
        self.plan = plan
        self.undefined: set[Sym] = set()
        self.members: dict[Sym, list[Sym]] = {}
        self._parents: dict[Sym, Sym] = {}
        self._edges: dict[Sym, set[Sym]] = {}
        self._indices: dict[Sym, frozenset[Sym]] = {}
        self._wishes: list[tuple[int, Sym, Sym]] = []
        self._reads: dict[int, tuple[Live, Live]] = {}
        for stmt in walk(function.body):
            if isinstance(stmt, Loop):
                self._parents.update(zip(stmt.results, stmt.params, strict=True))
        self._interference(function)
        for _, a, b in sorted(self._wishes, key=lambda w: w[0]):
            self._merge(a, b)

    def of(self, s: Sym) -> Sym:
        """The representative of the symbol's variable."""
        while s in self._parents:
            s = self._parents[s]
        return s

    # interference

    def _interference(self, function: Function) -> None:
        live = self._leaves(function.results)
        live = self._block(function.body, live)
        for p in function.params:
            self._define(p, live | {self.of(q) for q in function.params})

    def _leaves(self, atoms: tuple[Atom | None, ...]) -> Live:
        found: Live = set()
        for a in atoms:
            if isinstance(a, Sym):
                found.update(map(self.of, self.plan.leaves(a)) if a in self.plan.nested else (self.of(a),))
        return found

    def _define(self, s: Sym, live: Live, source: Sym | None = None) -> None:
        """`s` is assigned while `live` is live; a copy of `source` does not clash with it."""
        s = self.of(s)
        mine = self._edges.setdefault(s, set())
        new = live - mine
        new.discard(s)
        if source is not None:
            new.discard(source)
        mine |= new
        for other in new:
            self._edges.setdefault(other, set()).add(s)

    def _copy(self, into: tuple[Sym, ...], values: tuple[Atom, ...], live: Live, rank: int) -> Live:
        """Parallel assignment; gives what is live before it."""
        together = {self.of(s) for s in into}
        for s, v in zip(into, values, strict=True):
            if isinstance(v, Undef):
                self.undefined.add(s)
                continue
            plain = isinstance(v, Sym) and v not in self.plan.nested
            source = self.of(v) if plain and isinstance(v, Sym) else None
            own = source in together
            self._define(s, live | together, None if own else source)
            if source is not None and source != self.of(s) and isinstance(v, Sym):
                self._wishes.append((rank, s, v))
        return (live - together) | self._leaves(values)

    def _block(self, block: Block, live: Live) -> Live:
        live = set(live)
        for stmt in reversed(block):
            live = self._stmt(stmt, live)
        return live

    def _stmt(self, stmt: Stmt, live: Live) -> Live:
        """What is live before the statement; `live`, what is after it, may be reused."""
        match stmt:
            case If() if not self.plan.is_short(stmt):
                then = self._block(stmt.then, self._copy(stmt.results, stmt.then_values, live, 1))
                els = self._block(stmt.els, self._copy(stmt.results, stmt.else_values, live, 1))
                return then | els | self._leaves((stmt.cond,))
            case Custom():
                return self._block(stmt.body, self._copy(stmt.results, stmt.values, live, 1))
            case Loop():
                return self._loop(stmt, live)
            case _:
                return self._simple(stmt, live)

    def _simple(self, stmt: Stmt, live: Live) -> Live:
        made = targets(stmt)
        if made and made[0] in self.plan.nested:
            return live
        for s in made:
            live.discard(s)
            self._define(s, live if len(made) == 1 else live | {self.of(other) for other in made})
        if isinstance(stmt, Ensure):
            self._wishes.append((0, stmt.target, stmt.array))
        live |= self._leaves(self.plan.reads(stmt))
        return live

    def _loop(self, loop: Loop, live: Live) -> Live:
        params = set(loop.params)
        form = self.plan.whiles.get(id(loop))
        head = self._head(loop, form, live, params)
        if form is None:
            self._body(loop, head, live)
        else:
            self._while(loop, form, head, live)
        before = head | self._leaves((loop.lo, loop.hi, loop.step))
        return self._copy(loop.params, loop.inits, before, 2) - params

    def _head(self, loop: Loop, form: While | None, live: Live, params: Live) -> Live:
        """What is live where a turn begins, or the loop ends."""
        if form is None:
            reads, defs = self._uses(loop.body)
            reads = reads | self._leaves((*loop.nexts, loop.stop))
        else:
            first, second = self._uses(form.pre), self._uses(form.work)
            reads = first[0] | second[0] | self._leaves((form.cond, form.stop, *form.nexts))
            defs = first[1] | second[1]
        inside = {self.of(s) for s in reads} - {self.of(s) for s in defs}
        if loop.index is not None:
            inside.discard(self.of(loop.index))
        ends_at_head = loop.index is not None or form is not None
        return inside | (live if ends_at_head else live - params)

    def _body(self, loop: Loop, head: Live, after: Live) -> None:
        ends = head | after | self._leaves((loop.stop,))
        live = self._block(loop.body, self._copy(loop.params, loop.nexts, ends, 0))
        if loop.index is not None:
            self._indices[loop.index] = frozenset(loop.params)
            self._define(loop.index, live)

    def _while(self, loop: Loop, form: While, head: Live, after: Live) -> None:
        ends = head | after | self._leaves((form.stop,))
        live = self._block(form.work, self._copy(loop.params, form.nexts, ends, 0))
        self._block(form.pre, live | after | self._leaves((form.cond,)))

    def _uses(self, block: Block) -> tuple[Live, Live]:
        """Symbols read, and symbols defined, in the block as it is printed."""
        found = self._reads.get(id(block))
        if found is not None:
            return found
        reads: Live = set()
        defs: Live = set()
        for stmt in block:
            made = targets(stmt)
            if made and made[0] in self.plan.nested:
                continue
            defs.update(made, inner_targets(stmt))
            for atom in self.plan.reads(stmt):
                reads |= self.plan.leaves(atom)
            for sub, atoms in self._parts(stmt):
                inner = self._uses(sub)
                reads |= inner[0]
                defs |= inner[1]
                for atom in atoms:
                    reads |= self.plan.leaves(atom)
        self._reads[id(block)] = (reads, defs)
        return reads, defs

    def _parts(self, stmt: Stmt) -> list[tuple[Block, tuple[Atom | None, ...]]]:
        match stmt:
            case Loop():
                form = self.plan.whiles.get(id(stmt))
                if form is None:
                    return [(stmt.body, (*stmt.nexts, stmt.stop))]
                return [(form.pre, (form.cond,)), (form.work, (*form.nexts, form.stop))]
            case If() if not self.plan.is_short(stmt):
                return [(stmt.then, stmt.then_values), (stmt.els, stmt.else_values)]
            case Custom():
                return [(stmt.body, stmt.values)]
            case _:
                return []

    # merging

    def _merge(self, a: Sym, b: Sym) -> None:
        """One variable for both, where they have one type and do not interfere."""
        x, y = self.of(a), self.of(b)
        if x == y or x.type != y.type or y in self._edges.get(x, ()):
            return
        for index, params in self._indices.items():
            if index in (x, y) and not self._only_own(x if index == y else y, params):
                return
        if y in self._indices:
            x, y = y, x
        self._parents[y] = x
        self.members.setdefault(x, [x]).extend(self.members.pop(y, [y]))
        mine = self._edges.setdefault(x, set())
        for other in self._edges.pop(y, set()):
            self._edges[other].discard(y)
            self._edges[other].add(x)
            mine.add(other)

    def _only_own(self, s: Sym, params: frozenset[Sym]) -> bool:
        """Whether the variable is a param of the index's own loop (the index as seen after the loop)."""
        return s in params
