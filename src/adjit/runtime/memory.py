"""The limit that records must stay under, and the error that says which record would not."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from adjit.errors import MemoryLimitError
from adjit.ir.core import Span

_AGE_LIMIT = 1.0  # seconds that a reading of the free memory is believed
_last = (0.0, 0)


def available() -> int:
    """Bytes of memory that are free now, read at most once a second."""
    global _last
    now = time.monotonic()
    if now - _last[0] > _AGE_LIMIT or not _last[1]:
        _last = (now, _read())
    return _last[1]


def _read() -> int:
    try:
        with open("/proc/meminfo") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return 2**62


def limited(call: Callable[..., Any], memory: int | None, span: Span) -> Callable[..., Any]:
    """`call` with the memory limit as its last argument; a record over the limit raises MemoryLimitError."""

    def run(*args: Any) -> Any:
        try:
            return call(*args, available() if memory is None else memory)
        except MemoryError as error:
            if len(error.args) != 3 or error.args[0] != "record":
                raise
            _, size, line = error.args
            raise MemoryLimitError(
                f"the record of the loop at this line would take {size_text(size)}, "
                f"{size_text(available() if memory is None else memory)} may be used",
                "use smaller inputs, or raise the limit with aj.options(f, memory=bytes)",
                replace(span, line=int(line), column=0, end_line=0, end_column=0),
            ) from None

    return run


def size_text(size: float) -> str:
    """A number of bytes, for messages."""
    for unit, factor in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{int(size)} bytes"
