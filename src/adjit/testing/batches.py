"""Checks of batches: several tangents, or cotangents, in one call are those of calls with one each, bit for bit.

Compiled sweeps of one cotangent may add up in another order (`codegen.loose`): there cotangents agree nearly.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

import adjit as aj
from adjit.ir.structure import Leaf
from adjit.testing.first_order import Leaves, annotated_arguments, flat_gradients, reverse
from adjit.testing.placing import Placement, same_bits
from adjit.testing.subject import CheckFailure, Subject, require

_SEVERAL = 3


def check_batches(subject: Subject, rng: np.random.Generator) -> None:
    """`jvp` with a batch of directions, of the function and of its gradient, against `jvp` with each."""
    directions = [subject.directions(rng, subject.wrt) for _ in range(_SEVERAL)]
    _check(subject, subject.function, directions, "jvp")
    _check(subject, aj.grad(subject.function, wrt=subject.moving()), directions, "jvp of grad")
    _check_pullback(subject, rng)
    if subject.arrays:
        _check_shadows(subject, rng)


def _check(subject: Subject, function: Any, directions: list[dict[int, Any]], who: str) -> None:
    single = [
        _along(subject, function, [_number(subject, d, k) for k in range(_count(subject))])
        for d in directions
    ]
    batches = [_batch(subject, directions, k) for k in range(_count(subject))]
    placement = subject.place()
    with np.errstate(all="ignore"):
        value, several = aj.jvp(
            function,
            tuple(subject.call_args(placement.args, subject.function)),
            tuple(subject.call_args(batches, subject.function)),
        )
    if who == "jvp":
        subject.same_run(value, placement, "jvp of a batch")
    for k, one in enumerate(single):
        if not _same(subject, _item(several, k), one):
            raise CheckFailure("batch", f"{who}: item {k} of a batch {_item(several, k)}, alone {one}")


def _check_pullback(subject: Subject, rng: np.random.Generator) -> None:
    """The pullback of the function and of what it leaves in its arrays; one cotangent of several is zero."""
    args = subject.call_args(subject.place().args, subject.function)
    with np.errstate(all="ignore"):
        value, pullback = aj.vjp(aj.pure(subject.function), *args)
        batch = _cotangents(value, iter(pullback.leaves), rng)
        several = pullback(batch)
        alone = [pullback(_item(_bare(batch), k)) for k in range(_SEVERAL)]
    free = os.environ.get("ADJIT_UNCOMPILED") != "1"
    for k, one in enumerate(alone):
        found = _item(several, k)
        if not (_near if free else _same)(subject, found, one):
            raise CheckFailure("batch", f"pullback: item {k} of a batch {found}, alone {one}")


def _check_shadows(subject: Subject, rng: np.random.Generator) -> None:
    """`autodiff(Reverse)` with a batch of shadows against one with each."""
    weights = [subject.directions(rng, subject.arrays) for _ in range(_SEVERAL)]
    alone = [reverse(subject, w) for w in weights]
    placement, shadows = subject.place(), [_shadows(subject, w) for w in weights]
    each = [annotated_arguments(subject, placement.args, s.args, {}) for s in shadows]
    given = [
        aj.BatchDuplicated(some[0].value, tuple(a.shadow for a in some))
        if isinstance(some[0], aj.Duplicated)
        else some[0]
        for some in zip(*each, strict=True)
    ]
    with np.errstate(all="ignore"):
        found = aj.autodiff(aj.Reverse, subject.function, *given)
    subject.same_run(found.value, placement, "autodiff(Reverse) of a batch")
    for k, (one, own) in enumerate(zip(alone, shadows, strict=True)):
        require(own.intact(), "canary", "autodiff(Reverse) of a batch wrote outside a shadow")
        left = own.snapshot()
        numbers = flat_gradients(subject, [None if g is None else g[k] for g in found.gradients])
        for i in subject.wrt:
            several = left[i] if i in subject.arrays else numbers[i]
            if not _near(subject, several, one[i]):
                raise CheckFailure("batch", f"shadow {k} of leaf {i} of a batch {several}, alone {one[i]}")


def _shadows(subject: Subject, weights: Leaves) -> Placement:
    placed = [weights.get(k) for k in range(_count(subject))]
    seeds = tuple(None if w is None else np.asarray(w, subject.values[k].dtype) for k, w in enumerate(placed))
    return Placement(seeds, subject.layouts)


def _cotangents(value: Any, kinds: Iterator[Leaf], rng: np.random.Generator) -> Any:
    """A batch for each float of a value, of whose leaves these are the types; None for the rest."""
    if isinstance(value, tuple):
        return tuple(_cotangents(v, kinds, rng) for v in value)
    if value is None:
        return None
    leaf = next(kinds, None)
    if leaf is None or not leaf.type.differentiable:
        return None
    several = rng.uniform(-1, 1, (_SEVERAL, *np.asarray(value).shape))
    if np.iscomplexobj(value):
        several = several + 1j * rng.uniform(-1, 1, several.shape)
    several[1] = 0.0
    return aj.Batch(several.astype(leaf.number.name))


def _bare(tree: Any) -> Any:
    return tuple(map(_bare, tree)) if isinstance(tree, tuple) else None if tree is None else tree.values


def _near(subject: Subject, several: Any, one: Any) -> bool:
    if isinstance(one, tuple):
        return all(_near(subject, a, b) for a, b in zip(several, one, strict=True))
    if one is None:
        return several is None
    scale = np.max(np.abs(one), initial=0.0, where=np.isfinite(one))
    near = subject.tolerance(1e-9)
    return bool(np.allclose(several, one, rtol=near, atol=near * (1e-3 + scale), equal_nan=True))


def _same(subject: Subject, several: Any, one: Any) -> bool:
    """Bit for bit; nearly, where single precision runs as plain Python, whose numbers are weak and arrays are not."""
    if subject.exact:
        return same_bits(several, one)
    if isinstance(one, tuple):
        return all(_same(subject, a, b) for a, b in zip(several, one, strict=True))
    return (several is None and one is None) or bool(subject.close(several, one))


def _count(subject: Subject) -> int:
    return len(subject.values)


def _along(subject: Subject, function: Any, tangents: list[Any]) -> Any:
    args = tuple(subject.call_args(subject.place().args, subject.function))
    with np.errstate(all="ignore"):
        return aj.jvp(function, args, tuple(subject.call_args(tangents, subject.function)))[1]


def _number(subject: Subject, direction: dict[int, Any], k: int) -> Any:
    if k not in subject.wrt:
        return None
    return np.asarray(direction[k], subject.values[k].dtype) if k in subject.arrays else direction[k]


def _batch(subject: Subject, directions: list[dict[int, Any]], k: int) -> Any:
    if k not in subject.wrt:
        return None
    dtype = np.asarray(subject.values[k]).dtype
    return aj.Batch(np.array([d[k] for d in directions], dtype))


def _item(tree: Any, k: int) -> Any:
    if isinstance(tree, tuple):
        return tuple(_item(t, k) for t in tree)
    return None if tree is None else tree[k]
