"""Random programs against every check: a fixed sample, the same each time. `make fuzz` runs as many as time allows."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from adjit.testing.fuzz import Outcome, Settings, outcomes, verdict
from adjit.testing.programs import generate

REFUSED = ("becomes a view of itself again and again",)
"""Limits of this version that random programs run into: docs/limits.md has them."""


def assert_right(found: list[Outcome]) -> None:
    bad = [f"seed {o.seed}: {o.kind}\n{o.report}" for o in found if o.failed]
    bad += [f"seed {o.seed}: {o.report}" for o in found if o.kind == "refused" and not o.report.count("^")]
    assert not bad, "\n\n".join(bad)
    kinds = Counter(outcome.kind for outcome in found)
    assert kinds["passed"] >= 0.9 * len(found), kinds


@pytest.mark.parametrize("block", range(16))
def test_uncompiled(block: int, tmp_path: Path, uncompiled: None) -> None:
    settings = Settings(seed=20 * block, count=20, seconds=600, folder=tmp_path, shrink_seconds=0)
    assert_right(list(outcomes(settings)))


@pytest.mark.parametrize("boundscheck", [False, True])
def test_compiled(boundscheck: bool) -> None:
    """The shortest of a sample: Numba takes seconds for each operator."""
    settings = Settings(compiled=True, boundscheck=boundscheck, limit=300)
    sample = [generate(seed) for seed in range(7000 + boundscheck, 7060, 2)]
    shortest = sorted(sample, key=lambda program: len(program.source()))[:3]
    assert_right([verdict(program, settings) for program in shortest])
