"""`custom_vjp`, `custom_jvp`: functions with derivative rules of their own, and `stop_gradient`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from numba.core.dispatcher import Dispatcher

from adjit.api.source import python_function
from adjit.errors import ArgumentError
from adjit.rules.custom import CustomFunction


class NumbaCallable:
    """Something that njit code may call: Numba sees a dispatcher of `_plain`, made when it first asks."""

    _plain: Callable[..., Any]
    _dispatcher: Dispatcher | None = None

    @property
    def _numba_type_(self) -> Any:
        import numba

        if self._dispatcher is None:
            plain = self._plain
            self._dispatcher = plain if isinstance(plain, Dispatcher) else numba.njit(plain)
        return numba.types.Dispatcher(self._dispatcher)


class CustomRule(NumbaCallable, CustomFunction):
    """A function with derivative rules. Called as a function it is its primal, from njit code too."""

    def __init__(self, f: Callable[..., Any]):
        python_function(f)
        CustomFunction.__init__(self, f)
        self._plain = f
        functools.update_wrapper(self, f, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.primal(*args, **kwargs)

    def defvjp(self, fwd: Callable[..., Any], bwd: Callable[..., Any]) -> None:
        """Set the reverse rule.

        `fwd(*args) -> (value, res)` with any tuple `res` that Numba types; `bwd(res, ct, *shadows)` -> a tuple,
        one cotangent per argument, None if it has none. Shadows, one per array that f writes, are updated in place.
        """
        for rule in (fwd, bwd):
            python_function(rule)
        self.fwd, self.bwd = fwd, bwd

    def defjvp(self, rule: Callable[..., Any]) -> None:
        """Set the forward rule: `rule(primals, tangents) -> (value, tangent)`; tangents of ints and bools are None."""
        python_function(rule)
        self.jvp = rule

    def structure_key(self) -> tuple[Any, ...]:
        """What decides the program beside the functions inside."""
        return type(self), self.fwd is None, self.jvp is None

    def captured_functions(self) -> tuple[tuple[str, ...], tuple[Any, ...]]:
        """What may be rebound, and the functions inside (see `runtime.captures`)."""
        return ("fwd", "bwd", "jvp"), (self.primal, self.fwd, self.bwd, self.jvp)

    def __repr__(self) -> str:
        return f"adjit.custom({getattr(self.primal, '__name__', self.primal)!s})"


def custom_vjp(f: Callable[..., Any]) -> CustomRule:
    """Give f a reverse rule: `@aj.custom_vjp`, then `f.defvjp(fwd, bwd)`.

    Returns: a callable that is f, and that derivatives meet with its rule (see `CustomRule.defvjp`).
    """
    return _rule(f, "custom_vjp")


def custom_jvp(f: Callable[..., Any]) -> CustomRule:
    """Give f a forward rule: `@aj.custom_jvp`, then `f.defjvp(rule)`.

    Returns: a callable that is f, and that derivatives meet with its rule (see `CustomRule.defjvp`).
    """
    return _rule(f, "custom_jvp")


def _rule(f: Callable[..., Any], name: str) -> CustomRule:
    if isinstance(f, CustomRule):
        raise ArgumentError(f"{name}: the function has rules already", "call its defvjp or defjvp")
    return CustomRule(f)
