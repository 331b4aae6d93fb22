"""The typed primal of what an operator is applied to: a user's function, or another operator's result."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any

from numba.core.dispatcher import Dispatcher

from adjit.analysis.types import infer
from adjit.frontend import Lowered, lower
from adjit.frontend import fingerprint as source_fingerprint
from adjit.ir.core import Function, Sym
from adjit.ir.structure import Leaf, NoneSpec, Spec, StaticSpec, TupleSpec, leaves
from adjit.rules.custom import CustomFunction


@dataclass(frozen=True)
class Primal:
    """A typed function with what it captures, the structure of its result, and how it is to be compiled."""

    function: Function
    captures: tuple[Any, ...]
    out: Spec
    error_model: str = "python"
    fastmath: Any = False


def primal_of(f: Any, specs: tuple[Spec, ...]) -> Primal:
    """Lower and type f for arguments of this structure."""
    lowered = lower(f, specs)
    function = infer(lowered.function, _weak(f, lowered, specs))
    options = lowered.options
    return Primal(
        function,
        lowered.captures,
        typed_out(lowered.out, function),
        str(options.get("error_model", "python")),
        options.get("fastmath", False),
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


def fingerprint(f: Any, specs: tuple[Spec, ...]) -> str | None:
    """What a cache key must hold of f and its arguments; None where nothing stable exists."""
    parts = [source_fingerprint(f)]
    texts: list[str] = []
    if parts[0] is None or not all(_describe(s, texts) for s in specs):
        return None
    return repr((parts, texts))


def _describe(spec: Spec, out: list[str]) -> bool:
    match spec:
        case Leaf():
            out.append(repr(spec))
            return True
        case NoneSpec():
            out.append("None")
            return True
        case StaticSpec():
            inner = source_fingerprint(spec.value)
            out.append(f"static {inner}")
            return inner is not None
        case TupleSpec():
            cls = spec.cls
            fields = getattr(cls, "_fields", ())
            out.append(f"tuple {getattr(cls, '__module__', '')}.{getattr(cls, '__qualname__', '')}{fields}[")
            fine = all(_describe(i, out) for i in spec.items)
            out.append("]")
            return fine


def captures_of(f: Any, specs: tuple[Spec, ...], count: int) -> tuple[Any, ...]:
    """The arrays that f captures, without typing it."""
    return () if count == 0 else lower(f, specs).captures


__all__ = ["Primal", "captures_of", "fingerprint", "primal_of", "typed_out"]
