"""Expression trees: operations whose results are read inside one expression only.

    t = a * b; u = t * 0.1; v = a - u      t and u belong to v's tree; its leaves are a and b

The reverse sweep first multiplies slopes along the tree, from primal values alone, and then applies the cotangent once
per leaf: `da += ct * S_a`. In a loop that carries the cotangent from turn to turn, only one product and one sum are
then on the critical path.

A tree is of real operations or of complex ones: where a real number comes out of complex ones or goes into them, only
the real part of a cotangent passes, which no product of slopes says. What is not complex differentiable (conj, the
parts) stands alone.
"""

from __future__ import annotations

import heapq

from adjit.analysis.regions import Regions
from adjit.ir.core import Atom, Block, Let, Stmt, Sym
from adjit.ir.types import Scalar
from adjit.ir.visit import operands, walk, yields
from adjit.rules import get as rule_of


class Trees:
    """Who reads each symbol, and the trees that follow from it."""

    def __init__(self, regions: Regions, results: tuple[Atom, ...], active: frozenset[Sym]):
        self._regions, self._active = regions, active
        self._readers: dict[Sym, list[Stmt | None]] = {}
        self._read(regions.root.block)
        for a in results:
            self._note(a, None)

    def _read(self, block: Block) -> None:
        for stmt in walk(block):
            for a in operands(stmt):
                self._note(a, stmt)
            for a in yields(stmt):
                self._note(a, None)

    def _note(self, a: Atom, reader: Stmt | None) -> None:
        if isinstance(a, Sym):
            self._readers.setdefault(a, []).append(reader)

    def count(self, s: Sym) -> int:
        """How often the symbol is read."""
        return len(self._readers.get(s, ()))

    def of(self, root: Let) -> list[Let]:
        """The operations of the root's tree, last first; the root alone if it has none."""
        if _conjugates(root):
            return [root]
        region, at = self._regions.place[id(root)]
        kind = _is_complex(root)
        inside: dict[int, Let] = {id(root): root}
        found: list[Let] = []
        todo = [(-at, id(root))]
        while todo:
            _, key = heapq.heappop(todo)
            node = inside[key]
            found.append(node)
            for a in node.args:
                stmt = self._regions.definition.get(a) if isinstance(a, Sym) else None
                if not isinstance(stmt, Let) or id(stmt) in inside or stmt.target not in self._active:
                    continue
                if _is_complex(stmt) != kind or _mixed(stmt):
                    continue
                where, i = self._regions.place[id(stmt)]
                readers = self._readers.get(stmt.target, [])
                if where is region and all(r is not None and id(r) in inside for r in readers):
                    inside[id(stmt)] = stmt
                    heapq.heappush(todo, (-i, id(stmt)))
        return found


def _is_complex(let: Let) -> bool:
    return isinstance(let.target.type, Scalar) and let.target.type.is_complex


def _conjugates(let: Let) -> bool:
    """Whether the cotangents of the operation's operands are no products of its result's and a slope."""
    return rule_of(let.op).cotangent is not None


def _mixed(let: Let) -> bool:
    """Whether the operation stands alone: no slope says its cotangents, or it makes complex numbers real."""
    if _conjugates(let):
        return True
    operands = (a.type for a in let.args)
    return not _is_complex(let) and any(isinstance(t, Scalar) and t.is_complex for t in operands)
