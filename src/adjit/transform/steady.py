"""What a loop of adjoint code computes anew each turn, and always the same, is computed before it; so are reciprocals.
What one block divides by several times it divides by once.

    for i: for j: s = 0.1 * c; d[i] += szmul(e[i, j], s)   ->   s = 0.1 * c; for i: for j: d[i] += szmul(e[i, j], s)
    for i: t = a[i] / h; d[i] += szmul(e[i], t)   ->   r = 1 / h; for i: t = a[i] * r; d[i] += szmul(e[i], t)
    p = 1 / b[i]; q = a[i] / b[i] / b[i]          ->   p = 1 / b[i]; q = a[i] * p * p

LLVM moves such values too, but only after equal ones in several loops have been printed, compiled and moved one by one.
A division stays one where its value is more than a factor or term of a derivative: what is compared must be what the
primal compared, to the bit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from adjit.ir.builder import const_of
from adjit.ir.core import Atom, Block, Function, Let, Loop, Stmt, Sym, fresh
from adjit.ir.types import Scalar
from adjit.ir.visit import Rewriter, blocks, inner_targets, operands, targets, walk, yields

_CHEAP = frozenset({"add", "sub", "mul", "neg", "fdiv", "div", "szmul", "select", "cast"})
_FACTORS = _CHEAP - {"cast"}
"""Operations that pass a small change of an operand on as a small change."""
_DIVISIONS = frozenset({"div", "fdiv"})


def steady(function: Function) -> Function:
    """The function with steady values before their loops (see the module). Its divisions are those of NumPy's model."""
    s = _Steady(_loose(function))
    for p in function.params:
        s.level[p] = 0
    return replace(function, body=s.block(function.body), results=s.atoms(function.results))


def _same_type(let: Let) -> bool:
    return all(a.type == let.target.type for a in let.args)


def _float(a: Atom) -> bool:
    return isinstance(a.type, Scalar) and a.type.is_float


def _loose(function: Function) -> set[Sym]:
    """Values that only become factors and terms of derivatives: what reads them ends in products with cotangents."""
    lets: list[Let] = []
    exact: set[Atom] = set(function.results)
    for s in walk(function.body):
        if isinstance(s, Let) and s.op in _FACTORS and _float(s.target):
            lets.append(s)
        else:
            exact.update(operands(s))
        exact.update(yields(s))
    for s in reversed(lets):  # readers before what they read
        if s.op != "szmul" and s.target in exact:
            exact.update(s.args)
    return {s.target for s in lets} - {a for a in exact if isinstance(a, Sym)}


class _Steady(Rewriter):
    """A symbol's level is the number of blocks around its definition."""

    def __init__(self, loose: set[Sym]):
        super().__init__()
        self.level: dict[Sym, int] = {}
        self._loose = loose
        self._owners: list[Stmt] = []
        self._before: list[list[Stmt]] = []
        self._reciprocals: list[dict[Atom, Sym]] = []
        self._shared: dict[Sym, Sym | None] = {}
        self._first: list[Stmt] = []  # what is to stand before the statement

    def block(self, block: Block) -> Block:
        out: list[Stmt] = []
        depth = len(self._owners)
        outer, self._shared = self._shared, self._divisors(block)
        for stmt in block:
            if isinstance(stmt, Let) and _float(stmt.target) and stmt.op in _CHEAP:
                stmt = self._let(stmt, depth)
                out += self._first
                self._first = []
                if stmt is None:
                    continue
            elif blocks(stmt):
                self._note(inner_targets(stmt), depth + 1)
                out += self._within(stmt)
                self._note(targets(stmt), depth)
                continue
            self._note(targets(stmt), depth)
            out.append(self.rebuild(stmt))
        self._shared = outer
        return tuple(out)

    def _divisors(self, block: Block) -> dict[Sym, Sym | None]:
        """What the block divides by more than once, each with its reciprocal, which is none yet."""
        count = Counter(s.args[1] for s in block if isinstance(s, Let) and self._may_multiply(s))
        return {d: None for d, n in count.items() if n > 1 and isinstance(d, Sym)}

    def _may_multiply(self, let: Let) -> bool:
        """Whether a product with the reciprocal will do."""
        return let.op in _DIVISIONS and let.target in self._loose and _same_type(let)

    def _within(self, stmt: Stmt) -> list[Stmt]:
        """The statement with its blocks rewritten, after what has left it."""
        self._owners.append(stmt)
        self._before.append([])
        self._reciprocals.append({})
        rebuilt = self.rebuild(stmt)
        self._owners.pop()
        self._reciprocals.pop()
        return [*self._before.pop(), rebuilt]

    def _note(self, symbols: Iterable[Sym], level: int) -> None:
        self.level.update(dict.fromkeys(symbols, level))

    def _let(self, let: Let, depth: int) -> Let | None:
        """The definition as it is to stand here; None if it has left."""
        place = self._loop_after(let.args, depth, let.op in _DIVISIONS)
        if place is not None and all(_float(a) or isinstance(a.type, Scalar) for a in let.args):
            self._before[place].append(self.rebuild(let))
            self.level[let.target] = place
            return None
        if self._may_multiply(let):
            divisor = self.atom(let.args[1])
            place = self._loop_after((divisor,), depth, True)
            if place is not None and isinstance(divisor, Sym):
                return self._multiplied(let, self._reciprocal(divisor, place, let))
            if let.args[1] in self._shared:
                return self._by_shared(let)
        return let

    def _by_shared(self, let: Let) -> Let | None:
        """The division by what the block divides by more than once, as a product; None where it is the reciprocal."""
        divisor = let.args[1]
        assert isinstance(divisor, Sym)
        shared = self._shared[divisor]
        if shared is None:
            shared = self._shared[divisor] = fresh(divisor)
            one = const_of(1.0, divisor.type)
            self._first.append(self.rebuild(Let(shared, "fdiv", (one, divisor), None, let.span)))
            self.level[shared] = len(self._owners)
        if let.args[0] == const_of(1.0, divisor.type):
            self.env[let.target] = shared
            self.level[let.target] = self.level[shared]
            return None
        return self._multiplied(let, shared)

    @staticmethod
    def _multiplied(let: Let, reciprocal: Sym) -> Let:
        return replace(let, op="mul", args=(let.args[0], reciprocal), fn=None)

    def _loop_after(self, atoms: tuple[Atom, ...], depth: int, guarded: bool) -> int | None:
        """The outermost loop around this place that starts after all of these are known.

        guarded: with no branch between the two (which may be there to keep zeros from a division).
        """
        known = max((self.level.get(a, 0) for a in atoms if isinstance(a, Sym)), default=0)
        if guarded:
            inner = (k + 1 for k in range(known, depth) if not isinstance(self._owners[k], Loop))
            known = max(inner, default=known)
        return next((k for k in range(known, depth) if isinstance(self._owners[k], Loop)), None)

    def _reciprocal(self, divisor: Sym, place: int, let: Let) -> Sym:
        made = self._reciprocals[place]
        if divisor not in made:
            target = Sym(divisor.name, divisor.type)
            one = const_of(1.0, divisor.type)
            self._before[place].append(Let(target, "fdiv", (one, divisor), None, let.span))
            self.level[target] = place
            made[divisor] = target
        return made[divisor]
