"""`prepare`: a derivative for arguments of fixed shapes, in memory that it owns."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from adjit.api.debug import debugging
from adjit.api.derivative import Derivative
from adjit.api.grad import Transformed, grad, value_and_grad
from adjit.api.hessian import Hessian, hessian
from adjit.api.jacobian import Jacobian, jacfwd, jacobian, jacrev
from adjit.errors import ArgumentError
from adjit.runtime.arguments import flatten, spec_of
from adjit.runtime.places import library_of, may_share_memory, place_of
from adjit.runtime.signature import place


def prepare(op: Callable[..., Any], f: Callable[..., Any], *args: Any, **kwargs: Any) -> Prepared:
    """A derivative of f, made ready for arguments of the shapes of these.

    Arguments: op: `aj.grad`, `aj.value_and_grad`, `aj.jacfwd`, `aj.jacrev`, `aj.jacobian` or `aj.hessian`, or a
    `functools.partial` of one (`partial(aj.jacobian, wrt=1, sparse=True)`). args, kwargs: f's; nothing is run on them
    but what says sizes.
    Returns: a function of f's arguments that gives what `op(f)` gives, in arrays that the next call overwrites. Its
    attribute `value` is what the differentiated function returned in that same pass (of a Hessian: the gradient).
    A call allocates nothing but what f does itself. One thread at a time may call it.
    Raises: ArgumentError for another operator, and at a call whose arguments have other types or shapes, or once
    a number that f captures has another value: prepare again.
    """
    named = op.func if isinstance(op, functools.partial) else op
    if named not in _KNOWN:
        raise ArgumentError(
            f"prepare does not know {getattr(named, '__name__', repr(named))}",
            "give aj.grad, value_and_grad, jacfwd, jacrev, jacobian or hessian; autodiff works in place as it is",
        )
    made = op(f)
    if isinstance(made, Transformed):
        return Prepared(made, _Gradient(made), args, kwargs)
    if isinstance(made, Jacobian | Hessian):
        return Prepared(made, _Matrix(made), args, kwargs)
    return Prepared(made, _Sparse(made), args, kwargs)


_KNOWN = (grad, value_and_grad, jacfwd, jacrev, jacobian, hessian)


class _Kind(Protocol):
    def plan(self, values: tuple[Any, ...]) -> Any: ...

    def buffers(self, plan: Any, values: tuple[Any, ...]) -> Any: ...

    def run(self, plan: Any, values: tuple[Any, ...], buffers: Any) -> tuple[Any, Any]: ...

    def memory(self, buffers: Any) -> list[np.ndarray[Any, Any]]: ...


class Prepared:
    """A derivative with its own memory (see `prepare`); not for several threads at once.

    value: what the differentiated function returned in the last call.
    """

    def __init__(self, made: Derivative, kind: _Kind, args: tuple[Any, ...], kwargs: dict[str, Any]):
        self._made, self._kind = made, kind
        self._bind = made.source_.signature.bind
        values = self._bind(args, kwargs)
        self._plan = kind.plan(values)
        self._shapes = [np.shape(leaf) for leaf in flatten(values)]
        self._specs, self._debugged = [spec_of(value) for value in values], debugging.get()
        self._buffers = kind.buffers(self._plan, values)
        self.value: Any = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        values = self._bind(args, kwargs)
        leaves = flatten(values)
        if [np.shape(leaf) for leaf in leaves] != self._shapes or self._kind.plan(values) is not self._plan:
            raise self._other(values)
        self._refuse_own(leaves)
        self.value, derivative = self._kind.run(self._plan, values, self._buffers)
        return derivative

    def _other(self, values: tuple[Any, ...]) -> ArgumentError:
        """Why the plan of these values is not the one that was prepared."""
        source = self._made.source_
        shapes = [np.shape(leaf) for leaf in flatten(values)]
        if shapes != self._shapes or [spec_of(value) for value in values] != self._specs:
            return ArgumentError(
                f"arguments are of other types or shapes than {self!r} was made for", "prepare again"
            )
        if debugging.get() != self._debugged:
            return ArgumentError(
                "aj.debug_nans() is on for the call and was not when it was prepared, or the other way round",
                "prepare again, with it on or off",
            )
        return ArgumentError(
            f"what {source.name}() captures (a global, a variable of an outer function) has another value than "
            f"when {self!r} was made",
            "prepare again, or pass it as an argument",
            place(source.signature.py_func),
        )

    def _refuse_own(self, leaves: list[Any]) -> None:
        """Raise ArgumentError where an argument lies in the memory that is about to be written."""
        arrays = [leaf for leaf in leaves if isinstance(leaf, np.ndarray) or place_of(leaf)]
        for own in self._kind.memory(self._buffers):
            if any(may_share_memory(own, a) for a in arrays):
                raise ArgumentError(
                    "an argument shares memory with what the last call returned, which this call writes",
                    "pass a copy: p(x.copy())",
                )

    def __repr__(self) -> str:
        return f"adjit.prepare({self._made!r})"


class _Gradient:
    """`grad` and `value_and_grad`: both compute the value."""

    def __init__(self, made: Transformed):
        self._both = made.kind == "value_and_grad"
        self._aux = made.has_aux
        self._of = Transformed(made.f, made.wrt, "value_and_grad", made.has_aux)

    def plan(self, values: tuple[Any, ...]) -> Any:
        return self._of.plan(values)

    def buffers(self, plan: Any, values: tuple[Any, ...]) -> Any:
        return plan.shadows(values)

    def run(self, plan: Any, values: tuple[Any, ...], buffers: Any) -> tuple[Any, Any]:
        for shadow, unset in zip(buffers, plan.unset, strict=True):
            place = place_of(shadow)
            if place:
                library_of(place).clear(shadow)
            elif not unset:
                shadow[...] = 0
        value, gradient = found = plan.run(values, buffers)
        if self._both:
            return value, found
        return value, (gradient, value[1]) if self._aux else gradient

    def memory(self, buffers: Any) -> list[np.ndarray[Any, Any]]:
        return list(buffers)


class _Matrix:
    """Jacobians and Hessians."""

    def __init__(self, made: Jacobian | Hessian):
        self._of = made.of_gradient if isinstance(made, Hessian) else made

    def plan(self, values: tuple[Any, ...]) -> Any:
        return self._of.plan(values, value=True)

    def buffers(self, plan: Any, values: tuple[Any, ...]) -> Any:
        return plan.buffers(values)

    def run(self, plan: Any, values: tuple[Any, ...], buffers: Any) -> tuple[Any, Any]:
        return plan.run(values, buffers)

    def memory(self, buffers: Any) -> list[np.ndarray[Any, Any]]:
        return [block for row in buffers.blocks.of for block in row if block.ndim or place_of(block)]


class _Sparse:
    """Sparse Jacobians and Hessians: one matrix, whose entries are written again."""

    def __init__(self, made: Any):
        self._of = made

    def plan(self, values: tuple[Any, ...]) -> Any:
        return self._of.plan(values)

    def buffers(self, plan: Any, values: tuple[Any, ...]) -> Any:
        return _Entries()

    def run(self, plan: Any, values: tuple[Any, ...], buffers: Any) -> tuple[Any, Any]:
        leaves = plan.leaves.of(values)
        kept = self._of.kept(plan, values, leaves)
        if kept is buffers.kept and buffers.again is not None:
            return buffers.again(leaves), buffers.matrix
        value, matrix = self._of.run(plan, values, leaves, True)
        if buffers.matrix is not None and matrix.nnz == buffers.matrix.nnz and kept is buffers.kept:
            buffers.matrix.data[...] = matrix.data
        else:  # the first call, or integers or floats have chosen another pattern
            kept = self._of.kept(plan, values, leaves)
            buffers.matrix, buffers.kept, buffers.again = matrix, kept, plan.again(kept, matrix)
        return value, buffers.matrix

    def memory(self, buffers: Any) -> list[np.ndarray[Any, Any]]:
        return [] if buffers.matrix is None else [buffers.matrix.data]


class _Entries:
    """The matrix, the pattern that it has, and how its entries are written again (see `Matrices.again`)."""

    matrix: Any = None
    kept: Any = None
    again: Any = None
