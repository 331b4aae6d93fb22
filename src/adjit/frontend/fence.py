"""The fence: how the frontend refuses, with the place, the reason and a remedy."""

from __future__ import annotations

import ast
from typing import NoReturn

from adjit.errors import UnsupportedError
from adjit.ir.core import Span

STATEMENTS: dict[type[ast.stmt], tuple[str, str]] = {
    ast.Try: ("'try' cannot be differentiated", "test the condition with 'if' instead"),
    ast.AsyncFunctionDef: ("an 'async' function", "write 'def' in place of 'async def'"),
    ast.AsyncFor: ("'async for' cannot be differentiated", "write 'for' in place of 'async for'"),
    ast.AsyncWith: ("'async with' cannot be differentiated", "move it out of the function"),
    ast.ClassDef: ("a class definition inside a differentiated function", "define it outside"),
    ast.Import: ("an import inside a differentiated function", "import at the top of the module"),
    ast.ImportFrom: ("an import inside a differentiated function", "import at the top of the module"),
    ast.Global: ("'global' assignments cannot be differentiated", "return the value instead"),
    ast.Nonlocal: ("'nonlocal' assignments cannot be differentiated", "return the value instead"),
    ast.Match: ("'match' statements are not supported", "use 'if' and 'elif'"),
}

EXPRESSIONS: dict[type[ast.expr], tuple[str, str]] = {
    ast.Dict: ("a dict cannot be differentiated", "use a tuple, a NamedTuple or an array"),
    ast.Set: ("a set cannot be differentiated", "use a tuple or an array"),
    ast.DictComp: ("a dict comprehension cannot be differentiated", "use an array and a loop"),
    ast.SetComp: ("a set comprehension cannot be differentiated", "use an array and a loop"),
    ast.GeneratorExp: ("a generator cannot be differentiated", "write the loop"),
    ast.Yield: ("a generator cannot be differentiated", "fill an array and return it"),
    ast.YieldFrom: ("a generator cannot be differentiated", "fill an array and return it"),
    ast.Await: ("'await' cannot be differentiated", "await outside of the function"),
    ast.JoinedStr: ("formatted strings are not supported", "leave text out of differentiated code"),
}


def span_of(file: str, node: ast.AST) -> Span:
    """The node's place in the user's file."""
    return Span(
        file,
        getattr(node, "lineno", 0),
        getattr(node, "col_offset", 0),
        getattr(node, "end_lineno", 0) or 0,
        getattr(node, "end_col_offset", 0) or 0,
    )


def refuse(reason: str, span: Span | None, remedy: str) -> NoReturn:
    """Raise UnsupportedError at that place."""
    raise UnsupportedError(reason, remedy, span)
