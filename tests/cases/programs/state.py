"""Scalars and arrays overwritten while a loop needs what they held (cases A 1-6, 8, 9, 11, 13, 16, 23)."""

from __future__ import annotations

import math

import numpy as np

from ..record import Case, vec, wave


def product(x):
    p = 1.0
    for i in range(x.shape[0]):
        p *= x[i]
    return p


def product_from_an_int(x):
    p = 1
    for i in range(len(x)):
        p = p * x[i]
    return p


def product_by_while(x):
    i = len(x)
    p = 1.0
    while i > 0:
        i -= 1
        p = p * x[i]
    return p


def product_over_elements(x):
    p = 1.0
    for v in x:
        p *= v
    return p


def scaled_sum(a, b):
    s = 0.0
    for i in range(len(a)):
        a[i] *= b[i]
    for i in range(len(a)):
        s += a[i]
    return s


def nonlinear_stencil(u):
    n = u.shape[0]
    for s in range(3):
        for i in range(1, n - 1):
            u[i] += 0.1 * (u[i - 1] - 2 * u[i] + u[i + 1]) * u[i]
    total = 0.0
    for i in range(n):
        total += u[i]
    return total


def heat_2d(u):
    n, m = u.shape
    for s in range(2):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]) - 0.1 * u[i, j] ** 2
    total = 0.0
    for i in range(n):
        for j in range(m):
            total += u[i, j] * u[i, j]
    return total


def input_overwritten(x, y):
    for i in range(len(x)):
        y[i] = x[i] * x[i]
    for i in range(len(x)):
        x[i] = 100.0
    s = 0.0
    for i in range(len(y)):
        s += y[i]
    return s


def newton_sqrt(x):
    y = 1.0
    while abs(y * y - x) > 1e-10:
        y = 0.5 * (y + x / y)
    return y


def power(x, n):
    s = 1.0
    for i in range(n):
        s *= x
    return s


def logistic_recurrence(x):
    f = np.zeros(10)
    f[0] = 1
    for i in range(1, 10):
        f[i] = f[i - 1] * x
        f[i] = 1 / (1 + math.exp(-f[i]))
    return f[9]


def powers_in_an_array(x, n):
    p = np.empty(n)
    p[0] = 1.0
    p[1] = x
    for i in range(2, n):
        p[i] = p[i - 1] * x
    return p[n - 1]


def weighted_mean(x, w):
    s = 0.0
    m = 0.0
    for i in range(len(x)):
        s += x[i] * w[i]
        m += w[i]
    return s / m


def reload_after_overwrite(a):
    t = a[0]
    a[0] = t * t
    a[0] = a[0] * t
    return a[0]


def reload_through_a_view(a):
    v = a[1:]
    t = a[1]
    a[1] = t * t
    v[0] = v[0] * t
    return a[1]


def scratch_argument(x, work):
    s = 0.0
    for i in range(len(x)):
        work[0] = x[i] * x[i]
        work[1] = math.sin(work[0])
        work[0] = work[0] * work[1]
        s += work[0]
    return s


def scratch_local(x):
    s = 0.0
    work = np.empty(2, x.dtype)
    for i in range(len(x)):
        work[0] = x[i] * x[i]
        work[1] = math.sin(work[0])
        work[0] = work[0] * work[1]
        s += work[0]
    return s


def scratch_in_the_loop(x):
    s = 0.0
    for i in range(len(x)):
        work = np.zeros(3)
        for j in range(3):
            work[j] = x[i] * (j + 1)
            if j > 0:
                work[j] += work[j - 1] * work[j]
        s += work[2]
    return s


def stale_scratch(x, work):
    s = 0.0
    for i in range(len(x)):
        s += work[0] * x[i]
        work[0] = work[0] * x[i] + 0.5
    return s


def chained_assignment(x):
    s = 0.0
    for i in range(len(x)):
        a = b = x[i] * x[i]
        a = a * b
        x[i] = x[0] = a + b
        s += x[i]
    return s


def swaps_by_tuple(x):
    a, b = x[0], x[1]
    for i in range(3):
        a, b = b, a * math.cos(b)
    x[0], x[1] = x[1], x[0]
    x[1], x[2] = x[2] * x[1], x[1]
    return a * b + x[0] * x[1] * x[2]


def fibonacci_like(x, n):
    a, b = x, 1.0
    for _ in range(n):
        a, b = b + 0.1 * a * b, a
    return a


def accumulate_twice(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i]
        s *= x[i]
    return s


def in_place_prefix(x):
    for i in range(1, len(x)):
        x[i] *= x[i - 1]
    return x[-1] + x[0]


def in_place_suffix(x):
    for i in range(len(x) - 2, -1, -1):
        x[i] = x[i] * x[i + 1] + math.exp(-x[i])
    return x[0]


def same_element_many_times(x, n):
    for k in range(n):
        x[0] = math.sin(x[0]) * x[1]
        x[1] = x[0] * x[1] + 0.3
    return x[0] + x[1]


def _product_gradient(x):
    return (np.prod(x) / x,)


def _weighted_mean_gradient(x, w):
    return w / w.sum(), (x - (x * w).sum() / w.sum()) / w.sum()


def _scratch_gradient(x, *_):
    return (2 * x * np.sin(x * x) + 2 * x**3 * np.cos(x * x),)


BURGERS = np.array([1.5690, 0.4367, 0.2926, 0.6039, 1.4774])

CASES = [
    Case("product", product, (vec(2, 3, 4),), gradient=_product_gradient, origin="A1", core=True),
    Case(
        "product_from_an_int",
        product_from_an_int,
        (wave(4),),
        gradient=_product_gradient,
        origin="A1, int phi",
    ),
    Case("product_by_while", product_by_while, (wave(4),), gradient=_product_gradient, origin="A1"),
    Case("product_over_elements", product_over_elements, (wave(3),), gradient=_product_gradient, origin="A1"),
    Case("product_of_one", product, (vec(2.5),), gradient=_product_gradient, origin="A1, n=1"),
    Case("product_of_none", product, (np.empty(0),), gradient=lambda x: (np.empty(0),), origin="A1, n=0"),
    Case("scaled_sum", scaled_sum, (wave(3), wave(3, seed=1)), (0, 1), lambda a, b: (b, a), "A2"),
    Case("nonlinear_stencil", nonlinear_stencil, (vec(1, 2, 3, 2, 1),), origin="A3", core=True),
    Case("heat_2d", heat_2d, (wave(4, 3),), origin="A3 in two dimensions", core=True),
    Case(
        "input_overwritten",
        input_overwritten,
        (vec(3, 2), vec(0, 7)),
        (0, 1),
        lambda x, y: (2 * x, 0 * y),
        "A4",
        core=True,
    ),
    Case("newton_sqrt", newton_sqrt, (2.0,), gradient=lambda x: (0.5 / math.sqrt(x),), origin="A5"),
    Case("power", power, (1.3, 5), gradient=lambda x, n: (n * x ** (n - 1),), origin="A6"),
    Case("power_zero_trips", power, (1.3, 0), gradient=lambda x, n: (0.0,), origin="A6, n=0"),
    Case("power_negative_trips", power, (1.3, -2), gradient=lambda x, n: (0.0,), origin="A6, n<0"),
    Case("logistic_recurrence", logistic_recurrence, (0.7,), origin="A8"),
    Case(
        "powers_in_an_array",
        powers_in_an_array,
        (1.1, 8),
        gradient=lambda x, n: ((n - 1) * x ** (n - 2),),
        origin="A9",
    ),
    Case("weighted_mean", weighted_mean, (wave(4), wave(4, seed=2)), (0, 1), _weighted_mean_gradient, "A11"),
    Case(
        "reload_after_overwrite",
        reload_after_overwrite,
        (vec(1.7),),
        gradient=lambda a: (3 * a**2,),
        origin="A13",
    ),
    Case(
        "reload_through_a_view",
        reload_through_a_view,
        (vec(0.4, 1.7),),
        gradient=lambda a: (np.array([0, 3 * a[1] ** 2]),),
        origin="A13",
    ),
    Case(
        "scratch_argument", scratch_argument, (wave(4), vec(9, 9)), gradient=_scratch_gradient, origin="A16"
    ),
    Case("scratch_local", scratch_local, (wave(4),), gradient=_scratch_gradient, origin="A16"),
    Case("scratch_in_the_loop", scratch_in_the_loop, (wave(4),), origin="A16"),
    Case(
        "stale_scratch",
        stale_scratch,
        (wave(4), vec(0.8)),
        (0, 1),
        origin="A16: read before written",
        core=True,
    ),
    Case("chained_assignment", chained_assignment, (wave(4),), origin="A16"),
    Case("swaps_by_tuple", swaps_by_tuple, (wave(3),), origin="A16"),
    Case("fibonacci_like", fibonacci_like, (0.7, 5), origin="A16: scalars swapped in a loop"),
    Case("accumulate_twice", accumulate_twice, (wave(4),), origin="A16"),
    Case("in_place_prefix", in_place_prefix, (wave(4),), origin="A3"),
    Case("in_place_suffix", in_place_suffix, (wave(4),), origin="A3, backwards"),
    Case(
        "same_element_many_times",
        same_element_many_times,
        (wave(2), 4),
        origin="A3: one element, many versions",
    ),
]
