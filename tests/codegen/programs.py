"""Random well-formed programs: nested loops and branches, swaps, early exits, names bound on some paths only."""

from __future__ import annotations

import random
from dataclasses import replace

from adjit.ir.core import (
    TRUE,
    Atom,
    Block,
    Function,
    If,
    Let,
    Load,
    Loop,
    Span,
    Stmt,
    Store,
    Sym,
    Undef,
    const,
)
from adjit.ir.types import BOOL, FLOAT64, INT64, Array, Scalar

_ARRAY = Array(FLOAT64, 1, "C")


class Program:
    """Grows one random function of two arrays (of size 8) and two floats."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.fuel = 30
        self.maybe: set[Sym] = set()

    def function(self) -> Function:
        x, y = Sym("x", _ARRAY), Sym("y", _ARRAY)
        p, q = Sym("p", FLOAT64), Sym("q", FLOAT64)
        scope: list[Sym] = [x, y, p, q]
        body = self.block(scope, 0)
        floats = [s for s in scope if s.type == FLOAT64 and s not in self.maybe]
        results = tuple(self.random.sample(floats, min(3, len(floats))))
        return Function("f", (x, y, p, q), body, results)

    def pick(self, scope: list[Sym], type_: object) -> Atom:
        fit = [s for s in scope if s.type == type_ and s not in self.maybe]
        if not fit or (self.random.random() < 0.15 and isinstance(type_, Scalar)):
            return self.constant(type_)
        return self.random.choice(fit[-6:])

    def constant(self, type_: object) -> Atom:
        if type_ == FLOAT64:
            return const(self.random.choice([0.5, -1.25, 2.0]))
        return const(self.random.randrange(4)) if type_ == INT64 else const(self.random.random() < 0.5)

    def flow(self, scope: list[Sym], type_: object) -> tuple[Atom, bool]:
        """A value to yield, and whether it may be undefined."""
        if self.random.random() < 0.1:
            return Undef(type_), True  # type: ignore[arg-type]
        fit = [s for s in scope if s.type == type_ and s in self.maybe]
        if fit and self.random.random() < 0.2:
            return self.random.choice(fit), True
        return self.pick(scope, type_), False

    def block(self, scope: list[Sym], depth: int) -> Block:
        out: list[Stmt] = []
        for _ in range(self.random.randrange(1, 6)):
            self.fuel -= 1
            if self.fuel < 0:
                break
            roll = self.random.random()
            if roll < 0.45 or depth > 2:
                out.append(self.simple(scope))
            elif roll < 0.7:
                out += self.branch(scope, depth)
            else:
                out += self.loop(scope, depth)
        return tuple(out)

    def element(self, scope: list[Sym]) -> tuple[Sym, tuple[Atom, ...]]:
        array = self.pick(scope, _ARRAY)
        assert isinstance(array, Sym)
        index = [s for s in scope if s.type == INT64 and s.name == "i"]
        return array, (self.random.choice(index[-2:]) if index else const(self.random.randrange(8)),)

    def simple(self, scope: list[Sym]) -> Stmt:
        roll = self.random.random()
        if roll < 0.25:
            target = Sym("v", FLOAT64)
            made: Stmt = Load(target, *self.element(scope))
            scope.append(target)
            return made
        if roll < 0.45:
            return Store(*self.element(scope), self.pick(scope, FLOAT64))
        target = Sym("t", FLOAT64)
        a, b = self.pick(scope, FLOAT64), self.pick(scope, FLOAT64)
        made = Let(target, self.random.choice(["add", "sub", "min", "szmul"]), (a, b))
        scope.append(target)
        return made

    def condition(self, scope: list[Sym]) -> Let:
        target = Sym("c", BOOL)
        return Let(
            target, self.random.choice(["lt", "gt"]), (self.pick(scope, FLOAT64), self.pick(scope, FLOAT64))
        )

    def branch(self, scope: list[Sym], depth: int) -> list[Stmt]:
        cond = self.condition(scope)
        inner = [list(scope), list(scope)]
        then, els = self.block(inner[0], depth + 1), self.block(inner[1], depth + 1)
        els = els if self.random.random() < 0.6 else ()
        inner[1] = inner[1] if els else list(scope)
        values, results = self.yields(inner)
        scope += results
        return [cond, If(cond.target, then, els, values[0], values[1], tuple(results))]

    def yields(self, scopes: list[list[Sym]]) -> tuple[list[tuple[Atom, ...]], list[Sym]]:
        kinds = self.random.choices([FLOAT64, FLOAT64, _ARRAY], k=self.random.randrange(4))
        results = [Sym("r", k) for k in kinds]
        columns: list[list[Atom]] = [[], []]
        for r, k in zip(results, kinds, strict=True):
            for column, scope in zip(columns, scopes, strict=True):
                value, maybe = self.flow(scope, k)
                column.append(value)
                if maybe:
                    self.maybe.add(r)
        return [tuple(c) for c in columns], results

    def while_(self, scope: list[Sym], depth: int) -> list[Stmt]:
        """The canonical form of `while k < n and ...:`, perhaps with a `break` at the end of its body."""
        kinds = self.random.choices([FLOAT64, FLOAT64, _ARRAY], k=self.random.randrange(3))
        params = [Sym("w", k) for k in kinds]
        inits = [self.pick(scope, k) for k in kinds]
        count, after, below = Sym("k", INT64), Sym("k", INT64), Sym("c", BOOL)
        inner = [*scope, *params]
        pre: list[Stmt] = [self.simple(inner)] if self.random.random() < 0.5 else []
        pre.append(Let(below, "lt", (count, const(self.random.randrange(4)))))
        work = list(self.block(inner, depth + 1))
        values: list[Atom] = [self.pick(inner, p.type) for p in params]
        work.append(Let(after, "add", (count, const(1))))
        params.append(count)
        inits.append(const(0))
        values.append(after)
        yielded, results = [Sym("r", p.type) for p in params], [Sym("w", p.type) for p in params]
        stop, tail = Sym("stop", BOOL), []
        if self.random.random() < 0.5:
            tail.append(Let(stop, "not_", (below,)))
        else:
            leave = self.condition(inner)
            work.append(leave)
            yielded.append(stop)
            values.append(leave.target)
        elses = (*params, TRUE)[: len(yielded)]
        branch = If(below, tuple(work), (), tuple(values), elses, tuple(yielded))
        nexts = tuple(yielded[: len(params)])
        body = (*pre, branch, *tail)
        scope += results[:-1]
        return [Loop(None, None, None, None, tuple(params), tuple(inits), body, nexts, tuple(results), stop)]

    def loop(self, scope: list[Sym], depth: int) -> list[Stmt]:
        if self.random.random() < 0.35:
            return self.while_(scope, depth)
        kinds = self.random.choices([FLOAT64, FLOAT64, _ARRAY], k=self.random.randrange(4))
        params = [Sym("s", k) for k in kinds]
        inits = []
        for p, k in zip(params, kinds, strict=True):
            value, maybe = self.flow(scope, k)
            inits.append(value)
            if maybe:
                self.maybe.add(p)
        index = Sym("i", INT64)
        inner = [*scope, *params, index]
        self.random.shuffle(params)
        body = list(self.block(inner, depth + 1))
        nexts: list[Atom] = []
        ordered = [s for s in inner if s.name == "s" and s in params]
        for p in ordered:
            same = [q for q in ordered if q.type == p.type and (q not in self.maybe or p in self.maybe)]
            value = (
                self.random.choice(same) if same and self.random.random() < 0.3 else self.pick(inner, p.type)
            )
            nexts.append(value)
        stop: Atom | None = None
        if self.random.random() < 0.4:
            exits = self.condition(inner)
            body.append(exits)
            stop = exits.target
        results = [Sym("s", p.type) for p in ordered]
        self.maybe.update(r for r, p in zip(results, ordered, strict=True) if p in self.maybe)
        bounds = self.random.choice([(0, 4, 1), (6, 0, -1), (1, 7, 2), (3, 3, 1)])
        lo, hi, step = (const(b) for b in bounds)
        made = Loop(
            index, lo, hi, step, tuple(ordered), tuple(inits), tuple(body), tuple(nexts), tuple(results), stop
        )
        scope += results
        return [made]


def random_function(seed: int) -> Function:
    """The program of that seed."""
    f = Program(seed).function()
    return f if seed % 2 else replace(f, body=_spread(f.body, random.Random(seed)))


def _spread(block: Block, rng: random.Random) -> Block:
    """The block with its statements on a few different lines, so that less of it nests."""
    out: list[Stmt] = []
    for stmt in block:
        placed = replace(stmt, span=Span("nowhere.py", rng.randrange(1, 3)))
        if isinstance(placed, Loop):
            placed = replace(placed, body=_spread(placed.body, rng))
        elif isinstance(placed, If):
            placed = replace(placed, then=_spread(placed.then, rng), els=_spread(placed.els, rng))
        out.append(placed)
    return tuple(out)
