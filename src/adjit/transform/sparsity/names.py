"""Array names that can mean one array only are that array.

    loop carry (p = undef): ... if c: yield y else: yield p -> q ... next q -> r     ->  p, q and r replaced by y

What has no value on a path is not read there. (An early return hands its array on like that.)
"""

from __future__ import annotations

from dataclasses import replace

from adjit.ir.core import Atom, Block, Function, If, Loop, Stmt, Sym
from adjit.ir.types import Array
from adjit.ir.visit import Rewriter, inner_targets, targets, walk


def one_name(function: Function) -> Function:
    """The function with such names replaced (see the module)."""
    sources = _sources(function)
    if not any(len(s) == 1 for s in sources.values()):
        return function
    r = _OneName(sources, function.params)
    return replace(function, body=r.block(function.body), results=r.atoms(function.results))


def _flows(stmt: Stmt) -> list[tuple[Sym, tuple[Atom, ...]]]:
    """Array names that a statement joins, and what flows into each."""
    if isinstance(stmt, If):
        joined = zip(stmt.results, stmt.then_values, stmt.else_values, strict=True)
        found = [(r, (a, b)) for r, a, b in joined]
    elif isinstance(stmt, Loop):
        ends = list(zip(stmt.inits, stmt.nexts, strict=True))
        found = list(zip((*stmt.params, *stmt.results), (*ends, *ends), strict=True))
    else:
        return []
    return [(r, flows) for r, flows in found if isinstance(r.type, Array)]


def _sources(function: Function) -> dict[Sym, frozenset[Sym]]:
    flows = [f for s in walk(function.body) for f in _flows(s)]
    found: dict[Sym, frozenset[Sym]] = {r: frozenset() for r, _ in flows}
    changed = True
    while changed:
        changed = False
        for r, atoms in flows:
            own = (found.get(a, frozenset((a,))) for a in atoms if isinstance(a, Sym))
            new = found[r].union(*own)
            changed |= new != found[r]
            found[r] = new
    return found


class _OneName(Rewriter):
    def __init__(self, sources: dict[Sym, frozenset[Sym]], params: tuple[Sym, ...]):
        super().__init__()
        self._sources = sources
        self._visible: set[Sym] = set(params)

    def block(self, block: Block) -> Block:
        before = set(self._visible)
        out = super().block(block)
        self._visible = before
        return out

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        for r, _ in _flows(stmt):
            mine = self._sources[r]
            if len(mine) == 1 and (source := next(iter(mine))) in self._visible:
                if isinstance(source.type, Array) and source.type == r.type:
                    self.env[r] = source
        self._visible.update(inner_targets(stmt))
        rebuilt = self.rebuild(stmt)
        self._visible.update(targets(stmt))
        return (rebuilt,)
