"""`grad` and `value_and_grad`: the gradient of a scalar function, in one joint call."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from adjit.api.derivative import Derivative
from adjit.api.engine import Engine
from adjit.api.plan import Gradients, Guard, Leaves, Results, leaves_of, seed
from adjit.api.source import Source
from adjit.api.wrt import Wrt, select
from adjit.errors import ArgumentError
from adjit.ir.structure import Leaf, NoneSpec, Spec, TupleSpec
from adjit.ir.types import Array, Scalar
from adjit.runtime.arguments import describe, fill
from adjit.runtime.foreign import ForeignArrays
from adjit.runtime.signature import place

if TYPE_CHECKING:
    from adjit.api.report import Report


def grad(f: Callable[..., Any], wrt: Wrt = 0, has_aux: bool = False) -> Transformed:
    """The gradient of a scalar function, as a function of the same arguments.

    Arguments: f returns a real number, or `(number, aux)` with `has_aux`. wrt: a position, a name, a path
    into a tuple ("p.D", "p.1"), or a tuple of them, which makes the gradient a tuple.
    Returns: a function whose result is the gradient: a Python float for a Python float, an array of the same
    shape and dtype for an array, df/dx - 1j*df/dy for a complex z = x + 1j*y (JAX's convention: its conjugate is the
    direction of steepest ascent), a NamedTuple of the same class with None for parts without a derivative; with
    `has_aux`, `(gradient, aux)`. Derivatives are with respect to values at entry; arrays that f writes end as
    the plain call leaves them.
    Raises: ArgumentError for an unknown `wrt` (here) and for arguments that do not fit (at the call).
    """
    return Transformed(f, wrt, "grad", has_aux)


def value_and_grad(f: Callable[..., Any], wrt: Wrt = 0, has_aux: bool = False) -> Transformed:
    """The value and the gradient of a scalar function, for the price of the gradient.

    As `grad`; the result is `(value, gradient)`, or `((value, aux), gradient)` with `has_aux`.
    """
    return Transformed(f, wrt, "value_and_grad", has_aux)


class Transformed(Derivative):
    """A gradient function made by `grad` or `value_and_grad`: `kind` is one of the two."""

    def __init__(self, f: Callable[..., Any], wrt: Wrt, kind: str, has_aux: bool):
        super().__init__(f, wrt, kind, has_aux)
        self._engine: Engine[_Joint] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        values = self._bind(args, kwargs)
        try:
            plan = self.plan(values)
        except ForeignArrays as foreign:
            return foreign.kind.call(self, args, kwargs)
        return plan.run(values)

    def plan(self, values: tuple[Any, ...]) -> _Joint:
        """The program for arguments like these, as `signature.bind` gives them."""
        return self._plans().plan(values)

    def source(self, *args: Any, **kwargs: Any) -> str:
        """The generated Python source for arguments like these. Nothing is run."""
        return self.plan(self._bind(args, kwargs)).compiled.source

    def explain(self, *args: Any, **kwargs: Any) -> Report:
        """What the gradient does for arguments like these (see `aj.explain`). Nothing is run."""
        from adjit.api.explained import report, result_of

        values = self._bind(args, kwargs)
        tree = leaves_of(self.source_, values)
        active = select(self.paths, tree).active
        _scalar_result(result_of(self.source_, tree.specs), self.has_aux, self.source_)
        return report(self.source_, tree, values, "joint", active, aux=self.has_aux, final=False)

    def _plans(self) -> Engine[_Joint]:
        if self._engine is None:
            single = not isinstance(self.wrt, tuple)
            key = ("joint", self.kind, self.paths, single, self.has_aux)
            paths, kind, has_aux = self.paths, self.kind, self.has_aux

            def make(engine: Engine[_Joint], specs: tuple[Spec, ...], _: Any) -> _Joint:
                return _Joint(engine, specs, paths, single, kind == "value_and_grad", has_aux)

            self._engine = Engine(self.source_, key, make)
        return self._engine


class _Joint:
    """One compiled gradient and how to call it."""

    def __init__(
        self,
        engine: Engine[_Joint],
        specs: tuple[Spec, ...],
        paths: tuple[str, ...],
        single: bool,
        with_value: bool,
        has_aux: bool,
    ):
        leaves = Leaves(engine.source, specs)
        selection = select(paths, leaves)
        value = with_value or has_aux
        self.compiled = engine.compile(
            specs, "joint", selection.active, aux=has_aux, final=False, value=value
        )
        self._call, self._captures = self.compiled.call, tuple(self.compiled.captures)
        if self.compiled.raises:  # as the plain call does, at each call
            self._tail = ()
        else:
            self._tail = (seed(_scalar_result(self.compiled.out, has_aux, engine.source)),)
        self._leaves = leaves.of
        self._results = Results(self.compiled.out)
        self._gradients = Gradients(leaves, selection.active, self.compiled.unset)
        trees = tuple(map(self._gradients.place, selection.trees))
        self._tree = trees[0] if single else (tuple, trees)
        self._guard = Guard(leaves, self.compiled)
        self._with_value, self._has_aux = with_value, has_aux

    def shadows(self, values: tuple[Any, ...]) -> list[Any]:
        """Memory for the gradients of arrays of such arguments."""
        return self._gradients.shadows(self._leaves(values))

    @property
    def unset(self) -> tuple[bool, ...]:
        """Of each of the shadows, whether it may hold anything when the program is called."""
        return self._gradients.unset

    def run(self, values: tuple[Any, ...], shadows: list[Any] | None = None) -> Any:
        """Call it. Mutated arguments end as the plain call leaves them.

        shadows: as `shadows` makes them, in which gradients of arrays are then; new memory by default.
        """
        leaves = self._leaves(values)
        if self._guard.needed:
            self._guard.check(leaves)
        shadows = self._gradients.shadows(leaves) if shadows is None else shadows
        flat = self._call(*leaves, *self._captures, *shadows, *self._tail) or ()
        found = self._gradients.collect(shadows, flat[self.compiled.n_results :])
        gradient = fill(self._tree, found)
        if self._with_value:
            return self._results.value(flat), gradient
        return (gradient, self._results.value(flat)[1]) if self._has_aux else gradient


def _name(source: Source) -> str:
    """The function as a message names it: "f()", or "the gradient of f()" where an operator made it."""
    made = source.base
    if not isinstance(made, Transformed):
        return f"{source.name}()"
    return f"{'the gradient' if made.kind == 'grad' else 'value_and_grad'} of {_name(made.source_)}"


def _scalar_result(out: Spec, has_aux: bool, source: Source) -> Leaf:
    """The leaf that is seeded. Raises ArgumentError if the function does not return a real scalar."""
    where = place(source.signature.py_func)
    if has_aux:
        if not isinstance(out, TupleSpec) or len(out.items) != 2:
            reason = f"has_aux: {source.name}() returns {describe(out)}, not (out, aux)"
            raise ArgumentError(reason, "return a pair: the scalar, and whatever else comes along", where)
        out = out.items[0]
    if isinstance(out, Leaf) and isinstance(out.type, Scalar) and out.type.is_float:
        return out
    reason = (
        f"a gradient needs a function that returns a real scalar; {_name(source)} returns {describe(out)}"
    )
    if isinstance(out, NoneSpec):
        remedy = "use aj.autodiff with shadows, or aj.vjp(aj.pure(f), ...), whose states are results"
    elif isinstance(out, Leaf) and isinstance(out.type, Array):
        remedy = "use aj.vjp(f, ...), or return one number, such as the sum of the elements (a loop)"
    elif isinstance(out, TupleSpec):
        remedy = "use aj.vjp(f, ...), or has_aux=True if it returns (scalar, aux)"
    elif isinstance(out, Leaf) and isinstance(out.type, Scalar) and out.type.is_complex:
        remedy = "return a real number, such as abs(z)**2 or z.real, or use aj.vjp(f, ...)"
    else:
        remedy = "return a float, or use aj.vjp(f, ...)"
    raise ArgumentError(reason, remedy, where)
