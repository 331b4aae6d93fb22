"""Richardson differences along a direction, with an estimate of their own error."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def richardson(line: Callable[[float], float], step: float = 4e-3, levels: int = 5) -> tuple[float, float]:
    """d line/dt at t=0 and an error estimate.

    Reference: C. J. F. Ridders, "Accurate computation of F'(x) and F'(x) F''(x)", 1982: central differences
    at halved steps, extrapolated; the entry of the table that changed least is taken, and its change is the
    estimate.
    """
    rows = [[(line(step) - line(-step)) / (2 * step)]]
    best, error = rows[0][0], np.inf
    for level in range(1, levels):
        step /= 2
        row = [(line(step) - line(-step)) / (2 * step)]
        for k in range(1, level + 1):
            row.append(row[k - 1] + (row[k - 1] - rows[-1][k - 1]) / (4.0**k - 1))
            change = max(abs(row[k] - row[k - 1]), abs(row[k] - rows[-1][k - 1]))
            if change < error:
                best, error = row[k], change
        rows.append(row)
    return float(best), float(error)
