"""`jvp`: the value of a function and its derivative in one direction (forward mode)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from adjit.api.batched import Batched
from adjit.api.batches import batched, unbatched
from adjit.api.engine import Engine, engine_of
from adjit.api.plan import Guard, Leaves, Results
from adjit.api.source import source_of
from adjit.api.tangents import active_leaves, collect, fit_array, fit_scalar, mask_of, private, usable
from adjit.api.vjp import require_result
from adjit.errors import ArgumentError
from adjit.ir.structure import Spec
from adjit.runtime.foreign import ForeignArrays


def jvp(
    f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], **kwargs: Any
) -> tuple[Any, Any]:
    """The value of `f(*primals, **kwargs)` and its derivative along `tangents`.

    Arguments: one tangent per primal, of its structure, shape and dtype; None means zero, also inside tuples, and
    is the only tangent of integers, bools, functions and None; or an `aj.Batch` of several, whose arrays have a
    leading axis more, as many in each (then the tangent of the result has that axis, in arrays and for numbers).
    Tangents are never mutated. kwargs: keywords of f (a
    kernel's `ndrange`), constant: what is to have a tangent is a primal.
    Returns: `(value, tangent)`, the tangent with the structure of the value, None for parts without a derivative.
    Arrays that f writes end as the plain call leaves them. The tangent of a complex number is complex: the change of
    the number itself.
    Raises: ArgumentError if something does not fit, or if f returns nothing that carries a derivative.
    """
    if not isinstance(primals, tuple | list) or not isinstance(tangents, tuple | list):
        raise ArgumentError(
            "primals and tangents must be tuples", "jvp(f, (x,), (dx,)) for a function of one argument"
        )
    if len(primals) != len(tangents):
        reason = f"there are {len(primals)} primals and {len(tangents)} tangents"
        raise ArgumentError(reason, "give one tangent per primal, None for zero")
    source = source_of(f)
    signature = source.signature
    values = signature.bind(tuple(primals), kwargs)
    full = list(_blank(values)) if signature.names else []
    for k, tangent in enumerate(tangents):
        parameter, item = signature.parameter(k)
        if item is None:
            full[parameter] = tangent
        else:
            full[parameter] = (*full[parameter][:item], tangent, *full[parameter][item + 1 :])
    several = False
    if any(map(batched, tangents)):
        full, several = [unbatched(t) for t in full], True
    try:
        masks = tuple(mask_of(t) for t in full)
        if several:
            return engine_of(source, "batched forward", Batched).plan(values, masks).run(values, full)
        plan = engine_of(source, "forward", _Forward).plan(values, masks)
    except ForeignArrays as foreign:
        return foreign.kind.call(partial(jvp, f), (tuple(primals), tuple(tangents)), kwargs)
    return plan.run(values, full)


def _blank(values: tuple[Any, ...]) -> list[Any]:
    return [(None,) * len(v) if type(v) is tuple else None for v in values]


class _Forward:
    """One compiled forward derivative."""

    def __init__(self, engine: Engine[_Forward], specs: tuple[Spec, ...], masks: tuple[Any, ...]):
        leaves = Leaves(engine.source, specs)
        active = active_leaves(leaves, masks)
        self.compiled = engine.compile(specs, "forward", active)
        self._call, self._captures = self.compiled.call, tuple(self.compiled.captures)
        self._leaves = leaves.of
        self._guard = Guard(leaves, self.compiled)
        self._results = Results(self.compiled.out)
        if not self.compiled.raises:
            require_result(self.compiled.out, self._results, engine.source, "jvp")
        self._active = [
            (i, leaves.all[i], f"'{leaves.names[i]}'", leaves.is_array(i), bool(self.compiled.written[i]))
            for i, on in enumerate(active)
            if on
        ]

    def run(self, values: tuple[Any, ...], tangents: Sequence[Any]) -> tuple[Any, Any]:
        """The value and its tangent."""
        leaves = self._leaves(values)
        if self._guard.needed:
            self._guard.check(leaves)
        given = [t for tree in tangents for t in collect(tree)]
        fitted = []
        for (i, leaf, name, is_array, written), t in zip(self._active, given, strict=True):
            if not is_array:
                fitted.append(fit_scalar(t, leaf, name, "tangent"))
                continue
            t = fit_array(t, leaves[i].shape, leaf, name, "tangent")
            fitted.append(private(t, leaf) if written else usable(t, leaf))
        flat = self._call(*leaves, *self._captures, *fitted)
        return self._results.value(flat), self._results.tangent(flat[self._results.count :])
