"""How an argument takes part in a derivative: Enzyme's words, for `autodiff` and `vjp`."""

from __future__ import annotations

from collections.abc import Callable
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

    def mapped(self, f: Callable[[Any], Any]) -> Const:
        """The same annotation of another value."""
        return Const(f(self.value))


class Active:
    """A float, or a (named) tuple of floats, whose gradient `autodiff(Reverse, ...)` returns."""

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value

    def mapped(self, f: Callable[[Any], Any]) -> Active:
        """The same annotation of another value."""
        return Active(f(self.value))


class Duplicated:
    """An array, or a (named) tuple of arrays, with a shadow of the same structure, shape, dtype and layout.

    Reverse: for an array that is written, the shadow enters as the final value's cotangent and leaves as the
    entry value's; for one that is only read, the gradient is added. Forward: the shadow is the tangent, and
    moves along with what is written; numbers are allowed too.
    """

    __slots__ = ("shadow", "value")

    def __init__(self, value: Any, shadow: Any):
        self.value, self.shadow = value, shadow

    def mapped(self, f: Callable[[Any], Any]) -> Duplicated:
        """The same annotation of other values."""
        return Duplicated(f(self.value), f(self.shadow))


class BatchDuplicated:
    """As `Duplicated`, with a tuple of several shadows: as many derivatives at once."""

    __slots__ = ("shadows", "value")

    def __init__(self, value: Any, shadows: tuple[Any, ...]):
        self.value, self.shadows = value, tuple(shadows)

    def mapped(self, f: Callable[[Any], Any]) -> BatchDuplicated:
        """The same annotation of other values."""
        return BatchDuplicated(f(self.value), tuple(f(s) for s in self.shadows))


class Result(NamedTuple):
    """What `autodiff(Reverse, ...)` returns: `gradients[k]` for an `Active` argument k, else None."""

    value: Any
    gradients: tuple[Any, ...]


class Batch:
    """Several tangents (of `jvp`) or cotangents (of a pullback) at once: arrays with a leading axis more.

    values: an array of shape `(k, *shape)` for an argument of that shape, `(k,)` for a number; or a tuple of
    such for a tuple, None for parts that are zero. What comes back has the leading axis too.
    """

    __slots__ = ("values",)

    def __init__(self, values: Any):
        self.values = values

    def mapped(self, f: Callable[[Any], Any]) -> Batch:
        """The same annotation of other values."""
        return Batch(f(self.values))
