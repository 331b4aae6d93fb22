"""The typed primal of what an operator is applied to: a user's function, or another operator's result."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol, runtime_checkable

from adjit.errors import UnsupportedError
from adjit.frontend import fingerprint as source_fingerprint
from adjit.frontend import lower
from adjit.ir.core import Derive, Function
from adjit.ir.structure import Leaf, NoneSpec, Spec, StaticSpec, TupleSpec, leaves
from adjit.ir.visit import everywhere, walk_program
from adjit.transform.derived import gradient_function, gradient_results, out_of_gradient
from adjit.transform.expand import expand
from adjit.transform.extremes import extremes
from adjit.transform.lowered import Primal, lowered
from adjit.transform.matrices import matrix
from adjit.transform.parallel_nests import asked_nests, parallel_nests
from adjit.transform.pure import pure


def primal_of(f: Any, specs: tuple[Spec, ...], plain: bool = True) -> Primal:
    """Lower and type f for arguments of this structure; f may be what an operator made.

    `plain`: whether a function that is no dispatcher is typed by NumPy's rules.
    """
    if isinstance(f, Gradient):
        return _derived(f, specs)
    primal = lowered(f, specs, plain)
    if any(isinstance(s, Derive) for s in walk_program(primal.function)):
        primal = replace(primal, function=expand(_marked(primal, specs)))
    return primal


def _marked(primal: Primal, specs: tuple[Spec, ...]) -> Function:
    """The function with its nests marked that run on threads, or as kernels, before a derivative is taken of it."""
    if any(leaf.place for s in specs for leaf in leaves(s)):
        nests = everywhere(primal.function, lambda f: parallel_nests(extremes(f, derived=True)))
        return replace(nests, device=True)
    return primal.function if primal.boundscheck else everywhere(primal.function, asked_nests)


@runtime_checkable
class Gradient(Protocol):
    """What operators make of functions, as far as the compiler needs to know it."""

    kind: str
    has_aux: bool

    @property
    def base(self) -> Any: ...

    @property
    def pure(self) -> bool: ...

    def places(self, specs: tuple[Spec, ...]) -> tuple[tuple[bool, ...], tuple[tuple[Spec, int], ...], bool]:
        """Active leaves, the parts of the arguments that are differentiated by, whether there is just one."""
        ...


def _derived(f: Gradient, specs: tuple[Spec, ...]) -> Primal:
    if f.kind == "sparse_jacobian":
        reason = "a sparse matrix cannot be differentiated, and is no result of a program"
        raise UnsupportedError(
            reason, "use aj.jacobian(f) without sparse=, or aj.jvp, inside another operator"
        )
    primal = primal_of(f.base, specs)
    if f.pure:
        primal = replace(primal, **pure(primal.function, primal.out))
    active, places, single = f.places(specs)
    if f.kind not in ("grad", "value_and_grad"):
        function, out = matrix(f.kind, _marked(primal, specs), primal.out, active, (places, single))
        return replace(primal, function=function, out=out)
    function, gradients = gradient_function(_marked(primal, specs), primal.out, active, f.has_aux)
    flat, tree = gradient_results(places, single, gradients)
    out, results = out_of_gradient(f.kind, f.has_aux, primal.out, function.results, tree, flat)
    return replace(primal, function=replace(function, results=results), out=out)


def fingerprint(f: Any, specs: tuple[Spec, ...]) -> str | None:
    """What a cache key must hold of f and its arguments; None where nothing stable exists."""
    parts: list[Any] = []
    while isinstance(f, Gradient):
        parts.append((f.kind, f.has_aux, f.pure, f.places(specs)))
        f = f.base
    parts.append(source_fingerprint(f))
    texts: list[str] = []
    if parts[-1] is None or not all(_describe(s, texts) for s in specs):
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
    while isinstance(f, Gradient):
        f = f.base
    return () if count == 0 else lower(f, specs).captures


__all__ = ["Primal", "captures_of", "fingerprint", "primal_of"]
