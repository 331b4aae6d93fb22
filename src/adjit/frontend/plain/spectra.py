"""What singular values tell of a matrix."""

from __future__ import annotations

from typing import Any

import numpy as np


def singular_values(a: Any) -> Any:
    """The singular values, the greatest first."""
    return np.linalg.svd(a, full_matrices=False)[1]


def condition(a: Any, upside_down: Any) -> Any:
    """The greatest singular value over the least, or the other way round."""
    s = np.linalg.svd(a, full_matrices=False)[1]
    if upside_down:
        return np.divide(s[-1], s[0])
    return np.divide(s[0], s[-1])


def tolerance(a: Any) -> Any:
    """What NumPy takes for zero among the singular values."""
    s = np.linalg.svd(a, full_matrices=False)[1]
    return s[0] * max(a.shape[0], a.shape[1]) * np.finfo(a.dtype).eps


def rank(a: Any, least: Any) -> Any:
    """How many singular values are greater."""
    return np.sum(np.linalg.svd(a, full_matrices=False)[1] > least)


def rank_of_vector(v: Any) -> Any:
    """1, but of zeros 0."""
    for k in range(len(v)):
        if v[k] != 0:
            return 1
    return 0
