"""Arrays that a program makes: grids, literals, constants, identities, with every keyword that Numba takes."""

from __future__ import annotations

import math

import numpy as np

from ..record import Case, vec

X = vec(0.7, 1.3, 0.4, 1.9)
A = np.arange(12.0).reshape(3, 4) / 7 + 0.3


def linspace_of_n(a, b, n):
    g = np.linspace(a, b, n)
    s = 0.0
    for i in range(n):
        s += g[i] * g[i]
    return s


def linspace_default(a, b):
    s = 0.0
    for v in np.linspace(a, b):
        s += math.sin(v)
    return s


def linspace_int(x):
    g = np.linspace(0, 1, len(x))
    s = 0.0
    for i in range(len(x)):
        s += g[i] * x[i]
    return s


def linspace_one(a, b, n):
    g = np.linspace(a, b, n)
    return g[0] * g[0]


def linspace_none(a, b, n):
    g = np.linspace(a, b, n)
    return len(g) + a * a


def linspace_kw(a, b):
    g = np.linspace(start=a, stop=b, num=3)
    return g[1] * g[0]


def linspace_grid(x, n):
    s = 0.0
    for k in range(2):
        g = np.linspace(x[k], x[k + 1], n)
        for i in range(n - 1):
            s += (g[i + 1] - g[i]) * math.sin(g[i])
    return s


def arange_n(x):
    k = np.arange(len(x))
    s = 0.0
    for i in range(len(x)):
        s += k[i] * x[i] ** 2
    return s


def arange_float(x):
    s = 0.0
    for t in np.arange(0.0, 1.0, 0.25):
        s += math.sin(x * t)
    return s


def arange_float_step(x):
    t = np.arange(0.0, 3.0 * x, x)
    s = 0.0
    for i in range(t.size):
        s += t[i] * t[i]
    return s


def arange_dtype(x):
    s = 0.0
    for t in np.arange(4, dtype=np.float64):
        s += x * t * x
    return s


def arange_step_neg(x):
    k = np.arange(5, 0, -2)
    s = 0.0
    for i in k:
        s += x**i
    return s


def arange_computed(x):
    n = len(x) - 1
    k = np.arange(n + 1)
    s = 0.0
    for i in range(n + 1):
        s += x[k[i]] ** 2 * k[i]
    return s


def arange_computed_float(x):
    k = np.arange(2.5 * x[1])
    s = 0.0
    for i in range(len(k)):
        s += k[i] * x[i] ** 2
    return s


def full_kw(x):
    a = np.full(shape=3, fill_value=x)
    return a[0] * a[1] * a[2]


def full_tuple(x):
    a = np.full((2, 2), x, dtype=np.float64)
    return a[0, 1] * a[1, 1]


def full_int(x):
    a = np.full(3, 2)
    return a[0] * x * x


def full_like(x):
    a = np.zeros(3)
    b = np.full_like(a, x)
    return b[0] * b[2]


def ones_like_dtype(x):
    a = np.zeros(3)
    b = np.ones_like(a, dtype=np.int64)
    return b[0] * x * x


def empty_dtype(x):
    a = np.empty(x.shape[0], x.dtype)
    for i in range(x.size):
        a[i] = x[i] * x[i]
    return a[0] + a[3]


def array_of_three_levels(x):
    a = np.array([[[x, 1.0]], [[2.0, x * x]]])
    return a[0, 0, 0] * a[1, 0, 1]


def array_ints(x):
    c = np.array([1, 2, 3])
    s = 0.0
    for v in c:
        s += x**v
    return s


def array_dtype(x):
    a = np.array([1, 2, 3], dtype=np.float64)
    a[1] = x
    return a[1] * a[1] * a[2]


def filled(x):
    a = np.empty(4)
    a.fill(x)
    return a[0] * a[3]


def eye_forms(a):
    e = np.eye(3, 4, 1)
    f = np.eye(3, dtype=np.float32)
    g = np.identity(2)
    h = np.eye(3, 4)
    return (
        e[0, 1] * a[0, 0] ** 2
        + f[2, 2] * a[0, 1]
        + g[1, 1] * a[0, 2] ** 2
        + h[2, 2] * a[2, 2] ** 2
        + h[2, 3] * a[0, 0]
    )


CASES = [
    Case("linspace_of_n", linspace_of_n, (0.5, 2.0, 5), wrt=(0, 1), origin="the brief"),
    Case("linspace_default", linspace_default, (0.5, 2.0), wrt=(0, 1), origin="the brief"),
    Case("linspace_int", linspace_int, (X,), origin="the brief"),
    Case("linspace_one", linspace_one, (0.3, 2.5, 1), wrt=(0, 1), origin="the brief"),
    Case("linspace_none", linspace_none, (0.3, 2.5, 0), wrt=(0, 1), origin="the brief"),
    Case("linspace_kw", linspace_kw, (0.3, 2.5), wrt=(0, 1), origin="the brief"),
    Case("linspace_grid", linspace_grid, (X, 5), origin="the brief"),
    Case("arange_n", arange_n, (X,), origin="the brief"),
    Case("arange_float", arange_float, (0.7,), origin="the brief"),
    Case("arange_float_step", arange_float_step, (0.7,), origin="the brief"),
    Case("arange_dtype", arange_dtype, (0.7,), origin="the brief"),
    Case("arange_step_neg", arange_step_neg, (0.7,), origin="the brief"),
    Case("arange_computed", arange_computed, (X,), origin="the brief"),
    Case("arange_computed_float", arange_computed_float, (X,), origin="the brief"),
    Case("full_kw", full_kw, (0.7,), origin="the brief"),
    Case("full_tuple", full_tuple, (0.7,), origin="the brief"),
    Case("full_int", full_int, (0.7,), origin="the brief"),
    Case("full_like", full_like, (0.7,), origin="the brief"),
    Case("ones_like_dtype", ones_like_dtype, (0.7,), origin="the brief"),
    Case("empty_dtype", empty_dtype, (X,), origin="the brief"),
    Case("array_of_three_levels", array_of_three_levels, (0.7,), origin="the brief"),
    Case("array_ints", array_ints, (0.7,), origin="the brief"),
    Case("array_dtype", array_dtype, (0.7,), origin="the brief"),
    Case("filled", filled, (0.7,), origin="the brief"),
    Case("eye_forms", eye_forms, (A,), origin="the brief"),
]
