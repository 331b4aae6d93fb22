"""From a Python function and the structure of its arguments to one IR function."""

from __future__ import annotations

import ast
import functools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from adjit.errors import UnsupportedError
from adjit.frontend import calls, device_steps, inline, kernels
from adjit.frontend.clean import clean
from adjit.frontend.context import DeadPath, Env, Frame, Lowering
from adjit.frontend.fence import refuse, span_of
from adjit.frontend.kernel_function import LAUNCH, KernelFunction
from adjit.frontend.liveness import Scope
from adjit.frontend.read_source import read_source, unwrap
from adjit.frontend.shown import refuse_stale
from adjit.frontend.values import NONE, ListFound, Method, Static, TupleValue, Value, atoms, spec_of
from adjit.ir.core import Atom, Function, If, Loop, Store, Sym, View
from adjit.ir.structure import Leaf, NoneSpec, Spec, StaticSpec, TupleSpec, leaves
from adjit.ir.visit import everywhere, reachable, walk
from adjit.rules.custom import CustomFunction


@dataclass(frozen=True)
class Lowered:
    """A function in IR.

    function: untyped IR; its params are the leaves of the arguments, then one array per capture.
    captures: the captured arrays, in the order of those params.
    out: the structure of the return value; its leaves are `function.results` in order.
    dependencies: everything that a cache key must contain, as a tuple of strings and numbers.
    options: error_model, fastmath, parallel, boundscheck of the program (see `options`).
    guarded: divisions that must raise by themselves (see `transform.guard`).
    stretches: whether the program depends on which extents of its arguments are one.
    by_numba: what has Numba's types in a plain function: all that the dispatchers compute which it calls.
    lists: arrays that are lists of the program, whose items stay what they are.
    """

    function: Function
    captures: tuple[object, ...]
    out: Spec
    dependencies: tuple[object, ...]
    options: dict[str, object] = field(default_factory=dict)
    guarded: frozenset[Sym] = frozenset()
    stretches: bool = False
    by_numba: frozenset[Sym] = frozenset()
    lists: frozenset[Sym] = frozenset()


def lower(f: object, specs: tuple[Spec, ...], plain: bool = True) -> Lowered:
    """Lower `f`, called with one argument per spec, in the order of its parameters.

    `plain`: whether a function that is no dispatcher has NumPy's rules; else it is typed as Numba would.

    Raises:
        UnsupportedError, MissingRuleError: the program uses something that cannot be differentiated.
    """
    try:
        growing: dict[ast.AST, Value | None] = {}
        while True:
            try:
                return _lower(f, specs, plain, growing)
            except ListFound as found:
                if found.site in growing and (growing[found.site] is not None or found.shape is None):
                    raise UnsupportedError(
                        f"items of several kinds are put in the list `{ast.unparse(found.site)}`",
                        "let all items be numbers, or tuples of one length",
                    ) from None
                growing[found.site] = found.shape
    except RecursionError as error:
        raise UnsupportedError(
            "the program is nested too deeply", "split it into functions and loops"
        ) from error


def _lower(f: object, specs: tuple[Spec, ...], plain: bool, growing: dict[ast.AST, Value | None]) -> Lowered:
    target, partial_args, partial_keywords = _unpartial(f)
    custom = getattr(target, "__adjit_custom__", target)
    primal = custom.primal if isinstance(custom, CustomFunction) else target
    kernel = target if isinstance(target, KernelFunction) else None
    function, dispatcher = unwrap(primal) if kernel is None else (kernel.body, None)
    source = read_source(function)
    lx = Lowering()
    lx.growing = growing
    if any(leaf.place for spec in specs for leaf in leaves(spec)):
        lx.steps = device_steps.STEPS
    lx.builder.span = span_of(source.file, source.node)
    outer = Frame("<call>", source.file, Scope(frozenset(), {}), Env(), None)
    outer.plain = plain and dispatcher is None
    lx.frames.append(outer)
    params: list[Sym] = []
    lx.builder.span = span_of(source.file, source.node)
    launch = LAUNCH if kernel is not None else ()
    names = _parameter_names(source.node, len(partial_args), partial_keywords, len(specs), launch)
    values = [_argument(lx, spec, name, params, source.node) for spec, name in zip(specs, names, strict=True)]
    lx.params.update(params)
    bound = [lx.wrap(a, "bound", source.node) for a in partial_args]
    keywords = {k: lx.wrap(v, k, source.node) for k, v in partial_keywords.items()}
    args, kwargs = _spread(source.node, [*bound, *values], names, keywords, len(bound), launch)
    try:
        if kernel is not None:
            value = kernels.launch(lx, kernel, args, kwargs, source.node, checked=True)
        elif isinstance(custom, CustomFunction):
            value = calls.call(lx, Static(target), args, kwargs, source.node)
        else:
            value = inline.call_function(lx, function, dispatcher, args, kwargs, source.node)
    except DeadPath:
        value = NONE
    out = spec_of(value)
    if out is None:
        refuse(
            f"'{function.__name__}' returns {lx.kind(value)}",
            lx.builder.span,
            f"call it: '.{value.name}(...)'"
            if isinstance(value, Method)
            else "return numbers, arrays or tuples",
        )
    _refuse_lists(lx, value, source.file, source.node)
    arrays = [entry[0] for entry in lx.captured.values()]
    hidden = [entry[1] for entry in lx.captured.values()]
    name = function.__name__ if function.__name__.isidentifier() else "f"
    whole = Function(
        name,
        (*params, *hidden),
        (*lx.head, *lx.builder.block()),
        tuple(atoms(value)),
        (function.__doc__ or "").strip(),
        span_of(source.file, source.node),
    )
    _refuse_written_captures(whole, hidden, lx.defaults)
    whole = replace(whole, functions=reachable(whole, lx.functions.values()))
    for function in (whole, *whole.functions):
        refuse_stale(function, lx.shown)
    cleaned = everywhere(whole, clean)
    options = lx.options.combined(dispatcher)
    followed = frozenset(lx.by_numba), frozenset(lx.lists)
    return Lowered(cleaned, tuple(arrays), out, tuple(lx.dependencies), *options, lx.stretches, *followed)


def _unpartial(f: object) -> tuple[object, tuple[object, ...], dict[str, object]]:
    args: tuple[object, ...] = ()
    keywords: dict[str, object] = {}
    while isinstance(f, functools.partial):
        args = (*f.args, *args)
        keywords = {**f.keywords, **keywords}
        f = f.func
    return f, args, keywords


def _parameter_names(
    node: ast.FunctionDef | ast.Lambda,
    skip: int,
    keywords: dict[str, object],
    count: int,
    launch: tuple[str, ...] = (),
) -> list[str]:
    a = node.args
    names = [p.arg for p in (*a.posonlyargs, *a.args)][skip:]
    names += [a.vararg.arg] if a.vararg is not None else []
    names += [p.arg for p in a.kwonlyargs]
    names += launch
    names = [n for n in names if n not in keywords]
    if a.kwarg is not None:
        raise UnsupportedError(f"a '**{a.kwarg.arg}' parameter is not supported", "name the keywords")
    if len(names) != count:
        raise UnsupportedError(f"the function has {len(names)} parameters, {count} are described")
    return names


def _spread(
    node: ast.FunctionDef | ast.Lambda,
    values: list[Value],
    names: list[str],
    keywords: dict[str, Value],
    skip: int,
    launch: tuple[str, ...],
) -> tuple[list[Value], dict[str, Value]]:
    """Positional arguments, those of `*args` spread, and keyword-only ones."""
    a = node.args
    args, kwargs = values[:skip], dict(keywords)
    by_name = keywords != {}
    for name, value in zip(names, values[skip:], strict=True):
        if a.vararg is not None and name == a.vararg.arg:
            args += value.items if isinstance(value, TupleValue) else [value]
        elif any(p.arg == name for p in a.kwonlyargs) or by_name or name in launch:
            kwargs[name] = value
        else:
            args.append(value)
    return args, kwargs


def _argument(lx: Lowering, spec: Spec, name: str, params: list[Sym], node: ast.AST) -> Value:
    match spec:
        case Leaf():
            params.append(Sym(name, spec.type))
            lx.ones.update((params[-1], axis) for axis in spec.ones)
            return params[-1]
        case NoneSpec():
            return NONE
        case StaticSpec():
            return lx.wrap(spec.value, name, node)
        case TupleSpec():
            fields = getattr(spec.cls, "_fields", None) or [str(k) for k in range(len(spec.items))]
            parts = zip(spec.items, fields, strict=True)
            return TupleValue(
                tuple(_argument(lx, s, f"{name}_{k}", params, node) for s, k in parts), spec.cls
            )


def _refuse_lists(lx: Lowering, value: Value, file: str, node: ast.AST) -> None:
    if any(isinstance(a, Sym) and a in lx.lists for a in atoms(value)):
        refuse("a list is returned", span_of(file, node), "return an array or a tuple")


def _refuse_written_captures(
    function: Function, hidden: Sequence[Sym], defaults: dict[Sym, tuple[str, str]]
) -> None:
    """A captured array must not be written, through whatever name or view."""
    if not hidden:
        return
    origins = {a: a for a in hidden}
    size = -1
    while size != len(origins):
        size = len(origins)
        for stmt in walk(function.body):
            match stmt:
                case View() if stmt.array in origins:
                    origins[stmt.target] = origins[stmt.array]
                case Loop():
                    for p, i, n, r in zip(stmt.params, stmt.inits, stmt.nexts, stmt.results, strict=True):
                        _pass_on(origins, (i, n), (p, r))
                case If():
                    for a, b, r in zip(stmt.then_values, stmt.else_values, stmt.results, strict=True):
                        _pass_on(origins, (a, b), (r,))
                case _:
                    pass
    for stmt in walk(function.body):
        if isinstance(stmt, Store) and stmt.array in origins:
            origin = origins[stmt.array]
            if origin not in defaults:
                refuse(f"a captured array is written, '{origin.name}'", stmt.span, "pass it as an argument")
            parameter, owner = defaults[origin]
            refuse(
                f"the array that is the default value of the parameter '{parameter}' of '{owner}' is written",
                stmt.span,
                f"pass an array for '{parameter}', or allocate it in '{owner}': a default is one array for all calls",
            )


def _pass_on(origins: dict[Sym, Sym], sources: tuple[Atom, ...], targets: tuple[Sym, ...]) -> None:
    """Targets that may be what one of the sources is have its origin."""
    found = [origins[a] for a in sources if isinstance(a, Sym) and a in origins]
    if found:
        origins.update((t, found[0]) for t in targets if t not in origins)
