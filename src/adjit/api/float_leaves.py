"""Arguments and results as float leaves of nested tuples: copied, moved, named, paired with tangents."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np


def _leaves(tree: Any) -> Iterator[Any]:
    if isinstance(tree, tuple):
        for item in tree:
            yield from _leaves(item)
    elif isinstance(tree, bool | int | float | complex | np.generic | np.ndarray):
        yield tree


def is_float(v: Any) -> bool:
    """Whether it is a float, a complex number or an array of those."""
    return isinstance(v, float | complex | np.inexact) or (isinstance(v, np.ndarray) and v.dtype.kind in "fc")


def floats(tree: Any) -> Iterator[Any]:
    """The float leaves of nested tuples."""
    return (v for v in _leaves(tree) if is_float(v))


def float_names(a: Any, name: str) -> Iterator[str]:
    """The names of the float leaves of an argument."""
    if isinstance(a, tuple):
        fields = getattr(type(a), "_fields", range(len(a)))
        for field, item in zip(fields, a, strict=True):
            yield from float_names(item, f"{name}.{field}")
    elif is_float(a):
        yield name


def _map(tree: Any, leaf: Callable[[Any], Any]) -> Any:
    if isinstance(tree, tuple):
        items = [_map(t, leaf) for t in tree]
        return type(tree)(*items) if hasattr(tree, "_fields") else tuple(items)
    return leaf(tree)


def cast(v: Any, wide: bool) -> Any:
    """A copy of an array; in double precision if `wide`."""
    if not wide or not is_float(v) or (isinstance(v, float | complex) and not isinstance(v, np.generic)):
        return v.copy("K") if isinstance(v, np.ndarray) else v
    dtype = np.complex128 if np.iscomplexobj(v) else np.float64
    return v.astype(dtype) if isinstance(v, np.ndarray) else dtype(v)


def copies(args: tuple[Any, ...], wide: bool = False) -> tuple[Any, ...]:
    """Copies of arguments, in double precision if `wide`."""
    return tuple(_map(a, lambda v: cast(v, wide)) for a in args)


def copied(kwargs: dict[str, Any]) -> dict[str, Any]:
    """Copies of keyword arguments."""
    return {k: _map(v, lambda leaf: cast(leaf, False)) for k, v in kwargs.items()}


def moved(a: Any, numbers: Iterator[Any]) -> Any:
    """An argument with other numbers at its float leaves."""
    return _map(a, lambda v: _like(v, next(numbers)) if is_float(v) else v)


def _like(v: Any, new: Any) -> Any:
    return type(v)(new) if type(v) in (float, complex) else new


def directed(a: Any, given: Iterator[Any]) -> Any:
    """A tangent of an argument: directions at its float leaves, None at the others."""

    def leaf(v: Any) -> Any:
        if not is_float(v):
            return None
        d = next(given)
        return (
            d.astype(v.dtype) if isinstance(v, np.ndarray) else d.item() if isinstance(d, np.ndarray) else d
        )

    return _map(a, leaf)


def matched(gradients: Any, args: tuple[Any, ...]) -> list[Any]:
    """Gradients per float leaf of the arguments."""
    return [
        g
        for a, g in zip(args, gradients, strict=True)
        for g in floats((g,))
        if any(True for _ in floats((a,)))
    ]
