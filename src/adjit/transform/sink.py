"""What only spreads the adjoint of a branch moves into the branch.

    if c: ...; yield d else: yield 0 -> r      ->   if c: ...; r = d; t = r * x; a[i] = a[i] + t
    t = szmul(r, x); store a[i] = load a[i] + t

Where the branch is not taken, r is zero, and so is all that is added on its account: nothing need be loaded or stored.
Used on adjoint code (a pair of particles out of reach).
"""

from __future__ import annotations

from dataclasses import replace

from adjit.ir.builder import const_of
from adjit.ir.core import Atom, Const, Function, If, Let, Load, Loop, Stmt, Store, Sym, fresh
from adjit.ir.visit import Rewriter, substitute

_PURE = frozenset({"add", "sub", "mul", "neg", "fdiv", "szmul", "select", "dim", "nonneg", "cast", "pos"})


class _Sink(Rewriter):
    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        stmt = self.rebuild(stmt)
        return (_sunk(stmt),) if isinstance(stmt, Loop) else (stmt,)


def _sunk(loop: Loop) -> Loop:
    """The loop with the tail of its body in the last branch, where that is legal."""
    at = next((k for k in range(len(loop.body) - 1, -1, -1) if isinstance(loop.body[k], If | Loop)), None)
    if at is None or not isinstance(loop.body[at], If):
        return loop
    branch = loop.body[at]
    assert isinstance(branch, If)
    if branch.els or not branch.results or not all(map(_zero, branch.else_values)):
        return loop
    tail = _Tail(branch)
    if not all(tail.take(s) for s in loop.body[at + 1 :]) or not tail.stores:
        return loop
    reads = (*loop.nexts, *(() if loop.stop is None else (loop.stop,)))
    outside = [a for a in dict.fromkeys(reads) if isinstance(a, Sym) and a in tail.defined]
    if any(a not in tail.zero and a not in tail.unchanged for a in outside):
        return loop
    env = dict(zip(branch.results, branch.then_values, strict=True))
    if any(tail.unchanged.get(a) in tail.defined for a in outside):
        return loop
    inner = substitute(loop.body[at + 1 :], env)
    results = tuple(fresh(a) for a in outside)
    taken = tuple(env.get(a, a) for a in outside)
    missed = tuple(tail.unchanged.get(a) or const_of(0.0, a.type) for a in outside)
    sunk = If(branch.cond, (*branch.then, *inner), (), taken, missed, results, branch.span)
    out = dict(zip(outside, results, strict=True))
    nexts = tuple(out.get(a, a) if isinstance(a, Sym) else a for a in loop.nexts)
    stop = out.get(loop.stop, loop.stop) if isinstance(loop.stop, Sym) else loop.stop
    return replace(loop, body=(*loop.body[:at], sunk), nexts=nexts, stop=stop)


def _zero(a: Atom) -> bool:
    return isinstance(a, Const) and type(a.value) in (float, complex) and a.value == 0.0


class _Tail:
    """The statements after a branch: what is zero, and what stays as it was, where the branch is not taken."""

    def __init__(self, branch: If):
        self.zero: set[Sym] = set(branch.results)
        self.unchanged: dict[Sym, Atom] = {}
        self.defined: set[Sym] = set(branch.results)
        self.loads: dict[Sym, Load] = {}
        self.stores = 0

    def take(self, stmt: Stmt) -> bool:
        """Whether the statement does nothing where the branch is not taken."""
        match stmt:
            case Load():
                self.loads[stmt.target] = stmt
                self.defined.add(stmt.target)
                return True
            case Store():
                self.stores += 1
                return self._keeps(stmt)
            case Let() if stmt.op in _PURE:
                self.defined.add(stmt.target)
                self._let(stmt)
                return True
            case _:
                return False

    def _let(self, let: Let) -> None:
        zeros = [isinstance(a, Sym) and a in self.zero for a in let.args]
        if let.op in ("neg", "cast", "pos") and zeros[0] and let.target.type.differentiable:
            self.zero.add(let.target)
        elif let.op == "szmul" and zeros[0]:
            self.zero.add(let.target)
        elif let.op == "mul" and any(zeros) and any(isinstance(a, Const) for a in let.args):
            self.zero.add(let.target)
        elif let.op in ("add", "sub") and all(zeros):
            self.zero.add(let.target)
        elif let.op in ("add", "sub") and zeros[1]:
            self.unchanged[let.target] = self._was(let.args[0])
        elif let.op == "add" and zeros[0]:
            self.unchanged[let.target] = self._was(let.args[1])

    def _was(self, a: Atom) -> Atom:
        return self.unchanged.get(a, a) if isinstance(a, Sym) else a

    def _keeps(self, store: Store) -> bool:
        """Whether the store puts back what was loaded from the same element."""
        was = self._was(store.value)
        load = self.loads.get(was) if isinstance(was, Sym) else None
        return load is not None and load.array == store.array and load.index == store.index


def sink(function: Function) -> Function:
    """Tails of adjoint code in their branches (see the module)."""
    return replace(function, body=_Sink().block(function.body))
