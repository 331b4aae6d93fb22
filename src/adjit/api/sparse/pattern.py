"""A sparsity pattern: where a Jacobian may have entries, whence that is known, and as SciPy has it."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjit.api.sparse.graphs import Index, Rows, transposed
from adjit.errors import ArgumentError


def scipy_sparse() -> Any:
    """The module. Raises ArgumentError where SciPy is not installed."""
    try:
        return importlib.import_module("scipy.sparse")
    except ImportError as error:
        raise ArgumentError(
            "sparse matrices are SciPy's, and it is not installed", "pip install scipy"
        ) from error


@dataclass(frozen=True)
class Pattern:
    """Compressed rows. proven: whether no other values of floats can bring other entries. reasons: if not, why."""

    rows: Rows
    shape: tuple[int, int]
    proven: bool
    reasons: tuple[str, ...] = ()

    @property
    def indptr(self) -> Index:
        return self.rows[0]

    @property
    def indices(self) -> Index:
        return self.rows[1]

    def transposed(self) -> Rows:
        """The rows of the transpose."""
        return transposed(*self.rows, self.shape[1])

    def matrix(self) -> Any:
        """A boolean `scipy.sparse.csr_array` with attributes `proven` and `reasons`."""
        found = self.plain_matrix()
        found.proven, found.reasons = self.proven, self.reasons
        return found

    def plain_matrix(self) -> Any:
        """A boolean `scipy.sparse.csr_array`, indices as small as they can be."""
        data = np.ones(len(self.indices), np.bool_)
        small = max(len(data), *self.shape) <= np.iinfo(np.int32).max
        indices, indptr = (a.astype(np.int32 if small else np.int64) for a in (self.indices, self.indptr))
        return scipy_sparse().csr_array((data, indices, indptr), shape=self.shape)

    def symmetric(self) -> Pattern:
        """With (j, i) for each (i, j)."""
        m = self.matrix()
        return _of_matrix((m + m.T).tocsr(), self.proven, self.reasons)


def given_pattern(pattern: Any) -> Pattern:
    """A pattern from what a user gives: anything that SciPy takes; the entries that are stored, or not zero.

    Raises: ArgumentError for what is no matrix.
    """
    sparse = scipy_sparse()
    try:
        m = sparse.csr_array(pattern if sparse.issparse(pattern) else np.asarray(pattern) != 0, copy=True)
        if m.ndim != 2:
            raise ValueError
    except (TypeError, ValueError) as error:
        kind = type(pattern).__name__
        raise ArgumentError(
            f"a sparsity pattern must be a matrix, not {kind}", "give a scipy.sparse array, or sparse=True"
        ) from error
    return _of_matrix(m, False, ("the pattern was given",))


def shape_checked(pattern: Pattern, shape: tuple[int, int], name: str) -> None:
    """Raise ArgumentError for a given pattern that has not the Jacobian's shape."""
    if pattern.shape != shape:
        raise ArgumentError(
            f"the pattern has shape {pattern.shape}, and the Jacobian of {name}() {shape}",
            "give one row per number of the result, one column per number that is differentiated by",
        )


def _of_matrix(m: Any, proven: bool, reasons: tuple[str, ...]) -> Pattern:
    m.sum_duplicates()
    rows = m.indptr.astype(np.int64), m.indices.astype(np.int64)
    return Pattern(rows, tuple(m.shape), proven, reasons)
