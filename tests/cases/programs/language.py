"""Around loops: callees, closures, tuples, defaults, None, asserts (cases A 16; E 46)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from ..record import Case, vec, wave

WEIGHTS = np.array([0.5, 1.5, 2.5])
SCALE = 1.25


@njit
def two_results(a, b):
    return a * b, a - b * b


@njit
def early(v, limit):
    s = 0.0
    for i in range(len(v)):
        s += v[i] * v[i]
        if s > limit:
            return s * 2
    return s


@njit
def push(v, s):
    v[0] = v[0] * s
    return v[0] + s, len(v)


@njit
def with_default(v, c=2.0, flag=None):
    if flag is None:
        return v * c
    return v * v * c


@njit
def ackermann_like(x, n):
    if n <= 0:
        return x
    return math.sin(x) * ackermann_like(x * 0.9, n - 1)


@njit
def square(z):
    return z * z


@njit
def fold(f, v):
    s = 0.0
    for i in range(len(v)):
        s += f(v[i]) * (i + 1)
    return s


def tuples_from_callees(x):
    s = 1.0
    for i in range(len(x)):
        p, q = two_results(x[i], s)
        s = p + 0.5 * q
    both = two_results(s, x[0])
    return both[0] * both[1]


def early_return_in_a_callee(x):
    a = early(x, 1.0)
    b = early(x, 1e9)
    return a * b


def callee_in_a_loop(x, n):
    s = 0.5
    for k in range(n):
        r, size = push(x, s)
        s = math.sin(r) * size * 0.3
    return s + x[0]


def nested_function(x, c):
    k = c * c

    def inner(z, t):
        return z * k + t * x[0]

    s = 0.0
    for i in range(len(x)):
        s += inner(x[i], s)
    return s


def two_lambdas_on_one_line(x):
    f, g = (lambda z: z * z + 1.0), (lambda z: z * 3.0 - 1.0)
    s = 0.0
    for i in range(len(x)):
        s += f(x[i]) * g(s)
    return s


def global_constants(x):
    s = 0.0
    for i in range(3):
        s += WEIGHTS[i] * x[i] * x[i] * SCALE
    return s


def function_as_an_argument(x):
    return fold(square, x) + fold(math.sin, x[1:]) if len(x) > 9 else fold(square, x)


def keyword_calls(x):
    return with_default(x[0], c=3.0) + with_default(x[1]) * with_default(v=x[2], flag=1)


def recursion(x, n):
    return ackermann_like(x, n) + x


def local_tuple(x):
    pair = (x[0] * x[1], x[2])
    s = 0.0
    for i in range(3):
        a, b = pair
        s += a * b
        pair = (b * 0.5, a + x[i])
    return s + pair[0] * pair[1]


def tuple_of_arrays(x, y):
    both = (x, y)
    s = 0.0
    for i in range(len(x)):
        both[0][i] = both[0][i] * both[1][i]
        s += both[0][i] * x[0]
    return s


def tuple_argument(p, x):
    s = p[0]
    for i in range(len(x)):
        s = s * p[1] + x[i]
    return s


def assert_and_raise(x):
    assert len(x) > 1, "too short"
    if x[0] < 0:
        raise ValueError("negative")
    s = 0.0
    for i in range(len(x)):
        if math.isnan(x[i]):
            raise ValueError("nan")
        s += x[i] * x[0]
    return s


def augmented_assignments(x):
    s = 0.0
    for i in range(len(x)):
        t = x[i] * x[i]
        if t > 0.5:
            s += t
        x[i] -= t
        x[i] **= 2
        x[i] /= 1.5 + s
    return s * x[0]


def functions_of_a_number(x):
    a = math.exp(-x) + math.log(1 + x) + math.sqrt(x) + math.tan(0.3 * x) + math.atan2(x, 2.0)
    b = (
        np.sinh(0.2 * x)
        + np.cosh(0.2 * x)
        + np.tanh(x)
        + math.asin(0.3 * x)
        + math.acos(0.2 * x)
        + math.atan(x)
    )
    c = (
        math.expm1(0.1 * x)
        + math.log1p(x)
        + math.log10(2 + x)
        + math.hypot(x, 2.0)
        + math.erf(x)
        + x**2.5
        + 1.3**x
    )
    return a * b + c + math.fabs(-x) + abs(x) + np.arctan(x) + np.square(x) + math.pow(x, 1.5)


def integer_functions(x):
    s = 0.0
    for i in range(len(x)):
        k = math.floor(x[i] * 3) + int(math.ceil(x[i])) - i
        s += x[i] * (k % 3) + (i // 2) * x[i] ** 2 - (k & 1) * x[i] + (i ^ 1) * x[0]
    return s + len(x)


def floor_modulo(x):
    s = 0.0
    for i in range(len(x)):
        s += (x[i] % 0.37) * x[i] + (x[i] // 0.37) * x[i]
    return s


def float_counts(x):
    n = float(len(x))
    mean = 0.0
    for i in range(len(x)):
        mean += x[i] / n
    var = 0.0
    for i in range(len(x)):
        var += (x[i] - mean) ** 2 / (n - 1)
    return var


class Fluid(NamedTuple):
    """A parameter block, as in the paths of `wrt`."""

    D: float
    v: np.ndarray
    steps: int


def named_tuple(p, x):
    s = 0.0
    for _ in range(p.steps):
        for i in range(len(x)):
            x[i] = x[i] + p.D * p.v[i] * x[i - 1]
    for i in range(len(x)):
        s += x[i]
    return s


def _variance_gradient(x):
    return (2 * (x - x.mean()) / (len(x) - 1),)


CASES = [
    Case("tuples_from_callees", tuples_from_callees, (wave(4),), origin="A16"),
    Case("early_return_in_a_callee", early_return_in_a_callee, (wave(4),), origin="A16"),
    Case(
        "callee_in_a_loop",
        callee_in_a_loop,
        (wave(2), 3),
        origin="A16: a callee mutates, in a loop",
        core=True,
    ),
    Case("nested_function", nested_function, (wave(3), 1.2), (0, 1), origin="A16"),
    Case("two_lambdas_on_one_line", two_lambdas_on_one_line, (wave(3),), origin="E46"),
    Case(
        "global_constants",
        global_constants,
        (wave(3),),
        gradient=lambda x: (2 * WEIGHTS * x * SCALE,),
        origin="A16: constants of the module",
    ),
    Case("function_as_an_argument", function_as_an_argument, (wave(3),), origin="C36"),
    Case("keyword_calls", keyword_calls, (wave(3),), origin="E46"),
    Case("recursion", recursion, (0.8, 3), origin="E46", flavours=("njit",)),
    Case("local_tuple", local_tuple, (wave(3),), origin="A16"),
    Case("tuple_of_arrays", tuple_of_arrays, (wave(3), wave(3, seed=1)), (0, 1), origin="design 8"),
    Case("tuple_argument", tuple_argument, ((0.5, 0.8), wave(3)), (1,), origin="design 2"),
    Case("assert_and_raise", assert_and_raise, (wave(3),), origin="design 8"),
    Case("augmented_assignments", augmented_assignments, (wave(3),), origin="A16"),
    Case("functions_of_a_number", functions_of_a_number, (0.7,), origin="rules in a program"),
    Case("integer_functions", integer_functions, (wave(4),), origin="design 2: integers are inactive"),
    Case("floor_modulo", floor_modulo, (vec(0.5, 0.9, 1.3),), origin="E41"),
    Case("float_counts", float_counts, (wave(4),), gradient=_variance_gradient, origin="A11"),
    Case("named_tuple", named_tuple, (Fluid(0.3, wave(3), 2), wave(3, seed=1)), (1,), origin="design 2"),
]
