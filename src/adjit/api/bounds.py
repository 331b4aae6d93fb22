"""What a program with `boundscheck=True` raises where an index in a parallel loop is out of range."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def located(call: Callable[..., Any]) -> Callable[..., Any]:
    """A compiled program whose IndexErrors name array, index, work item and line."""

    def checked(*args: Any) -> Any:
        try:
            return call(*args)
        except IndexError as error:
            from adjit.transform.bounds import formatted

            raise formatted(error) or error from None

    return checked
