"""`explain`: what a derivative does, line by line of the user's source. Nothing is run, nothing is mutated."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from adjit.api.annotations import Active, BatchDuplicated, Const, Duplicated
from adjit.api.explained import report, result_of
from adjit.api.grad import Transformed
from adjit.api.jit import Primal
from adjit.api.plan import leaves_of
from adjit.api.source import Source, source_of
from adjit.api.vjp import signature_marks, wanted_leaves
from adjit.errors import ArgumentError
from adjit.ir.structure import leaves

if TYPE_CHECKING:
    from adjit.api.report import Report


def explain(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Report:
    """What the derivative of f does for arguments like these, line by line of its source.

    Arguments: f: what `grad`, `value_and_grad`, `jit` or `pure` made, as it is; of any other function or kernel it is
    the gradient with respect to every argument that has a derivative, less those in `aj.Const(x)` (annotations of
    `autodiff` are taken as there). keywords are f's.
    Returns: a report to `print`: what carries derivatives, what is recorded (with bytes), rolled back, computed
    again; buffers with shadows of their own; promotions to float64; how each parallel loop runs. Its fields say the
    same to programs.
    Raises: what the operator raises for these arguments. Nothing is run.
    """
    if isinstance(f, functools.partial):
        return explain(f.func, *f.args, *args, **{**f.keywords, **kwargs})
    if isinstance(f, Transformed | Primal):
        return f.explain(*args, **kwargs)
    source = source_of(f)
    marks = tuple(not isinstance(a, Const) for a in args)
    values = source.signature.bind(tuple(map(_value, args)), {k: _value(v) for k, v in kwargs.items()})
    return of_gradient(source, values, _inactive(source, marks, kwargs))


def _value(a: Any) -> Any:
    return a.value if isinstance(a, Active | Const | Duplicated | BatchDuplicated) else a


def _inactive(
    source: Source, marks: tuple[bool, ...], kwargs: dict[str, Any]
) -> list[bool | tuple[bool, ...]]:
    """Which parameters (or items of `*args`) are not differentiated by: those in `Const`."""
    wanted = list(signature_marks(source.signature, marks))
    for name, value in kwargs.items():
        wanted[source.signature.names.index(name)] = not isinstance(value, Const)
    return wanted


def of_gradient(source: Source, values: tuple[Any, ...], wanted: Sequence[bool | tuple[bool, ...]]) -> Report:
    """The report of the gradient with respect to all that is wanted and has a derivative."""
    tree = leaves_of(source, values)
    chosen = [w for s, m in zip(tree.specs, wanted, strict=True) for w in wanted_leaves(s, m)]
    active = tuple(w and tree.differentiable(i) for i, w in enumerate(chosen))
    if not any(active):
        raise ArgumentError(
            f"explain: no argument of {source.name}() has a derivative", source.signature.known()
        )
    returns = any(leaf.type.differentiable for leaf in leaves(result_of(source, tree.specs)))
    return report(source, tree, values, "joint", active, final=not returns)
