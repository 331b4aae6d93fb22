"""`aj.vjp` inside a program: the value, and a pullback that the program calls."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from adjit.frontend.context import Lowering
from adjit.frontend.derivatives import called, emit, fitted, misfit, opened
from adjit.frontend.selection import Tree, filled, may_carry, numbers, places
from adjit.frontend.values import NONE, Constant, PullbackOf, TupleValue, Value, atoms
from adjit.ir.core import Derive, Sym, Undef
from adjit.ir.types import INT64


def vjp(
    lx: Lowering, function: Value, args: Sequence[Value], kwargs: dict[str, Value], node: ast.AST
) -> Value:
    """`aj.vjp(function, *args, **kwargs)`: the value, and a pullback for use in this program."""
    trees: list[Tree] = []
    start = 0
    for arg in args:
        held = arg.value if isinstance(arg, Constant) else arg
        trees.append(None if isinstance(arg, Constant) else places(arg, start))
        start += sum(1 for _ in atoms(held))
    args = [arg.value if isinstance(arg, Constant) else arg for arg in args]
    active = sorted(n for tree in trees for n in numbers(tree))
    call = called(lx, function, args, kwargs, node)
    if not any(map(may_carry, call.values)) or not active:
        what = "by nothing" if not active else "of a function that returns nothing"
        misfit(lx, f"vjp {what} that has a derivative", "give and return floats or arrays of floats", node)
    value, (link,) = emit(lx, "vjp", call, set(active), len(call.values), (), [("link", INT64)], node)
    rank = {k: n for n, k in enumerate(active)}
    own = tuple(_renumbered(tree, rank) for tree in trees)
    pullback = PullbackOf(link, tuple(call.given[k] for k in active), value, own)
    return TupleValue((value, pullback))


def _renumbered(tree: Tree, rank: dict[int, int]) -> Tree:
    if isinstance(tree, int):
        return rank[tree]
    return None if tree is None else (tree[0], tuple(_renumbered(item, rank) for item in tree[1]))


def call_pullback(
    lx: Lowering, pullback: PullbackOf, args: Sequence[Value], kwargs: dict[str, Value], node: ast.AST
) -> Value:
    """One cotangent per positional argument of the function; None for one without any."""
    if len(args) != 1 or kwargs:
        lx.refuse(node, "a pullback takes one cotangent", "give a tuple for a function that returns a tuple")
    parts_given = fitted(lx, pullback.value, args[0], "cotangent", node)
    given = tuple(
        Undef(a.type) if d is None else d for a, d in zip(atoms(pullback.value), parts_given, strict=True)
    )
    results = tuple(Sym(f"d{getattr(a, 'name', 'x')}", opened(a)) for a in pullback.args)
    parts = ("pull", (pullback.link, *pullback.args), (), (), (), results, (), 0)
    lx.builder.append(Derive(*parts, given, lx.span(node)))
    empty = lambda tree: not any(True for _ in numbers(tree))  # noqa: E731
    return TupleValue(
        tuple(NONE if empty(tree) else filled(tree, lambda k: results[k]) for tree in pullback.trees)
    )
