"""Gates: a plain function's compiled value is the value of running it under NumPy 2, with its dtype."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from adjit.analysis.types import infer
from adjit.codegen.module import Module, Unit, render
from adjit.frontend import lower
from adjit.ir.structure import Leaf
from adjit.ir.verify import verify
from adjit.runtime.compile import load
from tests.codegen import plain_programs
from tests.codegen.round_trip import spec_of


def axpy_sum(x, a):
    s = 0.0
    for i in range(len(x)):
        s += 0.5 * x[i] + a * x[i] * i
    return s


def mean(x):
    s = 0
    for i in range(len(x)):
        s += x[i]
    return s / len(x)


def strong(x):
    return np.float64(2.0) * x[0]


def numpy_function(x):
    return np.sqrt(2.0) * x[0]


def of_python_floats(x, d):
    """`math` gives Python numbers, of float64 elements too."""
    products = (
        math.exp(d[0]) * x[0],
        math.pow(d[0], 2) * x[0],
        math.fmod(d[0], 2.0) * x[0],
        math.cbrt(d[0]) * x[0],
    )
    return (*products, np.exp(d[0]) * x[0])


def clipped(x, limit):
    best = x[0]
    for i in range(len(x)):
        best = max(best, min(x[i], limit))
    return best


def small_ints(k):
    s = k[0] * 2 + 1
    return s, k[1] / 2, k[1] * 0.5, k[1] // 2


def branchy(x):
    r = 1
    if x[0] > 0.25:
        r = x[1] * 3
    return r


def powers(x):
    return x[0] ** 2 + x[1] ** 0.5 + 2 ** x[2]


def _floats() -> Any:
    return np.linspace(0.3, 1.7, 6).astype(np.float32)


_CASES: list[tuple[Any, tuple[Any, ...]]] = [
    (axpy_sum, (_floats(), 0.1)),
    (mean, (_floats(),)),
    (strong, (_floats(),)),
    (numpy_function, (_floats(),)),
    (of_python_floats, (_floats(), np.array([0.7]))),
    (clipped, (_floats(), 0.7)),
    (small_ints, (np.array([5, 7], np.int32),)),
    (branchy, (_floats(),)),
    (powers, (_floats(),)),
    (plain_programs.mixed, (_floats(), 2)),
    (plain_programs.newton, (1.5, 1e-9)),
    (plain_programs.integers, (5,)),
]


@pytest.mark.parametrize(("f", "args"), _CASES, ids=lambda c: getattr(c, "__name__", ""))
def test_value_and_dtype(f: Any, args: tuple[Any, ...]) -> None:
    weak = [isinstance(a, int | float) for a in args]
    specs = tuple(spec_of(a, weak=w) for a, w in zip(args, weak, strict=True))
    untyped = lower(f, specs).function
    marks = frozenset(p for p, w in zip(untyped.params, weak, strict=True) if w)
    program = verify(infer(untyped, marks))
    want = f(*args)
    want = want if isinstance(want, tuple) else (want,)
    got = load(render(Module((Unit(program),))))[program.name](*args)
    for symbol, value, expected in zip(program.results, got, want, strict=True):
        python_number = isinstance(expected, int | float) and not isinstance(expected, np.generic)
        if not python_number:
            assert str(symbol.type) == np.asarray(expected).dtype.name
        np.testing.assert_allclose(value, expected, rtol=3e-7)


def test_math_functions_stay_float32() -> None:
    """Python's own would compute in double and give a weak number; float32 code keeps its dtype instead."""

    def f(x):
        return math.sin(x[0]) * 2.0

    spec = spec_of(_floats())
    assert isinstance(spec, Leaf)
    program = infer(lower(f, (spec,)).function, frozenset())
    assert str(program.results[0].type) == "float32"
