"""Arguments that share memory: a call refuses them by name, or does what the plain function does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

import numpy as np

import adjit as aj
from adjit.errors import ArgumentError
from adjit.testing.placing import same_bits
from adjit.testing.subject import CheckFailure, Subject

Make = Callable[[], list[Any]]


def check_sharing(subject: Subject) -> None:
    """Each pair of float arrays as one array, and as two views that overlap, in `jit`, `value_and_grad` and `pure`."""
    for make in _shared(subject):
        flat = make()
        try:
            with np.errstate(all="ignore"):
                value = subject.python(*subject.call_args(flat, subject.python))
        except (ArithmeticError, IndexError, ValueError):
            continue  # an integer follows from floats, or a number is out of range: no fair test
        f, wrt = subject.function, subject.moving()
        _hold(subject, make, value, flat, "jit", aj.jit(f), lambda found: found)
        gradient = aj.value_and_grad(f, wrt=wrt)
        _hold(subject, make, value, flat, "value_and_grad", gradient, lambda found: found[0])
        _hold(subject, make, value, None, "pure", aj.pure(f), lambda found: found[0])


def _hold(
    subject: Subject,
    make: Make,
    value: Any,
    final: list[Any] | None,
    who: str,
    call: Callable[..., Any],
    of: Callable[[Any], Any],
) -> None:
    """The call is refused, or its value (and final state) is the plain function's."""
    flat = make()
    try:
        with np.errstate(all="ignore"):
            found = of(call(*subject.call_args(flat, subject.function)))
    except ArgumentError as error:
        if "memory" not in str(error):
            raise CheckFailure("sharing", f"{who}: refused with another reason: {error}") from error
        return
    if not _near(subject, found, value):
        raise CheckFailure("sharing", f"{who} of arrays that share memory: {found!r}, plain run {value!r}")
    for k, (got, want) in enumerate(zip(flat, final or flat, strict=True)):
        if not _near(subject, got, want):
            raise CheckFailure("sharing", f"{who}: argument {k} ends as {got!r}, plain run {want!r}")


def _near(subject: Subject, got: Any, want: Any) -> bool:
    """To rounding: the plain run is Python's here, whatever the other one is."""
    if same_bits(got, want):
        return True
    near = 2e-4 if subject.single else 1e-11
    return bool(np.allclose(got, want, rtol=near, atol=near, equal_nan=True))


def _shared(subject: Subject) -> Iterator[Make]:
    for i, j in combinations(subject.arrays, 2):
        a, b = subject.values[i], subject.values[j]
        if a.dtype == b.dtype and a.ndim == b.ndim:
            if a.shape == b.shape:
                yield lambda i=i, j=j: _as_one(subject, i, j)
            if a.ndim == 1 and a.size and b.size:
                yield lambda i=i, j=j: _as_views(subject, i, j)


def _as_one(subject: Subject, i: int, j: int) -> list[Any]:
    flat = list(subject.place().args)
    flat[j] = flat[i]
    return flat


def _as_views(subject: Subject, i: int, j: int) -> list[Any]:
    """The second begins with the last number of the first."""
    flat = list(subject.place().args)
    a, b = flat[i], flat[j]
    whole = np.concatenate([a, b[1:]])
    flat[i], flat[j] = whole[: a.size], whole[a.size - 1 :]
    return flat
