"""Tangents, cotangents and shadows that a user gives: which are there, and whether they fit.

`None` stands for zero, for a whole tree or for a leaf. A number fits a scalar, an array fits an array of the
same shape and dtype.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import numpy as np

from adjit.api.plan import Leaves
from adjit.errors import ArgumentError
from adjit.ir.structure import Leaf, Spec, TupleSpec, leaves
from adjit.ir.types import Array, Scalar
from adjit.runtime.arguments import item_name, layout_of
from adjit.runtime.places import library_of, place_of

_NUMBERS = (int, float, np.floating, np.integer)
_DTYPES = {name: np.dtype(name) for name in ("float32", "float64", "complex64", "complex128")}


def mask_of(tangent: Any) -> Hashable:
    """Which parts of a tree are given: False for None, a tuple for a tuple, else True."""
    if tangent is None:
        return False
    return tuple(mask_of(t) for t in tangent) if isinstance(tangent, tuple) else True


def spread(spec: Spec, mask: Hashable, name: str, what: str) -> Iterator[bool]:
    """One flag per leaf. Raises ArgumentError where a part is given for something without a derivative."""
    if mask is False:
        yield from (False for _ in leaves(spec))
    elif isinstance(spec, TupleSpec):
        if not isinstance(mask, tuple) or len(mask) != len(spec.items):
            raise ArgumentError(f"{what} of '{name}' does not have its structure", _like(spec))
        for k, (item, part) in enumerate(zip(spec.items, mask, strict=True)):
            yield from spread(item, part, item_name(name, spec, k), what)
    elif isinstance(spec, Leaf) and spec.type.differentiable:
        if isinstance(mask, tuple):
            raise ArgumentError(
                f"{what} of '{name}' is a tuple, '{name}' is {spec.type}", "give one of its own kind"
            )
        yield True
    else:
        kind = str(spec.type) if isinstance(spec, Leaf) else "no number"
        raise ArgumentError(f"'{name}' is {kind} and has no derivative: its {what} must be None", "give None")


def active_leaves(of: Leaves, masks: Sequence[Hashable]) -> tuple[bool, ...]:
    """One flag per leaf of the arguments: whether a tangent is given. Raises ArgumentError as `spread`."""
    parts = zip(of.specs, masks, of.source.signature.names, strict=True)
    return tuple(on for s, m, n in parts for on in spread(s, m, n, "tangent"))


def collect(tree: Any) -> Iterator[Any]:
    """The given leaves of a tree, left to right; None is skipped."""
    if isinstance(tree, tuple):
        for item in tree:
            yield from collect(item)
    elif tree is not None:
        yield tree


def fit_scalar(value: Any, leaf: Leaf, name: str, what: str) -> Any:
    """The number in the dtype of its leaf. Raises ArgumentError if it is none."""
    assert isinstance(leaf.type, Scalar)
    numbers = (*_NUMBERS, complex, np.complexfloating) if leaf.type.is_complex else _NUMBERS
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, bool) or not isinstance(value, numbers):
        raise ArgumentError(
            f"{what} of {name} must be a number ({leaf.type}), not {type(value).__name__}", "give one"
        )
    if leaf.type.name in ("float64", "complex128"):
        return complex(value) if leaf.type.is_complex else float(value)  # pyright: ignore[reportArgumentType]
    return np.dtype(leaf.type.name).type(value)


def fit_array(value: Any, like: tuple[int, ...], leaf: Leaf, name: str, what: str) -> np.ndarray[Any, Any]:
    """The array, checked for dtype and shape. Raises ArgumentError."""
    assert isinstance(leaf.type, Array)
    if leaf.place and place_of(value) != leaf.place:
        kind = type(value).__name__
        raise ArgumentError(
            f"{what} of {name} must be a device array as {name} is, not {kind}", "give one of the same queue"
        )
    if not leaf.place and type(value) is not np.ndarray:
        raise ArgumentError(
            f"{what} of {name} must be an array, not {type(value).__name__}",
            "give .filled(0.0)" if isinstance(value, np.ma.MaskedArray) else "give np.asarray(...)",
        )
    if value.dtype is not _DTYPES[leaf.type.dtype.name] and value.dtype != leaf.type.dtype.name:
        raise ArgumentError(
            f"{what} of {name} has dtype {value.dtype}, and {name} {leaf.type.dtype}",
            f"convert it: .astype(np.{leaf.type.dtype})",
        )
    if value.shape != like:
        raise ArgumentError(
            f"{what} of {name} has shape {value.shape}, and {name} {like}", "give one of the same shape"
        )
    return value


def private(value: np.ndarray[Any, Any], leaf: Leaf) -> np.ndarray[Any, Any]:
    """A copy in the layout that programs expect of a shadow: F for an F array, else C."""
    assert isinstance(leaf.type, Array)
    if leaf.place:
        return library_of(leaf.place).private(value, "F" if leaf.type.layout == "F" else "C")
    return np.array(value, order="F" if leaf.type.layout == "F" else "C")


def zeros(shape: Any, leaf: Leaf) -> np.ndarray[Any, Any]:
    """A zero shadow for a leaf, from its shape (of a device array, from the array)."""
    assert isinstance(leaf.type, Array)
    if leaf.place:
        return library_of(leaf.place).zeros(
            shape, leaf.type.dtype.name, "F" if leaf.type.layout == "F" else "C"
        )
    return np.zeros(shape, leaf.type.dtype.name, "F" if leaf.type.layout == "F" else "C")


def usable(value: np.ndarray[Any, Any], leaf: Leaf) -> np.ndarray[Any, Any]:
    """The array itself where its layout is what programs expect, else a copy."""
    assert isinstance(leaf.type, Array)
    wanted = "F" if leaf.type.layout == "F" else "C"
    if leaf.place:
        return value if library_of(leaf.place).layout_of(value) == wanted else private(value, leaf)
    return value if layout_of(value) == wanted and value.flags.aligned else private(value, leaf)


def _like(spec: TupleSpec) -> str:
    kind = spec.cls.__name__ if spec.cls else "tuple"
    return f"give a {kind} of {len(spec.items)} items, None for parts without a derivative"
