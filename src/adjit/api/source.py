"""What a function given to an operator is underneath: options, `pure`, partials and methods taken off."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from types import FunctionType
from typing import Any

from numba.core.dispatcher import Dispatcher
from numba.np.ufunc.dufunc import DUFunc
from numba.np.ufunc.gufunc import GUFunc
from numba.stencils.stencil import StencilFunc

from adjit.errors import ArgumentError
from adjit.frontend.kernel_function import KernelFunction
from adjit.rules.custom import CustomFunction
from adjit.runtime.arguments import StaticFunction, key_of
from adjit.runtime.signature import Signature, place


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
    """Base of functions that adjit makes from a function. `f` is what was wrapped, `peeled` what `source_of` found."""

    f: Callable[..., Any]
    peeled: Source | None = None
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
    if isinstance(f, Wrapped):
        if f.peeled is None:
            f.peeled = _peel(f)
        return f.peeled
    if isinstance(f, functools.partial) or inspect.ismethod(f):
        return _peel(f)
    return _plain(f)


def _peel(f: Any) -> Source:
    options, pure, prefix, keywords = Options(), False, (), {}
    while True:
        if isinstance(f, functools.partial):
            prefix, keywords, f = f.args + prefix, {**f.keywords, **keywords}, f.func
        elif inspect.ismethod(f):
            _check_owner(f)
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


@functools.lru_cache(maxsize=128)
def _plain(f: Any) -> Source:
    return Source(f, Signature(python_function(f)), Options(), False, None)


def python_function(f: Any) -> Callable[..., Any]:
    """The Python function of a dispatcher, a custom function or a plain one; a kernel. Raises ArgumentError."""
    if isinstance(f, Dispatcher):
        return f.py_func
    if isinstance(f, CustomFunction):
        return python_function(f.primal)
    if isinstance(f, KernelFunction):
        return f  # with the parameters and the place of its body
    if isinstance(f, FunctionType):
        return f
    if isinstance(f, type) or not callable(f):
        raise ArgumentError(
            f"expected a function, got {f!r}", "pass a function, a dispatcher or a partial of one"
        )
    raise ArgumentError(*_no_source(f))


def _no_source(f: Any) -> tuple[str, str]:
    """Why a callable cannot be read, and what to pass instead."""
    from adjit import rules  # only for a message: none is needed where a program comes from the cache
    from adjit.frontend import remedies
    from adjit.frontend.calls import name_of

    name = name_of(f)
    if isinstance(f, DUFunc | GUFunc):
        remedy = "decorate the function with njit instead, and call it for each element"
        return f"'{name}' is made by numba.vectorize or guvectorize", remedy
    if isinstance(f, StencilFunc):
        return "this function is made by numba.stencil", remedies.STENCIL
    if isinstance(getattr(f, "__wrapped__", None), FunctionType | Dispatcher) and not remedies.library(f):
        return f"'{name}' is a wrapper around a function", f"pass the function inside: {name}.__wrapped__"
    if not hasattr(f, "__name__"):
        remedy = f"write a function that takes the numbers and arrays that {type(f).__name__}.__call__ reads"
        return f"an object of class {type(f).__name__} is not a function", remedy
    rule = rules.find(f)
    if rule is None:
        remedy = "write it in Python, or call it in a function that has a rule (@aj.custom_vjp)"
        remedy = remedies.INSTEAD.get(name, remedy)
        return f"'{name}' has no Python source to differentiate, and no rule", remedy
    call = ", ".join("xyz"[: rule.arity])
    return f"'{name}' has no Python source to differentiate", f"wrap it: lambda {call}: {name}({call})"


def _check_owner(method: Any) -> None:
    """Raise ArgumentError where a bound method's object is not one that adjit takes as an argument."""
    owner, name = method.__self__, method.__qualname__.rpartition("<locals>.")[2]
    if isinstance(owner, type):
        remedy = "make it a @staticmethod, or a function"
        raise ArgumentError(f"'{name}' is a class method", remedy, place(method.__func__))
    try:
        key_of(owner)
    except ArgumentError as error:
        remedy = "write a function that takes the fields it reads, or make the class a NamedTuple"
        reason = f"'{name}' is a bound method, and adjit does not take its object as an argument"
        raise ArgumentError(reason, remedy, place(method.__func__)) from error


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
