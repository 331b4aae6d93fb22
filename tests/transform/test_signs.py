"""Loops whose start may be negative, in two forms: programs by hand, with negative starts, empty ranges and overlaps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from adjit.ir.core import Function, If
from adjit.ir.printer import to_text
from adjit.ir.verify import verify
from adjit.ir.visit import walk
from adjit.transform.clean import clean
from adjit.transform.common import common
from adjit.transform.scalarise import scalarise
from adjit.transform.signs import signs

from .typed import run, typed

rng = np.random.default_rng(8)


def branches(function: Function) -> int:
    return sum(isinstance(s, If) for s in walk(function.body))


def added(program: Callable[..., Any], *args: Any) -> int:
    """How many branches the pass adds; results and arguments must be the same to the bit."""
    before = common(clean(scalarise(typed(program, *args))))
    after = signs(before)
    verify(after)
    for one, other in zip(run(before, args), run(after, args), strict=True):
        for x, y in zip(one, other, strict=True):
            np.testing.assert_array_equal(y, x, err_msg=to_text(after))
    return branches(after) - branches(before)


def scattered(a, b, starts, places):
    for i in range(starts.shape[0] - 1):
        for k in range(starts[i], starts[i + 1]):
            b[places[k]] += a[k] * starts[i]


def one_element(a, b, starts, places):
    for i in range(starts.shape[0] - 1):
        for k in range(starts[i], starts[i + 1]):
            b[places[k]] += a[i]


def gathered(a, b, starts, places):
    s = 0.0
    for i in range(starts.shape[0] - 1):
        t = 0.0
        for k in range(starts[i], starts[i + 1]):
            t += a[k] * b[places[k]]
        s = s * 0.5 + t
    return s


def under_a_branch(a, b, starts, places):
    s = 0.0
    for i in range(starts.shape[0] - 1):
        for k in range(starts[i], starts[i + 1]):
            if a[k] > 0.0:
                b[places[k]] += a[k]
                s += b[k]
    return s


def its_own_element(a, b, starts, places):
    for i in range(starts.shape[0] - 1):
        for k in range(starts[i], starts[i + 1]):
            b[places[k]] += b[i]


def through_a_view(a, b, starts, places):
    v = b[1:]
    for i in range(starts.shape[0] - 1):
        for k in range(starts[i], starts[i + 1]):
            b[places[k]] += v[i]


def from_nothing(a, b, starts, places):
    for i in range(a.shape[0]):
        for k in range(i, a.shape[0]):
            b[k] += a[i]


@pytest.mark.parametrize("starts", [(0, 2, 2, 5), (-3, -1, 1, 4), (4, 1, 0, -2), (0, 0, 0, 0)])
@pytest.mark.parametrize(
    ("program", "number"),
    [(scattered, 2), (one_element, 2), (gathered, 1), (under_a_branch, 2), (its_own_element, 1), (through_a_view, 1)],
)  # fmt: skip
def test_both_signs(program: Callable[..., Any], number: int, starts: tuple[int, ...]) -> None:
    places = np.array([0, 3, -1, 2, 2, -4])
    args = (rng.normal(size=6), rng.normal(size=6), np.array(starts), places)
    assert added(program, *args) == number


def test_a_start_that_is_known() -> None:
    assert (
        added(from_nothing, rng.normal(size=4), rng.normal(size=4), np.zeros(1, int), np.zeros(1, int)) == 0
    )


def test_an_element_that_no_turn_reads() -> None:
    """`a[i]` does not exist where no turn runs."""

    def program(a, b, starts, places):
        for i in range(starts.shape[0] - 1):
            for k in range(starts[i], starts[i + 1]):
                b[places[k]] += a[i]

    starts = np.array([0, 1, 1, 1, 1, 1, 1, 1])
    assert added(program, rng.normal(size=1), rng.normal(size=3), starts, np.array([2])) == 2
