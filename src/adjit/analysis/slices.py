"""The part of a loop's body that some of its values are made of, for running it before the loop without its effects.

    p = p * f(x[i]); y[i] = g(x[i]); record[c] = p        of p: p = p * f(x[i])

A turn of a parallel loop sees memory as it was before the loop, but for its own stores. So the slice reads what the
turn reads, unless the turn may have stored to the place before. Arrays that the turn makes are filled in the slice too,
and so are the turn's places of an array that was made before the loop and holds nothing yet: what stands there in the
end is the same whether they were filled before or not.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from adjit.analysis.alias import Affine, Alias, apart
from adjit.analysis.distinct import Distinct
from adjit.ir.core import Alloc, Atom, Block, Ensure, If, Let, Load, Loop, Raise, Stmt, Store, Sym, View
from adjit.ir.visit import blocks, operands, targets

_PURE = (Let, Load, View, Alloc, Loop, If)


class Slices:
    """Slices of one loop's body."""

    def __init__(
        self,
        loop: Loop,
        alias: Alias,
        affine: Affine,
        distinct: Distinct,
        empty: frozenset[Sym] = frozenset(),
    ):
        """empty: arrays that were made before the loop, and hold nothing yet."""
        self._loop, self._alias, self._affine, self._distinct = loop, alias, affine, distinct
        self._around: dict[int, tuple[Stmt, ...]] = {}
        self._all: list[Stmt] = []
        self._collect(loop.body, ())
        self._order = {id(s): k for k, s in enumerate(self._all)}
        self._own = {s.target for s in self._all if isinstance(s, Alloc)} | empty
        self._place: Alloc | None = None
        self.stored: dict[int, Store] = {}
        """The stores to outer memory that the last slice has (see `with_stores`)."""

    def _collect(self, block: Block, around: tuple[Stmt, ...]) -> None:
        for s in block:
            self._all.append(s)
            self._around[id(s)] = around
            for sub in blocks(s):
                self._collect(sub, (*around, s))

    def of(self, wanted: Iterable[Atom]) -> tuple[Block, set[Sym]] | None:
        """What computes the wanted values, and every symbol that it needs; None if it cannot be run before the loop."""
        needed = self._needed(wanted)
        kept = [s for s in self._all if self._keeps(s, needed)]
        if not all(isinstance(s, _PURE) or self._fills_own(s, needed) for s in kept):
            return None
        loads = [s for s in kept if isinstance(s, Load)]
        stores = [
            s for s in self._all if not isinstance(s, (*_PURE, Ensure, Raise)) and not self._keeps(s, needed)
        ]
        if any(self._disturbs(s, load) for load in loads for s in stores):
            return None
        return self._cut(self._loop.body, needed), needed

    def with_stores(self, wanted: Iterable[Atom], ignored: frozenset[Sym]) -> tuple[Block, set[Sym]] | None:
        """As `of`, with the stores (`stored`) to outer memory that the turn reads again, which are to be taken back.

        ignored: arrays that no turn reads, so that what is stored there is not in the slice.
        """
        wanted = tuple(wanted)
        self.stored = {}
        while True:
            needed = self._needed(wanted)
            kept = [s for s in self._all if self._keeps(s, needed)]
            loads = [s for s in kept if isinstance(s, Load)]
            more = [
                s
                for s in self._all
                if not isinstance(s, (*_PURE, Ensure, Raise))
                and not (isinstance(s, Store) and s.array in ignored)
                and not self._keeps(s, needed)
                and any(self._disturbs(s, load) for load in loads)
            ]
            if not all(isinstance(s, Store) for s in more):
                return None
            if not more:
                break
            self.stored.update((id(s), s) for s in more if isinstance(s, Store))
        if not all(isinstance(s, (*_PURE, Store)) for s in kept):
            return None
        return self._cut(self._loop.body, needed), needed

    def to(self, alloc: Alloc) -> tuple[Block, set[Sym]] | None:
        """What leads to the place where the array is made, itself included, with its extents, but not what fills it."""
        self._place = alloc
        found = self.of(())
        self._place = None
        return found

    # what is needed

    def _needed(self, wanted: Iterable[Atom]) -> set[Sym]:
        needed = {a for a in wanted if isinstance(a, Sym)}
        before = -1
        while before != len(needed):
            before = len(needed)
            for s in reversed(self._all):
                if self._keeps(s, needed):
                    needed.update(a for a in self._reads(s, needed) if isinstance(a, Sym))
                    for outer in self._around[id(s)]:
                        needed.update(a for a in _heads(outer) if isinstance(a, Sym))
        return needed

    def _keeps(self, s: Stmt, needed: set[Sym]) -> bool:
        if (
            s is self._place
            or id(s) in self.stored
            or any(t in needed for t in targets(s))
            or self._fills_own(s, needed)
        ):
            return True
        if isinstance(s, Loop) and any(p in needed for p in s.params):
            return True
        return any(self._keeps(inner, needed) for sub in blocks(s) for inner in sub)

    def _fills_own(self, s: Stmt, needed: set[Sym]) -> bool:
        """Whether the statement stores to an array of the turn's own that is read."""
        if not isinstance(s, Store) or s.update:
            return False
        return bool(self._alias.roots(s.array) & self._own & needed)

    def _reads(self, s: Stmt, needed: set[Sym]) -> Iterable[Atom]:
        """What the statement reads to define what is needed of it."""
        match s:
            case Loop():
                flows = zip(s.params, s.inits, s.nexts, s.results, strict=True)
                live = [f for f in flows if f[0] in needed or f[3] in needed]
                return (*_heads(s), *(a for p, i, n, _ in live for a in (p, i, n)))
            case If():
                flows = zip(s.results, s.then_values, s.else_values, strict=True)
                return (s.cond, *(a for r, x, y in flows if r in needed for a in (x, y)))
            case Alloc() if s is self._place:
                return s.shape
            case Load() | View():
                return (*operands(s), *(self._alias.roots(s.array) & self._own))
            case _:
                return operands(s)

    def _disturbs(self, s: Stmt, load: Load) -> bool:
        """Whether the statement may change what is loaded, before it is, in the same turn."""
        if not isinstance(s, Store):
            return True
        if self._distinct.surely(s.array, load.array):
            return False
        if s.update:
            return True  # other turns may store there too
        together = [o for o in self._around[id(s)] if isinstance(o, Loop) and o in self._around[id(load)]]
        if not together and self._order[id(s)] > self._order[id(load)]:
            return False
        return not (not together and apart(self._affine, load, s))

    # the slice

    def _cut(self, block: Block, needed: set[Sym]) -> Block:
        return tuple(self._part(s, needed) for s in block if self._keeps(s, needed))

    def _part(self, s: Stmt, needed: set[Sym]) -> Stmt:
        match s:
            case Loop():
                live = [k for k, p in enumerate(s.params) if p in needed or s.results[k] in needed]
                params, inits, nexts, results = (
                    tuple(flow[k] for k in live) for flow in (s.params, s.inits, s.nexts, s.results)
                )
                body = self._cut(s.body, needed)
                flows = {"params": params, "inits": inits, "nexts": nexts, "results": results}
                return replace(s, body=body, **flows)
            case If():
                live = [k for k, r in enumerate(s.results) if r in needed]
                results, then, els = (
                    tuple(flow[k] for k in live) for flow in (s.results, s.then_values, s.else_values)
                )
                bodies = {"then": self._cut(s.then, needed), "els": self._cut(s.els, needed)}
                return replace(s, **bodies, then_values=then, else_values=els, results=results)
            case _:
                return s


def _heads(s: Stmt) -> tuple[Atom, ...]:
    """What says whether and how often the statement's blocks run."""
    match s:
        case Loop():
            return tuple(a for a in (s.lo, s.hi, s.step, s.stop) if a is not None)
        case If():
            return (s.cond,)
        case _:
            return ()
