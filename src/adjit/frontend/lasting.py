"""What is worked out about an object once, and kept as long as that object lives."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

K = TypeVar("K")
V = TypeVar("V")


def lasting(f: Callable[[K], V]) -> Callable[[K], V]:
    """`f` of one object (told by identity), computed once.

    The result must not lead back to the object: neither would ever be freed.
    """
    kept: dict[int, tuple[weakref.ref[Any], V]] = {}

    @functools.wraps(f)
    def once(of: K) -> V:
        at = id(of)
        found = kept.get(at)
        if found is not None and found[0]() is of:
            return found[1]
        value = f(of)

        def gone(reference: weakref.ref[Any]) -> None:
            if at in kept and kept[at][0] is reference:
                del kept[at]

        kept[at] = weakref.ref(of, gone), value
        return value

    return once
