"""All functions of whole arrays, one module an idea.

Each module has HANDLERS, and may have METHODS of arrays, functions that take their arrays an element at a time (LAZY),
and functions to which a list is a tuple of what is in it, which may be arrays (LISTS).
"""

from __future__ import annotations

import ast
from functools import partial
from types import FunctionType

from adjit.frontend import (
    bounds,
    contractions,
    conversions,
    counting,
    edits,
    fourier,
    inline,
    joining,
    kinds,
    padding,
    parts,
    products,
    rearranging,
    scans,
    sliding,
    sorting,
    splitting,
    statistics,
    updates,
    views,
    written,
)
from adjit.frontend.arguments import Handler
from adjit.frontend.context import Lowering
from adjit.frontend.values import Static, Value

GROUPS = {
    "Joined and repeated": (joining, padding),
    "Other axes, another shape": (views,),
    "Rearranged, picked and split": (rearranging, edits, sliding, splitting),
    "Sorted, and what needs an order": (sorting,),
    "Along an axis": (scans,),
    "Statistics": (statistics,),
    "Interpolation, polynomials, products": (products, contractions),
    "Fourier transforms": (fourier,),
    "Parts of complex arrays": (parts,),
    "Indices, counts and comparisons": (counting,),
    "Bounds and rounding": (bounds,),
    "Written in place": (updates,),
    "Sets, windows, polynomials, spaces": (written,),
    "Shapes, blocks, kinds of numbers": (kinds,),
    "Layout": (conversions,),
}
MODULES = tuple(module for group in GROUPS.values() for module in group)

HANDLERS: dict[object, Handler] = {f: h for module in MODULES for f, h in module.HANDLERS.items()}
METHODS: dict[str, Handler] = {n: h for m in MODULES for n, h in getattr(m, "METHODS", {}).items()}
REFUSED_METHODS = frozenset(conversions.REFUSED)
LAZY: tuple[object, ...] = tuple(f for module in MODULES for f in getattr(module, "LAZY", ()))
LISTS: tuple[object, ...] = tuple(f for module in MODULES for f in getattr(module, "LISTS", ()))

_OF_LISTS = frozenset(map(id, LISTS))
_PLAIN = "adjit.frontend.plain."


def takes_lists(function: Value) -> bool:
    """Whether a list in a call of the function is a tuple of what is in it."""
    return isinstance(function, Static) and id(function.value) in _OF_LISTS


def find(obj: object) -> Handler | None:
    """The handler of a method of a ufunc, or of a function of `plain` that another one calls."""
    module = getattr(obj, "__module__", None)
    if isinstance(obj, FunctionType) and isinstance(module, str) and module.startswith(_PLAIN):
        return partial(_inlined, obj)
    return updates.ufunc_method(obj)


def _inlined(
    function: FunctionType, lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST
) -> Value:
    assert not kwargs
    return inline.call_library(lx, function, args, node)
