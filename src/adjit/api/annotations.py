"""How an argument takes part in a derivative: Enzyme's words, for `autodiff` and `vjp`."""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple


class Mode(Enum):
    """Which derivative `autodiff` computes."""

    REVERSE = "Reverse"
    FORWARD = "Forward"


Reverse = Mode.REVERSE
Forward = Mode.FORWARD


class Const:
    """An argument without derivative; around an argument of `vjp` or `autodiff`."""

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value


class Active:
    """A float, or a (named) tuple of floats, whose gradient `autodiff(Reverse, ...)` returns."""

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value


class Duplicated:
    """An array, or a (named) tuple of arrays, with a shadow of the same structure, shape, dtype and layout.

    Reverse: for an array that is written, the shadow enters as the final value's cotangent and leaves as the
    entry value's; for one that is only read, the gradient is added. Forward: the shadow is the tangent, and
    moves along with what is written; numbers are allowed too.
    """

    __slots__ = ("shadow", "value")

    def __init__(self, value: Any, shadow: Any):
        self.value, self.shadow = value, shadow


class BatchDuplicated:
    """As `Duplicated`, with a tuple of several shadows: as many derivatives at once."""

    __slots__ = ("shadows", "value")

    def __init__(self, value: Any, shadows: tuple[Any, ...]):
        self.value, self.shadows = value, tuple(shadows)


class Result(NamedTuple):
    """What `autodiff(Reverse, ...)` returns: `gradients[k]` for an `Active` argument k, else None."""

    value: Any
    gradients: tuple[Any, ...]
