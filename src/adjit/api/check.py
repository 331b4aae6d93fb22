"""`check_grad`: compare derivatives with differences of the plain function, at the user's own arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class CheckReport(NamedTuple):
    """Largest relative errors that `check_grad` found. `forward` or `joint` is None where it does not apply."""

    value: float
    reverse: float
    joint: float | None
    forward: float | None
    directions: int

    def __str__(self) -> str:
        parts = [f"value {self.value:.1e}", f"reverse {self.reverse:.1e}"]
        parts += [f"joint {self.joint:.1e}"] if self.joint is not None else []
        parts += [f"forward {self.forward:.1e}"] if self.forward is not None else ["forward not checked"]
        return f"check_grad passed in {self.directions} directions; relative errors: {', '.join(parts)}"


def check_grad(f: Callable[..., Any], *args: Any, **kwargs: Any) -> CheckReport:
    """Check the derivatives of f at these arguments against differences of the plain function.

    Value and final state of written arrays are compared with the plain call's; then, in random directions over
    all positional floats and float arrays, `vjp`, `value_and_grad` (of a scalar function) and `jvp` with central
    differences extrapolated to step zero. float32 arguments are compared with differences in float64. All calls
    work on copies.
    Returns: a report with the largest relative errors.
    Raises: ArgumentError where a call would be refused, for memory that arguments share; CheckError, naming the worst
    component, if a derivative is not what differences of several sizes settle at, or if they do not settle: at a kink
    or a jump, or so near one that even the smallest steps cross it, or so near the edge of what f is defined for that
    it raises there, is NaN, or complex as Python's `(-1.0)**0.5` (the message names the component). At a kink of any
    kind (`abs(x)` at 0) the slopes of the two sides stay apart; not noticed is one that is a ten-thousandth of the
    slope along the directions drawn.
    """
    from adjit.api.compare import Comparison
    from adjit.runtime.places import refuse_devices

    refuse_devices("check_grad", (*args, *kwargs.values()))
    return Comparison(f, args, kwargs).run()
