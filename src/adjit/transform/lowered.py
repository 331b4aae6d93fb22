"""A user's function as a typed primal: lowered by the frontend, typed as Numba (or NumPy) types it."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any

from numba.core.dispatcher import Dispatcher

from adjit.analysis.alias import overlaps_stated
from adjit.analysis.types import infer
from adjit.frontend import Lowered, lower
from adjit.ir.core import Function, Sym
from adjit.ir.structure import Leaf, Spec, TupleSpec, leaves
from adjit.ir.visit import everywhere
from adjit.rules.custom import CustomFunction
from adjit.transform.guard import guard
from adjit.transform.guard_powers import guard_powers
from adjit.transform.interchange import interchange
from adjit.transform.reshape import reshaped
from adjit.transform.scalarise import scalarise


@dataclass(frozen=True)
class Primal:
    """A typed function with what it captures, the structure of its result, and how it is to be compiled.

    located: whether indices in parallel loops are checked by the program itself, which then names the work item.
    copied: for each parameter, whether it is an array that the plain function writes and this one copies (`aj.pure`).
    """

    function: Function
    captures: tuple[Any, ...]
    out: Spec
    error_model: str = "python"
    fastmath: Any = False
    boundscheck: bool = False
    located: bool = False
    stretches: bool = False
    copied: tuple[bool, ...] = ()


def lowered(f: Any, specs: tuple[Spec, ...], plain: bool = True) -> Primal:
    """Lower and type a plain function (`plain` False: by Numba's rules) or a dispatcher for these arguments."""
    low = lower(f, specs, plain)
    guarded = set(low.guarded)
    weak = _weak(f, low, specs) if plain else None
    by_numba = set(low.by_numba)
    function = infer(low.function, weak, guarded, by_numba, set(low.lists))
    function = everywhere(function, lambda g: guard(g, frozenset(guarded)))
    function = function if weak is None else everywhere(function, lambda g: guard_powers(g, by_numba))
    function = overlaps_stated(interchange(scalarise(reshaped(function))))
    options = low.options
    return Primal(
        function,
        low.captures,
        typed_out(low.out, function),
        str(options.get("error_model", "python")),
        options.get("fastmath", False),
        options.get("boundscheck") is True,
        options.get("located") is True,
        low.stretches,
    )


def _weak(f: Any, lowered: Lowered, specs: tuple[Spec, ...]) -> frozenset[Sym] | None:
    """Parameters that are Python numbers, where NumPy's rules hold; None for a dispatcher."""
    while isinstance(f, functools.partial):
        f = f.func
    if isinstance(f.primal if isinstance(f, CustomFunction) else f, Dispatcher):
        return None
    flat = [leaf for s in specs for leaf in leaves(s)]
    return frozenset(p for p, leaf in zip(lowered.function.params, flat, strict=False) if leaf.weak)


def typed_out(out: Spec, function: Function) -> Spec:
    """The result's structure with the types of the function's results at its leaves."""
    types = iter([a.type for a in function.results])

    def fill(spec: Spec) -> Spec:
        match spec:
            case Leaf():
                found = next(types)
                return Leaf(found, spec.weak)  # type: ignore[arg-type]
            case TupleSpec():
                return replace(spec, items=tuple(fill(i) for i in spec.items))
            case _:
                return spec

    return fill(out)
