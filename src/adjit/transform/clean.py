"""Dead code, unused carried values and unused branch results removed; invariant carried values forwarded.

    loop carry (p = a): ... next p      ->  p replaced by a
    if c: yield x else: yield x -> r    ->  r replaced by x
    t = op(...) never read              ->  (nothing)

`keep_raising=True` keeps operations that can raise under Numba's default error model (a dead `1/x` raises in
the plain function too).
"""

from __future__ import annotations

from dataclasses import replace

from adjit.analysis.raising import RAISING
from adjit.ir.core import (
    Alloc,
    Atom,
    Block,
    Custom,
    Ensure,
    Function,
    If,
    Let,
    Load,
    Loop,
    RefGet,
    RefNew,
    Stmt,
    Sym,
    View,
    Whole,
)
from adjit.ir.visit import Rewriter, operands, walk
from adjit.rules import linear


class _Forward(Rewriter):
    """Replaces what is known to be one value."""

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        match stmt:
            case Loop():
                return (self._loop(stmt),)
            case If():
                return (self._if(stmt),)
            case _:
                return (self.rebuild(stmt),)

    def _loop(self, stmt: Loop) -> Stmt:
        inits = self.atoms(stmt.inits)
        keep: list[int] = []
        for j, (p, init, nxt) in enumerate(zip(stmt.params, inits, stmt.nexts, strict=True)):
            if nxt == p or self.atom(nxt) == init:
                self.env[p] = init
                self.env[stmt.results[j]] = init
            else:
                keep.append(j)
        return self.rebuild(_with_carries(stmt, keep))

    def _if(self, stmt: If) -> Stmt:
        rebuilt = self.rebuild(stmt)
        assert isinstance(rebuilt, If)
        keep: list[int] = []
        for j, (a, b) in enumerate(zip(rebuilt.then_values, rebuilt.else_values, strict=True)):
            if a == b:
                self.env[stmt.results[j]] = a
            else:
                keep.append(j)
        if len(keep) == len(stmt.results):
            return rebuilt
        return replace(
            rebuilt,
            then_values=tuple(rebuilt.then_values[j] for j in keep),
            else_values=tuple(rebuilt.else_values[j] for j in keep),
            results=tuple(rebuilt.results[j] for j in keep),
        )


class _Sweep:
    """Backward liveness; rebuilds the block with live statements only."""

    def __init__(self, keep_raising: bool, made: set[Sym]):
        """`made`: allocations, known by no other name where they are filled."""
        self._keep_raising, self._made = keep_raising, made
        self.dropped = False

    def block(self, block: Block, live: set[Sym]) -> Block:
        """`live`: symbols read after the block; grows by what the block reads."""
        kept: list[Stmt] = []
        for stmt in reversed(block):
            new = self.stmt(stmt, live)
            if new is None:
                self.dropped = True
            else:
                kept.append(new)
        return tuple(kept[::-1])

    def stmt(self, stmt: Stmt, live: set[Sym]) -> Stmt | None:
        match stmt:
            case Let() if self._keep_raising and stmt.op in RAISING:
                pass
            case Let() | Load() | View() | Alloc() | Ensure() | RefNew() | RefGet():
                if stmt.target not in live:
                    return None
            case Whole() if not (self._keep_raising and linear.get(stmt.op).raises):
                if all(s in self._made and s not in live for s in stmt.outs):
                    return None
            case Loop():
                return self._loop(stmt, live)
            case If():
                return self._if(stmt, live)
            case Custom():
                stmt = replace(stmt, body=self._inner(stmt.body, stmt.values, live))
            case _:
                pass
        _read(live, operands(stmt))
        return stmt

    def _inner(self, block: Block, values: tuple[Atom, ...], live: set[Sym]) -> Block:
        inner = set(live)
        _read(inner, values)
        body = self.block(block, inner)
        live |= inner
        return body

    def _loop(self, stmt: Loop, live: set[Sym]) -> Stmt | None:
        keep = {j for j, r in enumerate(stmt.results) if r in live}
        while True:
            inner = set(live)
            _read(inner, tuple(stmt.nexts[j] for j in sorted(keep)))
            if stmt.stop is not None:
                _read(inner, (stmt.stop,))
            body = self.block(stmt.body, inner)
            more = {j for j, p in enumerate(stmt.params) if p in inner} | keep
            if more == keep:
                break
            keep = more
        if not body and not any(r in live for r in stmt.results) and stmt.index is not None:
            return None
        if len(keep) < len(stmt.params):
            self.dropped = True
        trimmed = replace(_with_carries(stmt, sorted(keep)), body=body)
        live |= inner
        _read(live, operands(trimmed))
        return trimmed

    def _if(self, stmt: If, live: set[Sym]) -> Stmt | None:
        keep = [j for j, r in enumerate(stmt.results) if r in live]
        then_values = tuple(stmt.then_values[j] for j in keep)
        else_values = tuple(stmt.else_values[j] for j in keep)
        then = self._inner(stmt.then, then_values, live)
        els = self._inner(stmt.els, else_values, live)
        if not then and not els and not keep:
            return None
        if len(keep) < len(stmt.results):
            self.dropped = True
        results = tuple(stmt.results[j] for j in keep)
        _read(live, (stmt.cond,))
        return If(stmt.cond, then, els, then_values, else_values, results, stmt.span)


def _with_carries(stmt: Loop, keep: list[int]) -> Loop:
    """The loop with these of its carried values."""
    if len(keep) == len(stmt.params):
        return stmt
    return replace(
        stmt,
        params=tuple(stmt.params[j] for j in keep),
        inits=tuple(stmt.inits[j] for j in keep),
        nexts=tuple(stmt.nexts[j] for j in keep),
        results=tuple(stmt.results[j] for j in keep),
    )


def _read(live: set[Sym], atoms: tuple[Atom, ...]) -> None:
    live.update([a for a in atoms if isinstance(a, Sym)])


def clean(function: Function, keep_raising: bool = False) -> Function:
    """The function without what nobody reads."""
    for _ in range(2):
        forward = _Forward()
        body = forward.block(function.body)
        results = forward.atoms(function.results)
        live = {a for a in results if isinstance(a, Sym)}
        made = {s.target for s in walk(body) if isinstance(s, Alloc)}
        sweep = _Sweep(keep_raising, made)
        function = replace(function, body=sweep.block(body, live), results=results)
        if not forward.env and not sweep.dropped:
            break  # the second time would find nothing either
    return function
