"""What a function given to an operator is underneath: options, `pure`, partials and methods taken off."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from types import FunctionType
from typing import Any

from numba.core.dispatcher import Dispatcher

from adjit.errors import ArgumentError
from adjit.rules.custom import CustomFunction
from adjit.runtime.arguments import StaticFunction
from adjit.runtime.signature import Signature


@dataclass(frozen=True, slots=True)
class Options:
    """What `aj.options` sets; None means not set."""

    memory: int | None = None
    deterministic: bool | None = None
    boundscheck: bool = False

    def over(self, inner: Options) -> Options:
        """These options where they are set, else the inner ones."""
        return Options(
            inner.memory if self.memory is None else self.memory,
            inner.deterministic if self.deterministic is None else self.deterministic,
            self.boundscheck or inner.boundscheck,
        )


class Wrapped(StaticFunction):
    """Base of functions that adjit makes from a function. `f` is what was wrapped."""

    f: Callable[..., Any]
    __wrapped__: Callable[..., Any]

    def _wrap(self, f: Callable[..., Any]) -> None:
        self.f = f
        functools.update_wrapper(self, f, updated=())  # pyright: ignore[reportArgumentType]

    def structure_key(self) -> tuple[Any, ...]:
        """What decides the program beside the function inside."""
        return (type(self),)

    def captured_functions(self) -> tuple[tuple[str, ...], tuple[Any, ...]]:
        """Names of attributes that may be rebound, and the functions inside (see `runtime.captures`)."""
        return (), (self.f,)


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A function as the compiler takes it.

    base: a plain function, a dispatcher, a custom function or a `Transformed`. signature: of the innermost
    function, with what partials bind. pure: whether it works on copies of what it would write. key: what decides
    programs beside the base's code and captures; None where nothing does.
    """

    base: Callable[..., Any]
    signature: Signature
    options: Options
    pure: bool
    key: Hashable

    @property
    def name(self) -> str:
        """The function's name, for messages."""
        return self.signature.function

    def unbound(self) -> Source:
        """The same, without what partials bind."""
        return replace(self, signature=self.signature.unbound())


def source_of(f: Any) -> Source:
    """Take off everything that is not the function itself. Raises ArgumentError if there is no function."""
    if isinstance(f, (functools.partial, Wrapped)) or inspect.ismethod(f):
        return _peel(f)
    return _plain(f)


def _peel(f: Any) -> Source:
    options, pure, prefix, keywords = Options(), False, (), {}
    while True:
        if isinstance(f, functools.partial):
            prefix, keywords, f = f.args + prefix, {**f.keywords, **keywords}, f.func
        elif inspect.ismethod(f):
            prefix, f = (f.__self__, *prefix), f.__func__
        elif isinstance(f, Layer):
            options, pure, f = options.over(f.layer_options), pure or f.layer_pure, f.f
        else:
            break
    inner = f.source_ if isinstance(f, Operator) else _plain(f)
    bound = Signature(
        inner.signature.py_func,
        inner.signature.prefix + prefix,
        {**inner.signature.keywords, **keywords},
    )
    options = options.over(inner.options)
    return Source(f, bound, options, pure, (options, pure) if pure or options != Options() else None)


@functools.lru_cache(maxsize=1024)
def _plain(f: Any) -> Source:
    return Source(f, Signature(python_function(f)), Options(), False, None)


def python_function(f: Any) -> FunctionType:
    """The Python function of a dispatcher, a custom function or a plain one. Raises ArgumentError."""
    if isinstance(f, Dispatcher):
        return f.py_func
    if isinstance(f, CustomFunction):
        return python_function(f.primal)
    if isinstance(f, FunctionType):
        return f
    if isinstance(f, type) or not callable(f):
        raise ArgumentError(
            f"expected a function, got {f!r}", "pass a function, a dispatcher or a partial of one"
        )
    name = getattr(f, "__name__", None) or type(f).__name__
    raise ArgumentError(f"{name} has no Python source to differentiate", f"wrap it: lambda x: {name}(x)")


class Layer(Wrapped):
    """A wrapper that changes how a function is compiled or called, not what it computes from its arguments."""

    layer_options = Options()
    layer_pure = False

    def structure_key(self) -> tuple[Any, ...]:
        return type(self), self.layer_options, self.layer_pure


class Operator(Wrapped):
    """A wrapper that makes another function, with the parameters of the one inside (`source_`)."""

    source_: Source

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError
