"""Passes over parallel loops: they may change the order of turns, or add checks, never what is computed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from adjit.ir.core import Function, Loop
from adjit.ir.printer import to_text
from adjit.ir.verify import verify
from adjit.ir.visit import walk
from adjit.transform.bounds import bounds_checked
from adjit.transform.interchange import interchange
from adjit.transform.races import STATE_SIZE, race_checked

from . import programs as p
from .typed import run, typed

rng = np.random.default_rng(11)
M, N = rng.uniform(0.2, 1.5, (4, 3)), rng.uniform(0.2, 1.5, (4, 3))
C, D = rng.uniform(0.2, 1.5, (2, 3, 4)), rng.uniform(0.2, 1.5, (2, 3, 4))
V, W = rng.uniform(0.2, 1.5, 4), rng.uniform(0.2, 1.5, 4)


def fortran(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    return tuple(np.asfortranarray(a) for a in arrays)


PROGRAMS: dict[str, tuple[Any, tuple[Any, ...], str]] = {
    "c": (p.across, (M, N), "ij"),
    "fortran": (p.across, fortran(M, N), "ji"),
    "mixed": (p.across, (M, *fortran(N)), "ij"),
    "transposed": (lambda a, b: p.across(a.T, b.T), (M, N), "ji"),
    "gaps": (p.across, (M[:, ::2], N[:, ::2]), "ij"),
    "three": (p.across_three, (C, D, V), "ijk"),
    "three_fortran": (p.across_three, (*fortran(C, D), V), "kji"),
    "turned": (p.turned, (C,), "jki"),
    "triangular": (p.triangular, (M,), "ij"),
    "triangular_fortran": (p.triangular, fortran(M), "ij"),
    "row_sums": (p.row_sums, (*fortran(M), V), "i"),
    "alternating": (p.alternating, (V, W, 3), "i"),
    "empty": (p.across, (M[:0, ::2], N[:0, ::2]), "ij"),
}


@pytest.fixture(params=PROGRAMS)
def made(request: pytest.FixtureRequest) -> tuple[Function, tuple[Any, ...], str]:
    f, args, order = PROGRAMS[request.param]
    return typed(f, *args), args, order


def same(before: Function, after: Function, args: tuple[Any, ...], more: tuple[Any, ...] = ()) -> list[Any]:
    verify(after)
    want, wanted = run(before, args)
    got, given = run(after, (*args, *more))
    for a, b in zip((*want, *wanted), (*got, *given), strict=False):
        np.testing.assert_allclose(b, a, rtol=1e-14, err_msg=to_text(after))
    return given


def test_interchange(made: tuple[Function, tuple[Any, ...], str]) -> None:
    before, args, order = made
    after = interchange(before)
    same(before, after, args)
    loops = [s for s in walk(after.body) if isinstance(s, Loop) and s.parallel]
    assert "".join(s.index.name for s in loops if s.index is not None) == order
    # a second time nothing is better
    again = [s.index for s in walk(interchange(after).body) if isinstance(s, Loop) and s.parallel]
    assert again == [s.index for s in loops]


def test_bounds(made: tuple[Function, tuple[Any, ...], str]) -> None:
    before, args, _ = made
    after = bounds_checked(before)
    same(before, after, args)
    assert not any(isinstance(s, Loop) and s.parallel for s in walk(after.body))


def test_races(made: tuple[Function, tuple[Any, ...], str]) -> None:
    before, args, _ = made
    checked = race_checked(before)
    state = np.zeros(STATE_SIZE, dtype=np.int64)
    found = same(before, checked.function, args, (state,))[-1]
    assert found[1] == 0
    assert checked.arrays
