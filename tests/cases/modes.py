"""How a case is run in each mode, and everything that must hold there whatever the numbers are.

Each mode checks: the value and the final state of every argument equal the plain run's bit for bit, the
gradient is right, a second run gives the same bits, gradients have the arguments' own types.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import adjit as aj

from .record import (
    Arguments,
    Case,
    Combination,
    close,
    differences,
    expected,
    flavoured,
    is_float_array,
    realise,
    reference_call,
    same_bits,
    uncompiled,
)


def run(case: Case, combination: Combination) -> None:
    """Run one combination and raise AssertionError where anything is wrong."""
    try:
        MODES[combination.mode](case, combination)
    except aj.UnsupportedError as error:
        if not case.refusable or ".py" not in str(error) or "^" not in str(error):
            raise


def plain_runs_agree(case: Case, how: Combination) -> None:
    """The case is a valid njit program, and Numba and Python agree to rounding on value and final state."""
    value, final = reference_call(case, how.dtype, how.layout)
    args = realise(case.args, how.dtype, how.layout)
    plain = case.program(*args)
    tolerance = 1e-12 if how.dtype == "float64" else 5e-4
    for a, b in zip((value, *final), (plain, *args), strict=True):
        if not isinstance(a, tuple | None):
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def _same_values(case: Case, how: Combination, value: Any, args: Arguments) -> None:
    """Value and final state against the plain run's, bit for bit where the two follow the same type rules."""
    want, final = reference_call(case, how.dtype, how.layout)
    if how.dtype == "float32" and (how.flavour == "plain" or uncompiled()):
        # A plain function has NumPy 2's types (float32 stays float32), Numba's dispatcher widens: only
        # rounding agrees.
        assert close(value, want, "float32"), f"value {value!r}, plain run {want!r}"
        for k, (a, b) in enumerate(zip(args, final, strict=True)):
            assert not is_float_array(a) or close(a, b, "float32"), f"argument {k} ends as {a}, plain run {b}"
        return
    assert same_bits(value, want), f"value {value!r}, plain run {want!r}"
    for k, (a, b) in enumerate(zip(args, final, strict=True)):
        assert same_bits(a, b), f"argument {k} ends as {a}, plain run {b}"


def _right_type(got: Any, argument: Any) -> None:
    if is_float_array(argument):
        assert isinstance(got, np.ndarray), f"gradient of an array is {type(got)}"
        assert got.dtype == argument.dtype and got.shape == argument.shape, f"{got.dtype}{got.shape}"
    else:
        assert isinstance(got, float), f"gradient of a float is {type(got)}"


def _right_gradient(case: Case, how: Combination, got: tuple[Any, ...], args: Arguments) -> None:
    for position, g, want in zip(case.wrt, got, expected(case, how.dtype), strict=True):
        _right_type(g, args[position])
        assert close(g, want, how.dtype), f"gradient of argument {position}: {g}, right is {want}"


def _wrt(case: Case) -> int | tuple[int, ...]:
    return case.wrt[0] if len(case.wrt) == 1 else case.wrt


def _tuple(case: Case, gradient: Any) -> tuple[Any, ...]:
    return (gradient,) if len(case.wrt) == 1 else gradient


def grad_mode(case: Case, how: Combination) -> None:
    """`value_and_grad`, twice."""
    function = aj.value_and_grad(flavoured(case.program, how.flavour), wrt=_wrt(case))
    args = realise(case.args, how.dtype, how.layout)
    value, gradient = function(*args)
    _same_values(case, how, value, args)
    _right_gradient(case, how, _tuple(case, gradient), args)
    again = function(*realise(case.args, how.dtype, how.layout))
    assert same_bits(again, (value, gradient)), "a second call gives other bits"


def vjp_mode(case: Case, how: Combination) -> None:
    """`vjp`; two pullbacks alive, one called twice, and the arguments destroyed before (case E 43)."""
    function = flavoured(case.program, how.flavour)
    args = realise(case.args, how.dtype, how.layout)
    value, pullback = aj.vjp(function, *args)
    _same_values(case, how, value, args)
    for argument in args:
        if isinstance(argument, np.ndarray):
            argument[...] = 0
    other_value, other = aj.vjp(function, *realise(case.args, how.dtype, how.layout))
    first = pullback(1.0)
    assert len(first) == len(args)
    for argument, ct in zip(args, first, strict=True):
        if isinstance(argument, (bool, int, type(None))) or (
            isinstance(argument, np.ndarray) and argument.dtype.kind != "f"
        ):
            assert ct is None, f"cotangent {ct} of an argument without derivative"
    _right_gradient(case, how, tuple(first[k] for k in case.wrt), args)
    doubled = pullback(2.0)
    second = other(1.0)
    assert same_bits(other_value, value) and same_bits(first, second), "another pullback gives other bits"
    for k in case.wrt:
        assert close(np.asarray(doubled[k]) / 2, first[k], how.dtype), (
            "a pullback is not linear in its cotangent"
        )


def autodiff_mode(case: Case, how: Combination) -> None:
    """`autodiff(Reverse)`: shadows accumulate.

    A written array's shadow enters as the final value's cotangent.
    """
    rng = np.random.default_rng(len(case.name))
    rounded = realise(realise(case.args, how.dtype), "float64")
    weights = {k: rng.uniform(0.5, 1.5, case.args[k].shape) for k in case.wrt if is_float_array(case.args[k])}
    if case.differences:
        weights = {k: w.astype(how.dtype).astype(np.float64) for k, w in weights.items()}
        right = differences(case.program, rounded, case.wrt, weights)
    else:
        weights = {k: 0 * w for k, w in weights.items()}
        right = expected(case, how.dtype)

    def once() -> tuple[Any, Arguments, tuple[Any, ...]]:
        args = realise(case.args, how.dtype, how.layout)
        shadows = realise(tuple(weights.get(k) for k in range(len(args))), how.dtype, how.layout)
        annotated = [_annotate(case, k, argument, shadows[k]) for k, argument in enumerate(args)]
        result = aj.autodiff(aj.Reverse, flavoured(case.program, how.flavour), *annotated)
        gradients = tuple(shadows[k] if k in weights else result.gradients[k] for k in case.wrt)
        return result.value, args, gradients

    value, args, gradients = once()
    _same_values(case, how, value, args)
    for position, g, want in zip(case.wrt, gradients, right, strict=True):
        assert close(g, want, how.dtype), (
            f"argument {position}: {g}, right is {want}; seeds {weights.get(position)}"
        )
    again = once()
    assert same_bits((value, gradients), (again[0], again[2])), "a second call gives other bits"


def _annotate(case: Case, position: int, argument: Any, shadow: Any) -> Any:
    if position not in case.wrt:
        return aj.Const(argument)
    return aj.Duplicated(argument, shadow) if is_float_array(argument) else aj.Active(argument)


def jvp_mode(case: Case, how: Combination) -> None:
    """`jvp` along a random direction: equal to the dot product with the right gradient."""
    rng = np.random.default_rng(len(case.name) + 1)
    args = realise(case.args, how.dtype, how.layout)
    tangents: list[Any] = [None] * len(args)
    right = scale = 0.0
    for position, want in zip(case.wrt, expected(case, how.dtype), strict=True):
        direction = rng.uniform(-1, 1, np.shape(args[position]))
        if is_float_array(args[position]):
            tangents[position] = realise((direction,), how.dtype, how.layout)[0]
        else:
            tangents[position] = float(direction)
        terms = np.asarray(tangents[position], np.float64) * want
        right, scale = right + np.sum(terms), scale + np.sum(np.abs(terms))
    value, tangent = aj.jvp(flavoured(case.program, how.flavour), args, tuple(tangents))
    _same_values(case, how, value, args)
    tolerance = (2e-7 if how.dtype == "float64" else 5e-4) * (1 + scale)
    assert abs(float(tangent) - right) <= tolerance, f"tangent {tangent}, right is {right}"


MODES: dict[str, Callable[[Case, Combination], None]] = {
    "grad": grad_mode,
    "vjp": vjp_mode,
    "autodiff": autodiff_mode,
    "jvp": jvp_mode,
}
