"""The structure of arguments and results: trees whose leaves are scalars, arrays, None or compile-time values.

Both sides of the compiler use it: the api flattens real arguments by it, the frontend explodes tuples by it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from adjit.ir.types import Array, RefList, Scalar, Type


@dataclass(frozen=True, slots=True)
class Leaf:
    """A number or an array.

    weak: a Python number, which adapts to the float it meets (NumPy 2's rule). ones: the axes of an array whose extent
    is one, which broadcasting stretches. place: where an array is, "" for the host's memory.
    """

    type: Type
    weak: bool = False
    ones: tuple[int, ...] = ()
    place: str = ""

    @property
    def number(self) -> Scalar:
        """The type of the number, or of an array's elements."""
        assert not isinstance(self.type, RefList)
        return self.type.dtype if isinstance(self.type, Array) else self.type

    @property
    def is_array(self) -> bool:
        return isinstance(self.type, Array)


@dataclass(frozen=True, slots=True)
class NoneSpec:
    """The argument is None, known when the program is built."""


@dataclass(frozen=True, slots=True)
class StaticSpec:
    """A compile-time value: a function (keyed by its identity) or a string, passed as an argument."""

    value: object


@dataclass(frozen=True, slots=True)
class TupleSpec:
    """A tuple, or a NamedTuple of class `cls`."""

    items: tuple[Spec, ...]
    cls: type | None = None


Spec = Leaf | NoneSpec | StaticSpec | TupleSpec


def leaves(spec: Spec) -> Iterator[Leaf]:
    """The numbers and arrays of the tree, left to right."""
    match spec:
        case Leaf():
            yield spec
        case TupleSpec():
            for item in spec.items:
                yield from leaves(item)
        case _:
            return
