"""Array names that are rebound become numbers, so that the reverse sweep can follow them.

A loop that carries array references (`a, b = b, a`), and a branch that chooses one that it made, is rewritten to carry
a *tag*, which says where the reference comes from (its *site*), and the integers that are needed to make
it again (a row number). The reference is made again where it is used:

    loop carry (p = a, q = b): ... next q, p
    ->  loop carry (tp = 0, tq = 1): p = (a if tp == 0 else b); q = (...); ... next tq, tp

An array allocated inside a loop whose contents the reverse sweep needs, or that outlives its turn, is kept in a list of
references (see `kept`); its position in the list is the integer that is carried. So is the position of an array that
the program itself finds in a list: what a recursive function returned, and what an inner gradient kept.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from dataclasses import replace

from adjit.analysis.regions import Regions
from adjit.errors import UnsupportedError
from adjit.ir.builder import Builder
from adjit.ir.core import (
    ZERO,
    Alloc,
    Atom,
    Block,
    Function,
    If,
    Loop,
    RefGet,
    Stmt,
    Sym,
    Undef,
    View,
    const,
)
from adjit.ir.types import INT64, Array
from adjit.ir.visit import Rewriter, same_view, view_atoms, walk
from adjit.transform.reverse.kept import Kept


class _Numbers:
    """The integers that stand for one reference: a tag, and what its sites need."""

    def __init__(self, tag: Atom, extras: dict[tuple[Sym, Sym], Atom]):
        self.tag, self.extras = tag, extras


class References(Rewriter):
    """The pass. `forced`: targets of allocations inside loops that must be kept."""

    def __init__(
        self, function: Function, forced: Iterable[Sym], apart: Container[Sym], chosen: Container[Sym]
    ):
        super().__init__()
        self.chosen = chosen
        self.apart = apart
        self.function = function
        self.regions = Regions(function)
        self.forced = {a for a in forced if a in self.regions.where}
        self.phis: dict[Sym, list[Atom]] = {}
        self.kept: dict[Sym, Kept] = {}  # by allocation
        self.position: dict[Sym, Sym] = {}
        self.numbers: dict[Sym, _Numbers] = {}
        self._open: set[Sym] = set()
        self._collect()

    # analysis

    def _collect(self) -> None:
        inputs: dict[Sym, list[Atom]] = {}
        loops: set[Sym] = set()
        for stmt in walk(self.function.body):
            if isinstance(stmt, Loop):
                flows = zip(stmt.params, stmt.inits, stmt.nexts, stmt.results, strict=True)
                for p, i, n, r in flows:
                    if isinstance(p.type, Array) and p not in self.apart:
                        inputs[p], inputs[r] = [i, n], [i, n]
                        loops |= {p, r}
            elif isinstance(stmt, If):
                for r, a, b in zip(stmt.results, stmt.then_values, stmt.else_values, strict=True):
                    if isinstance(r.type, Array) and r not in self.apart:
                        inputs[r] = [a, b]
        self.inputs = inputs
        self.sites = {p: self._sites(p, inputs) for p in inputs}
        used = {a for p in loops for a in self._reach(p, inputs)}
        for p in inputs:
            dynamic = any(not self._static(s) for s in self.sites[p])
            if p in used or dynamic or p in self.chosen:
                self.phis[p] = inputs[p]
        while more := [p for p in inputs if p not in self.phis and any(a in self.phis for a in inputs[p])]:
            self.phis.update((p, inputs[p]) for p in more)
        todo = list(self.phis)
        while todo:
            for q in self._reach(todo.pop(), inputs):
                if q not in self.phis:
                    self.phis[q] = inputs[q]
                    todo.append(q)
                for base in map(self._base, self.sites[q]):
                    if base in inputs and base not in self.phis and not self._static(base):
                        self.phis[base] = inputs[base]
                        todo.append(base)
        for p in self.phis:
            for s in self.sites[p]:
                self._force(s)
        self.ids: dict[Sym, int] = {}
        for p in self.phis:
            for s in self.sites[p]:
                self.ids.setdefault(s, len(self.ids))

    def _reach(self, p: Sym, inputs: dict[Sym, list[Atom]]) -> set[Sym]:
        """Phis that flow into p, p included."""
        seen: set[Sym] = set()
        todo = [p]
        while todo:
            s = todo.pop()
            if s in seen:
                continue
            seen.add(s)
            todo += [a for a in inputs[s] if isinstance(a, Sym) and a in inputs]
        return seen

    def _sites(self, p: Sym, inputs: dict[Sym, list[Atom]]) -> tuple[Sym, ...]:
        found = {
            a for q in self._reach(p, inputs) for a in inputs[q] if isinstance(a, Sym) and a not in inputs
        }
        return tuple(sorted(found, key=lambda s: s.uid))

    def _static(self, s: Sym) -> bool:
        return self.regions.where[s][0] is self.regions.root

    def _force(self, s: Sym) -> None:
        """Mark the allocation under a site, and check that the site can be made again."""
        while not self._static(s):
            stmt = self.regions.definition[s]
            if isinstance(stmt, View):
                s = stmt.array
            elif isinstance(stmt, Alloc):
                self.forced.add(s)
                return
            elif s in self.inputs:
                return
            elif isinstance(stmt, RefGet) and self._static(stmt.references):
                return
            else:
                raise UnsupportedError(
                    f"the array `{s.name}`, chosen while the program runs, is rebound through a view of it",
                    "index the array directly instead of keeping a view of it from one turn to the next",
                    stmt.span,
                )

    def _chain(self, s: Sym) -> list[View]:
        """Views from the static base (or allocation) to the site, base first."""
        views: list[View] = []
        while not self._static(s):
            stmt = self.regions.definition[s]
            if not isinstance(stmt, View):
                break
            views.append(stmt)
            s = stmt.array
        return views[::-1]

    def _base(self, s: Sym) -> Sym:
        chain = self._chain(s)
        return chain[0].array if chain else s

    def _needs(self, site: Sym) -> list[Sym]:
        """Non-static integers needed to make the site again."""
        if self._static(site):
            return []
        base = self._base(site)
        out: dict[Sym, None] = {}
        if base in self.phis and not self._static(base):
            numbers = self._number(base)
            out.update(
                dict.fromkeys(a for a in (numbers.tag, *numbers.extras.values()) if isinstance(a, Sym))
            )
        elif not self._static(base):
            position = self._place(base)[1]
            if isinstance(position, Sym) and not (position in self.regions.where and self._static(position)):
                out[position] = None
        for view in self._chain(site):
            out.update(
                dict.fromkeys(a for a in view_atoms(view) if isinstance(a, Sym) and not self._static(a))
            )
        return list(out)

    def _number(self, p: Sym) -> _Numbers:
        """The integers of a rebound array."""
        if p not in self.numbers:
            if p in self._open:
                stmt = self.regions.definition.get(p)
                raise UnsupportedError(
                    f"the array `{p.name}` becomes a view of itself again and again",
                    "index the whole array instead of transposing, reshaping, or slicing by a step that is computed",
                    None if stmt is None else stmt.span,
                )
            self._open.add(p)
            extras: dict[tuple[Sym, Sym], Atom] = {
                (s, n): Sym(n.name, n.type) for s in self.sites[p] for n in self._needs(s)
            }
            self._open.discard(p)
            self.numbers[p] = _Numbers(Sym(f"{p.name}_tag", INT64), extras)
        return self.numbers[p]

    def _position_of(self, alloc: Sym) -> Sym:
        if alloc not in self.position:
            self.position[alloc] = Sym(f"{alloc.name}_at", INT64)
        return self.position[alloc]

    def _keys(self, p: Sym) -> list[tuple[Sym, Sym]]:
        return list(self._number(p).extras)

    # rewriting

    def run(self) -> tuple[Block, Function]:
        """The lists and counters that the function works on, and the function with rebound arrays as numbers."""
        if not self.phis and not self.forced:
            return (), self.function
        for p in self.phis:
            self._number(p)
        head: list[Stmt] = []
        for alloc in sorted(self.forced, key=lambda s: s.uid):
            assert isinstance(alloc.type, Array)
            self.kept[alloc] = Kept.named(alloc.name, alloc.type)
            head += self.kept[alloc].made(self.function.span)
        body = self.block(self.function.body)
        results = tuple(self.atom(a) for a in self.function.results)
        return tuple(head), replace(self.function, body=body, results=results)

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        match stmt:
            case Alloc() if stmt.target in self.forced:
                return self._kept_alloc(stmt)
            case Loop():
                return self._rewrite_loop(stmt)
            case If():
                return self._rewrite_if(stmt)
            case _:
                return (self.rebuild(stmt),)

    def _kept_alloc(self, stmt: Alloc) -> tuple[Stmt, ...]:
        rebuilt = self.rebuild(stmt)
        assert isinstance(rebuilt, Alloc)
        return self.kept[stmt.target].keep(rebuilt, self._position_of(stmt.target))

    def _values(self, p: Sym, a: Atom) -> list[Atom]:
        """What flows into p's numbers when `a` flows into p."""
        keys = self._keys(p)
        if isinstance(a, Sym) and a in self.numbers:
            n = self.numbers[a]
            return [n.tag, *(n.extras.get(k, Undef(k[1].type)) for k in keys)]
        if isinstance(a, Sym):
            return [
                const(self.ids[a]),
                *(self.atom(n) if s == a else Undef(n.type) for s, n in keys),
            ]
        return [ZERO, *(Undef(n.type) for _, n in keys)]

    def _symbols(self, p: Sym) -> list[Sym]:
        n = self.numbers[p]
        out = [n.tag, *(n.extras[k] for k in self._keys(p))]
        return [s for s in out if isinstance(s, Sym)]

    def _rewrite_loop(self, stmt: Loop) -> tuple[Stmt, ...]:
        array = [j for j, p in enumerate(stmt.params) if p in self.phis]
        if not array:
            return (self.rebuild(stmt),)
        plain = [j for j in range(len(stmt.params)) if j not in array]
        params, results = ([x[j] for j in plain] for x in (stmt.params, stmt.results))
        new_inits = [self.atom(stmt.inits[j]) for j in plain]
        head = Builder(stmt.span)
        for j in array:
            p = stmt.params[j]
            params += self._symbols(p)
            new_inits += [self.atom(v) for v in self._values(p, stmt.inits[j])]
            self._make(head, p)
        lo, hi, step = (None if a is None else self.atom(a) for a in (stmt.lo, stmt.hi, stmt.step))
        body = self.block(stmt.body)
        nexts = [self.atom(stmt.nexts[j]) for j in plain]
        for j in array:
            nexts += [self.atom(v) for v in self._values(stmt.params[j], stmt.nexts[j])]
        tail = Builder(stmt.span)
        for j in array:
            results += self._symbols(stmt.results[j])
            self._make(tail, stmt.results[j])
        stop = None if stmt.stop is None else self.atom(stmt.stop)
        flows = tuple(params), tuple(new_inits), (*head.block(), *body), tuple(nexts), tuple(results)
        loop = Loop(stmt.index, lo, hi, step, *flows, stop, stmt.span, parallel=stmt.parallel, note=stmt.note)
        return (loop, *tail.block())

    def _rewrite_if(self, stmt: If) -> tuple[Stmt, ...]:
        array = [j for j, r in enumerate(stmt.results) if r in self.phis]
        if not array:
            return (self.rebuild(stmt),)
        plain = [j for j in range(len(stmt.results)) if j not in array]
        results = [stmt.results[j] for j in plain]
        bodies: list[Block] = []
        yields: list[tuple[Atom, ...]] = []
        for block, values in ((stmt.then, stmt.then_values), (stmt.els, stmt.else_values)):
            bodies.append(self.block(block))
            ends = [self.atom(values[j]) for j in plain]
            for j in array:
                ends += [self.atom(v) for v in self._values(stmt.results[j], values[j])]
            yields.append(tuple(ends))
        tail = Builder(stmt.span)
        for j in array:
            results += self._symbols(stmt.results[j])
            self._make(tail, stmt.results[j])
        new = If(self.atom(stmt.cond), bodies[0], bodies[1], yields[0], yields[1], tuple(results), stmt.span)
        return (new, *tail.block())

    # making references again

    def _make(self, b: Builder, p: Sym) -> None:
        """Define p again from its numbers."""
        got = self._reference(b, p, self.numbers[p], p)
        if got != p:
            self.env[p] = got

    def _reference(self, b: Builder, p: Sym, numbers: _Numbers, target: Sym | None) -> Sym:
        """What p refers to, given its numbers; defines `target` where anything need be computed."""
        sites = list(self.sites[p])
        if len(sites) == 1:
            return self._site(b, sites[0], p, numbers, target)
        target = Sym(p.name, p.type) if target is None else target
        self._switch(b, p, numbers, sites, target)
        return target

    def _switch(self, b: Builder, p: Sym, numbers: _Numbers, sites: list[Sym], target: Sym) -> None:
        first, rest = sites[0], sites[1:]
        with b.collect() as then:
            a = self._site(b, first, p, numbers, None)
        with b.collect() as els:
            if len(rest) == 1:
                c = self._site(b, rest[0], p, numbers, None)
            else:
                c = Sym(p.name, p.type)
                self._switch(b, p, numbers, rest, c)
        cond = b.op("eq", numbers.tag, const(self.ids[first]))
        b.if_(cond, tuple(then), tuple(els), (a,), (c,), (target,))

    def _site(self, b: Builder, site: Sym, p: Sym, numbers: _Numbers, target: Sym | None) -> Sym:
        """The reference of one site, made from p's numbers; the last step defines `target` if given."""
        if self._static(site):
            return self.sym(site)

        def value(a: Atom) -> Atom:
            return numbers.extras.get((site, a), self.atom(a)) if isinstance(a, Sym) else a

        chain = self._chain(site)
        last = None if chain else target
        current = self._base_again(b, self._base(site), p, value, last)
        for k, view in enumerate(chain):
            made = target if target is not None and k == len(chain) - 1 else Sym(p.name, view.target.type)
            b.append(replace(same_view(view, made, current, value), span=b.span))
            current = made
        return current

    def _base_again(
        self, b: Builder, base: Sym, p: Sym, value: Callable[[Atom], Atom], target: Sym | None
    ) -> Sym:
        """The array under a site's views: static, kept in a list, or rebound itself."""
        if self._static(base):
            return self.sym(base)
        if base in self.phis:
            inner = self.numbers[base]
            numbers = _Numbers(value(inner.tag), {k: value(v) for k, v in inner.extras.items()})
            return self._reference(b, base, numbers, target)
        listed, position = self._place(base)
        made = Sym(p.name, base.type) if target is None else target
        assert listed is not None
        b.append(RefGet(made, self.sym(listed), value(position), b.span))
        return made

    def _place(self, base: Sym) -> tuple[Sym | None, Atom]:
        """The list that an array is kept in, and its position: of an allocation, or of a list that was there before."""
        stmt = self.regions.definition[base]
        if isinstance(stmt, RefGet):
            return stmt.references, stmt.position
        return (self.kept[base].listed if base in self.kept else None), self._position_of(base)


def references(
    function: Function,
    forced: Iterable[Sym] = (),
    apart: Container[Sym] = (),
    chosen: Container[Sym] = (),
) -> tuple[Block, Function]:
    """The head (lists and counters, to be made before), and the function with rebound arrays as numbers.

    `forced`: allocations inside loops that must be kept. `apart`: arrays that are left as they are (see `growing`).
    `chosen`: arrays chosen by a branch that must become numbers.
    """
    return References(function, forced, apart, chosen).run()
