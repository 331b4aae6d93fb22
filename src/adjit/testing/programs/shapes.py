"""Shapes that are known while a program is rolled, and the slices of an axis that give a wanted extent.

An extent is a number, or, of an array whose length only the run knows, the text that says it: `len(v3)`. Two texts are
the same extent where they are equal, so that an expression over one such array is as good as any other.
"""

from __future__ import annotations

from adjit.testing.programs.scope import Dice

ONE = ":1"
"""A slice of extent one that NumPy stretches, and adjit too: its form says that it is one."""

Extent = int | str
Shape = tuple[Extent, ...]

_STEPS = (2, 3, -1, -2, -3)


def size(shape: Shape) -> int | None:
    """The number of elements, where the extents are known."""
    total = 1
    for n in shape:
        if isinstance(n, str):
            return None
        total *= n
    return total


def slices(dice: Dice, length: Extent, extent: Extent) -> str | None:
    """The text of a slice of an axis of that length that has that extent; it may hold `{0}`, any integer.

    None if there is none.
    """
    if length == extent and dice.chance(0.7):
        return dice.pick([":", ":", ":", "::-1"])
    if isinstance(length, str) or isinstance(extent, str):
        if extent == f"{length} - 1":
            return dice.pick(["1:", ":-1", ":0:-1", "-2::-1"])
        return dice.pick([":", "::-1", "0:"]) if length == extent else None
    if extent > length:
        return None
    if extent == 0:
        return dice.pick([f"{length}:", f"{length + 2}:", ":0", "2:1", "1:3:-1"])
    return dice.pick(_exactly(dice, length, extent))


def _exactly(dice: Dice, length: int, extent: int) -> list[str]:
    """Slices that start and stop somewhere, from the front or the back, a moving one, and one with a step."""
    start = dice.number(0, length - extent)
    stop = start + extent
    back = f"{stop - length}" if stop < length else ""
    found = [f"{start}:{stop}", f"{start}:{back}", f"{start - length}:{back}"]
    found.append(f"{stop - 1}:{start - 1 if start else ''}:-1")
    if extent < length:
        found.append(f"{{0}} % {length - extent + 1}:{{0}} % {length - extent + 1} + {extent}")
    step = dice.pick(_STEPS)
    bounds = [
        (a, b) for a in range(length) for b in range(length + 1) if len(range(length)[a:b:step]) == extent
    ]
    if bounds:
        a, b = dice.pick(bounds)
        found += [f"{a}:{b}:{step}"] * 2
    return found


def place(dice: Dice, length: Extent) -> str:
    """The text of an index of an axis; it may hold `{0}`, any integer."""
    if isinstance(length, str):
        return dice.pick(["0", "-1", f"{{0}} % {length}"])
    return dice.pick([str(dice.number(-length, length - 1)), f"{{0}} % {length}"])
