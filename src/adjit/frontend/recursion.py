"""Functions that call themselves: lowered once, as functions of the program, and called.

    def power(x, n): return 1.0 if n == 0 else x * power(x, n - 1)
    ->  function power.1(x, n): if n == 0: yield 1.0 else: t = call power.1(x, n - 1); yield x * t -> r; return r

All other functions are inlined. That a function recurses is seen when it is called while it is being inlined:
what was built of it is dropped, and it becomes a *template*, whose parameters are the atoms of its arguments; what
else its arguments hold (None, functions, strings) is part of it. Its body is lowered twice: the paths that do not
recurse give the structure of its result first. What it reads from around it (captured arrays, names of an
enclosing function) becomes further parameters. A function that is called by it and calls it back is inlined in it.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from adjit.frontend import inline, list_names
from adjit.frontend.context import DeadPath, Env, Frame, Lowering, Template
from adjit.frontend.fence import span_of
from adjit.frontend.read_source import FunctionNode
from adjit.frontend.values import (
    TupleValue,
    Value,
    atoms,
    fits,
    rebuild,
)
from adjit.ir.core import Atom, Block, Call, Const, Function, Stmt, Sym, Undef, fresh, unique_name
from adjit.ir.types import BOOL, UNKNOWN, Array, Type
from adjit.ir.visit import Rewriter, defined, free

_MOST = 8
"""Templates of one function that may be open at once: each call passes another kind of arguments."""


class RecursionFound(Exception):
    """Internal: a function that is being inlined was called again."""

    def __init__(self, frame: Frame):
        super().__init__()
        self.frame = frame


def run(lx: Lowering, frame: Frame, fn: FunctionNode, node: ast.AST) -> Value:
    """The value of a call: the body inlined, or a call of the function if it calls itself."""
    if any(map(frame.runs, lx.recursive)):
        return _call(lx, frame, fn, node)
    if any(map(frame.runs, lx.frames)):
        raise RecursionFound(frame)
    bound, depth, mark = dict(frame.env.names), len(lx.frames), lx.builder.mark()
    try:
        value = inline.run_body(lx, frame, fn, node)
        list_names.handed_back(lx, frame, bound, node)
        return value
    except RecursionFound as found:
        if not found.frame.runs(frame):
            raise
    del lx.frames[depth:]
    lx.builder.rewind(mark)
    lx.recursive.append(frame)
    return _call(lx, _again(frame, bound), fn, node)


def _again(frame: Frame, names: dict[str, Value]) -> Frame:
    return replace(frame, env=Env(dict(names)))


def _call(lx: Lowering, frame: Frame, fn: FunctionNode, node: ast.AST) -> Value:
    names = frame.env.names
    if any(lx.is_list(a) for v in names.values() for a in (*atoms(v), *list_names.lists_in(v))):
        lx.refuse(node, f"a list is passed to '{frame.name}', which calls itself", "pass an array")
    mine = [t for t in lx.templates if t.frame.runs(frame)]
    template = next((t for t in mine if _matches(t, names)), None)
    if template is None:
        if len(mine) >= _MOST:
            lx.refuse(
                node,
                f"'{frame.name}' calls itself with another kind of arguments each time",
                "pass the same kinds (numbers, arrays, tuples of one length) in each call",
            )
        template = _lower(lx, frame, fn, node)
    elif template is not lx.templates[-1]:
        lx.refuse(
            node,
            f"'{frame.name}' and '{lx.templates[-1].frame.name}' call themselves and each other",
            "write one of them as a loop, or make them one function",
        )
    elif template.shape is None:
        raise DeadPath
    assert template.shape is not None
    args = tuple(a for v in names.values() for a in atoms(v))
    results = tuple(Sym(_name(frame), _open_type(a)) for a in atoms(template.shape))
    with lx.at(node):
        lx.builder.append(Call(results, template.key, (*args, *template.extras), lx.builder.span))
    return rebuild(template.shape, iter(results))


def _name(frame: Frame) -> str:
    return frame.name if frame.name.isidentifier() else "recursive"


def _open_type(a: Atom) -> Type:
    """The type of a parameter or result before typing."""
    if isinstance(a.type, Array):
        return Array(a.type.dtype, a.type.ndim, "?", a.type.readonly)
    return BOOL if a.type == BOOL else UNKNOWN


def _matches(template: Template, names: dict[str, Value]) -> bool:
    """Whether the arguments have the structure that the template was made for."""
    if names.keys() != template.names.keys():
        return False
    return all(fits(names[k], v) is not None for k, v in template.names.items())


def _lower(lx: Lowering, frame: Frame, fn: FunctionNode, node: ast.AST) -> Template:
    """A new function of the program."""
    params: list[Sym] = []
    names = {name: _parameter(value, name, params) for name, value in frame.env.names.items()}
    template = Template(unique_name(_name(frame)), frame, names)
    lx.templates.append(template)
    try:
        try:
            _, template.shape = _body(lx, template, fn, node)
        except DeadPath:
            lx.refuse(
                node,
                f"'{frame.name}' calls itself on every path",
                "return a value without a call on some path, before the others",
            )
        block, value = _body(lx, template, fn, node)
    finally:
        lx.templates.remove(template)
    results = fits(value, template.shape)
    if results is None:
        lx.refuse(
            node,
            f"'{frame.name}' returns {lx.kind(template.shape)} on one path and {lx.kind(value)} on another",
            "return one kind of value",
        )
    if any(isinstance(a, Sym) and a in lx.lists for a in results):
        lx.refuse(node, f"'{frame.name}', which calls itself, returns a list", "fill an array")
    outside = (free(block) | {a for a in results if isinstance(a, Sym)}) - defined(block) - set(params)
    template.extras = tuple(sorted(outside, key=lambda s: s.uid))
    lifted = _Lift(template.key, template.extras)
    body = lifted.block(block)
    whole = (*params, *(lifted.sym(s) for s in template.extras))
    if lx.frames[0].plain and not frame.plain:
        lx.by_numba |= defined(body) | set(whole)
    span = span_of(frame.file, fn)
    lx.functions[template.key] = Function(template.key, whole, body, lifted.atoms(tuple(results)), "", span)
    return template


def _parameter(value: Value, name: str, params: list[Sym]) -> Value:
    """The value with a fresh parameter for each atom."""
    if isinstance(value, TupleValue):
        return TupleValue(
            tuple(_parameter(v, f"{name}_{k}", params) for k, v in enumerate(value.items)), value.cls
        )
    if not isinstance(value, Sym | Const | Undef):
        return value
    params.append(Sym(name, _open_type(value)))
    return params[-1]


def _body(lx: Lowering, template: Template, fn: FunctionNode, node: ast.AST) -> tuple[Block, Value]:
    frame = _again(template.frame, template.names)
    depth = len(lx.frames)
    try:
        with lx.builder.collect() as block:
            value = inline.run_body(lx, frame, fn, node)
    finally:
        del lx.frames[depth:]
    return tuple(block), value


class _Lift(Rewriter):
    """What a template reads from around it as parameters, passed on in its calls of itself."""

    def __init__(self, key: str, extras: tuple[Sym, ...]):
        super().__init__({s: fresh(s) for s in extras})
        self.key, self.extras = key, extras

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        if isinstance(stmt, Call) and stmt.callee == self.key:
            stmt = replace(stmt, args=(*stmt.args, *self.extras))
        return (self.rebuild(stmt),)


__all__ = ["RecursionFound", "run"]
