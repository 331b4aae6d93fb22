"""Numerical derivatives of scalar functions, with an error estimate."""

from __future__ import annotations

from collections.abc import Callable

import numpy

_RATIO = 1.5
_ROWS = 9


def richardson(f: Callable[[float], float], x: float) -> tuple[float, float]:
    """(f'(x), error estimate): Ridders' extrapolation of central differences, over several first steps.

    Steps reach from 1/8 of |x| (at most 0.05) down, so that neither a jump nor the domain's edge is met;
    longer ones are tried only where those drown in rounding.
    """
    largest = min(0.05, abs(x) / 8) if x else 0.05
    best, error = min((_ridders(f, x, largest / 8**k) for k in range(5)), key=_error)
    if best == 0.0 or error <= 1e-9 * abs(best):
        return best, error
    return min((best, error), _ridders(f, x, 0.05), _ridders(f, x, abs(x) / 8 or 0.05), key=_error)


def _error(pair: tuple[float, float]) -> float:
    return pair[1]


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
