"""`aj.pure`: copies in place of what a function would write; what it wrote becomes its result.

f(a, b): store a[..]; return r     ->   f(a, b): a' = copy of a; store a'[..]; return r, (a',)
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from adjit.analysis.alias import Alias, written_params
from adjit.ir.builder import Builder
from adjit.ir.core import Function, Sym
from adjit.ir.nests import copy_into
from adjit.ir.structure import Leaf, NoneSpec, Spec, TupleSpec
from adjit.ir.types import Array
from adjit.ir.visit import Rewriter


def pure(function: Function, out: Spec) -> dict[str, Any]:
    """The function without side effects, the structure of its result (states, or (value, states)), what it copies."""
    written = written_params(function, Alias(function))
    states = [p for p in function.params if p in written]
    b = Builder(function.span)
    env: dict[Sym, Any] = {}
    copies: list[Sym] = []
    for p in states:
        assert isinstance(p.type, Array)
        copy = b.alloc_like(p.name, p)
        copy_into(b, copy, p)
        env[p] = copy
        if p.type.differentiable:
            copies.append(copy)
    rewriter = Rewriter(env)
    body = (*b.block(), *rewriter.block(function.body))
    results = (*rewriter.atoms(function.results), *copies)
    tree = TupleSpec(tuple(Leaf(c.type) for c in copies))
    structure: Spec = tree if isinstance(out, NoneSpec) else TupleSpec((out, tree))
    copied = tuple(p in written for p in function.params)
    return {"function": replace(function, body=body, results=results), "out": structure, "copied": copied}
