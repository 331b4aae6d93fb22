"""Which programs carry their tangents in lanes, and how that reads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjit as aj
from adjit.ir.line import parse_type
from adjit.ir.types import Array, Scalar

X = np.linspace(0.5, 1.5, 40)


def loop(x: np.ndarray) -> np.ndarray:
    y = np.zeros(len(x))
    for i in range(len(x)):
        y[i] = max(x[i] * x[i - 1], 0.3) if x[i] > 0.2 else x[i] / 3.0
    return y


def solved(x: np.ndarray) -> np.ndarray:
    return np.linalg.solve(np.diag(x), x)


def waves(x: np.ndarray) -> np.ndarray:
    return np.exp(1j * x).real


def np_sine(x: np.ndarray) -> np.ndarray:
    y = np.zeros(len(x))
    for i in range(len(x)):
        y[i] = np.sin(x[i])
    return y


def half(x: np.ndarray) -> np.ndarray:
    y = np.zeros(len(x), np.float32)
    for i in range(len(x)):
        y[i] = x[i] * x[i]
    return y


@pytest.mark.parametrize(
    ("f", "packed"),
    [(loop, True), (half, True), (aj.grad(lambda x: (loop(x)).sum()), True), (solved, False), (waves, False)],
)
def test_what_is_packed(f: Any, packed: bool, uncompiled: None) -> None:
    source = aj.jacfwd(f).source(X)
    assert ("lanes_at" in source) is packed
    columns = aj.jacfwd(f)(X)
    for k in (0, 7, 39):
        unit = np.zeros(40)
        unit[k] = 1.0
        assert np.array_equal(columns[:, k], aj.jvp(f, (X,), (unit,))[1])


def test_zeros(uncompiled: None) -> None:
    assert not aj.jacfwd(lambda x: x * 0.0)(X).any()
    assert not aj.jacfwd(lambda x: np.ones(3) * np.floor(x[0]))(X).any()


def test_the_value_is_not_computed(uncompiled: None) -> None:
    code = [line.partition("  # ")[0] for line in aj.jacfwd(np_sine).source(X).splitlines()]
    code = "\n".join(line for line in code if not line.lstrip().startswith("#"))
    assert "cos(" in code
    assert "sin(" not in code


@pytest.mark.parametrize("text", ["float64x8", "array(float32x16, 2d, F)"])
def test_the_text_of_types(text: str) -> None:
    assert str(parse_type(text)) == text


def test_the_size_of_lanes() -> None:
    assert Scalar("float32", 8).itemsize == 32
    assert Array(Scalar("float64", 4), 1, "C").dtype.single == Scalar("float64")
