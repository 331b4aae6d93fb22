"""Every slope of every rule, against differences of the plain operation, and again to third order.

Gates: the formulas in `adjit.rules`, in float64 and float32, and that slopes are built from operations
whose own slopes are right. The grid comes from the registry: a new rule is tested by being there.
"""

from __future__ import annotations

import numpy as np
import pytest

from adjit import rules
from adjit.ir.core import Const
from adjit.ir.types import FLOAT32, FLOAT64, INT64, Scalar
from adjit.rules import Rule
from tests.rules.differences import richardson
from tests.rules.straight import Program, call, compiled, derivative, evaluate

_ACTIVE = [(rule, k) for rule in rules.all_rules() for k in range(rule.arity) if rule.slope(k) is not None]
_IDS = [f"{rule.op}-{k}" for rule, k in _ACTIVE]


def _along(program: Program, args: tuple[float, ...], k: int):
    return lambda x: float(evaluate(program, (*args[:k], x, *args[k + 1 :])))


def _assert_is_derivative(got: float, program: Program, args: tuple[float, ...], k: int) -> None:
    want, error = richardson(_along(program, args, k), args[k])
    scale = abs(evaluate(program, args)) / max(abs(args[k]), 1.0)
    assert error <= 1e-6 * max(abs(want), scale), "the differences themselves are too coarse"
    assert abs(got - want) <= 1e-9 * abs(want) + 10 * error, f"{got} is not {want}"


@pytest.mark.parametrize(("rule", "k"), _ACTIVE, ids=_IDS)
@pytest.mark.parametrize("order", [1, 2, 3])
def test_slope_is_the_derivative(rule: Rule, k: int, order: int) -> None:
    for sample in rule.samples:
        program = call(rule, sample.args, FLOAT64)
        for _ in range(order - 1):
            program = derivative(program, k)
        got = evaluate(derivative(program, k), sample.args)
        _assert_is_derivative(float(got), program, sample.args, k)


@pytest.mark.parametrize(("rule", "k"), _ACTIVE, ids=_IDS)
def test_mixed_second_derivatives(rule: Rule, k: int) -> None:
    others = [j for j in range(rule.arity) if j != k and rule.slope(j) is not None]
    for sample in rule.samples:
        slope = derivative(call(rule, sample.args, FLOAT64), k)
        for j in others:
            got = evaluate(derivative(slope, j), sample.args)
            _assert_is_derivative(float(got), slope, sample.args, j)


@pytest.mark.parametrize(("rule", "k"), _ACTIVE, ids=_IDS)
def test_float32_agrees_with_float64(rule: Rule, k: int) -> None:
    for sample in rule.samples:
        args = tuple(float(np.float32(a)) if isinstance(a, float) else a for a in sample.args)
        single = evaluate(derivative(call(rule, args, FLOAT32), k), args)
        double = evaluate(derivative(call(rule, args, FLOAT64), k), args)
        assert single == pytest.approx(double, rel=2e-5, abs=1e-30)


@pytest.mark.parametrize(("rule", "k"), _ACTIVE, ids=_IDS)
@pytest.mark.parametrize("dtype", [FLOAT64, pytest.param(FLOAT32, marks=pytest.mark.slow)], ids=str)
def test_numba_gives_the_types_and_values_of_the_ir(rule: Rule, k: int, dtype: Scalar) -> None:
    args = rule.samples[0].args
    program = derivative(derivative(call(rule, args, dtype), k), k)
    function = compiled(program, every=True)
    inputs = [np.dtype(s.type.name).type(a) for s, a in zip(program.params, args, strict=True)]
    values = function(*inputs)
    targets = [let.target for let in program.body]
    assert [str(t) for t in function.nopython_signatures[0].return_type] == [str(t.type) for t in targets]
    want = evaluate(program, args)
    got = dict(zip(targets, values, strict=True)).get(program.result, want)
    assert got == pytest.approx(float(want), rel=1e-4 if dtype == FLOAT32 else 1e-9, abs=1e-12)


_EXPONENTS = [0, 1, 2, 3, 5, 7, -1, -2, -5, 2.0, 3.0, -2.0, 0.5, 1.5, -0.5, 1 / 3]


@pytest.mark.parametrize("n", _EXPONENTS, ids=str)
@pytest.mark.parametrize("order", [1, 2, 3])
def test_constant_exponents(n: float, order: int) -> None:
    exponent = Const(n, INT64 if isinstance(n, int) else FLOAT64)
    for x in (0.3, 1.7, 12.0) + ((-0.7, -3.0) if n == int(n) else ()):
        program = call(rules.get("pow"), (x, exponent), FLOAT64)
        for _ in range(order):
            program = derivative(program, 0)
        want = x ** (n - order) * np.prod([n - i for i in range(order)])
        assert float(evaluate(program, (x,))) == pytest.approx(want, rel=1e-13)


@pytest.mark.parametrize("n", [2, 3, 5, -2])
def test_integer_exponents_at_run_time(n: int) -> None:
    for x in (0.3, -0.7, -12.0):
        slope = derivative(call(rules.get("pow"), (x, n), FLOAT64), 0)
        assert float(evaluate(slope, (x, n))) == pytest.approx(n * x ** (n - 1), rel=1e-13)
        second = derivative(slope, 0)
        assert float(evaluate(second, (x, n))) == pytest.approx(n * (n - 1) * x ** (n - 2), rel=1e-13)


@pytest.mark.parametrize("base", [2.0, 0.3])
def test_constant_base(base: float) -> None:
    slope = derivative(call(rules.get("pow"), (Const(base, FLOAT64), 1.7), FLOAT64), 0)
    assert float(evaluate(slope, (1.7,))) == pytest.approx(base**1.7 * np.log(base), rel=1e-14)


def test_cheap_constant_exponents() -> None:
    """x**2 and x**3 have slopes without a call to pow."""
    for n in (1, 2, 3, -1, 0.5):
        program = call(rules.get("pow"), (1.7, Const(n, INT64 if isinstance(n, int) else FLOAT64)), FLOAT64)
        slope = derivative(program, 0)
        assert [let.op for let in slope.body].count("pow") == 1
