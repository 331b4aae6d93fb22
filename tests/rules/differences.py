"""Numerical derivatives of scalar functions, with an error estimate."""

from __future__ import annotations

from collections.abc import Callable

import numpy

_RATIO = 1.5
_ROWS = 9


def richardson(f: Callable[[float], float], x: float) -> tuple[float, float]:
    """(f'(x), error estimate): Ridders' extrapolation of central differences, over several first steps.

    Too long a step (a jump, the edge of the domain) and too short a one (noise) show in the estimate.
    """
    steps = [scale / 8**k for scale in {abs(x) / 8, 0.05} - {0.0} for k in range(4)]
    return min((_ridders(f, x, h) for h in sorted(steps)), key=lambda pair: pair[1])


def _ridders(f: Callable[[float], float], x: float, h: float) -> tuple[float, float]:
    row: list[float] = []
    best, error = numpy.nan, numpy.inf
    for i in range(_ROWS):
        up, down = f(x + h), f(x - h)
        new = [(up - down) / ((x + h) - (x - h))]
        noise = 2e-16 * (abs(up) + abs(down)) / h
        factor = 1.0
        for j in range(i):
            factor *= _RATIO * _RATIO
            new.append((factor * new[j] - row[j]) / (factor - 1))
            estimate = max(abs(new[-1] - new[-2]), abs(new[-1] - row[-1])) + noise
            if estimate < error:
                best, error = new[-1], estimate
        row, h = new, h / _RATIO
    return float(best), float(error)
