"""Lists of numbers: literals, aliases, slices (which are copies), comprehensions with filters and several loops."""

from __future__ import annotations

import numpy as np

from ..record import Case, vec

X = vec(0.7, 1.3, 0.4, 1.9)


def list_lit_idx(x):
    c = [0.1, 0.2, 0.3]
    s = 0.0
    for i in range(len(c)):
        s += c[i] * x[i] ** 2
    return s


def list_mul(x):
    c = [0.0] * 4
    for i in range(4):
        c[i] = x[i] * x[i]
    return c[0] * c[3]


def list_in(x):
    k = [1, 3]
    s = 0.0
    for i in range(4):
        if i in k:
            s += x[i] ** 2
    return s


def copy_list(x):
    a = list(x)
    return a[0] * a[1]


def list_range(x):
    k = list(range(3))
    s = 0.0
    for i in k:
        s += x[i] ** 2
    return s


def filtered_list(x):
    y = [v * v for v in x if v > 0.5]
    s = 0.0
    for i in range(len(y)):
        s += y[i] * (i + 1)
    return s


def pairs(x):
    y = [x[i] * x[j] for i in range(len(x)) for j in range(i)]
    s = 0.0
    for i, v in enumerate(y):
        s += v * (i + 1)
    return s + len(y)


def filtered_pairs(x):
    y = [x[i] * x[j] for i in range(len(x)) if x[i] > 0.5 for j in range(i + 1) if i != j if x[j] < 1.5]
    s = 0.0
    for v in y:
        s += v * v
    return s


def list_of_indices(x):
    idx = [i for i in range(len(x)) if x[i] > 0.5]
    s = 0.0
    for i in idx:
        s += x[i] * x[i]
    return s + len(idx) * x[0]


def filtered_tuple(x):
    y = [w * x[k] for w, k in ((0.5, 0), (0.2, 1), (0.1, 2)) if x[k] > 0.5]
    s = 0.0
    for v in y:
        s += v * v
    return s


def filtered_zip(x):
    y = [a * b for a, b in zip(x, x[1:]) if a < b]  # noqa: RUF007
    s = 0.0
    for v in y:
        s += v * v
    return s


def array_of_filtered(x):
    y = np.array([v * v for v in x if v > 0.5])
    return y[0] * y[1] * y[-1]


def filtered_in_a_loop(x):
    s = 0.0
    for k in range(3):
        y = [v * s + k for v in x if v > 0.3 * k]
        for v in y:
            s += 0.1 * v * v
    return s


def sum_of_filtered(x):
    return sum([v * v for v in x if v > 0.5])


def sum_of_pairs(x):
    return sum([x[i] * x[j] for i in range(4) for j in range(i)])


def nothing_passes(x):
    y = [v for v in x if v > 100.0]
    return len(y) + x[0] * x[0]


def list_slice_copy(x):
    a = [x[0], 2 * x[1], 3 * x[2]]
    b = a[1:]
    b[0] = 0.0
    return a[1] * x[0] + b[1] * len(b)


def list_alias(x):
    a = [x[0], 2 * x[1], 3 * x[2]]
    b = a
    b[0] = x[3] * x[3]
    return a[0] * a[1]


def list_if(x):
    a = [x[0], 2 * x[1]]
    b = [x[2], 2 * x[3]]
    c = a if x[0] > 0.5 else b
    d = c[0:1]
    d[0] = 3.0
    return c[0] * c[1]


def list_copy(x):
    a = [x[0], 2 * x[1], 3 * x[2]]
    b = a.copy()
    b[0] = 0.0
    return a[0] * a[1] + b[2]


def list_minmax(x):
    a = [x[0], 2 * x[1], 3 * x[2]]
    return max(a) * min(a) * sum(a)


def list_reversed(x):
    a = [v * v for v in x]
    s = 0.0
    for v in a[::-1]:
        s = s * 0.3 + v
    return s


def min_gen(x):
    return min([v * v for v in x if v > 0.5])


CASES = [
    Case("list_lit_idx", list_lit_idx, (X,), origin="the brief"),
    Case("list_mul", list_mul, (X,), origin="the brief"),
    Case("list_in", list_in, (X,), origin="the brief"),
    Case("copy_list", copy_list, (X,), origin="the brief"),
    Case("list_range", list_range, (X,), origin="the brief"),
    Case("filtered_list", filtered_list, (X,), origin="the brief"),
    Case("pairs", pairs, (X,), origin="the brief"),
    Case("filtered_pairs", filtered_pairs, (X,), origin="the brief"),
    Case("list_of_indices", list_of_indices, (X,), origin="the brief"),
    Case("filtered_tuple", filtered_tuple, (X,), origin="the brief"),
    Case("filtered_zip", filtered_zip, (X,), origin="the brief"),
    Case("array_of_filtered", array_of_filtered, (X,), origin="the brief"),
    Case("filtered_in_a_loop", filtered_in_a_loop, (X,), origin="the brief"),
    Case("sum_of_filtered", sum_of_filtered, (X,), origin="the brief"),
    Case("sum_of_pairs", sum_of_pairs, (X,), origin="the brief"),
    Case("nothing_passes", nothing_passes, (X,), origin="the brief"),
    Case("list_slice_copy", list_slice_copy, (X,), origin="the brief"),
    Case("list_alias", list_alias, (X,), origin="the brief"),
    Case("list_if", list_if, (X,), origin="the brief"),
    Case("list_copy", list_copy, (X,), origin="the brief"),
    Case("list_minmax", list_minmax, (X,), origin="the brief"),
    Case("list_reversed", list_reversed, (X,), origin="the brief"),
    Case("min_gen", min_gen, (X,), origin="the brief"),
]
