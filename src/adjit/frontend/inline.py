"""Calls of functions whose source is known: bind the arguments, open a frame, run the body."""

from __future__ import annotations

import ast
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from types import FunctionType

from adjit.frontend import calls, expressions, list_names, recursion, statements
from adjit.frontend.context import RESULT, RETURN, DeadPath, Env, Frame, Lowering
from adjit.frontend.frozen import frozen_values
from adjit.frontend.liveness import scope_of
from adjit.frontend.options import options_of
from adjit.frontend.read_source import FunctionNode, Source, read_source
from adjit.frontend.values import NONE, Closure, Conflict, TupleValue, Unbound, Value, is_scalar, same_static
from adjit.ir.core import FALSE, TRUE, Let, Sym
from adjit.ir.spellings import BOXED
from adjit.ir.types import BOOL, UNKNOWN
from adjit.ir.visit import defined, walk

MAX_DEPTH = 60


def call_function(
    lx: Lowering,
    function: FunctionType,
    dispatcher: object | None,
    args: Sequence[Value],
    kwargs: dict[str, Value],
    node: ast.AST,
) -> Value:
    """Inline a plain function or a dispatcher's function."""
    if getattr(dispatcher, "targetoptions", {}).get("forceobj"):
        lx.refuse(node, f"'{function.__name__}' runs in object mode (forceobj)", "decorate it with njit")
    source = read_source(function)
    depend_on(lx, function, source, dispatcher)
    lx.options.enter(dispatcher)
    a = source.node.args
    defaults = function.__defaults__ or ()
    given = {p.arg for p in (*a.posonlyargs, *a.args)[: len(args)]} | set(kwargs)
    frame = open_frame(lx, function, source, dispatcher)
    lx.frames.append(frame)
    try:
        wrapped = tuple(
            NONE if p in given else lx.default(d, p, function, source.node)
            for d, p in zip(defaults, _tail(a, len(defaults)), strict=True)
        )
        only = (function.__kwdefaults__ or {}).items()
        keyword = {k: lx.default(v, k, function, source.node) for k, v in only if k not in given}
    finally:
        lx.frames.remove(frame)
    names = bind_arguments(lx, source.node, function.__name__, args, kwargs, wrapped, keyword, node)
    if dispatcher is None or not lx.frame.plain:
        return _run(lx, frame, source, dispatcher, names, node)
    with _typed_by_numba(lx):
        value = _run(lx, frame, source, dispatcher, names, node)
    with lx.at(node):
        return _boxed(lx, value)


def _run(
    lx: Lowering,
    frame: Frame,
    source: Source,
    dispatcher: object | None,
    names: dict[str, Value],
    node: ast.AST,
) -> Value:
    signature = calls.explicit_signature(lx, dispatcher, names, node)
    if signature is not None:
        names = calls.cast_arguments(lx, signature, names)
    frame.env = Env(list_names.lent({k: lx.named(v, node) for k, v in names.items()}))
    value = recursion.run(lx, frame, source.node, node)
    return value if signature is None else calls.cast_result(lx, signature, value, node)


@contextmanager
def _typed_by_numba(lx: Lowering) -> Generator[None]:
    """What is built inside the `with` is a dispatcher's that a plain function calls; extents are Python's anywhere."""
    mark, outer, lx.builder.wraps = lx.builder.mark(), lx.builder.wraps, True
    try:
        yield
    finally:
        lx.builder.wraps = outer
        own = lx.builder.since(mark)
        lx.by_numba |= defined(own) - {s.target for s in walk(own) if isinstance(s, Let) and s.op == "dim"}


def _boxed(lx: Lowering, value: Value) -> Value:
    """What a dispatcher returns, as Python has it: its numbers are Python's."""
    if isinstance(value, TupleValue):
        return TupleValue(tuple(_boxed(lx, v) for v in value.items), value.cls)
    if not isinstance(value, Sym) or not is_scalar(value):
        return value
    return lx.let("cast", value, type=BOOL if value.type == BOOL else UNKNOWN, fn=BOXED)


def call_library(lx: Lowering, function: FunctionType, args: Sequence[Value], node: ast.AST) -> Value:
    """Inline a function of `library`; what it does has the place of the call. On devices it may be a single step."""
    if function in lx.steps and not lx.parallel_loops:
        return lx.steps[function](lx, list(args), node)
    source = read_source(function)
    depend_on(lx, function, source, None)
    frame = open_frame(lx, function, source, None)
    frame.plain, frame.at = lx.frame.plain, lx.span(node)
    frame.env = Env(bind_arguments(lx, source.node, function.__name__, args, {}, (), {}, node))
    return run_body(lx, frame, source.node, node)


def _tail(a: ast.arguments, count: int) -> list[str]:
    names = [p.arg for p in (*a.posonlyargs, *a.args)]
    return names[len(names) - count :]


def open_frame(lx: Lowering, function: FunctionType, source: Source, dispatcher: object | None) -> Frame:
    """A frame for a function object; names are bound later."""
    code = function.__code__
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    frozen = function if dispatcher is not None else None
    scope = scope_of(source.node)
    return Frame(
        function.__name__,
        source.file,
        scope,
        Env(),
        code,
        None,
        function.__globals__,
        cells,
        frozen,
        frozen_values(dispatcher),
        plain=dispatcher is None and (not lx.frames or lx.frame.plain),
        parallel=dispatcher is None or bool(options_of(dispatcher).get("parallel")),
        threaded=bool(options_of(dispatcher).get("parallel")),
        error_model=str(options_of(dispatcher).get("error_model", lx.frame.error_model)),
    )


def call_closure(
    lx: Lowering, closure: Closure, args: Sequence[Value], kwargs: dict[str, Value], node: ast.AST
) -> Value:
    """Inline a nested function: names that it does not bind are its defining frame's current ones."""
    fn, outer = closure.node, closure.frame
    name = fn.name if isinstance(fn, ast.FunctionDef) else "<lambda>"
    bound = bind_arguments(lx, fn, name, args, kwargs, closure.defaults, closure.keyword_defaults, node)
    bound = list_names.lent({k: lx.named(v, node) for k, v in bound.items()})
    top = outer
    while top.lexical is not None:
        top = top.lexical
    frame = Frame(
        name,
        outer.file,
        scope_of(fn),
        Env(bound),
        fn,
        outer,
        top.globals,
        top.cells,
        top.frozen,
        top.fixed,
        top.plain,
    )
    frame.error_model, frame.parallel, frame.threaded = outer.error_model, outer.parallel, outer.threaded
    return recursion.run(lx, frame, fn, node)


def run_body(lx: Lowering, frame: Frame, fn: FunctionNode, node: ast.AST) -> Value:
    """Run a function's body in its frame; its return value."""
    if len(lx.frames) > MAX_DEPTH:
        lx.refuse(
            node,
            f"calls are nested more than {MAX_DEPTH} deep",
            "call fewer functions in one another, or write a loop",
        )
    depth = len(lx.frames)
    lx.frames.append(frame)
    try:
        if isinstance(fn, ast.Lambda):
            return expressions.evaluate(lx, fn.body)
        _refuse_generators(lx, fn)
        statements.run(lx, fn.body)
        if frame.env.dead:
            raise DeadPath
        return _returned(lx, frame, fn)
    finally:
        frame.finished = True
        del lx.frames[depth:]


def _refuse_generators(lx: Lowering, fn: ast.FunctionDef) -> None:
    from adjit.frontend.liveness import own_nodes

    for part in own_nodes(fn.body):
        if isinstance(part, ast.Yield | ast.YieldFrom):
            lx.refuse(part, "a generator cannot be differentiated", "fill an array and return it")


def _returned(lx: Lowering, frame: Frame, fn: ast.FunctionDef) -> Value:
    flag = frame.env.flag(RETURN)
    if flag == FALSE:
        return NONE
    value = frame.env.names.get(RESULT, NONE)
    if isinstance(value, Unbound):
        value = NONE
    if isinstance(value, Conflict):
        a, b = value.kinds
        lx.refuse(
            fn, f"'{frame.name}' returns {a} on one path and {b} on another", "return one kind of value"
        )
    if flag != TRUE and not same_static(value, NONE):
        lx.refuse(
            fn,
            f"'{frame.name}' returns {lx.kind(value)} on one path and ends without 'return' on another",
            "end the function with a 'return'",
        )
    return value


def bind_arguments(
    lx: Lowering,
    fn: FunctionNode,
    name: str,
    args: Sequence[Value],
    kwargs: dict[str, Value],
    defaults: Sequence[Value],
    keyword_defaults: dict[str, Value],
    node: ast.AST,
) -> dict[str, Value]:
    """Python's binding of arguments to parameters, in the order of the parameters whatever that of the call."""
    a = fn.args
    positional = [p.arg for p in (*a.posonlyargs, *a.args)]
    only = {p.arg for p in a.posonlyargs}
    if a.kwarg is not None:
        lx.refuse(node, f"'{name}' has a '**{a.kwarg.arg}' parameter", "name its keywords")
    bound: dict[str, Value] = dict(zip(positional, args, strict=False))
    if len(args) > len(positional):
        if a.vararg is None:
            lx.refuse(
                node,
                f"'{name}' takes {len(positional)} arguments, {len(args)} are given",
                "pass as many as it has parameters",
            )
    if a.vararg is not None:
        bound[a.vararg.arg] = TupleValue(tuple(args[len(positional) :]))
    for key, value in kwargs.items():
        known = (key in positional and key not in only) or any(p.arg == key for p in a.kwonlyargs)
        if not known:
            lx.refuse(node, f"'{name}' has no parameter '{key}'", "pass what it has parameters for")
        if key in bound:
            lx.refuse(node, f"'{name}' is given '{key}' twice", "pass it once")
        bound[key] = value
    for key, value in zip(positional[len(positional) - len(defaults) :], defaults, strict=True):
        bound.setdefault(key, value)
    for key, value in keyword_defaults.items():
        bound.setdefault(key, value)
    missing = [p for p in (*positional, *(k.arg for k in a.kwonlyargs)) if p not in bound]
    if missing:
        lx.refuse(node, f"'{name}' is called without its argument '{missing[0]}'", "pass it")
    order = [*positional, *([a.vararg.arg] if a.vararg else []), *(k.arg for k in a.kwonlyargs)]
    return {key: bound[key] for key in order}


def depend_on(lx: Lowering, function: FunctionType, source: Source, dispatcher: object | None) -> None:
    """Remember everything about the function that a cache key must contain."""
    code = function.__code__
    place = (code.co_qualname, function.__module__, code.co_firstlineno)
    lx.dependencies[("function", *place, source.text, options_key(dispatcher))] = None


def options_key(dispatcher: object | None) -> str:
    """A dispatcher's options that change what it computes."""
    return "" if dispatcher is None else repr(sorted(options_of(dispatcher).items()))
