"""Trees with an `aj.Batch` in them: tangents of `jvp`, cotangents of a pullback."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjit.api.annotations import Batch
from adjit.api.tangents import collect
from adjit.errors import ArgumentError


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


def count_of(tree: Any) -> int:
    """How many cotangents a tree of batches holds."""
    sizes = {len(leaf) for leaf in collect(tree)}
    if len(sizes) != 1:
        raise ArgumentError("the batches of cotangents hold different numbers", "give as many in each")
    return sizes.pop()


def picked(tree: Any, k: int) -> Any:
    """Item k of each batch in a tree."""
    if isinstance(tree, tuple):
        items = tuple(picked(t, k) for t in tree)
        return type(tree)(*items) if hasattr(tree, "_fields") else items
    return None if tree is None else tree[k]


def stacked(trees: Sequence[Any]) -> Any:
    """Trees of one structure as one tree of arrays with a leading axis."""
    first = trees[0]
    if isinstance(first, tuple):
        items = tuple(stacked([t[j] for t in trees]) for j in range(len(first)))
        return type(first)(*items) if hasattr(first, "_fields") else items
    return None if first is None else np.stack(trees)
