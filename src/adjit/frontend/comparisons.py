"""Comparisons: chains, tuples, `is`, `in`."""

from __future__ import annotations

import ast

from adjit.frontend import elements, expressions, inline, library
from adjit.frontend.context import Lowering
from adjit.frontend.values import (
    NONE,
    Closure,
    RangeValue,
    Static,
    TupleValue,
    Value,
    is_scalar,
    same_static,
)
from adjit.ir.core import FALSE, TRUE, Atom, Const, Sym
from adjit.ir.types import BOOL, Array

COMPARE: dict[type[ast.cmpop], str] = {
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
    ast.Eq: "eq",
    ast.NotEq: "ne",
}


def chain(lx: Lowering, node: ast.Compare, left: Value, k: int = 0) -> Value:
    """`left op b op c ...` from comparison `k` on: what follows a false one is not evaluated."""
    mark = lx.builder.mark()
    right = expressions.lazily(lx, node.comparators[k])
    result = compare(lx, node.ops[k], elements.settle(lx, left, mark, node), right, node)
    if k + 1 == len(node.ops):
        return result
    test = expressions.truth(lx, result, node)
    if isinstance(test, Const):
        return chain(lx, node, right, k + 1) if test.value else FALSE
    return lx.branch(test, lambda: chain(lx, node, right, k + 1), lambda: FALSE, node)


def compare(lx: Lowering, op: ast.cmpop, a: Value, b: Value, node: ast.AST) -> Value:
    """`a op b` for one comparison."""
    if isinstance(op, ast.Is | ast.IsNot):
        return _is(lx, a, b, isinstance(op, ast.IsNot), node)
    if isinstance(op, ast.In | ast.NotIn):
        return _contains(lx, a, elements.solid(lx, b, node), isinstance(op, ast.NotIn), node)
    if isinstance(a, TupleValue) and isinstance(b, TupleValue):
        return _compare_tuples(lx, op, a, b, node)
    statics = isinstance(a, Static | Closure) or isinstance(b, Static | Closure)
    if statics and isinstance(op, ast.Eq | ast.NotEq):
        equal = _static_equal(lx, a, b, node)
        return TRUE if equal == isinstance(op, ast.Eq) else FALSE
    if elements.is_whole(a) or elements.is_whole(b):
        return elements.binary(lx, COMPARE[type(op)], a, b, node)
    key = COMPARE[type(op)]
    x, y = expressions.number(lx, a, node), expressions.number(lx, b, node)
    if isinstance(x, Const) and isinstance(y, Const):
        return TRUE if _compare_constants(key, x.value, y.value) else FALSE
    return lx.let(key, x, y, type=BOOL)


def _compare_constants(key: str, x: complex, y: complex) -> bool:
    if key in ("eq", "ne"):
        return (x == y) == (key == "eq")
    p, q = _real(x), _real(y)
    return {"lt": p < q, "le": p <= q, "gt": p > q, "ge": p >= q}[key]


def _real(x: complex) -> float | int:
    assert isinstance(x, int | float)
    return x


def _static_equal(lx: Lowering, a: Value, b: Value, node: ast.AST) -> bool:
    if same_static(a, b):
        return True
    if same_static(a, NONE) or same_static(b, NONE):
        return False
    if isinstance(a, Static) and isinstance(b, Static):
        try:
            return bool(a.value == b.value)
        except Exception:
            lx.refuse(
                node,
                f"{lx.kind(a)} is compared with {lx.kind(b)}",
                "compare numbers, arrays, or tuples of them",
            )
    lx.refuse(
        node, f"{lx.kind(a)} is compared with {lx.kind(b)}", "compare numbers, arrays, or tuples of them"
    )


def _is(lx: Lowering, a: Value, b: Value, negated: bool, node: ast.AST) -> Value:
    if same_static(a, NONE) or same_static(b, NONE):
        same = same_static(a, b)
    elif isinstance(a, Static | Closure) and isinstance(b, Static | Closure):
        same = same_static(a, b)
    elif isinstance(a, Const) and isinstance(b, Const) and a.type == b.type == BOOL:
        same = a == b
    elif (
        is_scalar(a)
        and isinstance(b, Const)
        and b.type == BOOL
        and expressions.number(lx, a, node).type == BOOL
    ):
        x = expressions.number(lx, a, node)
        positive = bool(b.value) != negated
        return x if positive else lx.negate(x, "not")
    else:
        arrays = any(elements.is_whole(v) for v in (a, b))
        remedy = "pass a bool that says whether they are one" if arrays else "use '=='"
        reason = f"'is' compares with None and bools only, not {lx.kind(a)} with {lx.kind(b)}"
        lx.refuse(node, reason, remedy)
    return TRUE if same != negated else FALSE


def _contains(lx: Lowering, a: Value, b: Value, negated: bool, node: ast.AST) -> Value:
    if isinstance(b, RangeValue) or (isinstance(b, Sym) and isinstance(b.type, Array) and b.type.ndim == 1):
        args: list[Value] = [b.lo, b.hi, b.step, a] if isinstance(b, RangeValue) else [b, a]
        function = library.range_holds if isinstance(b, RangeValue) else library.holds
        inside = expressions.truth(lx, inline.call_library(lx, function, args, node), node)
        return lx.negate(inside, "not") if negated else inside
    if not isinstance(b, TupleValue):
        lx.refuse(node, f"'in' {lx.kind(b)} is not supported", "write the loop")
    found: Atom = FALSE
    for item in b.items:
        equal = expressions.truth(lx, compare(lx, ast.Eq(), item, a, node), node)
        if equal == TRUE:
            return FALSE if negated else TRUE
        if equal != FALSE:
            found = equal if found == FALSE else lx.let("or_", found, equal, type=BOOL)
    return lx.negate(found, "not") if negated else found


def _compare_tuples(lx: Lowering, op: ast.cmpop, a: TupleValue, b: TupleValue, node: ast.AST) -> Value:
    if not isinstance(op, ast.Eq | ast.NotEq):
        lx.refuse(node, "tuples are compared by order", "compare their items")
    same: Atom = TRUE if len(a.items) == len(b.items) else FALSE
    if same == TRUE:
        for x, y in zip(a.items, b.items, strict=True):
            equal = expressions.truth(lx, compare(lx, ast.Eq(), x, y, node), node)
            if equal == FALSE:
                same = FALSE
                break
            if equal != TRUE:
                same = equal if same == TRUE else lx.let("and_", same, equal, type=BOOL)
    return same if isinstance(op, ast.Eq) else lx.negate(same, "not")
