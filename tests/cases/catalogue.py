"""All records, and which combinations of each are run by default."""

from __future__ import annotations

import os
from collections.abc import Iterator

from .programs import (
    algorithms,
    control,
    everyday,
    grids,
    language,
    lists,
    points,
    shapes,
    solvers,
    state,
    views,
    windows,
)
from .record import Case, Combination, combinations

MODULES = (
    state,
    control,
    views,
    shapes,
    solvers,
    algorithms,
    language,
    points,
    everyday,
    grids,
    lists,
    windows,
)
CASES: list[Case] = [case for module in MODULES for case in module.CASES]

# ADJIT_CASES=full multiplies every case by everything; a number sets how many combinations of a case are
# sampled.
SAMPLE = os.environ.get("ADJIT_CASES", "2")


def _rotated(case: Case, turn: int, count: int) -> list[Combination]:
    """`count` combinations, different for each `turn`: one reverse mode first, then whatever differs most."""
    everything = list(combinations(case))
    modes = ("grad", "vjp", "autodiff") if turn % 2 else ("autodiff", "grad", "vjp")
    order = [modes[turn // 2 % 3], "jvp", modes[(turn // 2 + 1) % 3], modes[(turn // 2 + 2) % 3]]
    picked: list[Combination] = []
    for k in range(count):
        pool = [c for c in everything if c.mode == order[k % 4] and c not in picked]
        if k % 4 == 1 and turn % 3 == 0:
            pool = [c for c in everything if c.mode == order[2] and c not in picked]
        if pool:
            picked.append(pool[(turn * 5 + k * 3) % len(pool)])
    return picked


def selected() -> Iterator[tuple[Case, Combination]]:
    """The pairs that the suite runs.

    All of a core case (one flavour each), a rotating sample of the others.
    """
    for turn, case in enumerate(CASES):
        everything = list(combinations(case))
        if SAMPLE == "full":
            chosen = everything
        elif case.core and len(case.flavours) > 1:
            chosen = [
                pair[(turn + k) % 2]
                for k, pair in enumerate(zip(everything[::2], everything[1::2], strict=True))
            ]
            chosen = [c for k, c in enumerate(chosen) if c.layout != "F" or k % 2 == 0]
            chosen = [
                c for c in chosen if c.dtype == "float64" or c.layout == "C" or c.mode in ("grad", "autodiff")
            ]
        else:
            chosen = _rotated(case, turn, int(SAMPLE))
        for combination in chosen:
            yield case, combination
