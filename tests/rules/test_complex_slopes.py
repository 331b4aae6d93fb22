"""Every slope of every rule among complex numbers, against differences along both axes, again to second order.

Gates: the formulas in `adjit.rules` for complex operands, that tangent and cotangent are transposes of each other under
Re(ct * t), that what is built is complex where it must be, and complex64. The grid comes from the registry.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from adjit import rules
from adjit.ir.builder import Builder
from adjit.ir.core import Atom, Sym
from adjit.ir.types import COMPLEX64, COMPLEX128, Scalar
from adjit.rules import Rule
from adjit.rules.base import Point
from tests.rules.straight import Program, call, derivative, evaluate

_COMPLEX = [rule for rule in rules.all_rules() if rule.complex_samples]
_ACTIVE = [(rule, k) for rule in _COMPLEX for k in range(rule.arity) if rule.carries(k)]
_IDS = [f"{rule.op}-{k}" for rule, k in _ACTIVE]
_DIRECTIONS = [1.0, 1j, 0.6 - 0.8j]


def _points(rule: Rule) -> list[tuple[complex, ...]]:
    """The samples, all numbers complex but for conditions."""
    return [tuple(a if isinstance(a, bool) else complex(a) for a in s.args) for s in rule.complex_samples]


def _difference(program: Program, args: tuple[complex, ...], k: int, direction: complex) -> complex:
    """The derivative along a direction: central differences, twice extrapolated."""
    size = max(abs(args[k]), 1e-4) if abs(args[k]) > 1e-100 else abs(args[k])

    def central(h: float) -> complex:
        up, down = (
            evaluate(program, (*args[:k], args[k] + s * h * direction, *args[k + 1 :])) for s in (1, -1)
        )
        return complex(up - down) / (2 * h)

    h = 1e-2 * size
    rows = [central(h / 2**i) for i in range(4)]
    for j in range(1, 4):
        rows = [(4**j * b - a) / (4**j - 1) for a, b in itertools.pairwise(rows)]
    return rows[0]


@pytest.mark.parametrize(("rule", "k"), _ACTIVE, ids=_IDS)
@pytest.mark.parametrize("order", [1, 2])
def test_slope_is_the_derivative(rule: Rule, k: int, order: int) -> None:
    for args in _points(rule):
        for direction in _DIRECTIONS:
            program = call(rule, args, COMPLEX128)
            if order == 2:
                program = derivative(program, k, 0.3 + 0.4j)
            got = complex(evaluate(derivative(program, k, direction), args))
            want = _difference(program, args, k, direction)
            scale = abs(complex(evaluate(program, args))) / max(abs(args[k]), 1e-300)
            assert abs(got - want) <= 2e-7 * max(abs(want), scale), f"{got} is not {want} at {args}"


@pytest.mark.parametrize(("rule", "k"), _ACTIVE, ids=_IDS)
@pytest.mark.parametrize("dtype", [COMPLEX128, COMPLEX64], ids=str)
def test_tangent_and_cotangent_are_transposes(rule: Rule, k: int, dtype: Scalar) -> None:
    for args in _points(rule):
        program = call(rule, args, dtype)
        (let,) = program.body
        ct: Atom = Sym("ct", let.target.type)
        builder = Builder(simplify=True)
        types = tuple(a.type for a in let.args)
        point = Point(
            lambda b=builder: b, lambda j, a=let.args: a[j], lambda t=let.target: t, types[0], types
        )
        point.type = let.target.type
        pulled = rule.pull(point, ct, k)
        assert pulled is not None
        pulled = builder.cast(pulled, types[k])
        assert pulled.type == dtype
        back = Program((*program.params, ct), (*program.body, *builder.block()), pulled)
        for direction in _DIRECTIONS:
            for seed in (0.8 - 0.5j, 1j) if let.target.type.is_complex else (0.8,):
                t = complex(evaluate(derivative(program, k, direction), args))
                c = complex(evaluate(back, (*args, seed)))
                left, right = (seed * t).real, (c * direction).real
                near = 1e-12 if dtype == COMPLEX128 else 2e-5
                assert abs(left - right) <= near * max(abs(seed * t), abs(c)), (args, seed, direction)


@pytest.mark.parametrize("slope", [complex(np.inf, 0), complex(np.nan, np.nan), complex(1, -np.inf)])
def test_a_complex_zero_cotangent_wins(slope: complex) -> None:
    program = call(rules.get("szmul"), (0j, slope), COMPLEX128)
    assert complex(evaluate(program, (0j, slope))) == 0j
