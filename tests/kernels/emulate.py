"""Kernels run by plain Python, one work item after the other: what a launch means, without adjit's compiler."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import adjit as aj
from adjit.api.kernel import Kernel


def launch(kernel: Kernel, *args: Any, ndrange: int | tuple[int, ...], **_: object) -> None:
    """Every work item once; inside, `aj.index` gives its place."""
    shape = ndrange if isinstance(ndrange, tuple) else (ndrange,)
    before = aj.index
    try:
        for place in np.ndindex(*shape):
            aj.index = lambda n=None, place=place: place[0] if n is None else place
            kernel.body(*args)
    finally:
        aj.index = before


@contextmanager
def emulated() -> Iterator[None]:
    """Inside, a launch is plain Python."""
    before = Kernel.__call__
    Kernel.__call__ = launch
    try:
        yield
    finally:
        Kernel.__call__ = before


def plain(f: Callable[..., Any], *args: Any) -> Any:
    """The value of f, its launches run by Python."""
    with emulated():
        return f(*args)
