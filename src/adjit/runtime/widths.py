"""How many derivatives a pass or a sweep carries at once, by what that costs."""

from __future__ import annotations

from collections.abc import Mapping


class Widths:
    """How many derivatives each pass carries; `costs`: what a pass costs, by how many it carries, over one alone."""

    def __init__(self, costs: Mapping[int, float]):
        self._costs = costs
        self._best: dict[int, int] = {}

    def best(self, count: int) -> int:
        """The width with which all passes together cost least."""
        found = self._best.get(count)
        if found is None:
            found = self._best[count] = min(self._costs, key=lambda w: (self._cost(count, w), w))
        return found

    def cost(self, count: int) -> float:
        """What so many derivatives cost, over one."""
        return self._cost(count, self.best(count))

    def _cost(self, count: int, width: int) -> float:
        return max(1, -(-count // width)) * self._costs[width]


COSTS = {1: 1.0, 2: 1.6, 4: 1.75, 8: 2.1, 16: 2.9}
"""What a sweep costs that carries so many cotangents, over one that carries one (docs/internals/forward.md)."""

WIDTHS = Widths(COSTS)
