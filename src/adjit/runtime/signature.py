"""Binding the arguments of a call to the parameters of a function, without `inspect` on the way of a call."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from adjit.errors import ArgumentError, CallError, UnsupportedError
from adjit.frontend.kernel_function import KernelFunction

if TYPE_CHECKING:
    from adjit.ir.core import Span


class Signature:
    """The parameters of one function, with values that a `functools.partial` binds ahead.

    `names` are all parameters, in order; `*args` is one parameter whose value is a tuple.
    """

    def __init__(
        self,
        py_func: Callable[..., Any],
        prefix: tuple[Any, ...] = (),
        keywords: Mapping[str, Any] | None = None,
    ):
        self.py_func, self.prefix, self.keywords = py_func, prefix, dict(keywords or {})
        parameters = _parameters(py_func)
        self.function = getattr(py_func, "__name__", repr(py_func))
        self.names = tuple(p.name for p in parameters)
        positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        self.positional = len(positional)
        self.variadic = next((k for k, p in enumerate(parameters) if p.kind is p.VAR_POSITIONAL), None)
        self._defaults = {p.name: p.default for p in parameters if p.default is not p.empty}
        self._given = _defaults_of(py_func)
        self._by_name = {
            p.name: k for k, p in enumerate(parameters) if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
        }
        self._plain = not prefix and not self.keywords and self.positional == len(parameters)
        self._kernel = py_func if isinstance(py_func, KernelFunction) else None
        self._owner: Any = py_func.body if isinstance(py_func, KernelFunction) else py_func
        self._bound = (*self.prefix, *self.keywords.values(), *self._defaults.values())
        self._forms: dict[tuple[object, ...], Callable[[tuple[Any, ...]], tuple[Any, ...]]] = {}

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
        """One value per parameter, defaults filled in. Raises CallError where the plain call is a TypeError."""
        if self._plain and not kwargs and len(args) == self.positional:
            return args
        owner, given = self._owner, self._given
        if (
            getattr(owner, "__defaults__", None) is given[0]
            and getattr(owner, "__kwdefaults__", None) is given[1]
        ):
            form = self._forms.get((len(args), *kwargs)) or self._new_form(args, kwargs)
            if form is not None:
                bound = form((*args, *kwargs.values(), *self._bound))
                return bound if self._kernel is None else self._kernel.arguments(bound)
        return self._bind(self.prefix + args, {**self.keywords, **kwargs})

    def _new_form(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Callable[..., tuple[Any, ...]] | None:
        """How the parameters are picked from what a call of this form gives and what is bound; None where it is wrong.

        What is picked from: the call's arguments, its keywords' values, then the bound ones and the defaults.
        """
        if self.variadic is not None or len(self.prefix) + len(args) > self.positional:
            return None
        end = len(args) + len(kwargs)
        after = end + len(self.prefix)
        places = {name: after + len(self.keywords) + k for k, name in enumerate(self._defaults)}
        named = {name: after + k for k, name in enumerate(self.keywords)}
        named.update((name, len(args) + k) for k, name in enumerate(kwargs))
        positional = self.names[: len(self.prefix) + len(args)]
        if not named.keys() <= self._by_name.keys() or not named.keys().isdisjoint(positional):
            return None
        places.update(named)
        places.update((name, end + k) for k, name in enumerate(positional[: len(self.prefix)]))
        places.update((name, k) for k, name in enumerate(positional[len(self.prefix) :]))
        if any(name not in places for name in self.names):
            return None
        order = [places[name] for name in self.names]
        form = itemgetter(*order) if len(order) > 1 else lambda pool: tuple([pool[k] for k in order])
        self._forms[(len(args), *kwargs)] = form
        return form

    def unbound(self) -> Signature:
        """The same parameters, without what partials bind."""
        return Signature(self.py_func) if self.prefix or self.keywords else self

    def parameter(self, position: int) -> tuple[int, int | None]:
        """The parameter that takes the call's positional argument; the item of it for `*args`."""
        at = position + len(self.prefix)
        if at < self.positional:
            return at, None
        if self.variadic is None:
            raise ArgumentError(f"{self.function}() has no positional argument {position}", self.known())
        return self.variadic, at - self.positional

    def known(self) -> str:
        """The parameters, as a remedy names them."""
        return f"its parameters are: {', '.join(self.names)}" if self.names else "it has no parameters"

    def _bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
        values: dict[int, Any] = dict(enumerate(args[: self.positional]))
        if self.variadic is not None:
            values[self.variadic] = tuple(args[self.positional :])
        elif len(args) > self.positional:
            raise self._wrong(f"takes {_count(self.positional)} but {_were(len(args))} given")
        for name, value in kwargs.items():
            k = self._by_name.get(name)
            if k is None:
                raise self._wrong(f"got an unexpected keyword argument '{name}'")
            if k in values:
                raise self._wrong(f"got multiple values for argument '{name}'")
            values[k] = value
        bound = tuple(values[k] if k in values else self._default(name) for k, name in enumerate(self.names))
        return self.py_func.arguments(bound) if isinstance(self.py_func, KernelFunction) else bound

    def _default(self, name: str) -> Any:
        if any(a is not b for a, b in zip(_defaults_of(self.py_func), self._given, strict=True)):
            return Signature(self.py_func)._default(name)
        if name not in self._defaults:
            raise self._wrong(f"missing a required argument: '{name}'")
        return self._defaults[name]

    def _wrong(self, reason: str) -> CallError:
        return CallError(f"{self.function}() {reason}", self.known(), place(self.py_func))


def _count(n: int) -> str:
    return f"{n} positional argument{'' if n == 1 else 's'}"


def _were(n: int) -> str:
    return f"{n} {'was' if n == 1 else 'were'}"


def place(py_func: Any) -> Span | None:
    """The line where a function is defined."""
    from adjit.ir.core import Span

    code = getattr(py_func, "__code__", None)
    return Span(code.co_filename, code.co_firstlineno) if code is not None else None


def _parameters(py_func: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        parameters = list(inspect.signature(py_func, follow_wrapped=False).parameters.values())
    except (TypeError, ValueError):
        raise ArgumentError(
            f"{getattr(py_func, '__name__', py_func)!s} has no Python source", "wrap it: lambda x: f(x)"
        ) from None
    for p in parameters:
        if p.kind is p.VAR_KEYWORD:
            raise UnsupportedError(
                f"'**{p.name}' cannot be differentiated", "name the keywords", place(py_func)
            )
    return parameters


def _defaults_of(f: Callable[..., Any]) -> tuple[object, object]:
    """What a function's missing arguments are taken from; replaced, not changed, by who rebinds them."""
    return getattr(f, "__defaults__", None), getattr(f, "__kwdefaults__", None)
