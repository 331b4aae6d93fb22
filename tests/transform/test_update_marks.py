"""Which loops that are written out become kernels because their turns meet in sums alone."""

from __future__ import annotations

from typing import Any

import pytest

from adjit.ir.core import Loop, Store
from adjit.ir.structure import Leaf
from adjit.ir.types import FLOAT64, INT64, Array, Scalar
from adjit.ir.visit import walk
from adjit.transform.lowered import lowered
from adjit.transform.parallel_nests import parallel_nests


def row(dtype: Scalar) -> Leaf:
    return Leaf(Array(dtype, 1, "C"), place="opencl")


def marked(f: Any, *dtypes: Scalar) -> tuple[int, int]:
    """How many loops are kernels, and how many stores are updates."""
    function = parallel_nests(lowered(f, tuple(map(row, dtypes))).function)
    stmts = list(walk(function.body))
    return sum(isinstance(s, Loop) and s.parallel for s in stmts), sum(
        isinstance(s, Store) and s.update == "add" for s in stmts
    )


def counted(x, k):
    for i in range(len(k)):
        x[k[i]] += 1.0


def guarded(x, k):
    for i in range(len(k)):
        if k[i] > 0:
            x[k[i]] -= 2.0 * i


def own_places(x, k):
    for i in range(len(k)):
        x[i] += k[i]


def read_between(x, k):
    for i in range(len(k)):
        x[k[i]] = x[k[i]] + x[0]


def overwritten(x, k):
    for i in range(len(k)):
        x[k[i]] += 1.0
        x[0] = 3.0


def two_loads(x, k):
    for i in range(len(k)):
        j = k[i]
        a, b = x[j], x[j]
        x[j] = a + 1.0
        x[j] = b + 2.0


def over_time(x, k):
    for t in range(5):
        for i in range(len(x)):
            x[i] += 0.5 * t


def over_time_with_a_source(x, k):
    for t in range(5):
        x[2] += 1.0
        for i in range(len(x)):
            x[i] *= 0.5


def multiplied(x, k):
    for i in range(len(k)):
        x[k[i]] *= 2.0


@pytest.mark.parametrize(
    ("f", "found"),
    {
        counted: (1, 1),
        guarded: (1, 1),
        own_places: (1, 0),
        read_between: (0, 0),
        overwritten: (0, 0),
        two_loads: (0, 0),
        over_time: (1, 0),
        over_time_with_a_source: (1, 0),
        multiplied: (0, 0),
    }.items(),
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_marks(f, found):
    assert marked(f, FLOAT64, INT64) == found


def test_sums_of_one_loop_in_two_arrays():
    def both(x, y, k):
        for i in range(len(k)):
            x[k[i]] += y[i]
            y[k[i] + 1] += 1.0

    assert marked(both, FLOAT64, FLOAT64, INT64) == (0, 0)  # it reads what it adds to
