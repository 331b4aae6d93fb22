"""From a function object to its syntax tree: finds the source, and checks that it is what is running.

The whole file is parsed once, so line numbers are the file's own. Which `lambda` of a line is meant follows
from the code object's positions. The source is compiled again and compared with the function's code, so that
a file edited after its import is noticed.
"""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType, FunctionType

from adjit.errors import UnsupportedError
from adjit.frontend.lasting import lasting
from adjit.ir.core import Span

FunctionNode = ast.FunctionDef | ast.Lambda


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A function's syntax tree and text."""

    node: FunctionNode
    file: str
    text: str


def read_source(function: FunctionType) -> Source:
    """The syntax tree of a plain function or lambda; UnsupportedError where it cannot be had."""
    code, text = function.__code__, _lines(function)
    read, at = _sources_of(code), (function.__qualname__, text)
    if at not in read:
        read[at] = _read(code, *at)
    return read[at]


@lasting
def _sources_of(code: CodeType) -> dict[tuple[str, str], Source]:
    """What was read of a code object, by its function's name and the text of the file."""
    return {}


def _lines(function: FunctionType) -> str:
    code = function.__code__
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, function.__globals__)
    if not lines:
        raise UnsupportedError(
            f"the source of '{function.__qualname__}' is not available ({code.co_filename})",
            "define the function in a file or a notebook cell",
        )
    return "".join(lines)


def _read(code: CodeType, qualname: str, text: str) -> Source:
    file = code.co_filename
    place = Span(file, code.co_firstlineno)
    stale = UnsupportedError(
        f"the source of '{qualname}' has changed since it was imported", "import the module again", place
    )
    unclear = False
    try:
        tree, codes = _parse(text, file)
    except (SyntaxError, ValueError) as error:
        raise stale from error
    for candidate in _ordered(codes, code):
        if _same_code(candidate, code):
            node = _node_of(tree, candidate)
            unclear = unclear or node is None
            if node is not None:
                if isinstance(node, ast.AsyncFunctionDef):
                    place = Span(file, node.lineno, node.col_offset)
                    raise UnsupportedError(
                        f"'{qualname}' is an 'async' function", "write 'def' in place of 'async def'", place
                    )
                return Source(node, file, ast.get_source_segment(text, node) or "")
    if unclear:
        reason = f"'{qualname}' cannot be told from another function on its line"
        raise UnsupportedError(reason, "give it a line of its own", place)
    raise stale


@functools.lru_cache(maxsize=64)
def _parse(text: str, file: str) -> tuple[ast.Module, tuple[CodeType, ...]]:
    tree = ast.parse(text, file)
    return tree, tuple(_codes(compile(text, file, "exec", dont_inherit=True)))


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _codes(const)


def _ordered(codes: tuple[CodeType, ...], wanted: CodeType) -> list[CodeType]:
    """Codes of the wanted name: those at its line and columns first, then those at its line, then the others."""
    named = [c for c in codes if c.co_name == wanted.co_name]
    here = list(wanted.co_positions())

    def distance(c: CodeType) -> tuple[bool, bool, int]:
        line = abs(c.co_firstlineno - wanted.co_firstlineno)
        return (list(c.co_positions()) != here, c.co_qualname != wanted.co_qualname, line)

    return sorted(named, key=distance)


def _same_code(a: CodeType, b: CodeType) -> bool:
    """Whether two code objects do the same, line numbers aside."""
    if any("@py" in name for name in (*b.co_names, *b.co_varnames)):
        return a.co_firstlineno == b.co_firstlineno  # asserts rewritten by pytest
    return (
        a.co_code == b.co_code
        and a.co_names == b.co_names
        and a.co_varnames == b.co_varnames
        and set(a.co_freevars) == set(b.co_freevars)
        and len(a.co_consts) == len(b.co_consts)
        and all(_same_const(x, y) for x, y in zip(a.co_consts, b.co_consts, strict=True))
    )


def _same_const(x: object, y: object) -> bool:
    if isinstance(x, CodeType) and isinstance(y, CodeType):
        return _same_code(x, y)
    return type(x) is type(y) and repr(x) == repr(y)


def _node_of(tree: ast.Module, code: CodeType) -> ast.FunctionDef | ast.Lambda | ast.AsyncFunctionDef | None:
    """The node that a code object (compiled from this very tree) comes from."""
    candidates = [n for n in ast.walk(tree) if _may_be(n, code)]
    if len(candidates) > 1:
        around = [n for n in candidates if isinstance(n, ast.Lambda) and _encloses(n.body, code)]
        inside = [n for n in around if not any(_within(m.body, n.body) for m in around if m is not n)]
        candidates = inside if len(inside) == 1 else []
    if not candidates:
        return None
    found = candidates[0]
    assert isinstance(found, ast.FunctionDef | ast.Lambda | ast.AsyncFunctionDef)
    return found


def _may_be(node: ast.AST, code: CodeType) -> bool:
    if isinstance(node, ast.Lambda):
        return code.co_name == "<lambda>" and node.lineno == code.co_firstlineno
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        return node.name == code.co_name and first == code.co_firstlineno
    return False


def _encloses(body: ast.expr, code: CodeType) -> bool:
    """Whether all instructions lie in the body; folded branches have none, so they need not fill it."""
    places = [
        (a, c, b, d) for a, b, c, d in code.co_positions() if None not in (a, b, c, d) and (a, c) != (b, d)
    ]
    return bool(places) and all(_start(body) <= p[:2] and p[2:] <= _end(body) for p in places)


def _within(inner: ast.expr, outer: ast.expr) -> bool:
    return _start(outer) <= _start(inner) and _end(inner) <= _end(outer)


def _start(node: ast.expr) -> tuple[int | None, int | None]:
    return node.lineno, node.col_offset


def _end(node: ast.expr) -> tuple[int | None, int | None]:
    return node.end_lineno, node.end_col_offset


def unwrap(f: object) -> tuple[FunctionType, object | None]:
    """The plain function behind `f`, and the Numba dispatcher if it is one."""
    inner = getattr(f, "py_func", None)
    if inner is not None and isinstance(inner, FunctionType):
        return inner, f
    if isinstance(f, FunctionType):
        return f, None
    if inspect.isbuiltin(f):
        raise UnsupportedError(
            f"'{f.__name__}' is compiled code without Python source", "wrap it in a function"
        )
    if inspect.ismethod(f):
        raise UnsupportedError(
            "a bound method cannot be differentiated", "pass the object's fields as arguments"
        )
    if inspect.isclass(f):
        raise UnsupportedError(f"the class '{f.__name__}' cannot be differentiated", "pass a function")
    raise UnsupportedError(
        f"an object of type {type(f).__name__} is not a function that can be read", "pass a function"
    )
