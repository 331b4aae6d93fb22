"""sum, min, max, any and all, of numbers, tuples, arrays and comprehensions."""

from __future__ import annotations

import ast

from adjit.frontend import expressions, inline, iteration, library, lists
from adjit.frontend.context import Lowering
from adjit.frontend.values import RangeValue, TupleValue, Value, is_array
from adjit.ir.core import FALSE, TRUE, ZERO, Atom, Loop, Sym
from adjit.ir.types import BOOL, UNKNOWN, Array


def reduce_call(lx: Lowering, node: ast.Call) -> Value:
    """`sum(...)`, `any(...)`, `all(...)`: their arguments are not evaluated yet."""
    name = ast.unparse(node.func)
    if node.keywords or not node.args or any(isinstance(a, ast.Starred) for a in node.args):
        lx.refuse(node, f"'{name}' with these arguments is not supported", "write the loop")
    generator = node.args[0]
    if isinstance(generator, ast.ListComp) and name == "sum":
        start = expressions.evaluate(lx, node.args[1]) if len(node.args) > 1 else ZERO
        return _sum_comprehension(lx, generator, expressions.number(lx, start, node))
    args = [expressions.evaluate(lx, a) for a in node.args]
    if name == "sum":
        return _sum(lx, args, node)
    items = args[0].items if isinstance(args[0], TupleValue) and len(args) == 1 else None
    if items is None:
        remedy = f"take an array: np.{name}(np.array([...]))" if is_array(args[0]) else "write the loop"
        lx.refuse(node, f"'{name}' of {lx.kind(args[0])} is not supported", remedy)
    total: Atom = TRUE if name == "all" else FALSE
    for item in items:
        flag = expressions.truth(lx, item, node)
        op = "and_" if name == "all" else "or_"
        total = flag if total in (TRUE, FALSE) else lx.let(op, total, flag, type=BOOL)
    return total


def _sum(lx: Lowering, args: list[Value], node: ast.AST) -> Value:
    total: Value = args[1] if len(args) > 1 else ZERO
    source = args[0]
    if isinstance(source, TupleValue):
        for item in source.items:
            total = expressions.binary(lx, ast.Add(), total, item, node)
        return total
    element = None if not isinstance(source, Sym) or not isinstance(source.type, Array) else source.type
    if not isinstance(source, RangeValue) and (element is None or element.ndim != 1):
        lx.refuse(node, f"'sum' of {lx.kind(source)} is not supported", "write the loop")
    bounds, item = iteration.access(lx, source, node)
    index, before, after = Sym("k", UNKNOWN), Sym("total", UNKNOWN), Sym("total", UNKNOWN)
    with lx.builder.collect() as block:
        value = expressions.number(lx, expressions.binary(lx, ast.Add(), before, item(index), node), node)
    start = expressions.number(lx, total, node)
    flows = ((before,), (start,), tuple(block), (value,), (after,))
    lx.builder.append(Loop(index, *bounds, *flows, None, lx.span(node)))
    return after


def _sum_comprehension(lx: Lowering, node: ast.ListComp, start: Atom) -> Value:
    lists.check_plain(lx, node)
    source = expressions.evaluate(lx, node.generators[0].iter)

    def more(total: Atom, _: Value) -> Atom:
        value = expressions.binary(lx, ast.Add(), total, expressions.evaluate(lx, node.elt), node)
        return expressions.number(lx, value, node)

    with lists.inner_scope(lx, node):
        return lists.chained(lx, node, source, start, more)


def extremum(lx: Lowering, op: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """`min` or `max`: of several numbers, of a tuple, of a 1-D array."""
    if kwargs:
        lx.refuse(node, f"keywords of '{op}' are not supported", "write the loop")
    items = list(args)
    if len(args) == 1:
        source = args[0]
        if isinstance(source, Sym) and isinstance(source.type, Array) and source.type.ndim == 1:
            function = library.smallest if op == "min" else library.largest
            return inline.call_library(lx, function, [source], node)
        if not isinstance(source, TupleValue):
            lx.refuse(node, f"'{op}' of {lx.kind(source)} is not supported", "write the loop")
        items = list(source.items)
    if not items:
        lx.refuse(node, f"'{op}' of nothing", "pass numbers or an array")
    total = expressions.number(lx, items[0], node)
    for other in items[1:]:
        total = lx.let(op, total, expressions.number(lx, other, node), fn=op)
    return total
