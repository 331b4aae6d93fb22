"""Every case in its selected modes, dtypes, layouts and flavours: values, final states and gradients.

The first combination of each case is compiled, and Numba's run of the plain function held to Python's there; the others
run the generated programs as plain Python, which takes a tenth of the time. `--slow` compiles all of them.
"""

from __future__ import annotations

import pytest

from .catalogue import selected
from .modes import plain_runs_agree, run
from .record import Case, Combination


def _pairs() -> list[tuple[Case, Combination, bool]]:
    """Case, how it is run, and whether it is compiled."""
    seen: set[str] = set()
    pairs: list[tuple[Case, Combination, bool]] = []
    for case, how in selected():
        pairs.append((case, how, case.name not in seen))
        seen.add(case.name)
    return pairs


PAIRS = _pairs()


@pytest.mark.parametrize(
    ("case", "how", "compiled"),
    PAIRS,
    ids=[f"{case.name}-{how}{'' if c else '-uncompiled'}" for case, how, c in PAIRS],
)
def test_case(case: Case, how: Combination, compiled: bool, request: pytest.FixtureRequest) -> None:
    """`modes` says what is checked in each mode."""
    if not compiled and not request.config.getoption("--slow"):
        request.getfixturevalue("uncompiled")
    run(case, how)
    if compiled:
        plain_runs_agree(case, how)
