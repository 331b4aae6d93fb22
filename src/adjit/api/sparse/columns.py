"""The inputs of a Jacobian as its columns: the leaves that `wrt` names, one after the other, each in C order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from adjit.api.plan import Leaves
from adjit.api.wrt import select
from adjit.errors import ArgumentError
from adjit.ir.types import Array
from adjit.runtime.arguments import Template


class Columns:
    """Which leaves of the arguments the columns are. active: one flag per leaf."""

    def __init__(self, paths: tuple[str, ...], of: Leaves):
        selection = select(paths, of)
        self.active = selection.active
        self.order = tuple(i for tree in selection.trees for i in _numbers(tree))
        self._of = of
        for i in self.order:
            if _dtype(of.all[i].type).is_complex:
                raise ArgumentError(
                    f"'{of.names[i]}' is complex, and a sparse Jacobian is of real numbers",
                    "pass real and imaginary parts as two arguments",
                )

    def sizes(self, leaves: Sequence[Any]) -> list[int]:
        """How many columns each leaf has."""
        return [leaves[i].size if self._of.is_array(i) else 1 for i in self.order]

    def split(self, flat: np.ndarray[Any, Any], leaves: Sequence[Any], make: Callable[..., Any]) -> list[Any]:
        """One item per active leaf, in the order of the leaves, from one number per column.

        make: gives it from its part of `flat`, a shape and the leaf's type.
        """
        found: dict[int, Any] = {}
        start = 0
        for i, n in zip(self.order, self.sizes(leaves), strict=True):
            shape = leaves[i].shape if self._of.is_array(i) else ()
            found[i] = make(flat[start : start + n], shape, self._of.all[i].type)
            start += n
        return [found[i] for i in sorted(found)]


def _numbers(tree: Template) -> Iterator[int]:
    if isinstance(tree, int):
        yield tree
    elif tree is not None:
        for item in tree[1]:
            yield from _numbers(item)


def _dtype(t: Any) -> Any:
    return t.dtype if isinstance(t, Array) else t
