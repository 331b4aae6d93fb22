"""What the compiler knows of a kernel: the function that each work item runs."""

from __future__ import annotations

from types import FunctionType

LAUNCH = ("ndrange", "block", "stream")
"""Keywords of a launch; a kernel has no parameters of these names."""


class KernelFunction:
    """Base of `adjit.api.kernel.Kernel`. body: the plain function; its parameters are those of a launch.

    `arguments` makes the values of a launch ready to be arguments of a program: extents as a tuple of ints.
    """

    body: FunctionType

    def arguments(self, values: tuple[object, ...]) -> tuple[object, ...]:
        """One value per parameter and keyword of a launch. Raises ArgumentError, DeviceError."""
        raise NotImplementedError


__all__ = ["LAUNCH", "KernelFunction"]
