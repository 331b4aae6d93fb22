"""Calls of what `aj.jit`, `aj.options` and `aj.pure` made: the function inside, inlined as any other.

`boundscheck` holds for the whole program, as that of a dispatcher does. Options that a part of a program cannot have
are refused.
"""

from __future__ import annotations

import ast
from typing import Any

from adjit.frontend import calls
from adjit.frontend.context import Lowering
from adjit.frontend.values import Value


def is_layer(obj: object) -> bool:
    """Whether the object is one of adjit's wrappers around a function."""
    return hasattr(type(obj), "layer_options") and hasattr(type(obj), "layer_pure")


def call_layer(lx: Lowering, obj: Any, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """The function inside, called."""
    name = getattr(obj, "__name__", "f")
    if obj.layer_pure:
        remedy = f"call '{name}' itself on copies: it writes its arguments"
        lx.refuse(node, f"'aj.pure' of '{name}' is called inside of a program", remedy)
    options = obj.layer_options
    if options.memory is not None:
        remedy = "give it to the whole program: aj.options(f, memory=bytes) around the function that is differentiated"
        lx.refuse(node, f"'{name}' has a memory limit of its own, and is called inside of a program", remedy)
    if options.boundscheck:
        lx.options.boundscheck = lx.options.located = True
    return calls.call(lx, lx.wrap(obj.f, name, node), args, kwargs, node)
