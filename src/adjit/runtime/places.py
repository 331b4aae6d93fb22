"""Where the arrays of a call are: in the host's memory or on a device. Device libraries are never imported here."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from adjit.errors import DeviceError
from adjit.ir.structure import Leaf, Spec, TupleSpec, leaves
from adjit.ir.types import Array
from adjit.runtime.foreign import kind_of

if TYPE_CHECKING:
    from types import ModuleType

OPENCL, CUDA = "opencl", "cuda"
_ARRAYS = (("pyopencl.array", "Array", OPENCL), ("cupy", "ndarray", CUDA))
"""For each kind of device array the module that defines it, its name there, and its place."""
_ELSEWHERE = {OPENCL: "cl.array.to_device(queue, {})", CUDA: "cupy.asarray({})"}


KNOWN: dict[type, str] = {}
"""Types of device arrays that came in, with their places."""


def place_of(value: Any) -> str:
    """The place of an array: "opencl" for a pyopencl array, "cuda" for a CuPy array, "" for anything else."""
    found = KNOWN.get(type(value))
    if found is not None:
        return found
    for module, name, place in _ARRAYS:
        library = sys.modules.get(module)
        if library is not None and isinstance(value, getattr(library, name, ())):
            KNOWN[type(value)] = place
            return place
    return ""


@cache
def library_of(place: str) -> ModuleType:
    """What knows the arrays of a place; imports its library, which is there since one of its arrays is."""
    if place == CUDA:
        from adjit.runtime.cuda import place as cuda

        return cuda
    assert place == OPENCL
    from adjit.runtime.opencl import place as opencl

    return opencl


def may_share_memory(a: Any, b: Any) -> bool:
    """Whether two arrays of one place may have an element in common, by a quick look."""
    place = place_of(a)
    return bool(np.may_share_memory(*(library_of(place).ghosts((a, b)) if place else (a, b))))


def common_place(specs: Iterable[Spec], names: Iterable[str]) -> str:
    """Where all arrays of a call are. Raises DeviceError where they are in different places."""
    found: dict[str, str] = {}
    for spec, name in zip(specs, names, strict=True):
        for leaf in leaves(spec):
            if isinstance(leaf.type, Array):
                found.setdefault(leaf.place, name)
    if OPENCL in found and CUDA in found:
        raise DeviceError(
            f"'{found[OPENCL]}' is a pyopencl array, and '{found[CUDA]}' is on a CUDA device",
            f"move one of them: {_ELSEWHERE[OPENCL].format(f'{found[CUDA]}.get()')}",
        )
    if len(found) > 1:
        host = found.pop("")
        place, device = next(iter(found.items()))
        raise DeviceError(
            f"'{device}' is on a device, and '{host}' is a NumPy array",
            f"move one of them: {_ELSEWHERE[place].format(host)}, or {device}.get()",
        )
    return next(iter(found), "")


def placed(spec: Spec, place: str) -> Spec:
    """The structure of a result whose arrays are in that place."""
    match spec:
        case Leaf(type=Array()):
            return Leaf(spec.type, spec.weak, spec.ones, place)
        case TupleSpec(items=items, cls=cls):
            return TupleSpec(tuple(placed(s, place) for s in items), cls)
        case _:
            return spec


def refuse_devices(what: str, values: Iterable[Any]) -> None:
    """Raise DeviceError for what works on NumPy arrays only, where device arrays are given, also in tuples."""
    for v in values:
        if isinstance(v, tuple):
            refuse_devices(what, v)
        elif place_of(v) or kind_of(v) is not None:
            raise DeviceError(
                f"{what} of device arrays", f"{what} runs on the CPU: pass NumPy arrays, x.get()"
            )
