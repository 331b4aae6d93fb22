"""What a call of one of adjit's operators is inside a program: a derivative function, or a derivative."""

from __future__ import annotations

import ast
from types import FunctionType
from typing import Any

from adjit.frontend import derivatives, pullbacks
from adjit.frontend.arguments import bound, flag
from adjit.frontend.context import Lowering
from adjit.frontend.selection import wanted
from adjit.frontend.values import DerivativeOf, Static, TupleValue, Value
from adjit.ir.core import FALSE, ZERO, Const

_MADE = ("grad", "value_and_grad", "jacfwd", "jacrev", "jacobian", "hessian", "laplacian")
"""Operators that make a function of a function's arguments."""


def operator(
    lx: Lowering, obj: Any, args: list[Value], kwargs: dict[str, Value], node: ast.AST
) -> Value | None:
    """What a call of an operator, or of a function that it made outside, gives; None for anything else."""
    name = getattr(obj, "__name__", "")
    if isinstance(obj, FunctionType):
        home = (obj.__module__ or "").partition(".")[0]
        return _called(lx, name, args, kwargs, node) if home == "adjit" else None
    if not hasattr(obj, "places") or getattr(obj, "kind", None) not in _MADE:
        return None
    if obj.pure:
        lx.refuse(
            node,
            "aj.pure is not supported in a derivative inside a program",
            "copy the arrays that it writes in the function that is differentiated",
        )
    _refuse_sparse(lx, getattr(obj, "sparse", False), node)
    function = lx.wrap(obj.f, obj.kind, node)
    wrt = wanted(lx, function, obj.wrt, node)
    made = DerivativeOf(obj.kind, function, wrt, not isinstance(obj.wrt, tuple), obj.has_aux)
    return derivatives.call_derivative(lx, made, args, kwargs, node)


def _called(
    lx: Lowering, name: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST
) -> Value | None:
    """What a call of one of adjit's own functions gives, if it is an operator."""
    if name in _MADE:
        return _made(lx, name, args, kwargs, node)
    match name:
        case "vjp" if not args:
            lx.refuse(node, "'vjp' is called without a function", "vjp(f, x, ...)")
        case "vjp":
            return pullbacks.vjp(lx, args[0], args[1:], kwargs, node)
        case "jvp":
            return _jvp(lx, args, kwargs, node)
        case "hvp":
            return _hvp(lx, args, kwargs, node)
        case _:
            return None


def _made(
    lx: Lowering, name: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST
) -> DerivativeOf:
    names = ("f", "wrt", "has_aux") if name in ("grad", "value_and_grad") else ("f", "wrt", "sparse")
    given = bound(lx, name, names, 1)(args, kwargs, node)
    wrt = _static(given.get("wrt", ZERO))
    aux = flag(lx, given.get("has_aux", FALSE), "'has_aux'", node)
    _refuse_sparse(lx, flag(lx, given.get("sparse", FALSE), "'sparse'", node), node)
    return DerivativeOf(name, given["f"], wanted(lx, given["f"], wrt, node), not isinstance(wrt, tuple), aux)


def _refuse_sparse(lx: Lowering, sparse: object, node: ast.AST) -> None:
    if sparse is not False:
        lx.refuse(node, "a sparse matrix inside a program", "take the sparse derivative outside of it")


def _jvp(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    named = {k: kwargs.pop(k) for k in ("f", "primals", "tangents") if k in kwargs}
    given = bound(lx, "jvp", ("f", "primals", "tangents"), 3)(args, named, node)
    primals, tangents = given["primals"], given["tangents"]
    if not isinstance(primals, TupleValue) or not isinstance(tangents, TupleValue):
        lx.refuse(node, "primals and tangents must be tuples", "jvp(f, (x,), (dx,)) for one argument")
    if len(primals.items) != len(tangents.items):
        counts = f"{len(primals.items)} primals and {len(tangents.items)} tangents"
        lx.refuse(node, f"there are {counts}", "give one tangent per primal, None for zero")
    return derivatives.jvp(lx, given["f"], primals.items, tangents.items, kwargs, node)


def _hvp(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    names = ("f", "primals", "v", "wrt")
    named = {k: kwargs.pop(k) for k in names if k in kwargs}
    given = bound(lx, "hvp", names, 3)(args, named, node)
    primals, wrt = given["primals"], _static(given.get("wrt", ZERO))
    items = primals.items if isinstance(primals, TupleValue) else (primals,)
    made = DerivativeOf(
        "hvp", given["f"], wanted(lx, given["f"], wrt, node), not isinstance(wrt, tuple), False
    )
    return derivatives.hvp(lx, made, items, given["v"], kwargs, node)


def _static(value: Value) -> object:
    if isinstance(value, Const):
        return value.value
    if isinstance(value, TupleValue):
        return tuple(_static(item) for item in value.items)
    return value.value if isinstance(value, Static) else None
