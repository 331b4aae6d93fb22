"""`index`: where in its launch a work item stands."""

from __future__ import annotations

from typing import Any

from adjit.errors import UnsupportedError


def index(n: int | None = None) -> Any:
    """The place of this work item, in a kernel or a function that a kernel calls.

    Arguments: n: how many extents the launch's `ndrange` has, 1 to 3; none for one.
    Returns: an int without n; with n a tuple whose component d goes over `range(ndrange[d])`.
    Raises: UnsupportedError outside of a kernel, and where the launch has another number of extents.
    """
    raise UnsupportedError(
        "aj.index() outside of a kernel",
        "call it in a function with @aj.kernel, launched with ndrange=..., or in one that a kernel calls",
    )
