"""Where a long block is cut: runs of statements that become functions, by dynamic programming.

A run may be as long as the bound. It costs what passes in and out of it, a statement that stays costs its length
(it is compiled with all others that stay). So cuts fall where few values are alive, usually between loop nests. A run
that is mostly outside of loops may and must be longer, so that a call, some 30 ns, is little beside it.
"""

from __future__ import annotations

from dataclasses import dataclass

from adjit.ir.core import Sym
from adjit.ir.types import Scalar

_CALL = 12.0
_IN, _OUT, _ARRAY = 1.0, 2.0, 2.0
_STAY = 3.0
_STARTS = 200
"""About how many places of a block a run may begin at, beside those before long statements."""
STRAIGHT = 12
"""How many times longer a run is that is mostly outside of loops."""


@dataclass(frozen=True)
class Weighed:
    """A statement: its length with all inside, what it reads from outside and defines.

    `looped`: how many statements of it are in loops (its own, not those around it). `movable`: whether it may go
    into a run.
    """

    size: int
    reads: set[Sym]
    defines: frozenset[Sym]
    looped: int
    movable: bool


@dataclass(frozen=True)
class Run:
    """Statements start, ..., stop - 1."""

    start: int
    stop: int


def choose(block: list[Weighed], ends: set[Sym], bound: int) -> tuple[Run, ...]:
    """The runs of the cheapest cut, in order; statements outside them stay.

    `bound`: the most statements of a run with loops.
    """
    last = _last_reads(block, ends)
    best = [0.0] + [float("inf")] * len(block)
    back: list[int] = [0] * (len(block) + 1)
    kept = [True] * (len(block) + 1)
    step = max(1, len(block) // _STARTS)
    for start, stmt in enumerate(block):
        stay = best[start] + _STAY * stmt.size
        if stay < best[start + 1]:
            best[start + 1], back[start + 1], kept[start + 1] = stay, start, True
        if start % step and stmt.size <= step:
            continue
        for stop, cost in _runs(block, start, last, bound):
            if best[start] + cost < best[stop]:
                best[stop], back[stop], kept[stop] = best[start] + cost, start, False
    runs: list[Run] = []
    stop = len(block)
    while stop > 0:
        if not kept[stop]:
            runs.append(Run(back[stop], stop))
        stop = back[stop]
    return tuple(reversed(runs))


def _last_reads(block: list[Weighed], ends: set[Sym]) -> dict[Sym, int]:
    """The last position that reads each symbol; len(block) for what is read at the end."""
    last: dict[Sym, int] = {}
    for k, stmt in enumerate(block):
        last.update(dict.fromkeys(stmt.reads, k))
    last.update(dict.fromkeys(ends, len(block)))
    return last


def _runs(block: list[Weighed], start: int, last: dict[Sym, int], bound: int) -> list[tuple[int, float]]:
    """(stop, cost) of the runs that may begin at `start`."""
    found: list[tuple[int, float]] = []
    size, looped, inputs, outputs = 0, 0, 0.0, 0.0
    inside: set[Sym] = set()
    seen: set[Sym] = set()
    for stop in range(start, len(block)):
        stmt = block[stop]
        size += stmt.size
        looped += stmt.looped
        if not stmt.movable or size > STRAIGHT * bound:
            break
        fresh = stmt.reads - seen - inside
        seen |= fresh
        inputs += sum(_weight(s) for s in fresh)
        dead = {s for s in stmt.reads & inside if last[s] == stop}
        born = {s for s in stmt.defines if last.get(s, -1) > stop}
        inside -= dead
        inside |= born
        outputs += sum(_weight(s) for s in born) - sum(_weight(s) for s in dead)
        most = bound if 2 * looped >= size else STRAIGHT * bound
        if max(2, most // 4) <= size <= most:
            found.append((stop + 1, _CALL + _IN * inputs + _OUT * outputs))
    return found


def _weight(s: Sym) -> float:
    return 1.0 if isinstance(s.type, Scalar) else _ARRAY
