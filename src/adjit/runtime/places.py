"""Where the arrays of a call are: in the host's memory or on a device. Device libraries are never imported here."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from adjit.errors import DeviceError
from adjit.ir.structure import Leaf, Spec, TupleSpec, leaves
from adjit.ir.types import Array

if TYPE_CHECKING:
    from types import ModuleType

OPENCL = "opencl"


def place_of(value: Any) -> str:
    """The place of an array: "opencl" for a pyopencl array, "" for anything else."""
    library = sys.modules.get("pyopencl.array")
    return OPENCL if library is not None and isinstance(value, library.Array) else ""


def library_of(place: str) -> ModuleType:
    """What knows the arrays of a place; imports its library, which is there since one of its arrays is."""
    assert place == OPENCL
    from adjit.runtime.opencl import place as opencl

    return opencl


def common_place(specs: Iterable[Spec], names: Iterable[str]) -> str:
    """Where all arrays of a call are. Raises DeviceError where they are in different places."""
    found: dict[str, str] = {}
    for spec, name in zip(specs, names, strict=True):
        for leaf in leaves(spec):
            if isinstance(leaf.type, Array):
                found.setdefault(leaf.place, name)
    if len(found) > 1:
        device = found.get(OPENCL, "")
        host = found.get("", "")
        raise DeviceError(
            f"'{device}' is on a device, and '{host}' is a NumPy array",
            f"move one of them: cl.array.to_device(queue, {host}), or {device}.get()",
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
        elif place_of(v):
            raise DeviceError(
                f"{what} of device arrays", f"{what} runs on the CPU: pass NumPy arrays, x.get()"
            )
