"""What a printed function hands to its module, and what a piece must know of the function it was cut from."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field

from adjit.ir.core import Sym
from adjit.ir.types import Array


@dataclass(frozen=True)
class Emitted:
    """A printed function and what its module must hold for it."""

    text: str
    ops: frozenset[str]
    lists: frozenset[Array] = field(default_factory=frozenset)


@dataclass(frozen=True)
class Within:
    """What a function that was cut must know of the whole.

    unsigned: indices proven non-negative (the proof may need what is outside). taken: names of the other functions.
    helpers: whether choices are printed as calls, which compile faster.
    """

    unsigned: Set[Sym]
    taken: frozenset[str]
    helpers: bool = True
