"""Arrays of other libraries on CUDA devices: torch, JAX, Numba, whatever speaks DLPack.

A program runs on CuPy's view of them, on the stream of their library, and its results go back as arrays of that
library. Nothing is copied.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from adjit.errors import ArgumentError, DeviceError


class ForeignArrays(ArgumentError):
    """Raised where an argument is an array of another library on a CUDA device; those who know `kind.call` it."""

    def __init__(self, kind: Kind, name: str):
        super().__init__(
            f"'{name}' is an array of {kind.library} on a CUDA device", f"pass cupy.asarray({name})"
        )
        self.kind = kind


class Kind:
    """What is done with the arrays of one library.

    library: its name. takes: whether a value is such an array. stream: the stream that it runs on now, 0 for the
    default one. returned: its array of a CuPy array's memory. fixed: whether its arrays may not be written.
    """

    library = ""
    fixed = False

    def takes(self, value: Any) -> bool:
        raise NotImplementedError

    def entered(self, value: Any) -> Any:
        """CuPy's view of an array."""
        return _cupy().from_dlpack(value)

    def returned(self, a: Any) -> Any:
        raise NotImplementedError

    def stream(self) -> AbstractContextManager[Any]:
        """The context in which programs run on the library's stream."""
        return nullcontext()

    def call(self, function: Callable[..., Any], args: Any, kwargs: Mapping[str, Any]) -> Any:
        """`function(*args, **kwargs)` on views of the arrays; what it returns as arrays of the library."""
        with self.stream():
            given = mapped((tuple(args), dict(kwargs)), self._view)
            return mapped(function(*given[0], **given[1]), self._result)

    def _view(self, value: Any) -> Any:
        if not self.takes(value):
            return value
        try:
            view = self.entered(value)
        except Exception as error:
            raise ArgumentError(f"an array of {self.library} that CuPy does not take: {error}") from error
        if not self.fixed:
            return view
        from adjit.runtime.cuda.place import FixedArray

        return view.view(FixedArray)

    def _result(self, value: Any) -> Any:
        return self.returned(value) if isinstance(value, _cupy().ndarray) else value


class _Torch(Kind):
    library = "torch"

    def takes(self, value: Any) -> bool:
        torch = sys.modules.get("torch")
        return torch is not None and isinstance(value, torch.Tensor) and bool(value.is_cuda)

    def entered(self, value: Any) -> Any:
        return _cupy().from_dlpack(value.detach())

    def returned(self, a: Any) -> Any:
        return sys.modules["torch"].from_dlpack(a)

    def stream(self) -> AbstractContextManager[Any]:
        return external_stream(sys.modules["torch"].cuda.current_stream().cuda_stream)


class _Jax(Kind):
    """JAX's arrays are values: a program that writes one is refused."""

    library, fixed = "JAX", True

    def takes(self, value: Any) -> bool:
        jax = sys.modules.get("jax")
        return jax is not None and isinstance(value, jax.Array) and _on_cuda(value)

    def returned(self, a: Any) -> Any:
        _cupy().cuda.get_current_stream().synchronize()  # JAX has streams of its own
        return sys.modules["jax"].dlpack.from_dlpack(a)


class _Interface(Kind):
    """Whatever has `__cuda_array_interface__`, or DLPack: results are CuPy's arrays."""

    library = "another library"

    def takes(self, value: Any) -> bool:
        if hasattr(value, "__cuda_array_interface__"):
            cupy = sys.modules.get("cupy")
            return cupy is None or not isinstance(value, cupy.ndarray)
        return hasattr(value, "__dlpack__") and _on_cuda(value)

    def entered(self, value: Any) -> Any:
        cupy = _cupy()
        if hasattr(value, "__cuda_array_interface__"):
            return cupy.asarray(value)
        return cupy.from_dlpack(value)

    def returned(self, a: Any) -> Any:
        return a


_KINDS: tuple[Kind, ...] = (_Torch(), _Jax(), _Interface())
_CUDA_DEVICE = 2  # DLPack's number


def _on_cuda(value: Any) -> bool:
    try:
        return int(value.__dlpack_device__()[0]) == _CUDA_DEVICE
    except Exception:  # no single device, or an array that is gone
        return False


class _Stream:
    """A stream by its address, as CuPy takes it."""

    def __init__(self, address: int):
        self._address = address

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self._address


def external_stream(address: int) -> Any:
    """CuPy's stream of that address."""
    cuda = _cupy().cuda
    if hasattr(cuda.Stream, "from_external"):
        return cuda.Stream.from_external(_Stream(address))
    return cuda.ExternalStream(address)


def _cupy() -> Any:
    try:
        import cupy  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise DeviceError(
            "arrays on a CUDA device need CuPy, and it cannot be imported: " + str(error),
            "install it: pip install cupy-cuda13x (or cupy-cuda12x)",
        ) from error
    return cupy


def kind_of(value: Any) -> Kind | None:
    """The library of an array on a CUDA device that is not CuPy's; None for anything else."""
    return next((k for k in _KINDS if k.takes(value)), None)


def mapped(tree: Any, f: Callable[[Any], Any]) -> Any:
    """The tree with f applied to each leaf: in tuples, lists, dicts, and what an argument is annotated with."""
    if isinstance(tree, tuple):
        items = [mapped(t, f) for t in tree]
        return type(tree)(*items) if hasattr(tree, "_fields") else tuple(items)
    if type(tree) is list:
        return [mapped(t, f) for t in tree]
    if type(tree) is dict:
        return {k: mapped(v, f) for k, v in tree.items()}
    if hasattr(tree, "mapped"):
        return tree.mapped(lambda part: mapped(part, f))
    return f(tree)
