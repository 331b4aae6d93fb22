"""Scalar and loop Python that a physicist writes: unpacking, iterables, casts, extremes."""

from __future__ import annotations

import math

import numpy as np

from ..record import Case, vec

X = vec(0.7, 1.3, 0.4, 1.9)
A = np.arange(12.0).reshape(3, 4) / 7 + 0.3


def shape_unpack(a):
    n, m = a.shape
    s = 0.0
    for i in range(n):
        for j in range(m):
            s += a[i, j] ** 2 * (i + j)
    return s


def ndenumerate_index(a):
    s = 0.0
    for ij, v in np.ndenumerate(a):
        s += v * v * (ij[0] + 2 * ij[1])
    return s


def ndenumerate_unpacked(a):
    s = 0.0
    for (i, j), v in np.ndenumerate(a):
        s += v * v * (i + 2 * j)
    return s


def ndindex_of_extents(a):
    s = 0.0
    for ij in np.ndindex(3, 4):
        s += a[ij] ** 2
    return s


def over_flat(a):
    s = 0.0
    for v in a.flat:
        s += v**2
    return s


def flat_enum(a):
    s = 0.0
    for k, v in enumerate(a.flat):
        s += v * v * k
    return s


def rows_of_rows(a):
    s = 0.0
    for row in a:
        for v in row:
            s += v * v
    return s


def chained(a):
    s = 0.0
    for i in range(3):
        s += a[i][1] * a[i][2]
    a[0][1] = s
    return a[0][1] * a[0][1]


def extremes_of_many(a, b, c):
    return min(a, b, c) * max(a, b, c, 0.1)


def min_array(x):
    return min(x) * max(x)


def sum_tuple(a, b):
    return sum((a * b, a, b * b))


def sum_array(x):
    return sum(x)


def quotient_and_rest(x):
    q, r = divmod(x, 2.0)
    return q * x + r * r


def absolute_values(x):
    return abs(x) * x + abs(-3) * x


def rounded(x):
    return round(x) * x + round(x, 1) * x


def casts(x):
    return int(x) * x + float(3) * x + int(2.7) * x


def math_of_integers(x):
    return math.sqrt(4) * x + math.floor(x) * x + math.ceil(x) * x + math.trunc(x) * x


def bit_ops(x):
    n = 13
    return (n & 6) * x + (n | 2) * x + (n ^ 5) * x + (n << 2) * x + (n >> 1) * x + (~n) * x


def zip_enum(x):
    s = 0.0
    for k, (a, b) in enumerate(zip(x, x[1:])):  # noqa: RUF007
        s += k * a * b
    return s


def pow_int(x):
    return x[0] ** 3 + x[1] ** -2 + x[2] ** 0.5 + 2 ** x[3]


def np_misc(x):
    return (
        np.square(x[0])
        + np.cbrt(x[1])
        + np.exp2(x[2])
        + np.log2(x[3])
        + np.log10(x[0])
        + np.power(x[0], x[1])
        + np.reciprocal(x[2])
    )


def flattened(a):
    s = 0.0
    f = a.flatten()
    for i in range(f.size):
        s += f[i] ** 2 * i
    return s


def unpacked_array(x):
    a, b, c, d = x
    return a * b * c * d


def unpack_short(x):
    a, b = x[:2]
    c, d = x[2:]
    return a * b * c * d


def unpack_rows(x):
    a, b, c = x
    return a[0] * b[1] * c[2]


def range_in(x):
    s = 0.0
    for i in range(4):
        if i in range(1, 3):
            s += x[i] ** 2
    return s


def range_in_step(x):
    s = 0.0
    for i in range(4):
        if i in range(3, -1, -2):
            s += x[i] ** 2
    return s


def arr_in(x):
    k = np.array([1, 3])
    s = 0.0
    for i in range(4):
        if i in k:
            s += x[i] ** 2
    return s


def aug_all(x):
    s = x[0]
    s += x[1]
    s *= x[2]
    s -= 0.3
    s /= x[3]
    s **= 2
    s %= 7.0
    return s * x[0]


CASES = [
    Case("shape_unpack", shape_unpack, (A,), origin="the brief"),
    Case("ndenumerate_index", ndenumerate_index, (A,), origin="the brief"),
    Case("ndenumerate_unpacked", ndenumerate_unpacked, (A,), origin="the brief"),
    Case("ndindex_of_extents", ndindex_of_extents, (A,), origin="the brief"),
    Case("over_flat", over_flat, (A,), origin="the brief"),
    Case("flat_enum", flat_enum, (A,), origin="the brief"),
    Case("rows_of_rows", rows_of_rows, (A,), origin="the brief"),
    Case("chained", chained, (A,), origin="the brief"),
    Case("extremes_of_many", extremes_of_many, (0.3, 0.9, 0.5), wrt=(0, 1, 2), origin="the brief"),
    Case("min_array", min_array, (X,), origin="the brief"),
    Case("sum_tuple", sum_tuple, (0.3, 0.9), wrt=(0, 1), origin="the brief"),
    Case("sum_array", sum_array, (X,), origin="the brief"),
    Case("quotient_and_rest", quotient_and_rest, (7.3,), origin="the brief"),
    Case("absolute_values", absolute_values, (-1.3,), origin="the brief"),
    Case("rounded", rounded, (1.37,), origin="the brief"),
    Case("casts", casts, (1.37,), origin="the brief"),
    Case("math_of_integers", math_of_integers, (1.37,), origin="the brief"),
    Case("bit_ops", bit_ops, (1.37,), origin="the brief"),
    Case("zip_enum", zip_enum, (X,), origin="the brief"),
    Case("pow_int", pow_int, (X,), origin="the brief"),
    Case("np_misc", np_misc, (X,), origin="the brief"),
    Case("flattened", flattened, (A,), origin="the brief"),
    Case("unpacked_array", unpacked_array, (X,), origin="the brief"),
    Case("unpack_short", unpack_short, (X,), origin="the brief"),
    Case("unpack_rows", unpack_rows, (A,), origin="the brief"),
    Case("range_in", range_in, (X,), origin="the brief"),
    Case("range_in_step", range_in_step, (X,), origin="the brief"),
    Case("arr_in", arr_in, (X,), origin="the brief"),
    Case("aug_all", aug_all, (X,), origin="the brief"),
]
