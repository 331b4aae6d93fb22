"""What a Numba function froze when Numba compiled it: its globals and closure values of that moment.

A dispatcher reads them once, at its first compilation; rebinding a global later does not reach it. A dispatcher
that has not been compiled yet reads them as they are now. (What it froze is read from what Numba keeps for its
annotations; an overload that Numba loaded from its own cache keeps nothing.)
"""

from __future__ import annotations

from numba.core import ir
from numba.core.dispatcher import Dispatcher


def frozen_values(dispatcher: object) -> dict[str, object]:
    """The frozen values by name, those of the newest compilation first; empty where there are none."""
    if not isinstance(dispatcher, Dispatcher):
        return {}
    found: dict[str, object] = {}
    for result in reversed(list(dispatcher.overloads.values())):
        blocks = getattr(getattr(result, "type_annotation", None), "blocks", None)
        for block in (blocks or {}).values():
            for stmt in block.body:
                value = getattr(stmt, "value", None)
                if isinstance(value, ir.Global | ir.FreeVar):
                    found.setdefault(value.name, value.value)
    return found


def compilations(dispatcher: object) -> int:
    """How often the dispatcher has been compiled: what it froze changes with it."""
    return len(dispatcher.overloads) if isinstance(dispatcher, Dispatcher) else 0
