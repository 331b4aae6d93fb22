"""Derivatives taken inside a program, put in as code: the body becomes a function, its derivative is inlined.

    derive grad (y) at (1.0): t = x * y; yield t -> v, g     ->   t = x * 1.0; dy = szmul(1.0, x); v = t; g = dy

What the body reads from around it becomes a parameter, so that outer derivatives see it as any other value: there is
nothing that could be confused between levels. The innermost derivative is put in first.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

from adjit.analysis.alias import Alias, written_params
from adjit.errors import ArgumentError, UnsupportedError
from adjit.ir.builder import Builder
from adjit.ir.core import Atom, Derive, Function, Stmt, Sym, Undef
from adjit.ir.types import Array
from adjit.ir.visit import Rewriter, defined, free, reachable, renamed, used, walk, walk_program
from adjit.transform.derivatives import derivative
from adjit.transform.directions import usable
from adjit.transform.pullback import Pullback, pullback


class _Expand(Rewriter):
    def __init__(self, function: Function):
        super().__init__()
        self.functions, self.device = function.functions, function.device
        self.alias = Alias(function)
        every = (function, *function.functions)
        self.read = {a for f in every for a in f.results if isinstance(a, Sym)}
        self.read |= {a for f in every for a in used(f.body)}
        self.made: dict[str, Function] = {}  # forms of called functions that derivatives call
        self.pullbacks: dict[Sym, tuple[Pullback, tuple[Atom, ...], tuple[int, ...]]] = {}

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        rebuilt = self.rebuild(stmt)
        if not isinstance(rebuilt, Derive):
            return (rebuilt,)
        assert isinstance(stmt, Derive)
        if rebuilt.kind == "pull":
            return self._pull(rebuilt, stmt)
        return self._derive(rebuilt, stmt)

    def _derive(self, stmt: Derive, original: Derive) -> tuple[Stmt, ...]:
        _refuse_types(stmt)
        lifted = _outside(stmt)
        function = Function(
            "inner", (*stmt.params, *lifted), stmt.body, stmt.values, "", stmt.span, self.functions
        )
        functions = reachable(function, (*self.functions, *self.made.values()))
        function = replace(function, functions=functions, device=self.device)
        self._refuse_writes(function, original)
        _refuse_inner(function, stmt)
        inputs = tuple(p for p, on in zip(stmt.params, stmt.active, strict=True) if on)
        heads = tuple(k for k in range(stmt.heads) if stmt.values[k].type.differentiable)
        args = (*stmt.args, *lifted)
        if stmt.kind == "vjp":
            return self._vjp(stmt, original, function, args, inputs, heads)
        given = tuple(Sym(getattr(a, "name", "given"), a.type) for a in stmt.given)
        made = derivative(stmt.kind, function, inputs, heads, given)
        self.made.update((f.name, f) for f in made.functions)
        env: dict[Sym, Atom] = dict(zip(made.params, (*args, *stmt.given), strict=True))
        body = renamed(made.body, env)
        found = [env.get(a, a) if isinstance(a, Sym) else a for a in made.results]
        count = len(stmt.values)
        self._bind(original, found[:count], found[count:], heads)
        return body

    def _bind(
        self, original: Derive, values: list[Atom], derivatives: list[Atom], heads: tuple[int, ...]
    ) -> None:
        """The statement's results are these; what a value without derivative would have is not to be read."""
        count = len(values)
        self.env.update(zip(original.results[:count], values, strict=True))
        rest = original.results[count:]
        if original.kind in ("grad", "hvp"):
            self.env.update(zip(rest, derivatives, strict=True))
            return
        each = len(rest) // original.heads
        found = iter(derivatives)
        for k in range(original.heads):
            for r in rest[k * each : (k + 1) * each]:
                if k in heads:
                    self.env[r] = next(found)
                    continue
                if original.kind == "jvp":
                    next(found)
                if r in self.read:
                    raise UnsupportedError(
                        f"the derivative of a result of type {values[k].type} is used",
                        "of an integer or a bool there is none: use the derivatives of the other results",
                        original.span,
                    )

    # pullbacks

    def _vjp(
        self,
        stmt: Derive,
        original: Derive,
        function: Function,
        args: tuple[Atom, ...],
        inputs: tuple[Sym, ...],
        heads: tuple[int, ...],
    ) -> tuple[Stmt, ...]:
        b = Builder(stmt.span)
        values, back, callees = pullback(b, function, args, inputs, heads)
        self.made.update((f.name, f) for f in callees)
        self.env.update(zip(original.results[:-1], values, strict=True))
        self.env[original.results[-1]] = original.results[-1]
        self.pullbacks[original.results[-1]] = back, values, heads
        return b.block()

    def _pull(self, stmt: Derive, original: Derive) -> tuple[Stmt, ...]:
        link = original.args[0]
        assert isinstance(link, Sym)
        back, values, heads = self.pullbacks[link]
        b = Builder(stmt.span)
        seeds: list[Atom] = []
        for k, a in enumerate(stmt.given):
            if k not in heads:
                if not isinstance(a, Undef):
                    raise ArgumentError("an integer is given a cotangent", "give None", stmt.span)
                continue
            own, value = back.seeds[len(seeds)], values[k]
            if isinstance(a, Undef):
                seeds.append(back.zero(b, len(seeds), value))
            else:
                seeds.append(usable(b, a, own, False, value))
        found = back.pull(b, tuple(seeds))
        self.env.update(zip(original.results, found, strict=True))
        return b.block()

    # refusals

    def _refuse_writes(self, function: Function, original: Derive) -> None:
        """What the body writes is its own, or an argument that it has by no other name."""
        written = written_params(function, Alias(function))
        around = _outside(original)
        for s in around:
            if self.env.get(s, s) in written:
                raise UnsupportedError(
                    f"a function that is differentiated inside another one writes `{s.name}`, an outer array",
                    "pass the array as an argument, or write it outside",
                    original.span,
                )
        own = [*zip(original.params, original.args, strict=True), *((s, s) for s in around)]
        arrays = [(p, a) for p, a in own if isinstance(a.type, Array)]
        for (p, a), (q, c) in permutations(arrays, 2):
            if p in written and not self.alias.roots(a).isdisjoint(self.alias.roots(c)):
                other = f"`{q.name}`" if q.name != p.name else "another argument or an outer array"
                raise UnsupportedError(
                    f"a function that is differentiated inside another one writes `{p.name}`, which shares memory with "
                    + other,
                    "pass a copy of one of them",
                    original.span,
                )


def _outside(stmt: Derive) -> tuple[Sym, ...]:
    """What the body reads from around it."""
    outside = free(stmt.body) | {a for a in stmt.values if isinstance(a, Sym)}
    outside -= set(stmt.params) | defined(stmt.body)
    return tuple(sorted(outside, key=lambda s: s.uid))


def _refuse_types(stmt: Derive) -> None:
    for p, on in zip(stmt.params, stmt.active, strict=True):
        if on and not p.type.differentiable:
            raise ArgumentError(
                f"`{p.name}` is of type {p.type}, which has no derivative",
                "pass a float (1.0, not 1)",
                stmt.span,
            )
    if not any(v.type.differentiable for v in stmt.values[: stmt.heads]):
        raise ArgumentError(
            "a function that is differentiated returns nothing that has a derivative",
            "return a float, or an array of floats",
            stmt.span,
        )


def _refuse_inner(function: Function, stmt: Derive) -> None:
    if any(isinstance(s, Derive) for f in function.functions for s in walk(f.body)):
        raise UnsupportedError(
            "a gradient is taken of a function that calls itself and takes a gradient in it",
            "take the inner gradient outside the recursion, or write the recursion as a loop",
            stmt.span,
        )


def expand(function: Function) -> Function:
    """Inner derivatives as code (see the module)."""
    if not any(isinstance(s, Derive) for s in walk_program(function)):
        return function
    e = _Expand(function)
    rewrite = lambda f: replace(f, body=e.block(f.body), results=e.atoms(f.results))  # noqa: E731
    callees = [rewrite(f) for f in function.functions]
    new = rewrite(function)
    return replace(new, functions=reachable(new, (*callees, *e.made.values())))
