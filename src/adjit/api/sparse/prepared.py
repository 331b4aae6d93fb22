"""What is kept between calls of a sparse Jacobian, as long as shapes, integers and bools stay the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from adjit.api.device.moves import moves_of
from adjit.api.lanes import Block
from adjit.api.sparse.compression import Compression
from adjit.api.sparse.graphs import Index
from adjit.api.sparse.pattern import Pattern
from adjit.api.sparse.products import Directions
from adjit.runtime.places import library_of, place_of

Short = Callable[[Sequence[Any]], Any]


class Facts:
    """What a pattern was derived from: the shapes of arrays, the values of integers and bools."""

    def __init__(self, leaves: Sequence[Any]):
        self._leaves = [_fact(v) for v in leaves]

    def hold(self, leaves: Sequence[Any]) -> bool:
        """Whether they are the same for these leaves."""
        return len(leaves) == len(self._leaves) and all(map(_holds, self._leaves, leaves))


def _fact(v: Any) -> Any:
    if isinstance(v, np.ndarray):
        return (v.shape, None) if v.dtype.kind in "fc" else (v.shape, v.copy())
    place = place_of(v)
    if place:
        return (v.shape, None) if v.dtype.kind in "fc" else (v.shape, library_of(place).private(v, "C"))
    return None if isinstance(v, float | complex | np.inexact) else v


def _holds(fact: Any, v: Any) -> bool:
    if isinstance(v, np.ndarray):
        return fact[0] == v.shape and (fact[1] is None or np.array_equal(fact[1], v))
    place = place_of(v)
    if place:
        same = fact[0] == v.shape
        return same and (fact[1] is None or v.size == 0 or not moves_of(place).differ(fact[1], v))
    return fact is None or (type(fact) is type(v) and fact == v)


@dataclass(frozen=True)
class Prepared:
    """A pattern with its compression, for arguments of one kind.

    facts: what arguments they hold for. at: where each entry is among the products. directions: those of the colours,
    and the one to check. vector: that one, None where the pattern is proven. blocks: buffers that hold the directions.
    single: (not proven) whether the program computes in single precision somewhere. short: from the leaves to the
    products, where that is one call.
    """

    facts: Facts
    pattern: Pattern
    how: Compression
    at: Index
    directions: Directions
    vector: np.ndarray[Any, Any] | None
    blocks: list[Block] | None
    single: bool
    short: Short | None

    def matrix(self, products: np.ndarray[Any, Any]) -> Any:
        """The entries as a `scipy.sparse.csr_array` of its own."""
        form = self._form
        made = object.__new__(type(form))
        made.__dict__.update(form.__dict__)
        made.data = products[self.at]
        made.indices, made.indptr = form.indices.copy(), form.indptr.copy()
        return made

    @cached_property
    def _form(self) -> Any:
        """The matrix without its entries. (To make one anew by SciPy's checks costs more than a pass.)"""
        return self.pattern.plain_matrix()
