"""Sweeps of several cotangents over one record: those of a split program, made when they are asked for.

A sweep of another width reads what the program's own forward sweep hands on, so it is made from the same plan: from
the one that the program was just built from, or from one that gives the same text.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from adjit.codegen.module import Module, Unit, render
from adjit.ir.core import Function
from adjit.runtime import cache
from adjit.runtime.compile import load, only_called_by_others, stored_text, text_hash, with_room
from adjit.transform.widen import widened

_ALONE = '"""A cotangent of this program is swept alone."""\n'
"""Stands in the cache for a sweep that there is not."""


@dataclass(frozen=True)
class Swept:
    """How the sweep of a split program was made.

    backward: before the last passes. cotangents: how many of its last parameters are shadows and seeds. unit: prepares
    it to be printed. doc: what stands above it.
    """

    backward: Function
    cotangents: int
    unit: Callable[[Function], Unit]
    doc: str


class Sweeps:
    """The sweeps of one split program, by how many cotangents each takes."""

    def __init__(
        self, text: str, kept: bool, plain: bool, made: Swept | None, remake: Callable[[], tuple[str, Swept]]
    ):
        """Arguments: text: the program's. kept: whether sweeps are kept on disk. plain: whether they run as plain
        Python. made: how the program's own sweep was made, if at hand. remake: makes it, and the text, again.
        """
        self._text, self._kept, self._plain = text, kept, plain
        self._made, self._remake = made, remake
        self._found: dict[int, Callable[..., Any] | None] = {}
        self._lock = threading.RLock()

    def of(self, lanes: int) -> Callable[..., Any] | None:
        """The pullback of so many cotangents in lanes: shadows and seeds are arrays of lanes, those of numbers of one
        element, and so is what is returned for each number. None where each is to be swept alone.
        """
        with self._lock:
            if lanes not in self._found:
                self._found[lanes] = self._of(lanes)
            return self._found[lanes]

    def _of(self, lanes: int) -> Callable[..., Any] | None:
        key = cache.program_key("sweep", text_hash(self._text), lanes) if self._kept else None
        hit = None if key is None else cache.lookup(key)
        text = None if hit is None else stored_text(hit[0])
        if hit is None or text is None:
            text, name = self._written(lanes)
            if key is not None:
                cache.store(key, text, {"name": name})
        else:
            name = hit[1]["name"]
        if name is None:
            return None
        namespace = load(text, compiled=not self._plain)
        only_called_by_others(namespace, [name])
        return with_room(namespace[name], text.count("\n"))

    def _written(self, lanes: int) -> tuple[str, str | None]:
        """The text of a sweep, and the function's name in it."""
        if self._made is None:
            text, made = self._remake()
            if text != self._text:  # its record may lie otherwise
                return _ALONE, None
            self._made = made
        made = self._made
        backward = made.backward
        count = len(backward.params) - made.cotangents
        wide = widened(backward, backward.params[count:], lanes)
        if wide is None:
            return _ALONE, None
        return render(Module((made.unit(wide),), (), made.doc)), wide.name
