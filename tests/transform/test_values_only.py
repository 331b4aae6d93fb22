"""What only further derivatives would need is not printed."""

from __future__ import annotations

import math

import numpy as np
import pytest

import adjit as aj
from adjit.ir.parser import parse
from adjit.ir.printer import to_text
from adjit.transform.values_only import values_only

CHOICE = """function f(ct: float64, ds: float64):
  z: bool = eq(ct, 0.0:float64)
  t: float64 = szmul(ct, ds)
  u: float64 = szmul(ds, ct)
  d: float64 = select(z, t, u)
  return d
"""


def test_a_product_that_is_zero_becomes_zero() -> None:
    text = to_text(values_only(parse(CHOICE)))
    assert "select(z, 0.0:float64, u)" in text
    assert "szmul(ct, ds)" not in text
    assert to_text(values_only(parse(text))) == text


@pytest.mark.parametrize("other", ["ne(ct, 0.0:float64)", "eq(ds, 0.0:float64)", "eq(ct, 1.0:float64)"])
def test_other_choices_stay(other: str) -> None:
    text = CHOICE.replace("eq(ct, 0.0:float64)", other)
    assert to_text(values_only(parse(text))) == to_text(parse(text))


def wave(x):
    s = 0.0
    for i in range(len(x)):
        s += math.sin(x[i]) * math.exp(-x[i] * x[i])
    return s


@pytest.mark.usefixtures("uncompiled")
def test_second_derivatives_have_plain_zeros() -> None:
    x = np.array([0.0, 0.4])
    source = aj.jit(lambda x, v: aj.jvp(aj.grad(wave), (x,), (v,))[1]).source(x, x)
    choices = [line for line in source.splitlines() if "== 0.0) else" in line]
    assert choices
    assert all("(0.0 if (" in line for line in choices)
