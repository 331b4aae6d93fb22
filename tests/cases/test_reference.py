"""The expected numbers are right.

Closed forms agree with Richardson differences of the plain functions. No adjit here. (That Numba runs a program as
Python does is asked where both are there, in `test_cases`.)
"""

from __future__ import annotations

import numpy as np
import pytest

from .catalogue import CASES, selected
from .programs.state import BURGERS, nonlinear_stencil
from .record import Case, differences, flavoured, is_float_array, realise, same_bits, vec


def _ids(cases: list[Case]) -> list[str]:
    return [case.name for case in cases]


def test_names_are_unique_and_everything_is_selected() -> None:
    assert len({case.name for case in CASES}) == len(CASES)
    assert {case.name for case, _ in selected()} == {case.name for case in CASES}


CLOSED = [case for case in CASES if case.gradient and case.differences]


@pytest.mark.parametrize("case", CLOSED, ids=_ids(CLOSED))
def test_closed_form_agrees_with_differences(case: Case) -> None:
    assert case.gradient is not None
    closed = case.gradient(*realise(case.args))
    estimate = differences(case.program, case.args, case.wrt)
    assert len(closed) == len(case.wrt)
    for a, b in zip(closed, estimate, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-9, atol=2e-9)


OPEN = [case for case in CASES if case.differences and not case.gradient]


@pytest.mark.parametrize("case", OPEN, ids=_ids(OPEN))
def test_differences_do_not_depend_on_the_step(case: Case) -> None:
    """Where differences are the only reference, they must be sharp: no kink within reach, no noise."""
    from . import record

    first = differences(case.program, case.args, case.wrt)
    original = record.richardson
    try:
        record.richardson = lambda line: original(line, step=4e-3, levels=4)  # type: ignore[assignment]
        second = differences(case.program, case.args, case.wrt)
    finally:
        record.richardson = original
    assert any(np.any(np.asarray(a) != 0) for a in first), "a gradient of zeros tests nothing"
    for a, b in zip(first, second, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-8, atol=2e-9)


def test_published_numbers_of_the_stencil() -> None:
    (gradient,) = differences(nonlinear_stencil, (vec(1, 2, 3, 2, 1),), (0,))
    np.testing.assert_allclose(gradient, BURGERS, atol=6e-5)


def test_layouts_are_what_they_say() -> None:
    case = next(case for case in CASES if case.name == "gauss_seidel")
    for layout, c, f in (("C", True, False), ("F", False, True), ("A", False, False)):
        array = realise(case.args, "float32", layout)[0]
        assert is_float_array(array) and array.dtype == np.float32
        assert (array.flags.c_contiguous, array.flags.f_contiguous) == (c, f)


def test_same_bits_sees_the_last_bit_and_negative_zero() -> None:
    assert same_bits(1.0, np.float64(1.0)) and same_bits(np.array([np.nan]), np.array([np.nan]))
    assert not same_bits(0.0, -0.0)
    assert not same_bits((1.0, vec(1)), (1.0, vec(np.nextafter(1, 2))))
    assert flavoured(nonlinear_stencil, "njit") is flavoured(nonlinear_stencil, "njit")
