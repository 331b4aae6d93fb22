"""Loops of every shape, exits of every kind, branches, integers that steer (A 7, 10, 12, 14, 16, 20; E 41)."""

from __future__ import annotations

import math

import numpy as np

from ..record import Case, ints, vec, wave


def break_on_a_sum(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i] ** 2
        if s > 5:
            break
    return s


def triple_triangle(x):
    n = len(x)
    total = 0.0
    for i in range(n):
        for j in range(i):
            for k in range(j):
                total += x[j] * x[k]
    return total


def strided_ranges(x):
    n = len(x)
    s = 0.0
    for i in range(0, n, 4):
        s += x[i] * x[i]
    for i in range(n - 1, -1, -2):
        s += math.sin(x[i]) * s
    for i in range(5, 5):
        s *= x[i]
    for i in range(3, 9, -1):
        s *= x[i]
    return s


def loop_variable_afterwards(x):
    for i in range(len(x)):
        if x[i] > 1.0:
            break
    s = x[i] * x[i]
    for j in range(2):
        s *= x[j]
    return s * x[j] * (i + 1)


def loop_variable_reassigned(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * i
        i = (i * 2 + 1) % len(x)
        s *= x[i]
    return s


def bound_changed_by_the_body(x, n):
    s = 1.0
    for i in range(n):
        n = n - 2
        s = s * x[i] + n
    return s * n


def bound_from_an_array(x, bounds):
    s = 1.0
    for i in range(len(bounds)):
        for j in range(bounds[i]):
            s = s * x[j]
            bounds[i] = 0
    return s


def bound_from_data(x):
    n = int(3 * x[0])
    s = 1.0
    for i in range(n):
        s *= x[i % len(x)]
        x[i % len(x)] = s
    return s


def indices_mutated_between_uses(x, p):
    s = 0.0
    for turn in range(3):
        for i in range(len(x)):
            s += x[p[i]] * x[i]
            x[p[i]] = x[p[i]] * 0.9 + 0.1 * s
        for i in range(len(p)):
            p[i] = (p[i] + i) % len(x)
    return s


def negative_indices(x, k):
    s = x[-1] * x[0]
    for i in range(len(x)):
        s += x[-1 - i] * x[i - 1]
        x[i - 1] = x[-i] * 0.5 + s
        x[-1] += x[k]
    return s


def while_with_two_exits(x):
    i = 0
    s = 1.0
    while i < len(x):
        if x[i] > 1.6:
            return s * 10
        s = s * x[i] + 0.2
        if s > 3.0:
            break
        i += 1
    return s * s


def search_in_nested_loops(x, limit):
    n, m = x.shape
    s = 0.0
    for i in range(n):
        j = 0
        while True:
            if j >= m:
                break
            s += x[i, j] * x[i, j]
            if s > limit:
                return s * x[i, j]
            if x[i, j] > 1.2:
                s *= 0.5
                break
            j += 1
    return s


def for_else(x, limit):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * x[i]
        if x[i] > limit:
            s *= 3
            break
    else:
        s = s * s
    return s


def while_else(x, limit):
    i = 0
    s = 1.0
    while i < len(x):
        s *= x[i]
        if s > limit:
            break
        i += 1
    else:
        s = s * x[0]
    return s


def continue_in_loops(x):
    s = 0.0
    for i in range(len(x)):
        if x[i] > 1.3:
            continue
        for j in range(len(x)):
            if j == i:
                continue
            s += x[i] * x[j]
            if s > 4.0:
                continue
            x[j] *= 0.9
    return s


def first_return_wins(x):
    if x[0] > 10:
        return x[0]
    for i in range(len(x)):
        if i == 2:
            return x[i] ** 3
    return x[0] * x[1]


def running_max_if(x):
    m = x[0]
    for i in range(1, len(x)):
        if x[i] > m:
            m = x[i]
    return m


def running_max_ternary(x):
    m = x[0]
    for i in range(1, len(x)):
        m = x[i] if x[i] > m else m
    return m


def running_max_call(x):
    m = x[0]
    low = x[0]
    for i in range(1, len(x)):
        m = max(m, x[i])
        low = min(low, x[i])
    return m * m + low


def branch_defines_names(x, flag):
    if flag:
        a = x[0] * x[1]
        b = 2.0
    else:
        a = x[1]
        b = x[0] * a
    return a * b


def name_from_a_branch_in_a_loop(x):
    prev = 1.0
    for i in range(len(x)):
        if i % 2 == 0:
            prev = x[i] * prev
        elif x[i] > 0.8:
            prev = prev + x[i] ** 2
    return prev


def int_then_float(x):
    r = 0.0
    for i in range(len(x)):
        v = 2**53 + 1 + i
        r += v // 3 % 7
        v = 0.5
        r += int(v)
        v = x[i] * r
        r += v * 0.01
    return r


def shift_then_float(x):
    n = 7
    m = n << 1
    for i in range(len(x)):
        n = x[i]
        m += 1
    return n * n * m


def row_then_element(x):
    s = 0.0
    for i in range(x.shape[0]):
        r = x[i]
        s += r[0] * r[1]
        r = x[i, 0]
        s += r * r
    return s


def booleans_and_chains(x, k):
    s = 0.0
    for i in range(len(x)):
        good = 0.5 < x[i] < 1.2 and not (i == k or x[i] > 1.1)
        if good or i == 0:
            s += x[i] ** 2
        s += (x[i] > 1.0) * x[i]
    return s


def reverse_by_step(x, start, stop, step):
    s = 1.0
    for i in range(start, stop, step):
        s = s * x[i] + i
    return s


def enumerate_and_zip(x, y):
    s = 0.0
    for i, v in enumerate(x):
        s += i * v * v
    for a, b in zip(x, y):
        s *= 1 + 0.1 * a * b
    return s


def comprehension_over_range(x):
    n = len(x)
    squares = [x[i] * x[i] for i in range(n)]
    s = 0.0
    for i in range(n):
        s += squares[i] * squares[n - 1 - i]
    return s


def unsigned_indices(x, p):
    s = 0.0
    for i in range(len(p)):
        s += x[p[i]] * x[i]
        x[p[i]] = s
    return s


def _break_gradient(x):
    out = np.zeros_like(x)
    s = 0.0
    for i in range(len(x)):
        s += x[i] ** 2
        out[i] = 2 * x[i]
        if s > 5:
            break
    return (out,)


def _max_gradient(x):
    out = np.zeros_like(x)
    out[np.argmax(x)] = 1
    return (out,)


CASES = [
    Case(
        "break_at_a_tie",
        break_on_a_sum,
        (vec(1, 2, 3, 4),),
        gradient=_break_gradient,
        origin="A7",
        differences=False,
    ),
    Case("break_on_a_sum", break_on_a_sum, (vec(1, 2.1, 3, 4),), gradient=_break_gradient, origin="A7"),
    Case("break_never", break_on_a_sum, (wave(3),), gradient=_break_gradient, origin="A7"),
    Case("triple_triangle", triple_triangle, (wave(5),), origin="A10"),
    Case("strided_ranges", strided_ranges, (wave(10),), origin="A10"),
    Case("loop_variable_afterwards", loop_variable_afterwards, (vec(0.5, 0.7, 1.4, 2),), origin="design 8"),
    Case("loop_variable_reassigned", loop_variable_reassigned, (wave(4),), origin="design 8"),
    Case("bound_changed_by_the_body", bound_changed_by_the_body, (wave(4), 4), origin="design 8"),
    Case("bound_from_an_array", bound_from_an_array, (wave(4), ints(2, 0, 4, 1)), origin="A12"),
    Case("bound_from_data", bound_from_data, (vec(1.4, 0.7, 1.2),), origin="A12"),
    Case(
        "indices_mutated_between_uses",
        indices_mutated_between_uses,
        (wave(4), ints(2, 0, 2, 1)),
        origin="A12",
    ),
    Case("negative_indices", negative_indices, (wave(4), -2), origin="design 8"),
    Case("negative_indices_of_one", negative_indices, (wave(1), -1), origin="design 8, n=1"),
    Case("while_exit_break", while_with_two_exits, (vec(1.5, 1.4, 1.3, 1.2),), origin="design 4"),
    Case("while_exit_return", while_with_two_exits, (vec(0.5, 0.4, 1.7, 1.2),), origin="design 4"),
    Case("while_exit_condition", while_with_two_exits, (vec(0.5, 0.4, 0.7),), origin="design 4"),
    Case(
        "nested_search_return",
        search_in_nested_loops,
        (wave(3, 3), 2.5),
        origin="A7: return out of two loops",
    ),
    Case("nested_search_completes", search_in_nested_loops, (wave(3, 3), 1e9), origin="A7", core=True),
    Case("for_else_completes", for_else, (wave(4), 5.0), origin="A7"),
    Case("for_else_breaks", for_else, (vec(0.3, 1.2, 0.4), 1.0), origin="A7"),
    Case("while_else_completes", while_else, (wave(4), 50.0), origin="A7"),
    Case("while_else_breaks", while_else, (vec(0.9, 1.6, 1.4), 1.1), origin="A7"),
    Case("continue_in_loops", continue_in_loops, (vec(0.7, 1.5, 1.1, 0.9),), origin="A16"),
    Case("first_return_wins", first_return_wins, (vec(0.7, 1.5, 1.1, 0.9),), origin="A16"),
    Case("first_return_runs_out", first_return_wins, (vec(0.7, 1.5),), origin="A16"),
    Case("running_max_if", running_max_if, (wave(5),), gradient=_max_gradient, origin="A14"),
    Case("running_max_ternary", running_max_ternary, (wave(5),), gradient=_max_gradient, origin="A14"),
    Case("running_max_call", running_max_call, (wave(5),), origin="A14"),
    Case("branch_defines_names_true", branch_defines_names, (wave(2), True), origin="A17"),
    Case("branch_defines_names_false", branch_defines_names, (wave(2), False), origin="A17"),
    Case(
        "name_from_a_branch_in_a_loop",
        name_from_a_branch_in_a_loop,
        (vec(0.6, 1.1, 1.2, 0.5),),
        origin="design 8",
    ),
    Case("int_then_float", int_then_float, (wave(4),), origin="E41"),
    Case("shift_then_float", shift_then_float, (wave(3),), origin="E41"),
    Case("row_then_element", row_then_element, (wave(3, 2),), origin="E41"),
    Case("booleans_and_chains", booleans_and_chains, (vec(0.7, 0.8, 1.15, 1.4, 0.4), 1), origin="A14"),
    Case("reverse_by_step", reverse_by_step, (wave(6), 5, -1, -2), origin="A10"),
    Case(
        "reverse_by_step_empty",
        reverse_by_step,
        (wave(6), 1, 5, -1),
        gradient=lambda x, *_: (0 * x,),
        origin="A10",
    ),
    Case("forward_by_step", reverse_by_step, (wave(6), 1, 6, 3), origin="A10"),
    Case("enumerate_and_zip", enumerate_and_zip, (wave(4), wave(3, seed=4)), (0, 1), origin="A10"),
    Case("comprehension_over_range", comprehension_over_range, (wave(4),), origin="the brief"),
    Case(
        "unsigned_indices", unsigned_indices, (wave(4), np.array([3, 1, 3, 0], np.uint32)), origin="design 8"
    ),
    Case("indices_int32", unsigned_indices, (wave(4), np.array([3, -1, 3, 0], np.int32)), origin="design 8"),
]
