"""Gates: inlined functions keep what their options promise, value or exception, in every mode."""

from __future__ import annotations

import os

import numpy as np
import pytest
from numba import njit

import adjit as aj

pytestmark = pytest.mark.skipif(os.environ.get("ADJIT_UNCOMPILED") == "1", reason="error models are Numba's")


@njit(error_model="numpy")
def ieee(x):
    return 1.0 / x


@njit(error_model="python")
def strict(x):
    return 1.0 / x


@njit
def unset(x):
    return 1.0 / x


@njit(error_model="python")
def integers(i, j):
    return i // j + i % j + i ** (j - 3)


@njit
def ieee_inside(x):
    return min(ieee(x), 5.0) * 2 + x


@njit(error_model="numpy")
def strict_inside(x):
    return strict(x) + x / 1.0


@njit(error_model="numpy")
def inherited(x):
    return unset(x) + x


@njit
def both(x, y):
    return min(ieee(x), 5.0) * y + y / x


@njit(error_model="numpy")
def with_integers(x, i, j):
    return x * integers(i, j) + 1.0 / x


@njit(error_model="numpy")
def in_a_loop(x, n):
    s = 0.0
    for i in range(n):
        s += strict(x - i) + 1.0 / (x + i)
    return s


MODES = {
    "grad": lambda f, *args: aj.value_and_grad(f)(*args)[0],
    "vjp": lambda f, *args: aj.vjp(f, *args)[0],
    "jvp": lambda f, *args: aj.jvp(f, args, (1.0, *[None] * (len(args) - 1)))[0],
    "autodiff": lambda f, *args: (
        aj.autodiff(aj.Reverse, f, aj.Active(args[0]), *map(aj.Const, args[1:])).value
    ),
}


def outcome(f, *args):
    """The value, or the exception's type and words."""
    try:
        return f(*args)
    except ZeroDivisionError as error:
        return f"{type(error).__name__}: {error}"


CALLS = [
    (ieee_inside, (0.0,)),
    (ieee_inside, (2.0,)),
    (strict_inside, (0.0,)),
    (strict_inside, (2.0,)),
    (inherited, (0.0,)),
    (both, (0.0, 1.0)),
    (both, (2.0, 1.0)),
    (with_integers, (2.0, 3, 0)),
    (with_integers, (2.0, 0, 2)),
    (with_integers, (2.0, 5, 3)),
    (with_integers, (0.0, 5, 3)),
    (in_a_loop, (2.0, 3)),
    (in_a_loop, (0.0, 0)),
    (in_a_loop, (2.5, 3)),
]


@pytest.mark.parametrize(("f", "args"), CALLS, ids=[f"{f.__name__}{a}" for f, a in CALLS])
@pytest.mark.parametrize("mode", MODES)
def test_error_models(f, args, mode):
    """The plain call's value, or its exception with its words."""
    assert outcome(MODES[mode], f, *args) == outcome(f, *args)


def test_gradient_of_mixed_models():
    """Guards change no derivative: 1/x + x has slope 1 - 1/x**2, and 2/x**3 for its slope."""
    assert aj.grad(strict_inside)(2.0) == pytest.approx(0.75)
    assert aj.jvp(aj.grad(strict_inside), (2.0,), (1.0,))[1] == pytest.approx(0.25)


def test_one_model_needs_no_guard():
    assert "raise" not in aj.grad(inherited).source(1.0)


@njit(fastmath=False)
def compensated(x):
    s = c = 0.0
    for i in range(len(x)):
        y = x[i] - c
        t = s + y
        c = (t - s) - y
        s = t
    return s


@njit(fastmath=True)
def fast_outside(x):
    return compensated(x) * 2.0


@njit(fastmath=True)
def fast(x):
    return x[0] * x[0]


@njit(fastmath={"nnan"})
def few_flags(x):
    return x[0] * x[1]


@njit
def fast_inside(x):
    return fast(x) + x[1]


@njit(fastmath={"nnan", "nsz"})
def fewer(x):
    return few_flags(x) + fast(x)


def test_a_strict_callee_keeps_its_compensation():
    """Under fastmath the compensation would be folded away: the whole program is exact instead."""
    x = np.full(10_000, 0.1)
    x[0] = 1e9
    value, gradient = aj.value_and_grad(fast_outside)(x)
    assert value == 2.0 * compensated(x)
    np.testing.assert_allclose(gradient, 2.0)


@pytest.mark.parametrize(
    ("f", "flags"),
    [(fast_outside, None), (fast_inside, None), (fast, "True"), (fewer, '{"nnan"}')],
    ids=["strict callee", "fast callee", "fast", "common flags"],
)
def test_fastmath_flags(f, flags):
    text = aj.grad(f).source(np.ones(3))
    assert ("fastmath" in text) == (flags is not None)
    assert flags is None or f"fastmath={flags}" in text


@njit(boundscheck=True)
def checked(x, k):
    return x[k] * x[k]


@njit
def checked_inside(x, k):
    return checked(x, k) + x[0]


@pytest.mark.parametrize("f", [checked, checked_inside])
def test_boundscheck(f):
    """Asked for by any function, it holds in all of the program."""
    x = np.arange(3.0)
    assert aj.value_and_grad(f)(x, 1)[0] == f(x, 1)
    for run in (lambda: f(x, 7), lambda: aj.grad(f)(x, 7), lambda: aj.vjp(f, x, 7)):
        with pytest.raises(IndexError):
            run()
