"""The exact pattern of a Jacobian by few runs of its pattern program, whatever the number of inputs.

Inputs are taken in groups, and groups split into parts: first 64 groups of neighbours; then, of each output, only the
groups on which it depends. Groups that no output shares have the same lanes of a word for their parts (a colouring), so
one run splits all of them. A banded Jacobian of a million inputs takes about six runs.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from adjit.api.sparse.colouring import grouped
from adjit.api.sparse.graphs import Index, Rows, Words, children, joined, transposed

LANES = 64


def derive(run: Callable[[Words], Words], inputs: int, outputs: int) -> Rows:
    """The pattern, by runs that give each output the OR of the words of its inputs."""
    if inputs == 0:
        return np.zeros(outputs + 1, np.int64), np.zeros(0, np.int64)
    group, offset = np.zeros(inputs, np.int64), np.arange(inputs)  # of each input
    size, groups = inputs, 1
    pattern: Rows = (np.arange(outputs + 1), np.zeros(outputs, np.int64))
    while size > 0:
        colours, count = grouped(pattern, transposed(*pattern, groups))
        parts = min(_parts(count), size)
        if _runs(count, size, parts) >= inputs / LANES:  # as many as where each input has a lane of its own
            colours, parts = np.arange(groups), size
        small = -(-size // parts)
        part = offset // small
        first = colours * parts
        lanes = first[group] + part
        runs = range(int(lanes.max()) // LANES + 1)
        pattern = joined(
            [children(run(_lane_words(lanes, r)), pattern, first, parts, r) for r in runs], groups * parts
        )
        group, offset = group * parts + part, offset % small
        size, groups = (small if small > 1 else 0), groups * parts
    columns = np.zeros(groups, np.int64)
    columns[group] = np.arange(inputs)
    return pattern[0], columns[pattern[1]]


def _parts(colours: int) -> int:
    """Into how many parts groups of so many colours are split."""
    return max(2, LANES // colours) if colours <= LANES // 4 else 4


def _runs(colours: int, size: int, parts: int) -> float:
    """About how many runs it takes to come from groups of a size to single inputs."""
    levels = np.log(size) / np.log(parts) if parts > 1 else 1.0
    return -(-colours * parts // LANES) * levels


def _lane_words(lanes: Index, run: int) -> Words:
    words = np.zeros(len(lanes), np.uint64)
    here = lanes // LANES == run
    words[here] = np.uint64(1) << (lanes[here] % LANES).astype(np.uint64)
    return words
