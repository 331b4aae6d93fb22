"""Derivatives inside a program: a Derive statement around the inlined call of the function."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn

from adjit.errors import ArgumentError
from adjit.frontend import broadcasting, calls
from adjit.frontend.context import Lowering
from adjit.frontend.selection import Tree, filled, may_carry, numbers, parameters, part_of, places
from adjit.frontend.values import (
    NONE,
    DerivativeOf,
    TupleValue,
    Value,
    atoms,
    is_array,
    is_atom,
    is_scalar,
    rebuild,
    same_static,
    spec_of,
)
from adjit.ir.core import Atom, Block, Derive, Sym
from adjit.ir.types import UNKNOWN, Array, Type


@dataclass(frozen=True)
class Called:
    """A function's call on fresh parameters: `given` are the arguments' atoms, one for each parameter."""

    given: tuple[Atom, ...]
    params: tuple[Sym, ...]
    body: Block
    value: Value

    @property
    def values(self) -> tuple[Atom, ...]:
        return tuple(atoms(self.value))


def called(
    lx: Lowering, function: Value, args: Sequence[Value], kwargs: dict[str, Value], node: ast.AST
) -> Called:
    """The function inlined in a block of its own, on fresh parameters."""
    every = [*args, *kwargs.values()]
    given = tuple(a for arg in every for a in atoms(arg))
    params = tuple(Sym(getattr(a, "name", "x"), opened(a)) for a in given)
    fresh = iter(params)
    inner = [rebuild(arg, fresh) for arg in every]
    named = dict(zip(kwargs, inner[len(args) :], strict=True))
    with lx.builder.collect() as block:
        value = calls.call(lx, function, inner[: len(args)], named, node)
    if spec_of(value) is None:
        lx.refuse(
            node,
            f"a function that is differentiated returns {lx.kind(value)}",
            "return numbers, arrays or tuples",
        )
    return Called(given, params, tuple(block), value)


def emit(
    lx: Lowering,
    what: str,
    call: Called,
    active: set[int],
    heads: int,
    given: tuple[Atom, ...],
    types: Sequence[tuple[str, Type]],
    node: ast.AST,
) -> tuple[Value, tuple[Sym, ...]]:
    """Append the statement; the value of the call, and the derivatives, of these names and types."""
    values = tuple(Sym(getattr(v, "name", "value"), opened(v)) for v in call.values)
    made = tuple(Sym(name, type) for name, type in types)
    on = tuple(k in active for k in range(len(call.params)))
    parts = (what, call.given, call.params, call.body, call.values, (*values, *made), on, heads)
    lx.builder.append(Derive(*parts, given, lx.span(node)))
    return rebuild(call.value, iter(values)), made


def opened(a: Atom) -> Type:
    """The type of a symbol that an atom flows into: an array's is known, a number's comes with typing."""
    return a.type if isinstance(a.type, Array) else UNKNOWN


# functions that operators make


def call_derivative(
    lx: Lowering, made: DerivativeOf, args: Sequence[Value], kwargs: dict[str, Value], node: ast.AST
) -> Value:
    """What a derivative function gives at these arguments."""
    trees = _trees(lx, made, args, kwargs, node)
    active = sorted(n for tree in trees for n in numbers(tree))
    call = called(lx, made.function, args, kwargs, node)
    head, aux = _parts(lx, made, call.value, node)
    leaves = tuple(atoms(head))
    by = [call.params[k] for k in active]
    what, types = _derived(lx, made.kind, leaves, by, node)
    value, found = emit(lx, what, call, set(active), len(leaves), (), types, node)
    rank = {k: n for n, k in enumerate(active)}

    def wrt(first: int, step: int = 1) -> Value:
        """The derivatives by every argument in question, from the number `first` on."""
        items = tuple(filled(tree, lambda k: found[first + step * rank[k]]) for tree in trees)
        return items[0] if made.single else TupleValue(items)

    def both(first: int) -> Value:
        outer = lambda k: wrt(first + len(by) * rank[k])  # noqa: E731
        items = tuple(filled(tree, outer) for tree in trees)
        return items[0] if made.single else TupleValue(items)

    if what == "grad":
        tree = wrt(0)
    else:
        one = {"laplacian": lambda k: found[k], "hessian": lambda k: both(k * len(by) ** 2)}
        tree = filled(places(head, 0), one.get(what, lambda k: wrt(k * len(by))))
    if made.kind == "value_and_grad":
        return TupleValue((value, tree))
    if aux is None:
        return tree
    assert isinstance(value, TupleValue)
    return TupleValue((tree, value.items[1]))


def _trees(
    lx: Lowering, made: DerivativeOf, args: Sequence[Value], kwargs: dict[str, Value], node: ast.AST
) -> list[Tree]:
    """For each item of `wrt` a tree of the numbers of the arguments' atoms."""
    every, names = [*args, *kwargs.values()], list(kwargs)
    known = parameters(made.function)
    trees: list[Tree] = []
    for at, path in made.wrt:
        k = at
        if at >= len(args):
            name = known[at] if at < len(known) else ""
            if name not in kwargs:
                remedy = "give it as a primal" if made.kind == "hvp" else "pass it in the call"
                lx.refuse(node, f"wrt names argument {at}, and {len(every)} are given", remedy)
            k = len(args) + names.index(name)
        start = sum(1 for arg in every[:k] for _ in atoms(arg))
        part, start = part_of(lx, every[k], start, path, node)
        tree = places(part, start)
        if not any(True for _ in numbers(tree)):
            misfit(lx, f"a derivative by {lx.kind(part)} of no float type", "pass a float (1.0, not 1)", node)
        trees.append(tree)
    return trees


def _parts(lx: Lowering, made: DerivativeOf, value: Value, node: ast.AST) -> tuple[Value, Value | None]:
    """What is derived of a result, and what comes along."""
    if not made.has_aux:
        return value, None
    if not isinstance(value, TupleValue) or len(value.items) != 2:
        lx.refuse(node, f"has_aux: the function returns {lx.kind(value)}, not (out, aux)", "return a pair")
    return value.items[0], value.items[1]


def _derived(
    lx: Lowering, name: str, heads: tuple[Atom, ...], by: list[Sym], node: ast.AST
) -> tuple[str, list[tuple[str, Type]]]:
    """The kind of statement, and names and types of its derivatives."""
    arrays = [isinstance(v.type, Array) for v in heads]
    if name in ("grad", "value_and_grad", "hessian", "laplacian") and (len(heads) != 1 or arrays[0]):
        what = f"a {name}" if name in ("hessian", "laplacian") else "a gradient"
        lx.refuse(
            node,
            f"{what} needs a function that returns a real scalar, this one returns "
            + (lx.kind(heads[0]) if len(heads) == 1 else f"a tuple of {len(heads)}"),
            "return one number, or take aj.vjp or aj.jacobian",
        )
    if not any(map(may_carry, heads)):
        misfit(lx, "the function returns nothing that has a derivative", "return a float", node)
    if name in ("grad", "value_and_grad"):
        return "grad", [(f"d{p.name}", p.type) for p in by]
    if name == "laplacian":
        return name, [(name, UNKNOWN)]
    if name == "jacobian":
        rows = not any(arrays) and any(isinstance(p.type, Array) for p in by)
        name = "jacrev" if rows else "jacfwd"
    if name == "hessian":
        return name, [(name, _outer(p, p, q)) for p in by for q in by]
    return name, [("jacobian", _outer(v, v, p)) for v in heads for p in by]


def _outer(element: Atom, *axes: Atom) -> Type:
    """The type of an array with the extents of all `axes`; of a number where none has any."""
    ndim = sum(a.type.ndim for a in axes if isinstance(a.type, Array))
    dtype = element.type.dtype if isinstance(element.type, Array) else UNKNOWN
    return Array(dtype, ndim, "C") if ndim else UNKNOWN


def misfit(lx: Lowering, reason: str, remedy: str, node: ast.AST) -> NoReturn:
    """Raise ArgumentError at the node."""
    raise ArgumentError(reason, remedy, lx.span(node))


# directions


def jvp(
    lx: Lowering,
    function: Value,
    primals: Sequence[Value],
    tangents: Sequence[Value],
    kwargs: dict[str, Value],
    node: ast.AST,
) -> Value:
    """`aj.jvp(function, primals, tangents, **kwargs)`."""
    dots = [d for p, t in zip(primals, tangents, strict=True) for d in fitted(lx, p, t, "tangent", node)]
    active = {k for k, d in enumerate(dots) if d is not None}
    call = called(lx, function, primals, kwargs, node)
    if not any(map(may_carry, call.values)):
        what = "nothing" if same_static(call.value, NONE) else lx.kind(call.value)
        misfit(lx, f"jvp of a function that returns {what}", "return a float or an array of floats", node)
    types = [(f"{getattr(v, 'name', 'value')}_dot", opened(v)) for v in call.values]
    given = tuple(d for d in dots if d is not None)
    value, found = emit(lx, "jvp", call, active, len(call.values), given, types, node)
    return TupleValue((value, filled(places(call.value, 0), lambda k: found[k])))


def hvp(
    lx: Lowering,
    made: DerivativeOf,
    primals: Sequence[Value],
    v: Value,
    kwargs: dict[str, Value],
    node: ast.AST,
) -> Value:
    """`aj.hvp(function, primals, v, wrt, **kwargs)`."""
    trees = _trees(lx, made, primals, {}, node)
    vectors = (v,) if made.single else v.items if isinstance(v, TupleValue) else ()
    if len(vectors) != len(trees):
        misfit(lx, f"v is {lx.kind(v)}, and wrt has {len(trees)} items", "give a tuple, one for each", node)
    dots: dict[int, Atom] = {}
    for (at, path), tree, vector in zip(made.wrt, trees, vectors, strict=True):
        part, _ = part_of(lx, primals[at], 0, path, node)
        places_ = iter(numbers(tree))
        for a, d in zip(atoms(part), fitted(lx, part, vector, "vector", node), strict=True):
            if d is not None:
                dots[next(places_)] = d
            elif may_carry(a):
                next(places_)  # not asked for: its part of the product is none
    active = sorted(dots)
    call = called(lx, made.function, primals, kwargs, node)
    by = [call.params[k] for k in active]
    _derived(lx, "grad", call.values, by, node)
    types = [("product", p.type) for p in by]
    given = tuple(dots[k] for k in active)
    _, found = emit(lx, "hvp", call, set(active), 1, given, types, node)
    rank = {k: n for n, k in enumerate(active)}
    items = tuple(filled(tree, lambda k: found[rank[k]] if k in rank else NONE) for tree in trees)
    return items[0] if made.single else TupleValue(items)


def fitted(lx: Lowering, p: Value, given: Value, what: str, node: ast.AST) -> Iterator[Atom | None]:
    """For each atom of a value what is given for it, None where nothing is: in its structure, of its extents."""
    if same_static(given, NONE):
        yield from (None for _ in atoms(p))
    elif isinstance(p, TupleValue):
        if not isinstance(given, TupleValue) or len(given.items) != len(p.items):
            misfit(
                lx, f"the {what} of {lx.kind(p)} is {lx.kind(given)}", "give a tuple of its structure", node
            )
        for item, part in zip(p.items, given.items, strict=True):
            yield from fitted(lx, item, part, what, node)
    elif not may_carry(p):
        reason = f"{lx.kind(p)} that has no derivative is given a {what}"
        misfit(lx, reason, "give None; a float is 1.0, not 1", node)
    elif not is_atom(given) or is_array(p) != is_array(given):
        misfit(lx, f"the {what} of {lx.kind(p)} is {lx.kind(given)}", "give one of its own kind", node)
    else:
        assert isinstance(given, Atom)
        if isinstance(p, Sym) and isinstance(given, Sym) and not is_scalar(p):
            assert isinstance(p.type, Array)
            assert isinstance(given.type, Array)
            if p.type.ndim != given.type.ndim:
                misfit(lx, f"the {what} of {lx.kind(p)} is {lx.kind(given)}", "give one of its shape", node)
            for axis in range(p.type.ndim):
                message = f"a {what} does not have the shape of its array"
                a, b = lx.extent(p, axis), lx.extent(given, axis)
                broadcasting.check_equal(lx, a, b, message, node)
        yield given
