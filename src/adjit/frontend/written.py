"""Functions that are programs on whole arrays themselves: inlined as they are written in `plain`.

np.union1d(a, b)   ->   np.unique(np.concatenate((a.flatten(), b.flatten())))
"""

from __future__ import annotations

import ast
import inspect
from types import FunctionType
from typing import Any

import numpy as np
from numpy.polynomial import polynomial

from adjit.frontend import elements, lanes
from adjit.frontend.arguments import Handler, bound
from adjit.frontend.context import Lowering
from adjit.frontend.plain import polynomials, sets, spaces, tapers
from adjit.frontend.values import Elements, Place, Value, is_scalar
from adjit.ir.core import Atom

Given = dict[str, Value]


def program(name: str, function: Any, *arrays: str) -> Handler:
    """The handler of a function of `plain`; `arrays`: its parameters that are arrays, where tuples become them."""
    assert isinstance(function, FunctionType)
    parameters = inspect.signature(function).parameters.values()
    names = tuple(p.name for p in parameters)
    defaults = {p.name: p.default for p in parameters if p.default is not inspect.Parameter.empty}

    def handler(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
        given = bound(lx, name, names, len(names) - len(defaults))(args, kwargs, node)
        for key, value in defaults.items():
            given.setdefault(key, lx.wrap(value, key, node))
        for key in arrays:
            given[key] = lanes.array_in(lx, given[key], node, name)
        return lanes.run(lx, function, [given[k] for k in names], node)

    return handler


def each(name: str, function: Any, parameters: tuple[str, ...], arrays: tuple[str, ...] = ()) -> Handler:
    """The handler of a function of `plain` of a number, for each element of its first argument."""

    def handler(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
        given = bound(lx, name, parameters, len(parameters))(args, kwargs, node)
        first, *rest = (given[k] for k in parameters)
        more = [
            lanes.array_in(lx, v, node, name) if k in arrays else v
            for k, v in zip(parameters[1:], rest, strict=True)
        ]
        if is_scalar(first):
            return lanes.run(lx, function, [first, *more], node)
        source = lanes.readable(lx, first, node)

        def at(places: tuple[Place, ...]) -> Atom:
            return lanes.number(lx, function, [source.at(places), *more], node)

        return elements.materialise(lx, Elements(source.shape, at), node)

    return handler


def _row(name: str, function: Any) -> Handler:
    """A function of coefficients, which are 1-D."""
    inner = program(name, function, *(p for p in inspect.signature(function).parameters if p[0] == "c"))

    def handler(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
        for value in (*args, *kwargs.values()):
            if elements.ndim_of(value) > 1:
                lx.refuse(node, f"'{name}' of an array of several dimensions", "call it for each row")
        return inner(lx, args, kwargs, node)

    return handler


def _name(function: Any) -> str:
    return f"np.{function.__name__}"


_SETS = (np.union1d, np.intersect1d, np.setdiff1d, np.setxor1d)
_TAPERS = (np.bartlett, np.blackman, np.hamming, np.hanning, np.kaiser)
_POLYNOMIALS = ("polyadd", "polysub", "polymul", "polydiv", "polyint", "polyder")

HANDLERS: dict[object, Handler] = {
    **{f: program(_name(f), getattr(sets, f.__name__), "ar1", "ar2") for f in _SETS},
    **{f: program(_name(f), getattr(tapers, f.__name__)) for f in _TAPERS},
    np.i0: each("np.i0", tapers.i0, ("x",)),
    np.heaviside: program("np.heaviside", spaces.heaviside),
    np.divmod: program("np.divmod", spaces.divmod_of),
    np.asarray_chkfinite: program("np.asarray_chkfinite", spaces.check_finite, "items"),
    np.geomspace: program("np.geomspace", spaces.geomspace),
    **{
        getattr(polynomial, n): _row(f"np.polynomial.polynomial.{n}", getattr(polynomials, n))
        for n in _POLYNOMIALS
    },
    polynomial.polyval: each("np.polynomial.polynomial.polyval", polynomials.polyval, ("x", "c"), ("c",)),
}
