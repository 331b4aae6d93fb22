"""Trees with an `aj.Batch` in them: tangents of `jvp`, cotangents of a pullback."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from adjit.api.annotations import Batch
from adjit.errors import ArgumentError
from adjit.ir.structure import Leaf, Spec, TupleSpec
from adjit.runtime.arguments import describe, item_name
from adjit.runtime.foreign import mapped
from adjit.runtime.places import library_of, place_of


def batched(tree: Any) -> bool:
    """Whether a tree of tangents has a batch in it."""
    return any(map(batched, tree)) if isinstance(tree, tuple) else isinstance(tree, Batch)


def unbatched(tree: Any) -> Any:
    """The tree with the batches' arrays at its leaves. Raises ArgumentError for a leaf that is in no batch."""
    if isinstance(tree, Batch):
        return tree.values
    if isinstance(tree, tuple):
        items = tuple(map(unbatched, tree))
        return type(tree)(*items) if hasattr(tree, "_fields") else items
    if tree is None:
        return None
    raise ArgumentError(
        f"one tangent is an aj.Batch and another one {type(tree).__name__}",
        "give every tangent as an aj.Batch of as many, or None",
    )


def fit_batch(values: Any, shape: tuple[int, ...], leaf: Leaf, name: str, what: str) -> np.ndarray[Any, Any]:
    """A batch for a leaf, checked for dtype and shape. Raises ArgumentError."""
    dtype = np.dtype(leaf.number.name)
    if leaf.place and leaf.is_array and place_of(values) != leaf.place:
        raise ArgumentError(
            f"the batch of {what}s of {name} must be a device array as {name} is, not {type(values).__name__}",
            "give one of the same queue",
        )
    if not (leaf.place and leaf.is_array) and type(values) is not np.ndarray:
        raise ArgumentError(
            f"the batch of {what}s of {name} must be an array, not {type(values).__name__}",
            "give np.stack(...)",
        )
    if values.dtype != dtype:
        raise ArgumentError(
            f"the batch of {what}s of {name} has dtype {values.dtype}, and {name} {dtype}",
            f"convert it: .astype(np.{dtype})",
        )
    if values.shape[1:] != shape or values.ndim == 0:
        wanted = f"(k{''.join(f', {n}' for n in shape)}{',' if not shape else ''})"
        raise ArgumentError(
            f"the batch of {what}s of {name} has shape {values.shape}, and {name} {shape}",
            f"give one of shape {wanted}",
        )
    return values


def one_count(batches: Iterator[tuple[str, Any]]) -> int:
    """How many each batch holds. Raises ArgumentError where they differ."""
    counts = [(name, len(values)) for name, values in batches]
    for name, count in counts:
        if count != counts[0][1]:
            raise ArgumentError(
                f"the batch of {counts[0][0]} holds {counts[0][1]}, that of {name} {count}",
                "give as many in each",
            )
    return counts[0][1]


def checked_count(spec: Spec, cts: Any, shapes: Iterator[Any], name: str) -> int:
    """How many cotangents a tree of batches holds, which fit the result. Raises ArgumentError."""
    return one_count(_checked(spec, cts, shapes, name))


def _checked(spec: Spec, cts: Any, shapes: Iterator[Any], name: str) -> Iterator[tuple[str, Any]]:
    if isinstance(spec, TupleSpec):
        if cts is not None and (not isinstance(cts, tuple) or len(cts) != len(spec.items)):
            raise ArgumentError(
                f"cotangent of {name} does not have its structure, {describe(spec)}",
                "give a tuple like the result, None for parts without a derivative",
            )
        for k, item in enumerate(spec.items):
            yield from _checked(item, None if cts is None else cts[k], shapes, item_name(name, spec, k))
    elif isinstance(spec, Leaf):
        shape = next(shapes)
        if cts is not None and spec.type.differentiable:
            yield name, fit_batch(cts, () if shape is None else tuple(shape), spec, name, "cotangent")


def picked(tree: Any, k: int) -> Any:
    """Item k of each batch in a tree."""
    return mapped(tree, lambda batch: None if batch is None else batch[k, ...])


def stacked(trees: Sequence[Any]) -> Any:
    """Trees of one structure as one tree of arrays with a leading axis."""
    first = trees[0]
    if isinstance(first, tuple):
        items = tuple(stacked([t[j] for t in trees]) for j in range(len(first)))
        return type(first)(*items) if hasattr(first, "_fields") else items
    if first is None:
        return None
    place = place_of(first)
    return library_of(place).stacked(trees) if place else np.stack(trees)


def emptied(tree: Any) -> Any:
    """Of a tree, one of arrays that hold none of it: a leading axis of extent zero."""
    return mapped(tree, _emptied)


def _emptied(value: Any) -> Any:
    place = place_of(value)
    if place:
        return library_of(place).empty(value, (0, *value.shape), value.dtype)
    return None if value is None else np.zeros((0, *np.shape(value)), np.asarray(value).dtype)
