"""A sparse matrix whose entries are on an OpenCL device, for which there is no library of them."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np


class CompressedRows:
    """A matrix in compressed rows.

    data: the entries, a pyopencl array. indices, indptr: columns of the entries and where rows start, NumPy arrays.
    shape: rows and columns. nnz: how many entries are stored.
    """

    def __init__(self, data: Any, indices: np.ndarray[Any, Any], indptr: np.ndarray[Any, Any], shape: Any):
        self.data, self.indices, self.indptr, self.shape = data, indices, indptr, shape

    @property
    def nnz(self) -> int:
        return len(self.indices)

    def get(self) -> Any:
        """A `scipy.sparse.csr_array` of its own, in the host's memory."""
        sparse = importlib.import_module("scipy.sparse")
        data = self.data.get() if self.nnz else np.zeros(0, self.data.dtype)
        return sparse.csr_array((data, self.indices.copy(), self.indptr.copy()), shape=self.shape)

    def __repr__(self) -> str:
        rows, columns = self.shape
        return f"<{rows}x{columns} matrix of {self.data.dtype} on a device, {self.nnz} entries>"
