"""One program's checks share what they would build again: the lowered primal, and each reverse sweep.

Every operator lowers its function anew, and `grad` and its `jvp` plan the same sweep; building is nearly all that a
check costs. What is shared is immutable, and the same that each would get.
"""

from __future__ import annotations

import functools
import linecache
from collections.abc import Callable, Generator, Hashable
from contextlib import contextmanager
from typing import Any

from adjit.api import engine, source
from adjit.runtime import captures
from adjit.testing.passes import wrapped
from adjit.transform.expand import expand
from adjit.transform.lowered import lowered
from adjit.transform.reverse import reverse


@contextmanager
def reused() -> Generator[None]:
    """Within it, each function is lowered, expanded and reversed once for the same request."""
    with wrapped((lowered, expand, reverse), _once):
        yield


def _once(f: Callable[..., Any]) -> Callable[..., Any]:
    made: dict[Hashable, tuple[Any, Any]] = {}

    @functools.wraps(f)
    def once(first: Any, *rest: Any) -> Any:
        key = (id(first), rest)
        if key not in made:
            made[key] = first, f(first, *rest)  # the argument is kept, so that its id stays its own
        return made[key][1]

    return once


def forget() -> None:
    """Drop every program that adjit has built: the newest would be kept, and what they hold."""
    engine._stores.clear()  # pyright: ignore[reportPrivateUsage]
    engine._engines.clear()  # pyright: ignore[reportPrivateUsage]
    source._plain.cache_clear()  # pyright: ignore[reportPrivateUsage]
    captures.watch_of.cache_clear()
    linecache.clearcache()
