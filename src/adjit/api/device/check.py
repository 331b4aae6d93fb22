"""Whether a compressed matrix is the Jacobian, on a device: as `sparse.check`, with one number that is read."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjit.api.device import programs
from adjit.api.device.moves import Moves
from adjit.api.sparse.graphs import Index
from adjit.ir.structure import Leaf
from adjit.ir.types import Scalar
from adjit.runtime.places import library_of

_FLOAT = Leaf(Scalar("float64"))


class Check:
    """single: whether the program computes in single precision somewhere."""

    def __init__(self, moves: Moves, place: str, single: bool):
        self._moves, self._library, self._single = moves, library_of(place), single
        self._products = moves.call(self._multiplied)
        self._wrong = moves.call(self._compared)
        self.restore = moves.call(lambda device, target, source: moves.copied(device, target, source) or ())

    def wrong(self, entries: Any, rows: tuple[Any, Any], vector: Any, tangent: Any) -> Index:
        """The rows in which the matrix times the vector is not the tangent.

        Arguments: rows: starts and columns of the matrix's rows. All are arrays of the device.
        """
        most, products, sizes = self._products(entries, *rows, vector, tangent)
        eps = float(np.finfo(np.float32 if self._single else tangent.dtype).eps)
        count, wrong = self._wrong(products, sizes, tangent, eps**0.5, 32 * eps * float(most))
        return np.flatnonzero(wrong.get()) if count else np.empty(0, np.int64)

    def _multiplied(self, device: Any, *arrays: Any) -> tuple[Any, ...]:
        entries, indptr, indices, vector, tangent = arrays
        made = [device.empty(tangent.shape, tangent.dtype) for _ in range(2)]
        given = (*made, indptr, indices, entries, vector, tangent)
        (most,) = self._moves.run(device, programs.row_sums, given)
        return most, *made

    def _compared(self, device: Any, products: Any, sizes: Any, tangent: Any, share: Any, least: Any) -> Any:
        wrong = device.empty(tangent.shape, "int32")
        given = (wrong, products, sizes, tangent, share, least)
        return *self._moves.run(device, programs.wrong_rows, given, (_FLOAT, _FLOAT)), wrong
