"""Derivatives in a direction as programs: tangents of a primal, and of its gradient.

f(x) -> y   ->   f_pushed(x, dx): t = dx; y, dy = forward(x, t) -> y, dy

A tangent array that the tangent program would write, or whose layout is not its array's, is copied first.
"""

from __future__ import annotations

from dataclasses import replace

from adjit.analysis.alias import Alias, written_params
from adjit.errors import ArgumentError
from adjit.ir.builder import Builder
from adjit.ir.core import Atom, Function, Sym
from adjit.ir.nests import copy_into
from adjit.ir.types import Array, Scalar
from adjit.transform.derived import gradient_of
from adjit.transform.forward import forward
from adjit.transform.inlined import inlined, with_callees


def jvp(function: Function, inputs: tuple[Sym, ...], given: tuple[Sym, ...]) -> Function:
    """The primal's results, then one tangent per result, zero for one that carries none.

    `given`: a tangent per input; the function has them as its last parameters.
    """
    pushed = forward(function, inputs).function
    b = Builder(function.span)
    written = written_params(pushed, Alias(pushed))
    own = pushed.params[len(function.params) :]
    tangents = tuple(
        usable(b, given_, p, own_ in written) for given_, p, own_ in zip(given, inputs, own, strict=True)
    )
    found = inlined(b, pushed, (*function.params, *tangents))
    count = len(function.results)
    moving = iter(found[count:])
    dots = [next(moving) if a.type.differentiable else a for a in function.results]
    results = (*found[:count], *dots)
    params = (*function.params, *given)
    whole = replace(function, name=f"{function.name}_pushed", params=params, body=b.block(), results=results)
    return with_callees(whole, pushed)


def hvp(function: Function, inputs: tuple[Sym, ...], given: tuple[Sym, ...], head: int) -> Function:
    """The primal's results, then the Hessian of one of them times `given`, per input: forward over reverse."""
    count = len(function.results)
    whole = jvp(gradient_of(function, inputs, head), inputs, given)
    return replace(whole, results=(*whole.results[:count], *whole.results[-len(inputs) :]))


def usable(b: Builder, given: Atom, like: Sym, private: bool, shape: Atom | None = None) -> Atom:
    """What is given for an argument or a result, in its dtype and the layout of its shadow.

    shape: an array that has its extents, where `like` itself is none of the program.

    Raises: ArgumentError for an array of another dtype, or a complex number for a real one.
    """
    kind = like.type
    if isinstance(kind, Array):
        assert isinstance(given, Sym)
        assert isinstance(given.type, Array)
        if given.type.dtype != kind.dtype:
            reason = (
                f"what is given for `{like.name}`, an array of {kind.dtype}, is one of {given.type.dtype}"
            )
            raise ArgumentError(reason, f"convert it: .astype(np.{kind.dtype})", b.span)
        layout = "F" if kind.layout == "F" and kind.ndim > 1 else "C"
        if given.type.layout == layout and not private:
            return given
        model = like if shape is None else shape
        assert isinstance(model, Sym)
        copy = b.alloc_like(given.name, model)
        copy_into(b, copy, given)
        return copy
    assert isinstance(kind, Scalar)
    assert isinstance(given.type, Scalar)
    if given.type.is_complex and not kind.is_complex:
        reason = f"what is given for `{like.name}`, a {kind}, is a complex number"
        raise ArgumentError(reason, "give a real one", b.span)
    return b.cast(given, kind)
