"""Running products, minima and maxima that a loop looks at in every turn: where each part of the loop starts.

    for part in range(parts), in parallel:  p = 1; ... what p is made of in the part's turns ...; runs[part] = p
    starts = the products of the runs before each part, from the value before the loop on

The turns then run as they do in order, each part from its own start. A product is another one to rounding; a minimum
or a maximum is the same one, and so is the turn that it was taken from, at ties and after NaNs too. What is slow to
compute is kept from the one run to the other (`terms`).

After a NaN `max(x, m)` forgets m. So a part keeps whether it met one, and says then where the next one starts whatever
stood before; NaN as a start stands for no number at all there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from adjit.analysis.steps import Steps
from adjit.ir.builder import Builder, const_of
from adjit.ir.core import FALSE, ONE, ZERO, Atom, Block, If, Let, Loop, Stmt, Sym, fresh
from adjit.ir.types import BOOL, INT64, Array, Scalar
from adjit.ir.visit import Rewriter, renamed
from adjit.transform.terms import Terms


@dataclass(frozen=True)
class Range:
    """The turns of a part, and what it carries at their begin, by the loop's own values."""

    lo: Atom
    hi: Atom
    step: Atom
    inits: dict[int, Atom]


class Ahead:
    """Where the parts of one loop start with such values, while the loop is written."""

    def __init__(
        self,
        b: Builder,
        loop: Loop,
        kinds: Sequence[object],
        body: Block,
        parts: Atom,
        terms: Terms,
    ):
        """kinds: of all that the loop carries. body: what computes the values of kind `Steps` in a turn."""
        self._b, self._loop, self._parts = b, loop, parts
        self._steps = {k: kind for k, kind in enumerate(kinds) if isinstance(kind, Steps)}
        self._body = terms.kept(body)
        self._runs = {k: self._row(loop.params[k]) for k in self._steps}
        self._starts = {k: self._row(loop.params[k]) for k in self._steps}
        self._forgot = {  # by part, whether its turns forgot what they started with
            k: b.alloc("forgot", Array(BOOL, 1, "C"), (parts,))
            for k, one in self._steps.items()
            if not one.first
        }

    def _row(self, p: Sym) -> Sym:
        assert isinstance(p.type, Scalar)
        return self._b.alloc(f"{p.name}_of_parts", Array(p.type, 1, "C"), (self._parts,))

    def run(self, range_of: Callable[[Atom], Range]) -> None:
        """Run the values alone, over the turns of every part; then find out where each part starts."""
        if not self._steps:
            return
        b, part = self._b, Sym("part", INT64)
        with b.collect() as body:
            self._part(part, range_of(part))
        flows = ((), (), tuple(body), (), (), None)
        b.loop(Loop(part, ZERO, self._parts, ONE, *flows, self._loop.span, parallel=True))
        for k in self._steps:
            self._join(k)

    def _part(self, part: Atom, turns: Range) -> None:
        b, loop = self._b, self._loop
        needs = frozenset[Sym]().union(*(one.needs for one in self._steps.values()))
        carried = {k: self._nothing(k) for k in self._steps}
        carried |= {k: init for k, init in turns.inits.items() if loop.params[k] in needs}
        params, inits = [loop.params[k] for k in carried], list(carried.values())
        nexts, body = [loop.nexts[k] for k in carried], self._body
        for k in self._forgot:
            forgets = _Forgets(loop.params[k])
            body = forgets.block(body)
            params.append(forgets.start)
            inits.append(FALSE)
            nexts.append(forgets.of(loop.nexts[k]))
        results = tuple(fresh(q) for q in params)
        flows = (tuple(params), tuple(inits), body, tuple(nexts), results)
        env: dict[Sym, Atom] = {}
        b.extend(renamed((Loop(loop.index, turns.lo, turns.hi, turns.step, *flows, None, loop.span),), env))
        found = [env[r] for r in results]
        for runs, run in zip(self._runs.values(), found, strict=False):
            b.store(runs, (part,), run)
        for forgot, flag in zip(self._forgot.values(), found[len(carried) :], strict=True):
            b.store(forgot, (part,), flag)

    def _nothing(self, k: int) -> Atom:
        """What the runs that are made ahead start with."""
        one, type_ = self._steps[k], self._loop.params[k].type
        if one.op in ("mul", "szmul"):
            return const_of(1.0, type_)
        if not one.first:
            return const_of(math.nan, type_)
        return const_of(-math.inf if one.op == "max" else math.inf, type_)

    def _join(self, k: int) -> None:
        """What stands before each part."""
        b, q = self._b, Sym("part", INT64)
        p = self._loop.params[k]
        before, after = fresh(p), fresh(p)
        with b.collect() as body:
            b.store(self._starts[k], (q,), before)
            joined = self._after(k, before, b.load(self._runs[k], (q,)), q)
        flows = ((before,), (self._loop.inits[k],), tuple(body), (joined,), (after,), None)
        b.loop(Loop(q, ZERO, self._parts, ONE, *flows, b.span))

    def _after(self, k: int, before: Sym, run: Sym, q: Sym) -> Atom:
        b, one = self._b, self._steps[k]
        assert isinstance(before.type, Scalar)
        if one.first:
            return b.let(one.op, before, run, type=before.type, fn=one.fn)
        both = b.let(one.op, run, before, type=before.type, fn=one.fn)
        kept = b.op("select", b.op("isnan", run), before, both)
        return b.op("select", b.load(self._forgot[k], (q,)), run, kept)

    def start(self, k: int, part: Atom) -> Atom:
        """What a part starts with."""
        return self._b.load(self._starts[k], (part,))

    def ends(self, part: Atom, results: Sequence[Atom]) -> None:
        """Keep what a part comes to."""
        for k, runs in self._runs.items():
            self._b.store(runs, (part,), results[k])

    def result(self, k: int) -> Atom:
        """What all turns come to."""
        return self._b.load(self._runs[k], (self._b.op("sub", self._parts, 1),))


class _Forgets(Rewriter):
    """Beside a chain of `max(x, m)` carries whether m was forgotten: whether an x was NaN."""

    def __init__(self, p: Sym):
        super().__init__()
        self.start = Sym("forgot", BOOL)
        self._flag: dict[Atom, Atom] = {p: self.start}

    def of(self, a: Atom) -> Atom:
        """Whether what the value started with is forgotten in this one."""
        return self._flag[a]

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        match stmt:
            case Let(op="min" | "max") if stmt.args[1] in self._flag:
                b = Builder(stmt.span)
                b.append(stmt)
                nan = b.op("isnan", stmt.args[0])
                self._flag[stmt.target] = b.op("or_", self._flag[stmt.args[1]], nan)
                return b.block()
            case Let(op="select") if stmt.args[1] in self._flag and stmt.args[2] in self._flag:
                b = Builder(stmt.span)
                b.append(stmt)
                sides = (self._flag[a] for a in stmt.args[1:])
                self._flag[stmt.target] = b.op("select", stmt.args[0], *sides)
                return b.block()
            case Loop():
                return (self._loop(stmt),)
            case If():
                return (self._if(stmt),)
            case _:
                return (stmt,)

    def _loop(self, loop: Loop) -> Loop:
        chain = [k for k, a in enumerate(loop.inits) if a in self._flag]
        params = tuple(Sym("forgot", BOOL) for _ in chain)
        results = tuple(fresh(q) for q in params)
        for k, q, r in zip(chain, params, results, strict=True):
            self._flag[loop.params[k]], self._flag[loop.results[k]] = q, r
        body: Block = self.block(loop.body)
        return replace(
            loop,
            params=(*loop.params, *params),
            inits=(*loop.inits, *(self._flag[loop.inits[k]] for k in chain)),
            body=body,
            nexts=(*loop.nexts, *(self._flag[loop.nexts[k]] for k in chain)),
            results=(*loop.results, *results),
        )

    def _if(self, stmt: If) -> If:
        then, els = self.block(stmt.then), self.block(stmt.els)
        sides = list(zip(stmt.then_values, stmt.else_values, strict=True))
        chain = [k for k, (x, y) in enumerate(sides) if x in self._flag and y in self._flag]
        results = tuple(Sym("forgot", BOOL) for _ in chain)
        for k, r in zip(chain, results, strict=True):
            self._flag[stmt.results[k]] = r
        return replace(
            stmt,
            then=then,
            els=els,
            then_values=(*stmt.then_values, *(self._flag[sides[k][0]] for k in chain)),
            else_values=(*stmt.else_values, *(self._flag[sides[k][1]] for k in chain)),
            results=(*stmt.results, *results),
        )
