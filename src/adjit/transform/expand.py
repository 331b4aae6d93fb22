"""Gradients taken inside a program, put in as code: the body becomes a function, its gradient is inlined.

    derive (y) at (1.0): t = x * y; yield t -> g     ->   t = x * 1.0; dy = szmul(1.0, x); g = dy

What the body reads from around it becomes a parameter, so that outer derivatives see it as any other value: there is
nothing that could be confused between levels.
"""

from __future__ import annotations

from dataclasses import replace

from adjit.analysis.alias import Alias
from adjit.errors import ArgumentError, UnsupportedError
from adjit.ir.core import Derive, Function, Stmt, Store, Sym
from adjit.ir.structure import Leaf, TupleSpec
from adjit.ir.visit import Rewriter, defined, free, reachable, renamed, walk, walk_program
from adjit.transform.derived import gradient_function


class _Expand(Rewriter):
    def __init__(self, functions: tuple[Function, ...]):
        super().__init__()
        self.functions = functions
        self.made: dict[str, Function] = {}  # forms of called functions that gradients call

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        rebuilt = self.rebuild(stmt)
        return self._derive(rebuilt) if isinstance(rebuilt, Derive) else (rebuilt,)

    def _derive(self, stmt: Derive) -> tuple[Stmt, ...]:
        for p, on in zip(stmt.params, stmt.active, strict=True):
            if on and not p.type.differentiable:
                raise ArgumentError(
                    f"`{p.name}` is of type {p.type}, which has no derivative",
                    "pass a float (1.0, not 1)",
                    stmt.span,
                )
        outside = free(stmt.body) | {a for a in stmt.values if isinstance(a, Sym)}
        outside -= set(stmt.params)
        lifted = tuple(sorted(outside - defined(stmt.body), key=lambda s: s.uid))
        params = (*stmt.params, *lifted)
        function = Function("inner", params, stmt.body, stmt.values, "", stmt.span, self.functions)
        function = replace(function, functions=reachable(function, self.functions))
        _refuse_writes(function, lifted, stmt)
        _refuse_inner(function, stmt)
        out = Leaf(stmt.values[0].type)
        spec = out if len(stmt.values) == 1 else TupleSpec(tuple(Leaf(v.type) for v in stmt.values))
        active = (*stmt.active, *(False for _ in lifted))
        derived, gradients = gradient_function(function, spec, active, aux=len(stmt.values) > 1)
        self.made.update((f.name, f) for f in derived.functions)
        env = dict(zip(derived.params, (*stmt.args, *lifted), strict=True))
        body = renamed(derived.body, env)  # type: ignore[arg-type]
        found = [*(derived.results if stmt.with_value else ()), *(gradients[k] for k in sorted(gradients))]
        for r, a in zip(stmt.results, found, strict=True):
            self.env[r] = env.get(a, a) if isinstance(a, Sym) else a  # type: ignore[assignment]
        return body


def _refuse_writes(function: Function, lifted: tuple[Sym, ...], stmt: Derive) -> None:
    alias = Alias(function)
    for s in walk_program(function):
        if isinstance(s, Store) and not alias.roots(s.array).isdisjoint(lifted):
            raise UnsupportedError(
                f"a function that is differentiated inside another one writes `{s.array.name}`, an outer array",
                "pass the array as an argument, or write it outside",
                s.span,
            )


def _refuse_inner(function: Function, stmt: Derive) -> None:
    if any(isinstance(s, Derive) for f in function.functions for s in walk(f.body)):
        raise UnsupportedError(
            "a gradient is taken of a function that calls itself and takes a gradient in it",
            "take the inner gradient outside the recursion, or write the recursion as a loop",
            stmt.span,
        )


def expand(function: Function) -> Function:
    """Inner gradients as code (see the module)."""
    if not any(isinstance(s, Derive) for s in walk_program(function)):
        return function
    e = _Expand(function.functions)
    rewrite = lambda f: replace(f, body=e.block(f.body), results=e.atoms(f.results))  # noqa: E731
    callees = [rewrite(f) for f in function.functions]
    new = rewrite(function)
    return replace(new, functions=reachable(new, (*callees, *e.made.values())))
