"""What the compiler knows of a kernel: the function that each work item runs."""

from __future__ import annotations

from types import FunctionType
from typing import Any

LAUNCH = ("ndrange", "block", "stream")
"""Keywords of a launch; a kernel has no parameters of these names."""


class KernelFunction:
    """Base of `adjit.api.kernel.Kernel`."""

    @property
    def body(self) -> FunctionType:
        """The plain function; its parameters are those of a launch."""
        raise NotImplementedError

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    def arguments(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """The values of a launch as arguments of a program. Raises ArgumentError, DeviceError."""
        raise NotImplementedError


__all__ = ["LAUNCH", "KernelFunction"]
