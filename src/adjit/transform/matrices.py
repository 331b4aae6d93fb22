"""What `jacfwd`, `hessian` and their kin make of a function, as one primal, so that operators apply to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from adjit.errors import ArgumentError
from adjit.ir.core import Atom, Function
from adjit.ir.structure import Leaf, NoneSpec, Spec
from adjit.ir.types import Array
from adjit.transform.derivatives import by_rows, derivative
from adjit.transform.derived import by_places, gradient_results, tree_of

Places = tuple[tuple[tuple[Spec, int], ...], bool]
"""The parts of the arguments that are differentiated by, whether there is just one."""


def matrix(
    kind: str, function: Function, out: Spec, active: tuple[bool, ...], by: Places
) -> tuple[Function, Spec]:
    """The program and the structure of its result.

    Raises: ArgumentError if the function returns nothing that has a derivative, or not the one number that a
    Hessian needs.
    """
    at = [k for k, on in enumerate(active) if on]
    inputs = tuple(function.params[k] for k in at)
    heads = tuple(k for k, a in enumerate(function.results) if a.type.differentiable)
    _check(kind, function, heads)
    if kind == "jacobian":
        kind = "jacrev" if by_rows(function, inputs, heads) else "jacfwd"
    made = derivative(kind, function, inputs, heads)
    found = made.results[len(function.results) :]
    if kind == "laplacian":
        return replace(made, results=found), tree_of(out, lambda _, leaf: leaf)[0]
    rank = {k: n for n, k in enumerate(at if kind == "hessian" else heads)}
    flat: list[Atom] = []

    def row(k: int, _: Leaf) -> Spec:
        if k not in rank:
            return NoneSpec()
        more, tree = gradient_results(*by, _row(at, found, rank[k]))
        flat.extend(more)
        return tree

    tree = by_places(*by, row) if kind == "hessian" else tree_of(out, row)[0]
    return replace(made, results=tuple(flat)), tree


def _row(at: list[int], found: Sequence[Atom], k: int) -> dict[int, Atom]:
    """One row of derivatives, by the leaves that they are by."""
    return dict(zip(at, found[k * len(at) : (k + 1) * len(at)], strict=True))


def _check(kind: str, function: Function, heads: tuple[int, ...]) -> None:
    if not heads:
        reason = f"aj.{kind} of {function.name}(), which returns nothing that has a derivative"
        raise ArgumentError(reason, "return a float, or an array of floats", function.span)
    number = len(function.results) == 1 and not isinstance(function.results[0].type, Array)
    if kind in ("hessian", "laplacian") and not number:
        reason = f"aj.{kind} needs a function that returns a real scalar, {function.name}() does not"
        raise ArgumentError(reason, "return a float", function.span)
