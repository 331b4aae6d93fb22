"""Functions under `numba.vectorize`: inlined as any function is with numbers, and for each element with arrays."""

from __future__ import annotations

import ast
from types import FunctionType
from typing import Any

from adjit.frontend import broadcasting, calls, elements, expressions, inline
from adjit.frontend.context import Lowering
from adjit.frontend.values import Elements, Place, Value, is_scalar
from adjit.ir.core import Atom


def call_vectorized(
    lx: Lowering, function: Any, args: list[Value], kwargs: dict[str, Value], node: ast.AST
) -> Value:
    """`function(*args)`, broadcast over arrays."""
    name = function.__name__
    if kwargs or len(args) != function.nin:
        reason = f"'{name}', which is made by vectorize, with {'keywords' if kwargs else 'these arguments'}"
        lx.refuse(node, reason, "pass as many numbers or arrays as it has parameters, and assign the result")
    dispatcher = function._dispatcher
    signatures = [o.signature for o in dispatcher.overloads.values()] if function._frozen else []
    if len(signatures) > 1:
        reason = f"'{name}' has several explicit signatures"
        lx.refuse(node, reason, "leave the signatures out, or decorate it with njit")

    def of_numbers(numbers: list[Atom]) -> Atom:
        given: list[Value] = list(numbers)
        if signatures:
            named = {str(k): v for k, v in enumerate(given)}
            given = list(calls.cast_arguments(lx, signatures[0], named).values())
        assert isinstance(dispatcher.py_func, FunctionType)
        value = inline.call_function(lx, dispatcher.py_func, dispatcher, given, {}, node)
        if signatures:
            value = calls.cast_result(lx, signatures[0], value, node)
        return expressions.number(lx, value, node)

    if all(is_scalar(a) for a in args):
        return of_numbers([expressions.number(lx, a, node) for a in args])
    operands = broadcasting.stretched(lx, [elements.elements_of(lx, a, node) for a in args], node)
    shape, operands = broadcasting.broadcast(lx, operands, node)
    operands = [elements.once(lx, o, shape, node) for o in operands]

    def at(places: tuple[Place, ...]) -> Atom:
        return of_numbers([o.at(broadcasting.aligned(places, o.shape)) for o in operands])

    return Elements(shape, at)
