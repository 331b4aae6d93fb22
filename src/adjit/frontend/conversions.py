"""The same elements in another layout, and methods that are functions of their own: dot, conj, item, trace."""

from __future__ import annotations

import ast

import numpy as np

from adjit.frontend import broadcasting, calls, elements, expressions, lanes, matrices
from adjit.frontend.arguments import Handler, bound
from adjit.frontend.context import Lowering
from adjit.frontend.values import Static, TupleValue, Value
from adjit.ir.core import Sym, const

Given = dict[str, Value]


def ndim(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.ndim(a)`."""
    given = bound(lx, "np.ndim", ("a",), 1)(args, kwargs, node)
    return const(elements.ndim_of(lanes.tuple_as_array(lx, given["a"], node)))


def item(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`a.item()` of an array of one element, `a.item(i)`, `a.item(i, j)`."""
    array, *index = args
    if kwargs or not isinstance(array, Sym):
        lx.refuse(node, "'item' with these arguments is not supported", "index the array")
    if len(index) == 1 and isinstance(index[0], TupleValue):
        index = list(index[0].items)
    rank = lanes.rank_of(array)
    numbers = [expressions.number(lx, v, node) for v in index]
    if len(numbers) == rank:
        return lx.builder.load(array, tuple(numbers))
    if not numbers:
        for extent in elements.whole(lx, array).shape:
            message = "can only convert an array of size 1 to a Python scalar"
            broadcasting.check_equal(lx, extent, const(1), message, node)
        return lx.builder.load(array, tuple(const(0) for _ in range(rank)))
    lx.refuse(node, "'item' with a flat index", "give an index for each axis")


def _as(function: object) -> Handler:
    """A method that is a function of its array."""

    def handler(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
        return calls.call(lx, Static(function), args, kwargs, node)

    return handler


def conj(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`a.conj()`: of real numbers, the array itself."""
    array, *more = args
    if more or kwargs:
        lx.refuse(node, "'conj' with these arguments is not supported", "call it without arguments")
    dtype = elements.dtype_of(array)
    if dtype.known and not dtype.is_complex:
        return array
    return calls.call(lx, Static(np.conjugate), args, kwargs, node)


def _refused(name: str, remedy: str) -> Handler:
    def handler(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
        lx.refuse(node, f"the array method '{name}' is not supported", remedy)

    return handler


HANDLERS: dict[object, Handler] = {np.ndim: ndim}

REFUSED = {
    "tolist": "index the array: it holds what the list would",
    "resize": "make a new array: np.resize(a, shape)",
    "partition": "take np.partition(a, kth), or a.sort()",
}
"""Methods that are refused, with what to write instead."""

METHODS: dict[str, Handler] = {
    **{name: _refused(name, remedy) for name, remedy in REFUSED.items()},
    "dot": matrices.dot,
    "trace": matrices.trace,
    "conj": conj,
    "conjugate": conj,
    "item": item,
    "argpartition": _as(np.argpartition),
}
