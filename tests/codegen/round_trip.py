"""Arguments -> specs, and results compared leaf by leaf."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from adjit.analysis.numba_types import from_numba
from adjit.frontend import lower
from adjit.ir.structure import Leaf, Spec


def spec_of(value: object, weak: bool = False) -> Spec:
    """The spec of a number or an array, with Numba's type."""
    type_ = from_numba(numba.typeof(value))
    assert type_ is not None
    return Leaf(type_, weak=weak)


def lowered(f: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """The untyped IR of a call."""
    return lower(f, tuple(spec_of(a) for a in args))


def flat(value: object) -> list[Any]:
    """The leaves of a result."""
    if isinstance(value, tuple):
        return [leaf for item in value for leaf in flat(item)]
    return [] if value is None else [value]


def assert_same(got: object, want: object, note: str) -> None:
    """Equal bit for bit, and of one dtype."""
    a, b = flat(got), flat(want)
    assert len(a) == len(b), note
    for x, y in zip(a, b, strict=True):
        assert np.asarray(x).dtype == np.asarray(y).dtype, note
        np.testing.assert_array_equal(x, y, err_msg=note)
