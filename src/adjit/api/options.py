"""`options`: a function with options for its programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjit.api.jit import jit
from adjit.api.kernel import Kernel
from adjit.api.source import Layer, Options, source_of
from adjit.errors import ArgumentError


def options(
    f: Callable[..., Any],
    memory: int | None = None,
    deterministic: bool | None = None,
    boundscheck: bool = False,
) -> Configured:
    """`f` with options, for every operator.

    Arguments: memory: most bytes that records may take. deterministic: whether sums over threads must have the
    same bits every run. boundscheck: whether programs check indices, as Numba's option of that name; in kernels and
    `prange` loops an IndexError then names array, index, work item and line (and the program runs on one thread).
    Returns: a function that behaves as f where it is called (a kernel runs with the options), and that `grad`,
    `vjp`, ... take with its options.
    Raises: ArgumentError if an option has no sense.
    """
    if memory is not None and (type(memory) is not int or memory < 0):
        raise ArgumentError(f"memory={memory!r} is not a number of bytes", "give an int, such as 2**30")
    return Configured(f, Options(memory, deterministic, bool(boundscheck)))


class Configured(Layer):
    """A function with options around it."""

    def __init__(self, f: Callable[..., Any], options: Options):
        source = source_of(f)
        self.layer_options = options
        self._wrap(f)
        self._called = jit(self) if isinstance(source.base, Kernel) else f

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._called(*args, **kwargs)

    def __repr__(self) -> str:
        return f"adjit.options({getattr(self.f, '__name__', self.f)!s}, {self.layer_options})"
