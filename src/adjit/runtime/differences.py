"""Derivatives by differences, as a reference: central, extrapolated to step zero (Richardson).

Reference: Ridders, "Accurate computation of F'(x) and F'(x)F''(x)", Adv. Eng. Software 4 (1982).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

_ROWS = 6
_STEP = 4e-3


def derivative(
    phi: Callable[[float], np.ndarray[Any, Any]],
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The derivative at 0 of a vector-valued function of one number, and an estimate of its error.

    Where phi is NaN for the larger steps, the smaller ones decide. The error is infinite where nothing settled.
    """
    h, table = _STEP, []
    best: Any = None
    error: Any = None
    for k in range(_ROWS):
        row = [(phi(h) - phi(-h)) / (2 * h)]
        for j in range(k):
            power = 4.0 ** (j + 1)
            row.append((power * row[j] - table[k - 1][j]) / (power - 1))
        if best is None:
            best, error = row[0], np.full_like(row[0], np.inf)
        for j in range(1, k + 1):
            change = np.maximum(abs(row[j] - row[j - 1]), abs(row[j] - table[k - 1][j - 1]))
            better = change < error
            best, error = np.where(better, row[j], best), np.where(better, change, error)
        table.append(row)
        h /= 2
    return best, error
