"""Gates: gradients of grids, lists and slices of slices can be differentiated once more: forward over reverse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjit as aj

from .programs import grids, lists, windows
from .record import Case, is_float_array, realise

CASES = [
    case
    for case in (*grids.CASES, *lists.CASES, *windows.CASES)
    if is_float_array(case.args[0]) and case.wrt == (0,)
]


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_forward_over_reverse(case: Case) -> None:
    """The tangent of the gradient is the gradient's difference along a direction."""
    x = case.args[0]
    v = np.random.default_rng(3).uniform(-1, 1, x.shape)
    gradient = aj.grad(case.program)

    def moved(t: float) -> Any:
        args = realise(case.args)
        return gradient(args[0] + t * v, *args[1:])

    got = aj.jvp(gradient, realise(case.args), (v, *[None] * (len(case.args) - 1)))[1]
    want = (moved(1e-5) - moved(-1e-5)) / 2e-5
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6 * (1 + np.max(np.abs(want))))
