"""Arguments of the library functions that the frontend itself understands."""

from __future__ import annotations

import ast
from collections.abc import Callable

from adjit.frontend import expressions
from adjit.frontend.context import Lowering
from adjit.frontend.values import Value
from adjit.ir.core import Const

Handler = Callable[[Lowering, list[Value], dict[str, Value], ast.AST], Value]


def bound(lx: Lowering, name: str, names: tuple[str, ...], required: int) -> Callable[..., dict[str, Value]]:
    """Binds arguments to a library function's parameters."""

    def bind(args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> dict[str, Value]:
        given = dict(zip(names, args, strict=False))
        unknown = [k for k in kwargs if k not in names or k in given]
        if len(args) > len(names) or unknown:
            what = f"argument '{unknown[0]}'" if unknown else "this many arguments"
            lx.refuse(node, f"'{name}' with {what} is not supported", f"it takes: {', '.join(names)}")
        given.update(kwargs)
        missing = [n for n in names[:required] if n not in given]
        if missing:
            lx.refuse(node, f"'{name}' is called without '{missing[0]}'", f"it takes: {', '.join(names)}")
        return given

    return bind


def flag(lx: Lowering, value: Value, what: str, node: ast.AST) -> bool:
    """A bool that is known when the program is built."""
    found = expressions.truth(lx, value, node)
    if isinstance(found, Const):
        return bool(found.value)
    lx.refuse(
        node, f"{what} that is not a constant", "write True or False; a string argument is a constant, too"
    )
