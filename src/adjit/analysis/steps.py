"""What a parallel loop carries and looks at in every turn, but could begin with anything: running products, extremes.

    record[c] = p; p = p * x[i]              forward: the product so far is recorded
    dx[i] += dp * record[c]; dp = dp * x[i]  reverse: its adjoint is multiplied along

A run of turns turns p into A * p, whatever p is, or into max(p, M). So A, or M, of each run is computed by itself
first (by a slice of the loop's body); they say where each run starts.
"""

from __future__ import annotations

from dataclasses import dataclass

from adjit.analysis.slices import Slices
from adjit.ir.core import Atom, Block, Const, If, Let, Loop, Stmt, Store, Sym
from adjit.ir.types import Scalar
from adjit.ir.visit import inner_targets, operands, targets, walk


@dataclass(frozen=True)
class Steps:
    """One such value. needs: every symbol that it is made of in a turn.

    op: "mul" or, where a zero stays one whatever it meets, "szmul", if runs multiply it; else "min" or "max", spelled
    `fn`. first: whether the value is the first operand.
    """

    op: str
    fn: str | None
    first: bool
    needs: frozenset[Sym]


def steps(loop: Loop, k: int, slices: Slices) -> Steps | None:
    """The k-th value that the loop carries, if it is of that kind."""
    p, after = loop.params[k], loop.nexts[k]
    if not isinstance(p.type, Scalar) or not p.type.differentiable:
        return None
    found = _Map(loop, p)
    if found.multiplies(after):
        kind = ("szmul" if found.strong else "mul", None, True)
    elif p.type.is_float and found.chooses(after) and len(found.kinds) == 1:
        kind = next(iter(found.kinds))
    else:
        return None
    cut = slices.of((after,))
    if cut is None or found.fills(cut[0]):
        return None
    return Steps(*kind, frozenset(cut[1]))


class _Map:
    """How a turn makes the next value of the one before."""

    def __init__(self, loop: Loop, p: Sym):
        self._made: dict[Sym, Stmt] = {t: s for s in walk(loop.body) for t in targets(s)}
        self._heads = {t: s for s in walk(loop.body) if isinstance(s, Loop) for t in s.params}
        self._p = p
        self._hangs = _dependent(loop.body, p)
        self._assumed: set[Atom] = {p}
        self.kinds: set[tuple[str, str | None, bool]] = set()
        self.strong = False

    def multiplies(self, a: Atom) -> bool:
        """Whether the atom is some factor times the value."""
        if a in self._assumed:
            return True
        if isinstance(a, Const):
            return a.value == 0
        stmt = self._made.get(a) if isinstance(a, Sym) else None
        if isinstance(stmt, Let):
            return self._factor(stmt)
        return isinstance(stmt, Loop | If) and self._through(stmt, stmt.results.index(a), self.multiplies)  # type: ignore[arg-type]

    def _factor(self, let: Let) -> bool:
        args = let.args
        if any(x.type != let.target.type for x in (args[1:] if let.op == "select" else args)):
            return False
        match let.op:
            case "mul" | "szmul" if let.fn is None:
                self.strong |= let.op == "szmul"
                pairs = (args, args[::-1])
                return any(self._free(y) and self.multiplies(x) for x, y in pairs)
            case "div" | "fdiv" if let.fn is None:
                return self.multiplies(args[0]) and self._free(args[1])
            case "neg" | "pos":
                return self.multiplies(args[0])
            case "add" | "sub" if let.fn is None:
                return all(map(self.multiplies, args))
            case "select":
                return self._free(args[0]) and all(map(self.multiplies, args[1:]))
            case _:
                return False

    def chooses(self, a: Atom) -> bool:
        """Whether the atom is the value, or it and some others, by `min` or `max`."""
        if a in self._assumed:
            return True
        stmt = self._made.get(a) if isinstance(a, Sym) else None
        if isinstance(stmt, Loop | If):
            return self._through(stmt, stmt.results.index(a), self.chooses)  # type: ignore[arg-type]
        if not isinstance(stmt, Let) or any(x.type != stmt.target.type for x in stmt.args[-2:]):
            return False
        if stmt.op == "select":
            return self._free(stmt.args[0]) and all(map(self.chooses, stmt.args[1:]))
        if stmt.op not in ("min", "max") or stmt.fn not in (None, "min", "max"):
            return False
        first = not self._free(stmt.args[0])
        value, other = stmt.args if first else stmt.args[::-1]
        self.kinds.add((stmt.op, stmt.fn, first))
        return self.chooses(value) and self._free(other)

    def _through(self, stmt: Loop | If, k: int, holds: object) -> bool:
        assert callable(holds)
        if isinstance(stmt, If):
            sides = (stmt.then_values[k], stmt.else_values[k])
            return self._free(stmt.cond) and all(map(holds, sides))
        heads = (stmt.lo, stmt.hi, stmt.step, stmt.stop)
        if not all(self._free(a) for a in heads if a is not None) or not holds(stmt.inits[k]):
            return False
        self._assumed.add(stmt.params[k])
        return bool(holds(stmt.nexts[k]))

    def _free(self, a: Atom | None) -> bool:
        return a not in self._hangs

    def fills(self, block: Block) -> bool:
        """Whether the value, by way of a store, goes into an array of the turn's own."""
        for s in walk(block):
            if isinstance(s, Store) and not all(map(self._free, operands(s))):
                return True
            bound = s.cond if isinstance(s, If) else None
            heads = (s.lo, s.hi, s.stop) if isinstance(s, Loop) else (bound,)
            if not all(map(self._free, heads)) and any(isinstance(x, Store) for x in walk((s,))):
                return True
        return False


def _dependent(body: Block, p: Sym) -> set[Atom]:
    """Symbols that depend on p, but for what goes through memory."""
    found: set[Atom] = {p}
    before = 0
    while before != len(found):
        before = len(found)
        for s in walk(body):
            match s:
                case Loop():
                    heads = any(a in found for a in (s.lo, s.hi, s.step, s.stop))
                    for q, i, n, r in zip(s.params, s.inits, s.nexts, s.results, strict=True):
                        if heads or i in found or n in found or q in found:
                            found.update((q, r))
                    if heads:
                        found.update(inner_targets(s))
                case If():
                    for r, x, y in zip(s.results, s.then_values, s.else_values, strict=True):
                        if s.cond in found or x in found or y in found:
                            found.add(r)
                case _:
                    if any(a in found for a in operands(s)):
                        found.update(targets(s))
    return found
