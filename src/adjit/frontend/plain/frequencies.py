"""The frequencies of a discrete Fourier transform, as NumPy computes them: integers times one number."""

from __future__ import annotations

from typing import Any

import numpy as np


def fftfreq(made: Any, n: Any, d: Any) -> None:
    """Fills `made`: 0, 1, ..., (n - 1) // 2, -(n // 2), ..., -1, times 1 / (n d)."""
    value = 1.0 / (n * d)
    first = (n - 1) // 2 + 1
    for k in range(first):
        made[k] = np.float64(k) * value
    for k in range(first, n):
        made[k] = np.float64(k - n) * value


def rfftfreq(made: Any, n: Any, d: Any) -> None:
    """Fills `made`: 0, 1, ..., n // 2, times 1 / (n d)."""
    value = 1.0 / (n * d)
    for k in range(n // 2 + 1):
        made[k] = np.float64(k) * value
