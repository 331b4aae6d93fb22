"""Names of arrays are references: buffers swapped by name, views kept, names chosen by branches."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from ..record import Case, ints, vec, wave


def ping_pong(u, steps, c):
    n = len(u)
    a = u
    b = np.empty_like(u)
    for _ in range(steps):
        for i in range(n):
            b[i] = a[i] + c * a[i - 1] * a[(i + 1) % n]
        a, b = b, a
    s = 0.0
    for i in range(n):
        s += a[i] * a[i] * (i + 1)
    return s


def ping_pong_arguments(u, v, steps):
    for k in range(steps):
        for i in range(len(u)):
            v[i] = math.sin(u[i]) * u[i - 1] + 0.1 * v[i]
        u, v = v, u
    return u[0] * v[-1] + u[1]


def rotate_three(a, b, c, steps):
    for k in range(steps):
        for i in range(len(a)):
            c[i] = a[i] * b[i] + 0.2 * c[i]
        a, b, c = b, c, a
    return a[0] + 2 * b[1] * c[0]


def new_array_each_turn(x, steps):
    for k in range(steps):
        y = np.empty(len(x))
        for i in range(len(x)):
            y[i] = x[i] + 0.1 * x[i - 1] * x[i]
        x = y
    s = 0.0
    for i in range(len(x)):
        s += x[i] * x[i]
    return s


def chosen_by_a_branch(a, b, flag):
    if flag:
        c = a
    else:
        c = b
    c[0] = c[0] * c[1]
    return c[0] + a[0] * b[0]


def chosen_by_a_ternary(a, b, flag):
    c = a if flag else b
    s = 0.0
    for i in range(len(c)):
        s += c[i] * c[i]
    return s


def chosen_in_the_loop(a, b):
    s = 0.0
    for i in range(len(a)):
        if i % 2 == 0:
            c = a
        else:
            c = b
        c[i] = c[i] * c[i - 1]
        s += c[i] * a[0]
    return s + c[0]


def chosen_by_data(a, b):
    c = a
    s = 0.0
    for i in range(len(a)):
        if c[i] > 1.0:
            c = b
        else:
            c = a
        c[i] *= 1.0 + s
        s += c[i]
    return s


def view_kept_while_base_changes(x):
    head = x[:2]
    s = head[0] * head[1]
    for i in range(len(x)):
        x[i] = x[i] * x[i]
    s += head[0] * head[1]
    head[0] = s
    return x[0] * x[1] + s


def views_of_views(x):
    even = x[::2]
    last = even[1:]
    back = x[::-1]
    for i in range(len(last)):
        last[i] = last[i] * even[i] + back[i]
        back[i] *= even[0]
    return x[0] * x[2] + x[4] * back[0] + even[-1]


def rows_and_columns(m):
    n, k = m.shape
    for i in range(1, n):
        row = m[i]
        above = m[i - 1, :]
        for j in range(k):
            row[j] = row[j] * above[j - 1]
    column = m[:, 0]
    inner = m[1:, 1:]
    inner[0, 0] *= column[1]
    s = 0.0
    for i in range(n):
        s += column[i] * m[i, -1]
    return s + inner[0, 0]


@njit
def scale_into(dst, src, c):
    for i in range(len(dst)):
        dst[i] = dst[i] * src[i] * c
    return dst[0]


@njit
def sum_of_squares(v):
    s = 0.0
    for i in range(v.shape[0]):
        s += v[i] * v[i]
    return s


@njit
def tail(v, k):
    return v[k:]


@njit
def smooth(v):
    for i in range(1, len(v)):
        v[i] = 0.5 * (v[i] + v[i - 1] * v[i])


def views_passed_to_callees(x, y):
    first = scale_into(x[1:], y[:-1], x[0])
    s = sum_of_squares(x[::2]) * first
    smooth(x[::-1])
    return s + sum_of_squares(x)


def rows_passed_to_callees(m, c):
    s = 0.0
    for i in range(1, m.shape[0]):
        s += scale_into(m[i], m[i - 1], c)
        smooth(m[:, i])
    return s * sum_of_squares(m[0])


def callee_overwrites_what_caller_needs(x):
    a = x[0] * x[1]
    smooth(x)
    b = x[0] * x[1] * a
    smooth(x)
    return b * x[2]


def same_array_twice(x, c):
    scale_into(x, x, c)
    return scale_into(x, x, x[0]) + x[1]


def overlapping_views_to_a_callee(x, c):
    scale_into(x[1:], x[:-1], c)
    scale_into(x[:-1], x[1:], c)
    return sum_of_squares(x)


def view_returned_by_a_callee(x, k):
    v = tail(x, k)
    v[0] = v[0] * x[0]
    w = tail(v, 1)
    w[0] += v[0] * v[0]
    return x[k] * x[k + 1] + w[0]


def shrinking_view(x):
    v = x
    s = 1.0
    while len(v) > 1:
        v[1] = v[1] * v[0] * s
        s = s + 0.1 * v[1]
        v = v[1:]
    return s + v[0]


def halving_in_place(x):
    n = len(x)
    while n > 1:
        half = n // 2
        for i in range(half):
            x[i] = x[2 * i] * x[2 * i + 1]
        if n % 2 == 1:
            x[half] = x[n - 1]
            half += 1
        n = half
    return x[0]


def copies_are_independent(x):
    old = x.copy()
    for i in range(len(x)):
        x[i] = x[i] * old[i - 1]
    s = 0.0
    for i in range(len(x)):
        s += x[i] * old[i]
    return s


def gather_scatter(x, p, y):
    for i in range(len(p)):
        y[p[i]] += x[i] * x[p[i]]
    s = 0.0
    for i in range(len(y)):
        s += y[i] ** 2
    return s


def swapped_in_a_loop_of_a_branch(a, b, n):
    if n > 3:
        pass
    else:
        for _ in range(n):
            a, b = b, a
    return a[0] * a[0] + b[1]


def swapped_in_a_taken_branch(a, b, n):
    if n > 1:
        for _ in range(n):
            a, b = b, a
    return a[0] * a[0] + b[1]


def fresh_arrays_of_two_sizes(a, n):
    for _ in range(n):
        w = np.ones(3)
        for _ in range(2):
            w[0] = a[0] * a[2]
            w = np.zeros(4)
        a[1] = w[-1] + a[0] * a[1]
    return a[0] * a[1]


def view_rebound_after_a_guard(a, b, n):
    if len(b) < 3:
        return 0.5 * a[0]
    k = 0
    while k < n:
        k += 1
        for i in range(1, len(a)):
            a = b[:i]
    return a[0] * a[0]


def transposed(m):
    t = m.T
    for i in range(t.shape[0]):
        for j in range(t.shape[1]):
            t[i, j] = t[i, j] * m[j, i - 1]
    return t[0, 1] * m[0, 0] + m[1, 1]


_uv = (wave(3), wave(3, seed=5))
CASES = [
    Case("ping_pong_odd", ping_pong, (wave(4), 3, 0.3), (0, 2), origin="design 8", core=True),
    Case("ping_pong_even", ping_pong, (wave(4), 2, 0.3), (0, 2), origin="design 8"),
    Case("ping_pong_zero", ping_pong, (wave(4), 0, 0.3), (0, 2), origin="design 8: no step at all"),
    Case("ping_pong_of_one", ping_pong, (wave(1), 3, 0.3), (0, 2), origin="design 8: n=1, indices wrap"),
    Case("ping_pong_arguments_odd", ping_pong_arguments, (*_uv, 3), (0, 1), origin="design 8", core=True),
    Case("ping_pong_arguments_even", ping_pong_arguments, (*_uv, 2), (0, 1), origin="design 8"),
    Case("rotate_three", rotate_three, (*_uv, wave(3, seed=6), 4), (0, 1, 2), origin="design 8"),
    Case("new_array_each_turn", new_array_each_turn, (wave(3), 3), origin="design 8", dtypes=("float64",)),
    Case("chosen_by_a_branch_true", chosen_by_a_branch, (*_uv, True), (0, 1), origin="A17"),
    Case("chosen_by_a_branch_false", chosen_by_a_branch, (*_uv, False), (0, 1), origin="A17"),
    Case("chosen_active", chosen_by_a_ternary, (*_uv, True), gradient=lambda a, b, f: (2 * a,), origin="A17"),
    Case(
        "chosen_inactive", chosen_by_a_ternary, (*_uv, False), gradient=lambda a, b, f: (0 * a,), origin="A17"
    ),
    Case(
        "chosen_in_the_loop",
        chosen_in_the_loop,
        (wave(4), wave(4, seed=5)),
        (0, 1),
        origin="design 8",
        core=True,
    ),
    Case(
        "chosen_by_data", chosen_by_data, (vec(0.5, 1.3, 0.4), vec(1.2, 0.6, 0.7)), (0, 1), origin="design 8"
    ),
    Case("view_kept_while_base_changes", view_kept_while_base_changes, (wave(3),), origin="design 8"),
    Case("views_of_views", views_of_views, (wave(5),), origin="A13"),
    Case("rows_and_columns", rows_and_columns, (wave(3, 3),), origin="A13"),
    Case(
        "views_passed_to_callees",
        views_passed_to_callees,
        (wave(4), wave(4, seed=5)),
        (0, 1),
        origin="A16",
        core=True,
    ),
    Case("rows_passed_to_callees", rows_passed_to_callees, (wave(3, 3), 1.2), (0, 1), origin="A16"),
    Case(
        "callee_overwrites_what_caller_needs",
        callee_overwrites_what_caller_needs,
        (wave(3),),
        origin="design 8",
    ),
    Case(
        "same_array_twice",
        same_array_twice,
        (wave(3), 1.2),
        (0, 1),
        origin="design 8: one array, two parameters",
    ),
    Case(
        "overlapping_views_to_a_callee",
        overlapping_views_to_a_callee,
        (wave(4), 1.1),
        (0, 1),
        origin="design 8",
    ),
    Case("view_returned_by_a_callee", view_returned_by_a_callee, (wave(4), 1), origin="A16"),
    Case(
        "shrinking_view",
        shrinking_view,
        (wave(4),),
        origin="design 8: a view rebound in a loop",
        refusable=True,
    ),
    Case(
        "halving_in_place",
        halving_in_place,
        (wave(5),),
        gradient=lambda x: (np.prod(x) / x,),
        origin="A1, as a tree",
    ),
    Case("swapped_in_a_loop_of_a_branch", swapped_in_a_loop_of_a_branch, (*_uv, 3), (0, 1), refusable=True),
    Case("swapped_in_a_branch_not_taken", swapped_in_a_loop_of_a_branch, (*_uv, 5), (0, 1), refusable=True),
    Case("swapped_in_a_taken_branch", swapped_in_a_taken_branch, (*_uv, 3), (0, 1), refusable=True),
    Case(
        "fresh_arrays_of_two_sizes",
        fresh_arrays_of_two_sizes,
        (wave(3), 2),
        origin="fuzz 6147",
        refusable=True,
    ),
    Case(
        "view_rebound_after_a_guard",
        view_rebound_after_a_guard,
        (*_uv, 2),
        (0, 1),
        origin="fuzz 5998",
        refusable=True,
    ),
    Case("copies_are_independent", copies_are_independent, (wave(3),), origin="A13"),
    Case(
        "gather_scatter", gather_scatter, (wave(4), ints(2, 0, 2, 1), wave(4, seed=5)), (0, 2), origin="A19"
    ),
    Case("transposed", transposed, (wave(2, 2),), origin="A13"),
]
