"""Types of the derivatives that a `Derive` statement gives, from those of what it derives and what by."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from adjit.analysis.facts import Fact
from adjit.ir.core import Atom, Derive
from adjit.ir.types import INT64, Array, Type

_Find = Callable[[Atom], Fact | None]


def derived_facts(stmt: Derive, fact: _Find) -> Iterator[Fact | None]:
    """Facts of the derivatives among the statement's results, in order.

    Elements of a Jacobian have the value's type, those of a Hessian the gradient's, which is the argument's.
    """
    heads = [fact(v) for v in stmt.values[: stmt.heads]]
    by = [fact(p) for p, on in zip(stmt.params, stmt.active, strict=False) if on]
    match stmt.kind:
        case "grad" | "hvp":
            yield from by
        case "jvp":
            yield from heads
        case "pull":
            yield from (fact(a) for a in stmt.args[1:])
        case "vjp":
            yield Fact(INT64)
        case "laplacian":
            yield from heads
        case "jacfwd" | "jacrev":
            yield from (_outer(v, v, p) for v in heads for p in by)
        case _:
            assert stmt.kind == "hessian", stmt.kind
            yield from (_outer(p, p, q) for p in by for q in by)


def _outer(element: Fact | None, *axes: Fact | None) -> Fact | None:
    """An array of the extents of all `axes`; a number where none has any."""
    if element is None or any(f is None for f in axes):
        return None
    ndim = sum(_ndim(f.type) for f in axes if f is not None)
    type = element.type.dtype if isinstance(element.type, Array) else element.type
    return Fact(Array(type, ndim, "C") if ndim else type, element.weak and not ndim)  # type: ignore[arg-type]


def _ndim(type: Type) -> int:
    return type.ndim if isinstance(type, Array) else 0
