"""Checks of batches: several tangents in one call are those of calls with one each, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np

import adjit as aj
from adjit.testing.placing import same_bits
from adjit.testing.subject import CheckFailure, Subject

_SEVERAL = 3


def check_batches(subject: Subject, rng: np.random.Generator) -> None:
    """`jvp` with a batch of directions, of the function and of its gradient, against `jvp` with each."""
    directions = [subject.directions(rng, subject.wrt) for _ in range(_SEVERAL)]
    _check(subject, subject.function, directions, "jvp")
    _check(subject, aj.grad(subject.function, wrt=subject.moving()), directions, "jvp of grad")


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
    dtype = subject.values[k].dtype if k in subject.arrays else np.float64
    return aj.Batch(np.array([d[k] for d in directions], dtype))


def _item(tree: Any, k: int) -> Any:
    if isinstance(tree, tuple):
        return tuple(_item(t, k) for t in tree)
    return None if tree is None else tree[k]
