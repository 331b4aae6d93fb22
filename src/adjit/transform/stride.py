"""A guard that picks every m-th turn of a loop becomes a step of m.

    for j in range(lo, hi): if (i + j) % 2 == colour: ...
    ->  for j in range(lo + (colour - i - lo) % 2, hi, 2): ...

The same turns run in the same order. The whole body must stand under the guard, and nothing is carried. What is added
to the index may be computed in the loop, from what does not change there: `(2 * i + j) % 3`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from adjit.analysis.raising import RAISING
from adjit.ir.builder import Builder
from adjit.ir.core import ZERO, Atom, Block, Const, Function, If, Let, Loop, Stmt, Sym, const
from adjit.ir.types import INT64
from adjit.ir.visit import Rewriter, defined
from adjit.transform.copier import Copier


@dataclass(frozen=True)
class _Guard:
    """`(sign * index + rest) % modulus == residue`."""

    test: Let
    steady: tuple[Let, ...]
    """What `rest` and `residue` are made of and the loop computes, although it does not change there."""
    sign: int
    rest: tuple[tuple[Atom, int], ...]
    modulus: int
    residue: Atom


class _Stride(Rewriter):
    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        stmt = self.rebuild(stmt)
        if not isinstance(stmt, Loop) or stmt.index is None or stmt.stop is not None or stmt.params:
            return (stmt,)
        if stmt.step not in (const(1), const(-1)) or stmt.index.type != INT64 or not stmt.body:
            return (stmt,)
        *lets, last = stmt.body
        if not isinstance(last, If) or last.els or last.results:
            return (stmt,)
        guard = _guard(stmt, last.cond)
        if guard is None or not all(
            isinstance(s, Let) and (s.op not in RAISING or s is guard.test) for s in lets
        ):
            return (stmt,)
        return _strided(stmt, (*lets, *last.then), guard)


def _guard(loop: Loop, cond: Atom) -> _Guard | None:
    inside = defined(loop.body)
    table = {s.target: s for s in loop.body if isinstance(s, Let)}
    test = table.get(cond) if isinstance(cond, Sym) else None
    if test is None or test.op != "eq" or test.fn is not None:
        return None
    for a, residue in (test.args, test.args[::-1]):
        mod = table.get(a) if isinstance(a, Sym) else None
        if mod is None or mod.op != "mod" or mod.fn is not None or mod.target.type != INT64:
            continue
        m = mod.args[1]
        if not isinstance(m, Const) or not isinstance(m.value, int) or m.value < 2 or m.type != INT64:
            continue
        if residue.type != INT64:
            continue
        terms = _terms(mod.args[0], 1, table)
        mine = [k for t, k in terms if t == loop.index] if terms is not None else []
        if terms is None or mine not in ([1], [-1]):
            continue
        rest = tuple((t, k) for t, k in terms if t != loop.index)
        steady = _steady(loop, table, [residue, *(t for t, _ in rest)], inside)
        if steady is None:
            continue
        return _Guard(mod, steady, mine[0], rest, m.value, residue)
    return None


def _steady(loop: Loop, table: dict[Sym, Let], atoms: list[Atom], inside: set[Sym]) -> tuple[Let, ...] | None:
    """The definitions in the loop that the atoms need, in order; None if one of them changes there or may raise."""
    needed: set[Sym] = set()
    waiting = [a for a in atoms if isinstance(a, Sym)]
    while waiting:
        s = waiting.pop()
        if s == loop.index:
            return None
        if s in needed or s not in inside:
            continue
        let = table.get(s)
        if let is None or let.op in RAISING:
            return None
        needed.add(s)
        waiting += [a for a in let.args if isinstance(a, Sym)]
    return tuple(let for s, let in table.items() if s in needed)


def _terms(a: Atom, sign: int, table: dict[Sym, Let]) -> list[tuple[Atom, int]] | None:
    if a.type != INT64:
        return None
    let = table.get(a) if isinstance(a, Sym) else None
    if let is None or let.op not in ("add", "sub") or let.fn is not None:
        return [(a, sign)]
    x = _terms(let.args[0], sign, table)
    y = _terms(let.args[1], sign if let.op == "add" else -sign, table)
    return None if x is None or y is None else x + y


def _strided(loop: Loop, body: Block, guard: _Guard) -> tuple[Stmt, ...]:
    b = Builder(loop.span, simplify=True)
    assert loop.lo is not None and loop.hi is not None and isinstance(loop.step, Const)
    up = loop.step.value == 1
    before = Copier(b, {})
    for let in guard.steady:
        before.take(let)
    want = residue = before.atom(guard.residue)
    for t, k in guard.rest:
        want = b.op("sub" if k > 0 else "add", want, before.atom(t))
    if guard.sign < 0:
        want = b.op("neg", want)
    gap = b.op("sub", want, loop.lo) if up else b.op("sub", loop.lo, want)
    skip = b.op("mod", gap, guard.modulus)
    start = b.op("add" if up else "sub", loop.lo, skip)
    if isinstance(residue, Const) and not 0 <= residue.integer < guard.modulus:
        return ()
    step = const(guard.modulus if up else -guard.modulus)
    strided = replace(loop, lo=start, step=step, body=body)
    if isinstance(residue, Const):
        return (*b.block(), strided)
    inside = b.op("and_", b.op("le", ZERO, residue), b.op("lt", residue, guard.modulus))
    return (*b.block(), If(inside, (strided,), (), (), (), (), loop.span))


def stride(function: Function) -> Function:
    """Guards as steps (see the module)."""
    return replace(function, body=_Stride().block(function.body))
