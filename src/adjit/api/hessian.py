"""`hessian`, `hvp` and `laplacian`: second derivatives of scalar functions, forward mode over reverse."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from adjit.api.blocks import Inputs, Units
from adjit.api.derivative import Derivative
from adjit.api.device import seeds, sinks
from adjit.api.device.passes import Passes
from adjit.api.engine import Engine
from adjit.api.grad import grad
from adjit.api.jacobian import Jacobian
from adjit.api.jvp import jvp
from adjit.api.plan import Leaves
from adjit.api.pushes import Pushes, Tangent
from adjit.api.source import source_of
from adjit.api.wrt import Wrt, select
from adjit.errors import ArgumentError
from adjit.ir.structure import Spec
from adjit.runtime.foreign import ForeignArrays

if TYPE_CHECKING:
    from adjit.api.report import Report
    from adjit.api.sparse.jacobian import SparseJacobian


@overload
def hessian(f: Callable[..., Any], wrt: Wrt = 0, sparse: Literal[False] = False) -> Hessian: ...


@overload
def hessian(f: Callable[..., Any], wrt: Wrt = 0, *, sparse: Any) -> Hessian | SparseJacobian: ...


def hessian(f: Callable[..., Any], wrt: Wrt = 0, sparse: Any = False) -> Hessian | SparseJacobian:
    """The Hessian of a scalar function: the Jacobian of its gradient, in passes of up to 16 columns.

    Returns: a function of f's arguments. For an argument of shape `s` it gives an array of shape `(*s, *s)`, a
    number for a number; for a tuple of `wrt` a tuple of tuples, of which item (j, k) is the derivative by k of the
    gradient by j. Arrays that f writes end as the plain call leaves them.
    sparse: as `jacobian`'s; a symmetric pattern takes fewer products.
    Raises: as `jacfwd`, and ArgumentError if f does not return one real number.
    """
    if sparse is False:
        return Hessian(f, wrt)
    from adjit.api.sparse.jacobian import SparseJacobian

    return SparseJacobian(grad(f, wrt), wrt, None if sparse is True else sparse, symmetric=True)


class Hessian(Derivative):
    """A function that gives Hessians (`kind` is "hessian"); `of_gradient` is the Jacobian that it is."""

    def __init__(self, f: Callable[..., Any], wrt: Wrt):
        super().__init__(f, wrt, "hessian")
        self.of_gradient = Jacobian(grad(f, wrt), wrt, "jacfwd")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.of_gradient(*args, **kwargs)

    def source(self, *args: Any, **kwargs: Any) -> str:
        """The generated Python source for arguments like these."""
        return self.of_gradient.source(*args, **kwargs)

    def explain(self, *args: Any, **kwargs: Any) -> Report:
        """What the program of one pass does for arguments like these (see `aj.explain`)."""
        return self.of_gradient.explain(*args, **kwargs)

    def __repr__(self) -> str:
        return f"adjit.hessian({self.source_.name}, wrt={self.wrt!r})"


def hvp(f: Callable[..., Any], primals: Any, v: Any, wrt: Wrt = 0, **kwargs: Any) -> Any:
    """The product of a scalar function's Hessian with v, without the matrix: one sweep forward over reverse.

    Arguments: primals: the tuple of f's arguments, or the argument itself of a function of one. v: of the structure
    and shapes of what is differentiated by (a tuple for a tuple of `wrt`), or an `aj.Batch` of several. kwargs:
    keywords of f, constant: what is differentiated by is a primal.
    Returns: the product, of v's structure (with `aj.Batch` the leading axis too).
    Raises: as `jvp`, and ArgumentError if f does not return one real number.
    """
    arguments = _arguments(f, primals)
    places = wrt if isinstance(wrt, tuple) else (wrt,)
    directions: list[Any] = [None] * len(arguments)
    parts = v if isinstance(wrt, tuple) else (v,)
    if not isinstance(parts, tuple) or len(parts) != len(places):
        raise ArgumentError(
            f"v has not the structure of wrt={wrt!r}", "give a tuple of as many parts, None for zero"
        )
    for place, part in zip(places, parts, strict=True):
        directions[_position(f, place, len(arguments))] = part
    return jvp(_gradient(f, wrt), arguments, tuple(directions), **kwargs)[1]


@lru_cache(maxsize=256)
def _gradient(f: Callable[..., Any], wrt: Wrt) -> Callable[..., Any]:
    """The gradient of a function that has been asked for before is the same object, with its programs."""
    return grad(f, wrt)


def _arguments(f: Callable[..., Any], primals: Any) -> tuple[Any, ...]:
    """The arguments; a tuple that is the one argument of a function of one is meant as its arguments."""
    return primals if type(primals) is tuple else (primals,)


def _position(f: Callable[..., Any], place: int | str, count: int) -> int:
    """Where an argument that `wrt` names stands among the primals."""
    signature = source_of(f).signature
    if isinstance(place, str):
        if place not in signature.names:
            raise ArgumentError(
                f"hvp: wrt={place!r} is no parameter of {signature.function}()", signature.known()
            )
        at = signature.names.index(place) - len(signature.prefix)
    else:
        from_end = place < 0 and signature.variadic is None
        at = place + signature.positional - len(signature.prefix) if from_end else place
    if not 0 <= at < count:
        raise ArgumentError(
            f"hvp: wrt={place!r} and {count} primals", "give what is differentiated by as a primal"
        )
    return at


def laplacian(f: Callable[..., Any], wrt: Wrt = 0) -> Laplacian:
    """The Laplacian of a scalar function: the sum of the Hessian's diagonal, without the matrix.

    Returns: a function of f's arguments that gives one number: the sum over every number that is differentiated by.
    Its cost is that of a Hessian, its memory that of a few gradients.
    Raises: as `hessian`.
    """
    return Laplacian(f, wrt)


class Laplacian(Derivative):
    """A function that gives Laplacians (`kind` is "laplacian")."""

    def __init__(self, f: Callable[..., Any], wrt: Wrt):
        super().__init__(f, wrt, "laplacian")
        self._gradient = source_of(grad(f, wrt))
        self._engine: Engine[_Traces] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        values = self._bind(args, kwargs)
        try:
            plan = self._plans().plan(values)
        except ForeignArrays as foreign:
            return foreign.kind.call(self, args, kwargs)
        return plan.run(values)

    def __repr__(self) -> str:
        return f"adjit.laplacian({self.source_.name}, wrt={self.wrt!r})"

    def _plans(self) -> Engine[_Traces]:
        if self._engine is None:
            paths = self.paths

            def make(engine: Engine[_Traces], specs: tuple[Spec, ...], _: Any) -> _Traces:
                return _Traces(engine, specs, paths)

            self._engine = Engine(self._gradient, ("laplacian", self.paths), make)
        return self._engine


class _Traces:
    def __init__(self, engine: Engine[Any], specs: tuple[Spec, ...], paths: tuple[str, ...]):
        self._tree = Leaves(engine.source, specs)
        self._pushes = Pushes(engine, specs, select(paths, self._tree).active, "laplacian", value=False)
        self._passes = Passes(self._pushes) if self._tree.place else None

    def run(self, values: tuple[Any, ...]) -> Any:
        """The sum of the second derivatives."""
        leaves = self._tree.of(values)
        inputs = Inputs(self._tree, self._pushes.at, leaves)
        total = (
            self._total(leaves, inputs)
            if self._passes is None
            else self._total_on(self._passes, leaves, inputs)
        )
        return float(total) if all(inputs.weak) else np.asarray(total)[()]

    def _total(self, leaves: Sequence[Any], inputs: Inputs) -> Any:
        trace = _Trace(inputs)
        self._pushes.run(leaves, Units(inputs), trace)
        return trace.total

    def _total_on(self, passes: Passes, leaves: Sequence[Any], inputs: Inputs) -> Any:
        program = self._pushes.program(inputs.count)

        def make(own: Sequence[Any], _: Sequence[Any]) -> tuple[seeds.Units, sinks.Trace]:
            inputs = Inputs(self._tree, self._pushes.at, own)
            return seeds.Units(passes.moves, inputs, passes.places(program, own)), sinks.Trace(
                passes.moves, inputs
            )

        return sum(passes.run("trace", inputs.count, leaves, (), make)[1])


class _Trace:
    """Sums the diagonal (`pushes.Sink`)."""

    def __init__(self, inputs: Inputs):
        self._inputs = inputs
        self.total: Any = 0.0

    def take(self, tangents: Sequence[Tangent], start: int, stop: int) -> None:
        for k, low, high in self._inputs.pieces(start, stop):
            for place in range(low, high):
                lane = self._inputs.starts[k] + place - start
                self.total = self.total + tangents[k].at(
                    np.unravel_index(place, self._inputs.shapes[k]), lane
                )
