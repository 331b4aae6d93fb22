"""Gates: calls are held to the functions that they call."""

from __future__ import annotations

import pytest

from adjit.ir.parser import parse
from adjit.ir.verify import verify

PROGRAM = """function f(x: float64):
  call g({arguments})
  -> {results}
  return {returned}
function g(y: float64, n: int64):
  return y
"""


def test_a_call_that_fits() -> None:
    verify(parse(PROGRAM.format(arguments="x, 1:int64", results="r: float64", returned="r")))


@pytest.mark.parametrize(
    ("arguments", "results", "why"),
    [
        ("x", "r: float64", "wrong number of arguments"),
        ("x, x", "r: float64", "flows into n"),
        ("x, 1:int64", "r: float64, s: float64", "wrong number of results"),
        ("x, 1:int64", "r: int64", "flows into r"),
    ],
)
def test_a_call_that_does_not_fit(arguments: str, results: str, why: str) -> None:
    with pytest.raises(AssertionError, match=why):
        verify(parse(PROGRAM.format(arguments=arguments, results=results, returned="x")))
