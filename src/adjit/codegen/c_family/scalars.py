"""Numbers in C: the names of their types, and literals."""

from __future__ import annotations

import math

import numpy as np

from adjit.ir.types import Scalar

_NAMES = {"float32": "float", "float64": "double", "int32": "int", "bool": "bool"}
_VECTORS = frozenset({"int8", "int16", "uint8", "uint16"})  # OpenCL C has vectors of these names
_LEAST = -(2**63)

ATOM, UNARY = 14, 13


def c_type(type: Scalar) -> str:
    """The type of a variable."""
    return _NAMES.get(type.name, f"{type.name}_" if type.name in _VECTORS else type.name)


def memory_type(type: Scalar) -> str:
    """The type of an element in memory, or of a parameter: a bool is a byte."""
    return "unsigned char" if type.is_bool else c_type(type)


def unsigned_type(type: Scalar) -> str:
    """The unsigned integer of the same width."""
    return c_type(Scalar(f"uint{8 * type.itemsize}"))


def literal(value: complex, type: Scalar) -> tuple[str, int]:
    """A constant, and its precedence."""
    assert not isinstance(value, complex)
    if type.is_bool:
        return ("true" if value else "false"), ATOM
    if type.is_int:
        return _integer(int(value))
    value = float(value)
    if type.name == "float32":
        with np.errstate(over="ignore"):
            value = float(np.float32(value))  # what does not fit is infinite, as on the host
    if math.isnan(value):
        return f"({c_type(type)})NAN", UNARY
    if math.isinf(value):
        return f"({c_type(type)}){'' if value > 0 else '-'}INFINITY", UNARY
    text = repr(value)
    if type.name == "float32":
        short = str(np.float32(value))
        text = f"{short if any(c in short for c in '.en') else short + '.0'}f"
    return text, (UNARY if text.startswith("-") else ATOM)


def _integer(value: int) -> tuple[str, int]:
    if value == _LEAST:
        return f"({value + 1} - 1)", ATOM
    text = f"{value}u" if value >= 2**63 else str(value)
    return text, (UNARY if value < 0 else ATOM)
