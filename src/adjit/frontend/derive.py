"""`aj.grad(f)(x)` inside a program: a Derive statement around the inlined call of f."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from adjit.frontend import calls
from adjit.frontend.context import Lowering
from adjit.frontend.values import GradientOf, Static, TupleValue, Value, atoms, kind, rebuild
from adjit.ir.core import Atom, Const, Derive, Sym
from adjit.ir.types import INT64, UNKNOWN, Array, Type

_OPERATORS = ("grad", "value_and_grad")


def operator(
    lx: Lowering, obj: object, args: list[Value], kwargs: dict[str, Value], node: ast.AST
) -> Value | None:
    """What a call of `aj.grad`, or of a function that it made outside, gives; None for anything else."""
    if getattr(obj, "__module__", "") == "adjit.api.grad" and getattr(obj, "__name__", "") in _OPERATORS:
        return _made(lx, obj.__name__, args, kwargs, node)  # type: ignore[attr-defined]
    if hasattr(obj, "places") and getattr(obj, "kind", None) in _OPERATORS:
        if obj.has_aux or obj.pure:  # type: ignore[attr-defined]
            lx.refuse(node, "has_aux and aj.pure are not supported in a gradient inside a program")
        wrt = obj.wrt  # type: ignore[attr-defined]
        function = lx.wrap(obj.f, "gradient", node)  # type: ignore[attr-defined]
        made = _gradient(lx, obj.kind, function, wrt, node)  # type: ignore[attr-defined]
        return call_gradient(lx, made, args, kwargs, node)
    return None


def _made(lx: Lowering, name: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    wrt: Value = kwargs.pop("wrt", args[1] if len(args) > 1 else Const(0, INT64))
    if kwargs or not 1 <= len(args) <= 2:
        lx.refuse(node, f"'{name}' inside a program takes a function and wrt")
    return _gradient(lx, name, args[0], _static(wrt), node)


def _static(value: Value) -> object:
    if isinstance(value, Const):
        return value.value
    if isinstance(value, TupleValue):
        return tuple(_static(item) for item in value.items)
    return value.value if isinstance(value, Static) else None


def _gradient(lx: Lowering, name: str, function: Value, wrt: object, node: ast.AST) -> GradientOf:
    places = wrt if isinstance(wrt, tuple) else (wrt,)
    if not all(isinstance(k, int) and k >= 0 for k in places):
        lx.refuse(node, f"wrt={wrt!r} in a gradient inside a program", "give positions: wrt=0, wrt=(0, 1)")
    return GradientOf(name, function, tuple(places), not isinstance(wrt, tuple))  # type: ignore[arg-type]


def call_gradient(
    lx: Lowering, made: GradientOf, args: Sequence[Value], kwargs: dict[str, Value], node: ast.AST
) -> Value:
    """The gradient, or (value, gradient), at these arguments."""
    if kwargs:
        lx.refuse(
            node, "keywords in the call of a gradient inside a program", "pass its arguments by position"
        )
    if any(k >= len(args) for k in made.wrt):
        lx.refuse(node, f"wrt={made.wrt} and {len(args)} arguments")
    given: list[Atom] = []
    params: list[Sym] = []
    active: list[bool] = []
    inner: list[Value] = []
    for k, arg in enumerate(args):
        flat = list(atoms(arg))
        fresh = [Sym(getattr(a, "name", "x"), _open(a)) for a in flat]
        given += flat
        params += fresh
        active += [k in made.wrt] * len(flat)
        inner.append(rebuild(arg, iter(fresh)))
    with lx.builder.collect() as block:
        value = calls.call(lx, made.function, inner, {}, node)
    values = tuple(atoms(value))
    if len(values) != 1 or isinstance(values[0].type, Array):
        lx.refuse(
            node, f"a gradient needs a function that returns a real scalar, this one returns {kind(value)}"
        )
    with_value = made.kind == "value_and_grad"
    results = [Sym(getattr(v, "name", "value"), _open(v)) for v in values] if with_value else []
    gradients = [Sym(f"d{p.name}", p.type) for p, on in zip(params, active, strict=True) if on]
    lx.builder.append(
        Derive(
            tuple(given),
            tuple(params),
            tuple(block),
            values,
            (*results, *gradients),
            tuple(active),
            with_value,
            lx.span(node),
        )
    )
    trees: list[Value] = []
    found = iter(gradients)
    for k in made.wrt:
        if list(made.wrt) != sorted(set(made.wrt)):
            lx.refuse(node, "wrt of a gradient inside a program must ascend")
        trees.append(rebuild(args[k], found))
    tree = trees[0] if made.single else TupleValue(tuple(trees), None)
    return TupleValue((results[0], tree), None) if with_value else tree


def _open(a: Atom) -> Type:
    """The type of a symbol that an atom flows into: an array's is known, a number's comes with typing."""
    return a.type if isinstance(a.type, Array) else UNKNOWN
