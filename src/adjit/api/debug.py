"""`debug_nans`: stop at the first adjoint that is not finite."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from adjit.api.engine import debugging


@contextmanager
def debug_nans() -> Generator[None]:
    """Inside, derivatives are compiled so that the first NaN or infinite adjoint raises, naming its line.

    Programs are compiled apart from the others; they are slower. Holds for the current thread or task.
    Raises: CheckError, from the call that meets such an adjoint.
    """
    token = debugging.set(True)
    try:
        yield
    finally:
        debugging.reset(token)
