"""Third and fourth derivatives, in every nesting of forward and reverse operators: all agree with the closed form.

Each nesting is a program of its own: inner levels are derivatives inside a program, the outermost is an operator. No
level is confused with another, and nothing is lost where a first derivative is zero.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import adjit as aj

pytestmark = pytest.mark.usefixtures("uncompiled")

F = Callable[[float], float]


def pushed(f: F) -> F:
    return lambda x: aj.jvp(f, (x,), (1.0,))[1]


def pulled(f: F) -> F:
    return lambda x: aj.vjp(f, x)[1](1.0)[0]


OPERATORS: dict[str, tuple[Callable[[F], Any], int]] = {
    "J": (pushed, 1),
    "G": (aj.grad, 1),
    "F": (aj.jacfwd, 1),
    "V": (pulled, 1),
    "H": (aj.hessian, 2),
}


def nestings(order: int, letters: str) -> Iterator[str]:
    """Words of operators, the innermost first, of this order in all."""
    for count in range(1, order + 1):
        for word in itertools.product(letters, repeat=count):
            if sum(OPERATORS[k][1] for k in word) == order:
                yield "".join(word)


def applied(word: str, f: F) -> F:
    for letter in word:
        f = OPERATORS[letter][0](f)
    return f


def power(x: float) -> float:
    s = 1.0
    for _ in range(6):
        s *= x
    return s


def newton(x: float) -> float:
    y = 1.0
    while abs(y * y - x) > 1e-13:
        y = 0.5 * (y + x / y)
    return y


def in_place(x: float) -> float:
    """x^3 (1 + x)^3, through an array that is written again and again."""
    a = np.empty(4)
    a[0] = x
    for i in range(1, 4):
        a[i] = a[i - 1] * x
        a[i] += a[i - 1]
    for i in range(1, 3):
        a[3] *= a[0]
    return a[3]


def branching(x: float) -> float:
    if x > 1.0:
        return x**3 * math.exp(x)
    return -x


def vanishing(x: float) -> float:
    """At 1 its first derivative is 0."""
    return (math.sqrt(x) - 1.0) ** 2


def series(x: float) -> float:
    """exp(x) - 1 as far as a term is above 1e-13."""
    s, t = 0.0, 1.0
    for i in range(100):
        t *= x / (i + 1)
        s += t
        if t < 1e-13:
            break
    return s


def flat(x: float) -> float:
    """x^4: at 0 all its lower derivatives are 0."""
    return x * x * x * x


E = math.exp(1.3)
CASES: list[tuple[F, float, tuple[float, float]]] = [
    (power, 1.3, (120 * 1.3**3, 360 * 1.3**2)),
    (newton, 1.3, (0.375 * 1.3**-2.5, -0.9375 * 1.3**-3.5)),
    (in_place, 1.3, (6 + 72 * 1.3 + 180 * 1.3**2 + 120 * 1.3**3, 72 + 360 * 1.3 + 360 * 1.3**2)),
    (branching, 1.3, (E * (1.3**3 + 9 * 1.3**2 + 18 * 1.3 + 6), E * (1.3**3 + 12 * 1.3**2 + 36 * 1.3 + 24))),
    (vanishing, 1.0, (-0.75, 1.875)),
    (series, 0.7, (math.exp(0.7), math.exp(0.7))),
    (flat, 0.0, (0.0, 24.0)),
]


@pytest.mark.parametrize(("f", "x", "want"), CASES, ids=lambda v: getattr(v, "__name__", None))
def test_third_derivatives(f: F, x: float, want: tuple[float, float]) -> None:
    words = list(nestings(3, "JGFH"))
    assert len(words) == 33
    got = {word: applied(word, f)(x) for word in words}
    assert got == pytest.approx(dict.fromkeys(words, want[0]), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("f", [newton, vanishing], ids=lambda f: f.__name__)
def test_third_derivatives_by_pullbacks(f: F) -> None:
    _, x, want = next(c for c in CASES if c[0] is f)
    words = [w for w in nestings(3, "JGV") if "V" in w]
    got = {word: applied(word, f)(x) for word in words}
    assert got == pytest.approx(dict.fromkeys(words, want[0]), rel=1e-9)


@pytest.mark.parametrize("word", ["JJJJ", "GJJJ", "JGFJ", "GGJJ", "HJJ", "FHG", "GGGJ", "HH", "JVH"])
@pytest.mark.parametrize(("f", "x", "want"), CASES, ids=lambda v: getattr(v, "__name__", None))
def test_fourth_derivatives(f: F, x: float, want: tuple[float, float], word: str) -> None:
    assert applied(word, f)(x) == pytest.approx(want[1], rel=1e-8, abs=1e-12)


def quartic(x):
    """Third derivatives: 6 c at (0, 1, 1) in any order of the axes, 24 x0 at (0, 0, 0)."""
    s = 0.0
    for i in range(x.shape[0] - 1):
        s += 3.0 * x[i] * x[i + 1] ** 2
    return s + x[0] ** 4


@pytest.mark.parametrize(
    "third",
    [
        lambda x: aj.jacfwd(aj.hessian(quartic))(x),
        lambda x: aj.jacrev(aj.hessian(quartic))(x),
        lambda x: aj.hessian(lambda y: aj.grad(quartic)(y)[0])(x)[None],
        lambda x: aj.jacobian(lambda y: aj.jacfwd(aj.jacrev(quartic))(y))(x),
        lambda x: aj.jacfwd(lambda y: aj.jacrev(lambda z: aj.jacfwd(quartic)(z))(y))(x),
    ],
)
def test_third_derivatives_by_an_array(third: Callable[..., Any]) -> None:
    x = np.array([0.5, 2.0, -1.0])
    want = np.zeros((3, 3, 3))
    for i in range(2):
        for at in {(i, i + 1, i + 1), (i + 1, i, i + 1), (i + 1, i + 1, i)}:
            want[at] = 6.0
    want[0, 0, 0] = 24 * 0.5
    got = third(x)
    np.testing.assert_allclose(got, want[: len(got)], atol=1e-12)


def test_the_derivative_of_a_laplacian() -> None:
    """Of s = 3 x0 x1^2 + 3 x1 x2^2 + x0^4: 6 x0 + 6 x1 + 12 x0^2."""
    x = np.array([0.5, 2.0, -1.0])
    for program in (aj.laplacian(quartic), lambda x: aj.laplacian(quartic)(x)):
        np.testing.assert_allclose(aj.grad(program)(x), [6 + 24 * 0.5, 6.0, 0.0])
        np.testing.assert_allclose(aj.hessian(program)(x), np.diag([24.0, 0.0, 0.0]))


def test_no_perturbation_confusion() -> None:
    for inner in (pushed, aj.grad, pulled, aj.jacfwd, aj.jacrev):
        for outer in (pushed, aj.grad, pulled, aj.jacfwd, aj.jacrev):
            assert outer(lambda x: x * inner(lambda y: x * y)(1.0))(3.0) == 6.0
            assert outer(lambda x: inner(lambda y: x * y * y)(x))(3.0) == 12.0
            assert outer(lambda x: inner(lambda y: outer(lambda z: x * y * z)(y))(x))(3.0) == 1.0


def test_one_function_under_three_levels_of_itself() -> None:
    """Each level is the same code closed over another function: not a function that calls itself."""

    def program(x):
        slope = lambda f: lambda y: aj.jvp(f, (y,), (1.0,))[1]
        return slope(slope(slope(lambda y: y**5)))(x)

    assert aj.jit(program)(2.0) == 60 * 4.0
    assert aj.grad(program)(2.0) == 120 * 2.0
