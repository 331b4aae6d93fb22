"""`jit`: compile a function without differentiating it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from adjit.api.engine import Engine
from adjit.api.plan import Guard, Leaves, Results, leaves_of
from adjit.api.source import Layer, source_of
from adjit.ir.structure import Spec
from adjit.runtime.foreign import ForeignArrays

if TYPE_CHECKING:
    from adjit.api.report import Report


def jit(f: Callable[..., Any]) -> Jitted:
    """f, compiled: the same value, the same mutation of its arguments.

    Returns: a function of the same arguments. Operators look through it: `grad(jit(f))` is `grad(f)`.
    Raises: ArgumentError at the call if an argument does not fit, or if an array that f writes is read-only or
    shares memory with another argument.
    """
    return Jitted(f)


class Primal(Layer):
    """A function that runs its compiled primal when it is called."""

    def __init__(self, f: Callable[..., Any]):
        self._wrap(f)
        self._source = source_of(self)
        self._engine: Engine[Compiled] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        values = self._source.signature.bind(args, kwargs)
        try:
            plan = self._plans().plan(values)
        except ForeignArrays as foreign:
            return foreign.kind.call(self, args, kwargs)
        return plan.run(values)

    def plan(self, *args: Any, **kwargs: Any) -> Compiled:
        """The compiled program for arguments like these. Nothing is run."""
        return self._plans().plan(self._source.signature.bind(args, kwargs))

    def source(self, *args: Any, **kwargs: Any) -> str:
        """The generated Python source for arguments like these. Nothing is run."""
        return self.plan(*args, **kwargs).compiled.source

    def explain(self, *args: Any, **kwargs: Any) -> Report:
        """How the program runs for arguments like these (see `aj.explain`). Nothing is run."""
        from adjit.api.explained import report

        values = self._source.signature.bind(args, kwargs)
        tree = leaves_of(self._source, values)
        return report(self._source, tree, values, "primal", (False,) * len(tree.all))

    def __repr__(self) -> str:
        return f"adjit.{'pure' if self.layer_pure else 'jit'}({self._source.name})"

    def _plans(self) -> Engine[Compiled]:
        if self._engine is None:
            self._engine = Engine(self._source, "primal", Compiled)
        return self._engine


class Jitted(Primal):
    """A compiled function."""


class Compiled:
    """One compiled primal."""

    def __init__(self, engine: Engine[Compiled], specs: tuple[Spec, ...], _: Any):
        self.tree = leaves = Leaves(engine.source, specs)
        self.compiled = engine.compile(specs, "primal", (False,) * len(leaves.all))
        self._call, self._captures = self.compiled.call, tuple(self.compiled.captures)
        self._leaves = leaves.of
        self._guard = Guard(leaves, self.compiled)
        self._results = Results(self.compiled.out)

    def refuse_shared(self, values: tuple[Any, ...]) -> Sequence[Any]:
        """Raise ArgumentError for memory that the arguments of a call share. Returns: their leaves."""
        leaves = self._leaves(values)
        if self._guard.needed:
            self._guard.check(leaves)
        return leaves

    def run(self, values: tuple[Any, ...]) -> Any:
        """Call it."""
        leaves = self.refuse_shared(values)
        return self._results.value(self._call(*leaves, *self._captures) or ())
