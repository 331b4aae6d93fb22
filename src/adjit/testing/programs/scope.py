"""The names that a random program may use at a point, by kind, and fresh names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

T = TypeVar("T")


@dataclass
class Callee:
    """An earlier function of the module: what it takes ("vector", "matrix", "float", "int", "ints") and
    returns ("float", "pair", "view", "both": a view and a float, "complex", or "none").

    Of kinds there are also "complex", "zvector", "range", "bytes", "bools" and "loose". With `names` of its parameters
    it is called by keyword too; the last `optional` of them have defaults.
    """

    name: str
    params: tuple[str, ...]
    returns: str
    names: tuple[str, ...] = ()
    optional: int = 0


@dataclass
class Scope:
    """Names in scope. Arrays are never empty. `counters` are loop variables; `over` says over which array's
    length a counter runs, so that it may index without wrapping. `steady` arrays are never
    rebound: Numba iterates over no others. `shapes` are those of arrays whose shape never changes (`shapes.py`): only
    array statements rebind them. `masks` are arrays of bools, with their shapes. `stretched` are arguments that have an
    extent of one. In a turn of a parallel loop, `own` are places that no other turn touches, and `around` is the
    turn's index with the array that it is surely in bounds of ("" for none); `close` if all else that
    it reads is near.

    Of other kinds: `ranges` have a name (`over` says over which array's places one runs), `complexes` and
    `complex_arrays` (of one axis) are complex, `smalls` and `bools` are arrays of 0 to 7 in few bits and of bools,
    `narrow` are arrays of any values of a small integer type, with its name; `loose` vectors and matrices may have no
    element. With `keywords` calls may be by keyword; `optional` are nested
    functions with a default.
    """

    floats: list[str] = field(default_factory=list)
    ints: list[str] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)
    vectors: list[str] = field(default_factory=list)
    matrices: list[str] = field(default_factory=list)
    indices: list[str] = field(default_factory=list)
    lists: list[str] = field(default_factory=list)
    fixed: set[str] = field(default_factory=set)
    over: dict[str, str] = field(default_factory=dict)
    local_functions: list[tuple[str, int]] = field(default_factory=list)
    callees: list[Callee] = field(default_factory=list)
    steady: tuple[str, ...] = ()
    loops: int = 0
    returns: str = "float"
    nested: bool = False
    shapes: dict[str, tuple[int | str, ...]] = field(default_factory=dict)
    masks: dict[str, tuple[int | str, ...]] = field(default_factory=dict)
    stretched: tuple[str, ...] = ()
    own: list[str] = field(default_factory=list)
    around: tuple[str, str] = ("", "")
    close: bool = False
    ranges: list[str] = field(default_factory=list)
    complexes: list[str] = field(default_factory=list)
    complex_arrays: list[str] = field(default_factory=list)
    smalls: list[str] = field(default_factory=list)
    bools: list[str] = field(default_factory=list)
    narrow: dict[str, str] = field(default_factory=dict)
    loose: list[str] = field(default_factory=list)
    loose_matrices: list[str] = field(default_factory=list)
    keywords: bool = False
    optional: set[str] = field(default_factory=set)

    def inner(self) -> Scope:
        """A copy for a block: what is defined in it is not known after it."""
        return replace(
            self,
            floats=list(self.floats),
            ints=list(self.ints),
            vectors=list(self.vectors),
            matrices=list(self.matrices),
            lists=list(self.lists),
            indices=list(self.indices),
            fixed=set(self.fixed),
            shapes=dict(self.shapes),
            masks=dict(self.masks),
            over=dict(self.over),
            local_functions=list(self.local_functions),
            own=list(self.own),
            flags=list(self.flags),
            ranges=list(self.ranges),
            complexes=list(self.complexes),
            complex_arrays=list(self.complex_arrays),
            smalls=list(self.smalls),
            bools=list(self.bools),
            narrow=dict(self.narrow),
            loose=list(self.loose),
            loose_matrices=list(self.loose_matrices),
        )

    def assignable(self, names: list[str]) -> list[str]:
        """Those of `names` that may be rebound (captured names may not: closures see the last value)."""
        return [name for name in names if name not in self.fixed and name not in self.shapes]


class Names:
    """Fresh names for one function, with a letter for the kind."""

    def __init__(self) -> None:
        self._count: dict[str, int] = {}

    def new(self, letter: str) -> str:
        """`letter` with the next number."""
        self._count[letter] = self._count.get(letter, -1) + 1
        return f"{letter}{self._count[letter]}"


class Dice:
    """A seeded source of choices."""

    def __init__(self, seed: tuple[int, ...]):
        self.rng = np.random.default_rng(seed)

    def chance(self, p: float) -> bool:
        """True with probability p."""
        return bool(self.rng.random() < p)

    def pick(self, items: Sequence[T]) -> T:
        """One of the items."""
        return items[int(self.rng.integers(len(items)))]

    def number(self, low: int, high: int) -> int:
        """An integer in [low, high]."""
        return int(self.rng.integers(low, high + 1))

    def weighted(self, weights: dict[str, float]) -> str:
        """A key, with probability in proportion to its weight."""
        names = list(weights)
        p = np.array([weights[name] for name in names])
        return names[int(self.rng.choice(len(names), p=p / p.sum()))]
