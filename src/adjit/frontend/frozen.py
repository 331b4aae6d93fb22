"""What a Numba function froze when Numba compiled it: its globals and closure values of that moment.

Each compilation (one per tuple of argument types) reads them once; rebinding a global later does not reach it. A
dispatcher that has not been compiled yet reads them as they are now. Where compilations read different values, it
cannot be said here which one is meant: that is refused. (What it froze is read from what Numba keeps for its
annotations; an overload that Numba loaded from its own cache keeps nothing.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from numba.core import ir
from numba.core.dispatcher import Dispatcher


class Different:
    """Stands for a value that is not the same in all compilations."""


DIFFERENT = Different()


def frozen_values(dispatcher: object) -> dict[str, object]:
    """The frozen values by name (`DIFFERENT` where compilations differ); empty where there are none."""
    if not isinstance(dispatcher, Dispatcher):
        return {}
    found: dict[str, object] = {}
    for result in dispatcher.overloads.values():
        blocks = getattr(getattr(result, "type_annotation", None), "blocks", None)
        for value in _read(blocks or {}):
            known = found.setdefault(value.name, value.value)
            if known is not value.value and not _equal(known, value.value):
                found[value.name] = DIFFERENT
    return found


def _read(blocks: Mapping[Any, ir.Block]) -> Iterator[ir.Global | ir.FreeVar]:
    """Globals and closure values that blocks of Numba's IR read, parallel loops inside them included."""
    for block in blocks.values():
        for stmt in block.body:
            if isinstance(stmt, ir.Assign) and isinstance(stmt.value, ir.Global | ir.FreeVar):
                yield stmt.value
            parts: Any = stmt
            if type(stmt).__name__ == "Parfor":
                yield from _read({**parts.loop_body, -1: parts.init_block})


def _equal(a: object, b: object) -> bool:
    numbers = bool | int | float | complex | str
    return type(a) is type(b) and isinstance(a, numbers) and repr(a) == repr(b)


def compilations(dispatcher: object) -> int:
    """How often the dispatcher has been compiled: what it froze changes with it."""
    return len(dispatcher.overloads) if isinstance(dispatcher, Dispatcher) else 0
