"""Programs that must be refused, each with the words that mark its offending line (cases D 37, 39)."""

from __future__ import annotations

import ctypes
import math
import os

import numpy as np
from numba import jit, stencil
from scipy import special


def uses_dict(x):
    d = {}
    d[0] = x[0] * 2  # REFUSED or the line above
    return d[0]


def uses_dict_literal(x):
    d = {"a": x[0]}
    return d["a"] * x[1]


def uses_set(x):
    s = {x[0], x[1]}
    return len(s) * x[0]


def uses_string(x):
    text = str(x[0])
    return float(text) * x[1]


def uses_fstring(x):
    text = f"{x[0]}"
    return len(text) * x[0]


def uses_generator_expression(x):
    return sum(v * v for v in x)


def is_generator(x):
    for i in range(len(x)):
        yield x[i]


def uses_try(x):
    s = 0.0
    try:
        s = x[0] * x[1]
    except ZeroDivisionError:
        s = 1.0
    return s


def uses_with(x):
    with np.errstate(all="ignore"):
        return x[0] * x[1]


def prints_active(x):
    s = x[0] * x[1]
    print(s)
    return s


def opens_a_file(x):
    handle = open(os.devnull, "w")
    handle.write(str(x[0]))
    return x[0]


def grows_one_of_two_lists(x):
    items = [x[0]]
    other = items if x[0] > 0.0 else [x[1]]
    items.append(x[1])
    return other[0]


def grows_a_list_that_it_runs_over(x):
    items = [x[0]]
    for v in items:
        if v < 10.0:
            items.append(2.0 * v + 1.0)
    return items[-1]


def uses_histogram(x):
    counts, edges = np.histogram2d(x, x)[:2]
    return edges[0] * counts[0]


def uses_eig(m):
    w, v = np.linalg.eig(m)
    return w[0]


def uses_eval(x):
    return eval("x[0] * x[1]")


def uses_getattr(x):
    return getattr(x, "sum")()  # noqa: B009


def uses_global_statement(x):
    global COUNTER
    COUNTER = x[0]
    return x[0] * x[1]


def uses_class(x):
    class Point:
        value = 1.0

    return x[0] * Point.value


def uses_isinstance_of_float(x):
    return math.gamma(x[0]) if hasattr(x, "nothing") else complex(x[0], x[1]).real


def uses_async(x):
    return (await_nothing(x),)[0]


def await_nothing(x):
    import json

    return json.loads(json.dumps(float(x[0])))


def uses_star_arguments(*x):
    return x[0] * x[1]


def deletes(x):
    y = x[0] * x[1]
    z = [y]
    del z[0]
    return y


COUNTER = 0.0
_libm = ctypes.CDLL(None)
c_function = _libm.j0
c_function.restype = ctypes.c_double
c_function.argtypes = [ctypes.c_double]


def calls_c(x):
    s = x[0]
    s = s + c_function(x[1])
    return s


def calls_the_system(x):
    return x[0] * os.getpid()


@jit(forceobj=True)
def object_mode(x):
    return x[0] * x[1]


def sums_a_list_as_an_array(x):
    items = [v for v in x]
    return items.mean()


def joins_lists(x):
    items = [v for v in x]
    return (items + items)[0]


def uses_list_of_lists(x):
    rows = [[x[0], 2.0], [3.0, 4.0]]
    return rows[0][0]


def repeats_a_list_in_a_list(x):
    rows = [[0.0] * 3] * 2
    return rows[0][0] * x[0]


def lists_in_a_comprehension(x):
    rows = [[v, v] for v in x]
    return rows[0][0]


def any_of_a_list(x):
    return x[0] if any([v > 1.0 for v in x]) else x[1]


def range_of_floats(x):
    total = 0.0
    for i in range(0, 2.0):
        total += x[i]
    return total


def iterator_made_in_a_loop(x):
    for i in range(len(x)):
        pairs = zip(x, x[:i])
    total = 0.0
    for a, b in pairs:
        total += a * b
    return total


def rank_of_a_branch(x):
    y = x
    for i in range(2):
        y = np.outer(y, y) if i == 0 else y
    return y[0]


def is_of_arrays(x):
    y = x
    return x[0] if y is x else 0.0


def indexes_a_global_dict(x):
    return x[0] * SETTINGS["k"]


def maps(x):
    return sum(map(lambda v: v * v, x))


@stencil
def smoothed(a):
    return 0.25 * (a[-1] + 2.0 * a[0] + a[1])


def uses_stencil(x):
    return np.sum(smoothed(x) ** 2)


def uses_special(x):
    return special.erf(x[0])


def uses_special_in_python(x):
    return special.logsumexp(x)


SETTINGS = {"k": 2.0}


# (program, part of a line that must be shown, a word that must be named in the reason or the remedy)
PROGRAMS = [
    (grows_one_of_two_lists, "items.append(x[1])", "may have another name"),
    (grows_a_list_that_it_runs_over, "for v in items:", "while a loop runs over it"),
    (uses_dict, "d", "dict"),
    (uses_dict_literal, 'd = {"a": x[0]}', "dict"),
    (uses_set, "s = {x[0], x[1]}", "set"),
    (uses_string, "text = str(x[0])", "str"),
    (uses_fstring, 'text = f"{x[0]}"', "str"),
    (uses_generator_expression, "return sum(v * v for v in x)", "generator"),
    (is_generator, "yield x[i]", "yield"),
    (uses_try, "try:", "try"),
    (uses_with, 'with np.errstate(all="ignore"):', "with"),
    (prints_active, "print(s)", "print"),
    (opens_a_file, "open(os.devnull", "open"),
    (uses_histogram, "np.histogram2d(x, x)", "histogram2d"),
    (uses_eval, "eval(", "eval"),
    (uses_getattr, 'getattr(x, "sum")', "getattr"),
    (uses_global_statement, "global COUNTER", "global"),
    (uses_class, "class Point:", "class"),
    (uses_async, "", ""),
    (calls_c, "s = s + c_function(x[1])", "c_function"),
    (calls_the_system, "os.getpid()", "getpid"),
    (sums_a_list_as_an_array, "items.mean()", "a list has no attribute 'mean': arrays have"),
    (joins_lists, "(items + items)[0]", "np.concatenate"),
    (uses_list_of_lists, "rows = [[x[0], 2.0], [3.0, 4.0]]", "a list of lists"),
    (repeats_a_list_in_a_list, "rows = [[0.0] * 3] * 2", "a list of lists"),
    (lists_in_a_comprehension, "rows = [[v, v] for v in x]", "a list of lists"),
    (any_of_a_list, "any([v > 1.0 for v in x])", "np.any(np.array("),
    (range_of_floats, "range(0, 2.0)", "convert it by int()"),
    (iterator_made_in_a_loop, "for a, b in pairs:", "use it in the branch or loop that makes it"),
    (rank_of_a_branch, "np.outer(y, y) if i == 0 else y", "write 'if' and 'else'"),
    (is_of_arrays, "x[0] if y is x", "None and bools only, not a 1-D array"),
    (indexes_a_global_dict, 'SETTINGS["k"]', "take what is needed out of it"),
    (maps, "sum(map(", "a list comprehension"),
    (uses_stencil, "smoothed(x)", "write the stencil as a loop, or with slices"),
    (uses_special, "special.erf(x[0])", "'scipy.special.erf'"),
    (uses_special_in_python, "special.logsumexp(x)", "'scipy.special.logsumexp'"),
]
