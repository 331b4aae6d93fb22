"""From a module of compiled functions to the text of a program on a device, and from that to a callable."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from adjit.codegen.c_family.dialect import CUDA, OPENCL, Dialect
from adjit.codegen.driver.module import HostUnit, render_driver
from adjit.codegen.module import Module
from adjit.codegen.names import RESERVED, Names
from adjit.ir.core import Atom, Sym
from adjit.transform.device_nests import on_device

RESERVED_ON_DEVICE = frozenset({"device", "KERNELS", "SOURCE", "Source"})
"""Names that generated text of a program on a device has for itself."""


def dialect_of(place: str) -> Dialect:
    """The language of kernels where the arrays are."""
    return CUDA if place == "cuda" else OPENCL


_PARAMETER_BYTES = {"cuda": 4096, "opencl": 1024}
"""What the parameters of a kernel may take on any device. (CUDA from 12.1 on allows 32764.)"""
_KERNEL = re.compile(r"^(?:__kernel|extern \"C\" __global__) void [^(]*\((.*)\)$", re.MULTILINE)


def parameters_fit(text: str, place: str) -> bool:
    """Whether every kernel of a text has no more parameters than any device of that place takes."""
    most = _PARAMETER_BYTES[place] // 8
    return all(_parameters(k) <= most for k in _KERNEL.findall(text))


def _parameters(listed: str) -> int:
    """How many there are at most: a place stands for two where a launch is for many groups of arrays."""
    return 1 + listed.count(",") - listed.count("GIVEN(") + listed.count("PLACE(")


def device_text(module: Module, results: int, dialect: Dialect) -> str:
    """The text: kernels, and the host functions. Raises UnsupportedError, DeviceError for what devices cannot do.

    results: how many results of a unit are the user's, where the unit does not say it.
    """
    units = host_units(module, results, dialect is CUDA)
    return render_driver(units, module.glue, module.doc, dialect)


def host_units(module: Module, results: int, products: bool = False) -> tuple[HostUnit, ...]:
    """Each unit as a host function and its kernels. What one hands to the next stays where it was made.

    products: whether the device's library has products of matrices.
    """
    taken = {u.function.name for u in module.units} | {g.name for g in module.glue}
    names = Names(RESERVED | taken | RESERVED_ON_DEVICE)
    found: list[HostUnit] = []
    handed_on_host: tuple[bool, ...] = ()
    for unit in module.units:
        hosts: set[Sym] = {p for p, on in zip(unit.handed, handed_on_host, strict=bool(unit.handed)) if on}
        count = results if unit.results is None else unit.results
        split = on_device(unit.function, names.fresh, hosts, None if unit.handed else count, products)
        passed: tuple[Atom, ...] = unit.function.results[count:]
        handed_on_host = tuple(split.on_host(a) for a in passed)
        found.append(HostUnit(split.main, split.kernels, split.on_host, split.strict))
    return tuple(found)


def entered(place: str, call: Callable[..., Any], results: int) -> Callable[..., Any]:
    """A host function of the text as a function of the place's arrays."""
    if place == "cuda":
        from adjit.runtime.cuda.program import Program

        return Program(call, results)
    assert place == "opencl"
    from adjit.runtime.opencl.device import on_device as on_opencl

    return on_opencl(call, results)
