"""`kernel`: a function that is run once for each work item of a launch."""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any

from numba.core.dispatcher import Dispatcher

from adjit.errors import ArgumentError, DeviceError, UnsupportedError
from adjit.frontend.kernel_function import LAUNCH, KernelFunction
from adjit.runtime.arguments import StaticFunction
from adjit.runtime.foreign import kind_of
from adjit.runtime.places import CUDA, library_of, place_of
from adjit.runtime.signature import place

if TYPE_CHECKING:
    from adjit.api.jit import Jitted

_NDRANGE = inspect.Parameter(LAUNCH[0], inspect.Parameter.KEYWORD_ONLY)
_HINTS = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in LAUNCH[1:]]
_FORMS = "give an int, or a tuple of one to three ints"


def kernel(f: Callable[..., Any]) -> Kernel:
    """Make f a kernel: `k(*args, ndrange=n)` runs it once for each work item, in any order.

    Arguments: f: a plain function that returns nothing. `i = aj.index()` in it (`i, j = aj.index(2)`,
    `i, j, k = aj.index(3)`) is the work item's place: component d goes over `range(ndrange[d])`.
    Returns: a callable. `ndrange` is an int or a tuple of one to three ints: as many work items run, none where an
    extent is 0. `block` is a hint; `stream` is a CuPy stream, or a pyopencl queue (of the arrays' context), in place of
    the current one, or of the arrays' queue. Called from plain
    Python it runs compiled and mutates its arrays; in a function that adjit compiles the launch is compiled with it.
    No work item may touch an element that another one writes, but by `atomic_add`, `atomic_min` and `atomic_max`
    (`aj.check_races` looks for it).
    Raises: UnsupportedError if f is under njit, or has a parameter that is a keyword of launches.
    """
    return Kernel(f)


class Kernel(StaticFunction, KernelFunction):
    """A function that each work item of a launch runs; see `kernel`."""

    __name__: str

    def __init__(self, f: Callable[..., Any]):
        if isinstance(f, Dispatcher):
            raise UnsupportedError(
                f"the kernel '{f.py_func.__name__}' is under njit",
                "leave off njit: a kernel is a plain function, compiled where it is launched",
                place(f.py_func),
            )
        if not isinstance(f, FunctionType):
            raise ArgumentError(f"kernel: expected a function, got {f!r}", "decorate a function: @aj.kernel")
        _check_parameters(f)
        self._body = f
        functools.update_wrapper(self, f, updated=())
        self._jitted: Jitted | None = None

    @property
    def body(self) -> FunctionType:
        return self._body

    @property
    def __code__(self) -> Any:
        return self.body.__code__

    @property
    def __defaults__(self) -> Any:
        return self.body.__defaults__

    @property
    def __kwdefaults__(self) -> Any:
        return self.body.__kwdefaults__

    @property
    def __signature__(self) -> inspect.Signature:
        """The parameters of a launch: those of the kernel, and the keywords that every launch has."""
        own = inspect.signature(self.body).parameters.values()
        return inspect.Signature([*own, _NDRANGE, *_HINTS])

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        """Launch it. Raises ArgumentError where an argument or ndrange does not fit."""
        if self._jitted is None:
            from adjit.api.jit import jit

            self._jitted = jit(self)
        stream = kwargs.get("stream")
        on = "" if stream is None else next(filter(None, map(_device_of, (*args, *kwargs.values()))), "")
        if not on:
            self._jitted(*args, **kwargs)
            return
        with library_of(on).launching(stream):
            self._jitted(*args, **{**kwargs, "stream": None})

    def arguments(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """The values of a launch: extents as a tuple of ints, without what is for devices only."""
        if values[-1] is None and values[-2] is None and _is_plain(values[-3]):
            extents = values[-3]
            return (*values[:-3], extents if type(extents) is tuple else (extents,), None, None)
        *given, ndrange, block, stream = values
        if stream is not None:
            raise DeviceError(
                f"the kernel '{self.__name__}' is launched on a stream, and its arrays are NumPy's",
                "leave it out: on the CPU there are no streams",
                place(self.body),
            )
        if block is not None:
            self._extents("block", block)
        return (*given, self._extents("ndrange", ndrange), None, None)

    def _extents(self, what: str, given: Any) -> tuple[int, ...]:
        parts = given if isinstance(given, tuple) else (given,)
        if not 1 <= len(parts) <= 3:
            raise self._wrong(f"has {len(parts)} extents", what, _FORMS)
        try:
            found = tuple([operator.index(n) for n in parts if not isinstance(n, bool)])
        except TypeError:
            raise self._wrong(f"is {given!r}", what, _FORMS) from None
        if len(found) != len(parts):
            raise self._wrong(f"is {given!r}", what, _FORMS)
        if min(found) < 0:
            raise self._wrong(f"is {given!r}, which is negative", what, "give extents from 0 on")
        return found

    def _wrong(self, reason: str, what: str, remedy: str) -> ArgumentError:
        return ArgumentError(f"{what} of the kernel '{self.__name__}' {reason}", remedy, place(self.body))

    def structure_key(self) -> tuple[Any, ...]:
        """What decides the program beside the function inside."""
        return (type(self),)

    def captured_functions(self) -> tuple[tuple[str, ...], tuple[Any, ...]]:
        """What may be rebound, and the functions inside (see `runtime.captures`)."""
        return (), (self.body,)

    def __repr__(self) -> str:
        return f"adjit.kernel({self.__name__})"


def _is_plain(given: Any) -> bool:
    """Whether extents are an int or one to three of them, none negative: what nearly every launch has."""
    if type(given) is tuple:
        for n in given:
            if type(n) is not int or n < 0:
                return False
        return 1 <= len(given) <= 3
    return type(given) is int and given >= 0


def _device_of(value: Any) -> str:
    return place_of(value) or (CUDA if kind_of(value) is not None else "")


def _check_parameters(f: FunctionType) -> None:
    """Raise UnsupportedError for what stands in the way of the keywords of launches."""
    for p in inspect.signature(f).parameters.values():
        if p.name in LAUNCH:
            raise UnsupportedError(
                f"the kernel '{f.__name__}' has a parameter '{p.name}', which launches reserve",
                "give it another name",
                place(f),
            )
        if p.kind is p.VAR_KEYWORD:
            raise UnsupportedError(
                f"the kernel '{f.__name__}' has a parameter '**{p.name}'", "name the keywords", place(f)
            )
