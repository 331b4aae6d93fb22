"""What a pass decided about a loop: printed as a comment above the loop, and read by `aj.explain`."""

from __future__ import annotations

from dataclasses import dataclass

APART = "each turn its own elements"
NEAR = "every second part at once"
COPIED = "a copy for each part"
"""How the turns of a loop on threads update an array, without atomic operations."""
AHEAD = "what each part starts with is found first"
"""How a loop on threads has a number that each turn takes from the one before."""


def rows_apart(starts: str) -> str:
    """Turns that own the rows of a sparse matrix, which the run looks at before."""
    return f"each turn its own elements, where `{starts}` never falls"


@dataclass(frozen=True, slots=True)
class OnThreads:
    """The loop runs in parts, on threads. updates: arrays that its turns update, each with how.

    ahead: running products, minima and maxima that the turns look at.
    """

    updates: tuple[tuple[str, str], ...]
    ahead: tuple[str, ...] = ()

    def __str__(self) -> str:
        known = [(name, AHEAD) for name in self.ahead]
        return "; ".join(["on threads", *(f"{name}: {how}" for name, how in (*self.updates, *known))])


@dataclass(frozen=True, slots=True)
class InOrder:
    """A parallel loop that runs in order, and why."""

    reason: str

    def __str__(self) -> str:
        return f"in order: {self.reason}"


@dataclass(frozen=True, slots=True)
class Pulled:
    """Sums that turns pushed to places of the array are pulled, place by place."""

    array: str

    def __str__(self) -> str:
        return f"pulled: what other turns add to a place of {self.array} is added up there"


@dataclass(frozen=True, slots=True)
class Counted:
    """The loop counts what the one after it will record. by_floats: whether floats decide how much."""

    by_floats: bool

    def __str__(self) -> str:
        return "counted: how much each turn will record"


Note = OnThreads | InOrder | Pulled | Counted
