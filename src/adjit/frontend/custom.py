"""Calls of functions with a derivative rule of the user's."""

from __future__ import annotations

import ast
from types import FunctionType

from adjit.frontend import calls
from adjit.frontend.context import Lowering
from adjit.frontend.read_source import unwrap
from adjit.frontend.values import Static, Value, atoms, rebuild, spec_of, static_spec
from adjit.ir.core import Custom, Stmt, Sym
from adjit.rules.custom import CustomCall, CustomFunction


def call_custom(
    lx: Lowering, function: CustomFunction, args: list[Value], kwargs: dict[str, Value], node: ast.AST
) -> Value:
    """A Custom statement around the inlined primal."""
    if kwargs:
        lx.refuse(
            node, "keywords of a function with a custom rule are not supported", "pass them by position"
        )
    for rule in (function.fwd, function.bwd, function.jvp):
        depend_on_rule(lx, rule)
    with lx.builder.collect() as block:
        value = calls.call(lx, Static(function.primal), args, {}, node)
    out = spec_of(value)
    if out is None:
        lx.refuse(
            node,
            f"a function with a custom rule returns {lx.kind(value)}",
            "return numbers, arrays or tuples",
        )
    values = tuple(atoms(value))
    results = tuple(Sym(getattr(v, "name", "t"), v.type) for v in values)
    flat = tuple(a for arg in args for a in atoms(arg))
    rule = CustomCall(function, tuple(static_spec(arg) for arg in args), out, lx.frame.plain)
    body: tuple[Stmt, ...] = tuple(block)
    lx.builder.append(Custom(flat, body, values, results, rule, lx.span(node)))
    return rebuild(value, iter(results))


def depend_on_rule(lx: Lowering, rule: object) -> None:
    """A rule's source belongs to the cache key."""
    if rule is None:
        return
    inner, _ = unwrap(rule)
    assert isinstance(inner, FunctionType)
    code = inner.__code__
    lx.dependencies[("rule", code.co_qualname, code.co_firstlineno, code.co_code, repr(code.co_consts))] = (
        None
    )
