"""Derivatives by differences, as a reference: central, extrapolated to step zero (Richardson).

Several tables, each at smaller steps than the one before: a jump or a kink between the point and a table's steps
spoils that table and not the later ones. An estimate's error comes from its own table alone; whether the tables
agree is for the caller to see.

Reference: Ridders, "Accurate computation of F'(x) and F'(x)F''(x)", Adv. Eng. Software 4 (1982).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Vector = np.ndarray[Any, Any]

STEPS = (4e-3, 1e-4, 4e-6)
"""The largest step of each table."""
_ROWS = 6
_EPS = np.finfo(float).eps
_PROBES = (1e-5, 1e-7, 1e-9)
"""Steps between which the two sides of a kink stay as they are, while those of a smooth function meet."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A slope with an estimate of its error, which is infinite or NaN where nothing settled.

    noise: what the rounding of the values makes of the slope. (Differences of rounded values may agree by chance.)
    """

    slope: float
    error: float
    noise: float = 0.0

    @property
    def doubt(self) -> float:
        """The larger of both."""
        return max(self.error, self.noise)

    def near(self, other: float, tolerance: float) -> bool:
        """Whether a slope is the estimate's, to the tolerance and the error."""
        return abs(self.slope - other) <= tolerance + 10 * self.doubt

    def agrees(self, other: Estimate, tolerance: float) -> bool:
        """Whether two estimates can be of the same slope."""
        return self.near(other.slope, tolerance + 10 * other.doubt)


class Differences:
    """The derivative at 0 of a vector-valued function of one number; tables are made when they are asked for."""

    def __init__(self, phi: Callable[[float], Vector]):
        self._phi = phi
        self._values: dict[float, Vector] = {}
        self._tables: dict[tuple[int, int], tuple[Vector, Vector, Vector]] = {}

    def central(self, table: int, component: int) -> Estimate:
        """From both sides."""
        return self._estimate(table, component, 0)

    def coarse(self, table: int, component: int) -> float:
        """The slope that the table's largest step gives."""
        return float(self._slope(STEPS[table], 0)[component])

    def sides(self, table: int, component: int) -> tuple[Estimate, Estimate]:
        """From the left alone and from the right alone."""
        return self._estimate(table, component, -1), self._estimate(table, component, 1)

    def kink(self, component: int) -> tuple[float, float] | None:
        """The slopes to the left and to the right, where they do not approach one another with the step.

        The gap of a smooth function falls with the step, that of rounding grows as it falls.
        """
        sides = [(float(self._slope(h, -1)[component]), float(self._slope(h, 1)[component])) for h in _PROBES]
        gaps = [right - left for left, right in sides]
        left, right = sides[1]
        apart = abs(gaps[1]) > 1e-4 * (abs(left) + abs(right))
        return sides[1] if apart and all(abs(g - gaps[1]) < 0.1 * abs(gaps[1]) for g in gaps) else None

    def _estimate(self, table: int, component: int, side: int) -> Estimate:
        if (table, side) not in self._tables:
            self._tables[table, side] = self._extrapolated(STEPS[table], side)
        return Estimate(*(float(of[component]) for of in self._tables[table, side]))

    def _extrapolated(self, h: float, side: int) -> tuple[Vector, Vector, Vector]:
        """Where phi is NaN for the larger steps, the smaller ones decide."""
        base = 2.0 if side else 4.0  # one-sided differences have every power of h in their error
        before: list[Vector] = []
        best, error = self._slope(h, side), np.full_like(self._slope(h, side), np.inf)
        noise = np.zeros_like(best)
        for k in range(_ROWS):
            row = [self._slope(h, side)]
            for j in range(k):
                power = base ** (j + 1)
                row.append((power * row[j] - before[j]) / (power - 1))
                change = np.maximum(abs(row[-1] - row[-2]), abs(row[-1] - before[j]))
                better = change < error
                best, error = np.where(better, row[-1], best), np.where(better, change, error)
                noise = np.where(better, _EPS * abs(self._at(side * h if side else h)) / h, noise)
            before, h = row, h / 2
        return best, error, noise

    def _slope(self, h: float, side: int) -> Vector:
        if side:
            return side * (self._at(side * h) - self._at(0.0)) / h
        return (self._at(h) - self._at(-h)) / (2 * h)

    def _at(self, h: float) -> Vector:
        if h not in self._values:
            self._values[h] = self._phi(h)
        return self._values[h]
