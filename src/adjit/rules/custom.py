"""User-given derivative rules, as the compiler sees them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from adjit.ir.structure import Spec


class CustomFunction:
    """A function with a derivative rule of its own (`@aj.custom_vjp`, `@aj.custom_jvp`).

    primal: the plain function. fwd/bwd: `fwd(*args) -> (value, res)`, `bwd(res, ct, *shadows)` -> one
    cotangent per argument. jvp: `rule(primals, tangents) -> (value, tangent)`.
    """

    primal: Callable[..., Any]
    fwd: Callable[..., Any] | None
    bwd: Callable[..., Any] | None
    jvp: Callable[..., Any] | None

    def __init__(self, primal: Callable[..., Any]):
        self.primal, self.fwd, self.bwd, self.jvp = primal, None, None, None


@dataclass(frozen=True)
class CustomCall:
    """What a `Custom` statement's `rule` is: the function, and how its flat args and results are structured.

    plain: whether the call stands in a plain function, typed by NumPy's rules; the rule is typed as its call is.
    """

    function: CustomFunction
    args: tuple[Spec, ...]
    out: Spec | None = field(default=None)
    plain: bool = True

    @property
    def name(self) -> str:
        """What the printed IR calls it."""
        return getattr(self.function.primal, "__name__", "custom")
