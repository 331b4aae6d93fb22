"""The derivatives of a typed primal, by kind, as one program each: what `Derive` statements and operators on operators
are made of.
"""

from __future__ import annotations

from adjit.ir.core import Function, Sym
from adjit.ir.types import Array
from adjit.transform.derived import gradient_of
from adjit.transform.directions import hvp, jvp
from adjit.transform.jacobians import hessian, jacfwd, jacrev, laplacian


def derivative(
    kind: str,
    function: Function,
    inputs: tuple[Sym, ...],
    heads: tuple[int, ...],
    given: tuple[Sym, ...] = (),
) -> Function:
    """A function of the same parameters, then `given`, whose results are the primal's, then derivatives.

    kind: as of `Derive`. inputs: parameters that are differentiated by. heads: results that are differentiated, by
    number (for "jvp" all of them have a tangent). Arrays that the primal writes are written as it does.
    """
    match kind:
        case "grad":
            return gradient_of(function, inputs, heads[0])
        case "jvp":
            return jvp(function, inputs, given)
        case "hvp":
            return hvp(function, inputs, given, heads[0])
        case "jacfwd":
            return jacfwd(function, inputs, heads)
        case "jacrev":
            return jacrev(function, inputs, heads)
        case "hessian":
            return hessian(function, inputs, heads[0])
        case _:
            assert kind == "laplacian", kind
            return laplacian(function, inputs, heads[0])


def by_rows(function: Function, inputs: tuple[Sym, ...], heads: tuple[int, ...]) -> bool:
    """Whether a Jacobian is cheaper by reverse mode, as far as ranks say: numbers of arrays."""
    return not any(isinstance(function.results[k].type, Array) for k in heads) and any(
        isinstance(p.type, Array) for p in inputs
    )
