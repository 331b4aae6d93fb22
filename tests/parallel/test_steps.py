"""Products, minima and maxima whose steps are recorded: on threads they do what they do in order.

Minima and maxima to the bit, so that the derivative goes to the same turn at ties, after NaNs and for zeros of both
signs; products to rounding, and with zeros among the factors.
"""

from __future__ import annotations

import numba
import numpy as np
import pytest

import adjit as aj
from adjit.transform import parts
from tests.parallel.programs import Program

EXTREMES = {
    "max(m, x)": "m = max(m, x[i] * 2.0)",
    "max(x, m)": "m = max(x[i] * 2.0, m)",
    "min(m, x)": "m = min(m, x[i] * x[i - 1])",
    "min(x, m)": "m = min(x[i], m)",
    "under a guard": "m = max(x[i], m) if i % 3 else m",
    "in a branch": "if i % 3:\n            m = max(x[i], m)",
    "in a loop": "for j in range(i % 3):\n            m = max(x[i] - j, m)",
    "two a turn": "m = min(x[i], m)\n        m = min(x[i - 1] + 0.5, m)",
    "with another": "m = max(m, x[i])\n        q = min(x[i] * 3.0, q)",
}

PRODUCTS = {
    "all": "m *= x[i] * 1.5",
    "divided": "m /= x[i] + 3.0",
    "guarded": "if x[i] < 1.5:\n            m *= x[i] + x[i - 1]",
    "two a turn": "m *= x[i]\n        q *= x[i - 1] * 0.5",
    "in a loop": "for j in range(i % 4):\n            m *= x[i] + j",
    "negated": "m = -m * x[i]",
}


def _program(turn: str) -> Program:
    text = (
        "def f(x):\n    m = 0.25\n    q = 1.5\n"
        f"    for i in loop(x.shape[0]):\n        {turn}\n    return m + 0.5 * q\n"
    )
    return Program(text, lambda rng, n: (rng.uniform(0.5, 1.5, n),))


def _inputs() -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    plain = [rng.uniform(-2.0, 2.0, n) for n in (1, 2, 5, 23)]
    ties = [np.round(rng.uniform(-2.0, 2.0, 17)) for _ in range(4)]
    zeros = [np.array([0.0, -0.0, 0.0, -0.0, -0.0, 0.0, -0.0]), np.zeros(5), -np.zeros(5)]
    nans = [np.array([np.nan]), np.array([np.nan, np.nan, 1.0]), np.array([2.0, 1.0, np.nan])]
    for _ in range(12):
        z = np.round(rng.uniform(-3.0, 3.0, 11))
        z[rng.integers(0, 11, 2)] = np.nan
        nans.append(z)
    return [*plain, *ties, *zeros, *nans, np.array([np.inf, -np.inf, 3.0, np.inf])]


@pytest.fixture(autouse=True)
def fine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Uncompiled, in parts of one turn or few."""
    monkeypatch.setenv("ADJIT_UNCOMPILED", "1")
    monkeypatch.setattr(parts, "GRAIN", 20)


@pytest.mark.parametrize("grain", [1, 60])
@pytest.mark.parametrize("name", EXTREMES)
def test_the_same_turn_is_chosen(name: str, grain: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "GRAIN", grain)
    program = _program(EXTREMES[name])
    threaded, plain = (aj.value_and_grad(program.function(loop)) for loop in (numba.prange, range))
    for x in _inputs():
        (value, gradient), (expected, slope) = threaded(x.copy()), plain(x.copy())
        assert (
            np.float64(value).tobytes() == np.float64(expected).tobytes() or np.isnan([value, expected]).all()
        )
        np.testing.assert_array_equal(gradient, slope)


@pytest.mark.parametrize("grain", [1, 60])
@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name: str, grain: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "GRAIN", grain)
    program = _program(PRODUCTS[name])
    threaded, plain = (aj.value_and_grad(program.function(loop)) for loop in (numba.prange, range))
    for x in _inputs():
        (value, gradient), (expected, slope) = threaded(x.copy()), plain(x.copy())
        np.testing.assert_allclose(value, expected, rtol=1e-12)
        np.testing.assert_allclose(gradient, slope, rtol=1e-11, atol=1e-13)


def test_a_product_with_zeros_has_the_right_gradient() -> None:
    """One zero: the product of the others, there alone. Two zeros: nothing."""
    gradient = aj.grad(_program("m *= x[i]").function(numba.prange))
    x = np.random.default_rng(0).uniform(0.5, 1.5, 20)
    x[7] = 0.0
    expected = np.zeros(20)
    expected[7] = 0.25 * np.prod(np.delete(x, 7))
    np.testing.assert_allclose(gradient(x), expected, rtol=1e-12)
    x[15] = 0.0
    np.testing.assert_array_equal(gradient(x), np.zeros(20))


def test_a_zero_and_an_infinity_make_no_number() -> None:
    """As in order: the product of a part is not taken for a slope."""
    x = np.ones(12)
    x[2], x[9] = 0.0, np.inf
    f = _program("m *= x[i]")
    for loop in (numba.prange, range):
        assert np.isnan(aj.value_and_grad(f.function(loop))(x)[0])


def test_what_a_turn_looks_at_is_what_stands_before_it() -> None:
    """A product that goes on in a branch after it was recorded was taken for one that nobody looks at."""
    turn = "m *= x[i] ** 2 * 0.7\n        if x[i] > 0.9:\n            m *= 1.1 * x[i]"
    x = np.random.default_rng(1).uniform(0.5, 1.5, 13)
    found = [aj.grad(_program(turn).function(loop))(x) for loop in (numba.prange, range)]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)


@pytest.mark.parametrize(
    "turn",
    [
        "x[i] = x[i] * x[i]\n        m *= x[i]",  # a turn reads what it stored
        "m = max(m, x[i]) * x[i]",  # neither a product nor a maximum
        "m = max(m, x[i] * m)",
        "m = max(m, x[i])\n        m = min(m, x[i - 1] + 2.0)",
        "m *= x[i] + m",
    ],
)
def test_others_run_in_order_and_are_right(turn: str) -> None:
    program = _program(turn)
    x = np.random.default_rng(2).uniform(0.5, 1.5, 9)
    gradient = aj.grad(program.function(numba.prange))
    assert "# in order: each turn needs" in gradient.source(x)
    np.testing.assert_allclose(gradient(x.copy()), aj.grad(program.function(range))(x.copy()), rtol=1e-12)


@pytest.mark.skipif(numba.get_num_threads() < 2, reason="one processor")
def test_bits_do_not_depend_on_the_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ADJIT_UNCOMPILED")
    monkeypatch.setattr(parts, "GRAIN", 200)
    program = _program("m *= np.sin(x[i]) * 1.9\n        q = min(x[i] * x[i - 1], q)")
    gradient = aj.value_and_grad(program.function(numba.prange))
    x = np.random.default_rng(1).uniform(0.5, 1.5, 400)
    before, found = numba.get_num_threads(), []
    for count in (1, 2, 2):
        numba.set_num_threads(count)
        value, slope = gradient(x)
        found.append((np.float64(value).tobytes(), slope.tobytes()))
    numba.set_num_threads(before)
    assert found[0] == found[1] == found[2]
    value, slope = aj.value_and_grad(program.function(range))(x)
    np.testing.assert_allclose(gradient(x)[0], value, rtol=1e-11)
    np.testing.assert_allclose(gradient(x)[1], slope, rtol=1e-11, atol=1e-300)
