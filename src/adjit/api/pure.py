"""`pure`: a function without side effects from one that works in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjit.api.jit import Primal


def pure(f: Callable[..., Any]) -> Pure:
    """f with copies in place of what it would write.

    Returns: a function of the same arguments that mutates none of them. Its result is `states`, the tuple of
    the float arrays that f's source may write, in argument order, as f leaves them; or `(value, states)` if f
    returns a value. It composes with `vjp`, `jvp`, `grad(..., has_aux=True)` and `options`.
    Raises: ArgumentError at the call if an argument does not fit, or if what f would write shares memory with another
    array: f itself would see there what it wrote.
    """
    return Pure(f)


class Pure(Primal):
    """A function that works on copies."""

    layer_pure = True
