"""`stop_gradient`: the identity, whose derivative is zero."""

from __future__ import annotations

from typing import Any

from adjit.api.custom import NumbaCallable


def _identity(x: Any) -> Any:
    return x


class StopGradient(NumbaCallable):
    """The type of `stop_gradient`; a primitive of differentiated code, the identity everywhere else."""

    __name__ = "stop_gradient"
    _plain = staticmethod(_identity)

    def __call__(self, x: Any) -> Any:
        """x itself. In differentiated code no derivative passes."""
        return x

    def __repr__(self) -> str:
        return "adjit.stop_gradient"


stop_gradient = StopGradient()
stop_gradient.__module__ = "adjit"
