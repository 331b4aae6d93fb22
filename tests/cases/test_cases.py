"""Every case in its selected modes, dtypes, layouts and flavours: values, final states and gradients."""

from __future__ import annotations

import pytest

from .catalogue import selected
from .modes import run
from .record import Case, Combination

PAIRS = list(selected())


@pytest.mark.parametrize(("case", "how"), PAIRS, ids=[f"{case.name}-{how}" for case, how in PAIRS])
def test_case(case: Case, how: Combination) -> None:
    """`modes` says what is checked in each mode."""
    run(case, how)
