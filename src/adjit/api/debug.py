"""`debug_nans`: stop at the first adjoint that is not finite."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from adjit.errors import CheckError

debugging: ContextVar[bool] = ContextVar("adjit_debug_nans", default=False)

_TRAPPED = re.compile(r"(the adjoint of .*) at (.*):(\d+)$")


@contextmanager
def debug_nans() -> Generator[None]:
    """Inside, derivatives are compiled so that the first NaN or infinite adjoint raises, naming its line.

    Programs are compiled apart from the others; they are slower. Holds for the current thread or task; a pullback
    stays as it was compiled.
    Raises: CheckError, from the call that meets such an adjoint.
    """
    token = debugging.set(True)
    try:
        yield
    finally:
        debugging.reset(token)


def trapping(call: Callable[..., Any]) -> Callable[..., Any]:
    """A compiled program whose trap raises CheckError with a place in the source."""

    def trapped(*args: Any) -> Any:
        try:
            return call(*args)
        except FloatingPointError as error:
            found = _TRAPPED.match(str(error))
            if found is None:
                raise
            raise _fault(*found.groups()) from None

    return trapped


def _fault(reason: str, file: str, line: str) -> CheckError:
    from adjit.ir.core import Span

    remedy = "look for a division by zero, a root or a logarithm at 0, or an overflow there"
    return CheckError(reason, remedy, Span(file, int(line)))
