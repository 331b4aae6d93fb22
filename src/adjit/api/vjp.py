"""`vjp`: the value of any function now, its cotangents later, as often as wanted (split mode)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from adjit.api.annotations import Const
from adjit.api.batches import batched, checked_count, emptied, picked, stacked, unbatched
from adjit.api.engine import Engine, engine_of
from adjit.api.plan import Gradients, Guard, Leaves, Results
from adjit.api.pulls import Given, Pulls, Stacks
from adjit.api.source import Source, source_of
from adjit.api.tangents import fit_array, fit_scalar, private, zeros
from adjit.errors import ArgumentError
from adjit.ir.structure import Leaf, NoneSpec, Spec, TupleSpec, leaves
from adjit.ir.types import Scalar
from adjit.runtime.arguments import Template, describe, fill, item_name
from adjit.runtime.foreign import ForeignArrays, Kind
from adjit.runtime.places import place_of
from adjit.runtime.signature import Signature, place

Marks = tuple[bool | tuple[bool, ...], ...]


def vjp(f: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Any, Pullback]:
    """The value of `f(*args, **kwargs)` and its pullback.

    Arguments: keywords are f's. `aj.Const(x)` around an argument says that its cotangent is not wanted.
    Returns: `(value, pullback)`. `pullback(ct)` takes a cotangent with the structure of the value (numbers for
    scalars, arrays of the same shape and dtype for arrays, None for zero and for parts without a derivative; or an
    `aj.Batch` of several, with a leading axis more, which the result then has too) and
    returns a tuple: one cotangent per positional argument, None for those that have none. It owns what it needs,
    never reads or writes the arguments again, and may be called any number of times.
    Complex numbers: cotangents and tangents are paired by Re(ct * t), without conjugation, as JAX has it. A holomorphic
    f gives ct * f'(z); `conj` gives conj(ct), `real` ct, `imag` -1j * ct, `abs` ct * conj(z)/abs(z) (0 at 0); a real
    argument gets the real part of what complex arithmetic gives it.
    Raises: ArgumentError if an argument does not fit, or if f returns nothing that carries a derivative.
    """
    source = source_of(f)
    signature, given = source.signature, args
    if any(type(a) is Const for a in (*args, *kwargs.values())):
        marks = signature_marks(signature, tuple(type(a) is not Const for a in args))
        args = tuple(a.value if type(a) is Const else a for a in args)
        kwargs = {k: v.value if type(v) is Const else v for k, v in kwargs.items()}
    else:
        marks = signature_marks(signature, (True,) * len(args))
    values = signature.bind(args, kwargs)
    try:
        plan = engine_of(source, "split", _Split).plan(values, (len(args), len(signature.prefix), marks))
    except ForeignArrays as foreign:
        value, pullback = foreign.kind.call(partial(vjp, f), given, kwargs)
        return value, pullback.of_arrays(foreign.kind)
    return plan.run(values)


@lru_cache(maxsize=1024)
def _marks(positional: int, count: int, variadic: int | None, prefix: int, flags: tuple[bool, ...]) -> Marks:
    out: list[bool | tuple[bool, ...]] = [False] * count
    for k in range(min(len(flags), positional - prefix)):
        out[prefix + k] = flags[k]
    if variadic is not None:
        rest = flags[max(0, positional - prefix) :]
        out[variadic] = (False,) * max(0, prefix - positional) + rest
    return tuple(out)


def signature_marks(signature: Signature, flags: tuple[bool, ...]) -> Marks:
    """One mark per parameter (per item for `*args`) from one flag per positional argument of the call."""
    return _marks(
        signature.positional, len(signature.names), signature.variadic, len(signature.prefix), flags
    )


class _Split:
    """One compiled forward sweep with its pullback."""

    def __init__(self, engine: Engine[_Split], specs: tuple[Spec, ...], extra: tuple[int, int, Marks]):
        count, prefix, marks = extra
        tree = Leaves(engine.source, specs)
        wanted = [w for s, m in zip(specs, marks, strict=True) for w in wanted_leaves(s, m)]
        active = tuple(w and tree.differentiable(i) for i, w in enumerate(wanted))
        self.compiled = engine.compile(specs, "split", active)
        self._call, self._captures = self.compiled.call, tuple(self.compiled.captures)
        self._leaves = tree.of
        self._guard = Guard(tree, self.compiled)
        self.results = Results(self.compiled.out)
        if not self.compiled.raises:
            require_result(self.compiled.out, self.results, engine.source, "vjp")
        self.gradients = Gradients(tree, active, self.compiled.unset)
        carrying = [self.results.all[k] for k in self.results.carrying]
        self.pulls = Pulls(self.compiled, [tree.all[i] for i in self.gradients.order], carrying)
        signature = engine.source.signature
        trees = (_tree(tree, signature, k + prefix, active) for k in range(count))
        self.cotangents = tuple(map(self.gradients.place, trees))

    def run(self, values: tuple[Any, ...]) -> tuple[Any, Pullback]:
        """The value and a pullback that owns its records."""
        leaves = self._leaves(values)
        if self._guard.needed:
            self._guard.check(leaves)
        shapes = self.gradients.shapes(leaves)
        flat = self._call(*leaves, *self._captures)
        n = self.results.count
        shown = [r.shape if isinstance(r, np.ndarray) else r if place_of(r) else None for r in flat[:n]]
        return self.results.value(flat), Pullback(self, flat[n:], shapes, shown)


class Pullback:
    """The reverse sweep of one call of `vjp`."""

    __slots__ = ("_kind", "_plan", "_result_shapes", "_saved", "_shapes")

    def __init__(self, plan: _Split, saved: Sequence[Any], shapes: list[Any], result_shapes: list[Any]):
        self._plan, self._saved, self._shapes, self._result_shapes = plan, saved, shapes, result_shapes
        self._kind: Kind | None = None

    def of_arrays(self, kind: Kind) -> Pullback:
        """The same for cotangents and gradients that are arrays of another library."""
        self._kind = kind
        return self

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """What the leaves of the value are, in order."""
        return self._plan.results.all

    def __call__(self, ct: Any) -> tuple[Any, ...]:
        return self._run(ct) if self._kind is None else self._kind.call(self._run, (ct,), {})

    def _run(self, ct: Any) -> tuple[Any, ...]:
        if batched(ct):
            return self._several(unbatched(ct))
        return self._sweep(ct)

    def _several(self, cts: Any) -> tuple[Any, ...]:
        """Sweeps of a batch: of several cotangents each where the program allows it."""
        plan = self._plan
        spec, shapes = plan.results.spec, [getattr(s, "shape", s) for s in self._result_shapes]
        count = checked_count(spec, cts, iter(shapes), "the result")
        if count == 0:
            return emptied(self._sweep(None))
        if plan.pulls.width(count) == 1:
            return stacked([self._sweep(picked(cts, k)) for k in range(count)])
        given = list(_paired(spec, cts, iter(shapes), "the result"))
        ins = [*self._shapes, *[()] * (len(plan.pulls.inputs) - len(self._shapes))]
        stacks = Stacks(plan.pulls.inputs, ins, count)
        outs = [() if shape is None else tuple(shape) for _, _, shape, _ in given]
        plan.pulls.run(self._saved, ins, outs, Given([ct for _, ct, _, _ in given], count), stacks.take)
        return tuple(fill(tree, stacks.of) for tree in plan.cotangents)

    def _sweep(self, ct: Any) -> tuple[Any, ...]:
        plan = self._plan
        seeds = list(_seeds(plan.results.spec, ct, iter(self._result_shapes), "the result"))
        shadows = plan.gradients.shadows_like(self._shapes)
        adjoints = plan.compiled.pullback(*self._saved, *shadows, *seeds)
        found = plan.gradients.collect(shadows, adjoints or ())
        return tuple(fill(tree, found) for tree in plan.cotangents)


def require_result(out: Spec, results: Results, source: Source, what: str) -> None:
    """Raise ArgumentError if a function has no result that carries a derivative."""
    if results.carrying:
        return
    where = place(source.signature.py_func)
    if isinstance(out, NoneSpec):
        reason = f"{source.name}() returns nothing, and {what} speaks of the return value"
        raise ArgumentError(reason, f"use aj.{what}(aj.pure(f), ...): what f writes are its results", where)
    reason = f"{source.name}() returns {describe(out)}, which has no derivative"
    raise ArgumentError(reason, "return a float, a float array, or a tuple with one", where)


def wanted_leaves(spec: Spec, mark: bool | tuple[bool, ...]) -> list[bool]:
    """One flag per leaf of an argument, from its mark."""
    if isinstance(mark, tuple) and isinstance(spec, TupleSpec):
        return [w for s, m in zip(spec.items, mark, strict=True) for w in wanted_leaves(s, m)]
    return [bool(mark)] * sum(1 for _ in leaves(spec))


def _tree(of: Leaves, signature: Signature, k: int, active: Sequence[bool]) -> Template:
    parameter, item = signature.parameter(k)
    tree = of.tree(parameter, lambda i: active[i])
    if item is not None:
        assert isinstance(tree, tuple)
        tree = tree[1][item]
    return tree if _any(tree) else None


def _any(tree: Template) -> bool:
    return any(_any(t) for t in tree[1]) if isinstance(tree, tuple) else tree is not None


def _seeds(spec: Spec, ct: Any, shapes: Any, name: str) -> Any:
    """One seed per result leaf that carries derivatives, in its dtype; arrays are private copies."""
    for leaf, given, shape, named in _paired(spec, ct, shapes, name):
        yield _seed(leaf, given, shape, named)


def _paired(spec: Spec, ct: Any, shapes: Any, name: str) -> Iterator[tuple[Leaf, Any, Any, str]]:
    """Each result leaf that carries derivatives, what a tree of cotangents has for it (None: zero), its shape and name.

    Raises: ArgumentError where the tree does not have the result's structure.
    """
    if isinstance(spec, TupleSpec):
        if ct is not None and (not isinstance(ct, tuple) or len(ct) != len(spec.items)):
            reason = f"cotangent of {name} does not have its structure, {describe(spec)}"
            raise ArgumentError(reason, "give a tuple like the result, None for parts without a derivative")
        for k, item in enumerate(spec.items):
            yield from _paired(item, None if ct is None else ct[k], shapes, item_name(name, spec, k))
    elif isinstance(spec, Leaf):
        shape = next(shapes)
        if spec.type.differentiable:
            yield spec, ct, shape, name
        elif ct is not None:
            raise ArgumentError(
                f"{name} is {spec.type} and has no derivative: its cotangent must be None", "give None"
            )
    elif ct is not None:
        raise ArgumentError(f"{name} is {describe(spec)}: its cotangent must be None", "give None")


def _seed(leaf: Leaf, ct: Any, shape: Any, name: str) -> Any:
    if isinstance(leaf.type, Scalar):
        return fit_scalar(0.0 if ct is None else ct, leaf, name, "cotangent")
    if ct is None:
        return zeros(shape, leaf)
    return private(fit_array(ct, shape.shape if leaf.place else shape, leaf, name, "cotangent"), leaf)
