"""What the race check notes of each access, as plain Python that is put into the program (`transform.races`).

`cell` belongs to one element: who wrote it last, the first work item that read it and the last other one, and the
same two of each kind of update, each with its access. Work items are numbered on from launch to launch, those of this
one from `base + 1`; what is not above `base` is of an earlier launch.
Each function returns whether this is the first meeting of the program, and then leaves both sides in `state`.
"""

from __future__ import annotations

from typing import Any

KINDS = ("add", "min", "max")
CELL = 18
"""Numbers of one element: writer, its access, 2 readers with theirs, 2 updaters with theirs of each kind."""


def note_load(cell: Any, state: Any, item: Any, site: Any, base: Any) -> Any:
    """The element is read: nobody else may have written or updated it."""
    other = 0
    theirs = 0
    if cell[0] > base and cell[0] != item:
        other, theirs = cell[0], cell[1]
    for k in range(6, 18, 2):
        if other == 0 and cell[k] > base and cell[k] != item:
            other, theirs = cell[k], cell[k + 1]
    if cell[2] <= base:
        cell[2], cell[3] = item, site
    elif cell[2] != item:
        cell[4], cell[5] = item, site
    if other == 0 or state[1] != 0:
        return False
    state[1], state[2], state[3], state[4], state[5] = 1, site, theirs, item - base - 1, other - base - 1
    return True


def note_store(cell: Any, state: Any, item: Any, site: Any, base: Any) -> Any:
    """The element is written: nobody else may have touched it."""
    other = 0
    theirs = 0
    for k in range(0, 18, 2):
        if other == 0 and cell[k] > base and cell[k] != item:
            other, theirs = cell[k], cell[k + 1]
    cell[0], cell[1] = item, site
    if other == 0 or state[1] != 0:
        return False
    state[1], state[2], state[3], state[4], state[5] = 1, site, theirs, item - base - 1, other - base - 1
    return True


def note_update(cell: Any, state: Any, item: Any, site: Any, base: Any, kind: Any) -> Any:
    """The element is updated: others may have updated it in the same way, and no more."""
    other = 0
    theirs = 0
    own = 6 + 4 * kind
    for k in range(0, 18, 2):
        if other == 0 and k != own and k != own + 2 and cell[k] > base and cell[k] != item:
            other, theirs = cell[k], cell[k + 1]
    if cell[own] <= base:
        cell[own], cell[own + 1] = item, site
    elif cell[own] != item:
        cell[own + 2], cell[own + 3] = item, site
    if other == 0 or state[1] != 0:
        return False
    state[1], state[2], state[3], state[4], state[5] = 1, site, theirs, item - base - 1, other - base - 1
    return True
