# ruff: noqa: F821, F841, F842  (programs under test read what a later turn binds)
"""Gates the frontend: the lowered IR, run by the interpreter, gives what the plain function gives.

Every program is run on copies of its arguments both ways; return values and all arrays must be equal.
"""

from __future__ import annotations

import copy
import functools
import math
from typing import NamedTuple

import numba as nb
import numpy as np
import pytest

from adjit.frontend import lower
from adjit.frontend.context import layout_of
from adjit.ir.structure import Leaf, NoneSpec, StaticSpec, TupleSpec
from adjit.ir.types import BOOL, FLOAT64, INT64, Array, Scalar
from adjit.ir.verify import verify
from adjit.testing.interpret import interpret


def spec(value):
    """The structure of a real argument."""
    if value is None:
        return NoneSpec()
    if isinstance(value, np.ndarray):
        return Leaf(Array(Scalar(value.dtype.name), value.ndim, layout_of(value)))
    if isinstance(value, bool):
        return Leaf(BOOL)
    if isinstance(value, int):
        return Leaf(INT64, True)
    if isinstance(value, float):
        return Leaf(FLOAT64, True)
    if isinstance(value, np.generic):
        return Leaf(Scalar(value.dtype.name))
    if isinstance(value, tuple):
        return TupleSpec(tuple(spec(v) for v in value), type(value) if hasattr(value, "_fields") else None)
    return StaticSpec(value)


def flat(value):
    if isinstance(value, tuple):
        return [x for item in value for x in flat(item)]
    return [value] if isinstance(value, np.ndarray | int | float | complex | np.generic) else []


def lowered(f, *args):
    low = lower(f, tuple(spec(a) for a in args))
    verify(low.function, typed=False)
    return low


def outcome(call):
    try:
        return call(), None
    except (ValueError, AssertionError, RuntimeError, ZeroDivisionError, IndexError, TypeError) as error:
        return None, error


def check(f, *args):
    """The IR does what the function does."""
    low = lowered(f, *args)
    mine, theirs = copy.deepcopy(args), copy.deepcopy(args)
    plain = getattr(f, "py_func", f)
    want, error = outcome(lambda: plain(*theirs))
    got, mistake = outcome(lambda: interpret(low.function, (*flat(mine), *low.captures)))
    assert type(error) is type(mistake), f"{error!r} and {mistake!r}"
    if error is None:
        assert len(flat(want)) == len(got)
        for w, g in zip(flat(want), got, strict=True):
            np.testing.assert_array_equal(g, w, strict=False)
    else:
        assert isinstance(error, AssertionError) or error.args == mistake.args  # pytest rewrites asserts
    for w, g in zip(flat(theirs), flat(mine), strict=True):
        np.testing.assert_array_equal(g, w)
    return low


X = np.array([1.5, -2.0, 3.25, 4.0, 0.5])
A = np.arange(12.0).reshape(3, 4) + 1


class P(NamedTuple):
    D: float
    w: np.ndarray
    n: int = 3


# programs -------------------------------------------------------------------------------------------


def product(x):
    p = 1.0
    for i in range(len(x)):
        p *= x[i]
    return p


def in_place(a, b):
    for i in range(a.shape[0]):
        a[i] *= b[i]
    s = 0.0
    for i in range(a.size):
        s += a[i]
    return s


def newton(x):
    y = 1.0
    while abs(y * y - x) > 1e-10:
        y = 0.5 * (y + x / y)
    return y


def break_early(x):
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i] ** 2
        if s > 5:
            break
    return s, i


def nested_ranges(x, n):
    t = 0.0
    for i in range(n):
        for j in range(i):
            for k in range(j):
                t += x[j] * x[k]
    for i in range(0, n, 2):
        t -= x[i]
    for i in range(n - 1, -1, -2):
        t += x[i] * i
    for i in range(3, 1):
        t = 100.0
    return t


def rebound_kind(x):
    s = 0.0
    for i in range(x.shape[0]):
        r = x[i]
        s += r[0]
        r = x[i, 0]
        s += r
    return s


def loop_var_after(x, n):
    i = -1
    for i in range(n):
        i = i * 2
        x[0] += i
    return i


def loop_var_unbound(x):
    for i in range(len(x)):
        if x[i] < 0:
            break
    return i * 2


def carried_unbound(x):
    s = 0.0
    for i in range(len(x)):
        if i > 0:
            s += v * x[i]
        v = x[i]
    return s


def carried_unbound_branch(x):
    s = 0.0
    for i in range(len(x)):
        if i % 2 == 0:
            v = x[i]
        s += v
    return s


def carried_unbound_array(a):
    s = 0.0
    for i in range(a.shape[0]):
        if i > 0:
            s += row[1] * a[i, 0]
        row = a[i]
    return s


def continue_nested(x):
    s = 0.0
    for i in range(len(x)):
        if x[i] > 0:
            if x[i] > 3:
                continue
            s += 1
        s += x[i]
    return s


def return_in_loop(x, t):
    for i in range(len(x)):
        for j in range(i):
            if x[i] * x[j] < t:
                return x[i] + j
        x[i] += 1
    return -1.0


def for_else(x, t):
    s = 0.0
    for v in x:
        if v > t:
            s = v
            break
    else:
        s = -7.0
    return s


def while_else(n):
    k = 0
    while k < n:
        k += 1
        if k == 7:
            break
    else:
        k = -k
    return k


def while_true(x):
    k = 0
    s = 0.0
    while True:
        s += x[k]
        k += 1
        if k == len(x):
            return s
        if s > 100:
            break
    return -s


def while_true_return_only(x):
    k = 0
    while True:
        if x[k] > 3:
            return x[k]
        k += 1


def swap_arrays(a, b, n):
    for _ in range(n):
        for i in range(len(a)):
            b[i] = 2 * a[i] + b[i]
        a, b = b, a
    return a[0] - b[1]


def swap_elements(x):
    x[0], x[1] = x[1], x[0]
    i = 2
    i, x[i] = 1, 9.0
    return x[i]


def chained(x, y):
    a = y[1] = x[0] * 2
    return a + y[1]


def short_circuit(x, i):
    if i < len(x) and x[i] > 0:
        return 1.0
    if i >= len(x) or x[i] < -1:
        return 2.0
    return 3.0


def compare_chain(x):
    n = 0
    for v in x:
        if 0 < v < 3.5 != 2:
            n += 1
    return n


def ternary(z):
    return z if z > 20 else math.log(1 + math.exp(z))


def values_of_or(a, b):
    return (a or b) * 2 + (a and b)


def walrus(x):
    s = 0.0
    k = 0
    while (k := k + 1) < len(x):
        s += (t := x[k]) * t
    return s + t


def none_argument(x, w):
    s = 0.0
    for i in range(len(x)):
        if w is not None:
            s += w[i] * x[i]
        else:
            s += x[i]
    return s


def named(p, x):
    s = 0.0
    for i in range(p.n):
        s += p.D * x[i] * p.w[i]
    return P(s, x, 2)


def tuples(t, x):
    (a, (b, c)), d = t, 3
    u = (a, b, c) + (d,)
    first, *rest = u
    s = 0.0
    for v in u:
        s += v
    for k, v in enumerate(rest):
        s += k * v
    for i in range(4):
        s += u[i] * u[-1] * len(u[1:])
    return s, (x, first)


def zips(x, y):
    s = 0.0
    for a, b in zip(x, y):
        s += a * b
    for k, (a, b) in enumerate(zip(x, y), 2):
        s += k * a - b
    for k in reversed(range(1, 8, 3)):
        s = s * 2 + k
    for v in reversed(x):
        s = s * 0.5 + v
    for k, i in enumerate(range(5, -3, -2)):
        s = s * 0.5 + k * i
    return s


def rows(a):
    s = 0.0
    for row in a:
        for v in row:
            s += v
        row[0] = s
    return s + a[1][2] + a[-1, -1] + a[..., 1][0]


def views(a, k):
    b = a[1:, ::2]
    c = b.T
    c[0, 0] = 7.0
    d = a[:, 1][::-1]
    d[0] = a[k][k - 1] * 2
    return c[1, 1] + d[len(d) - 1] + b[k - 1, 0]


def index_tuple(a):
    k = (1, 2)
    a[k] += 3.0
    return a[k] * a.ndim


def allocations(x, n):
    y = np.zeros(n)
    z = np.zeros((n, 2), dtype=np.float32)
    w = np.empty_like(x)
    v = np.full(n, 2.5)
    q = np.ones(n, np.int64)
    c = x.copy()
    for i in range(n):
        w[i] = x[i] * v[i]
        y[i] = w[i] + q[i]
        z[i, 1] = y[i]
        c[i] += 1
    return y, z, w, c, np.full_like(x, 3.0)


def lists(x, n):
    c = [x[i] * 2 for i in range(n)]
    s = 0.0
    for v in c:
        s += v
    k = [1.0, 2.0, x[0]]
    k[1] = s
    a, b, d = k
    m = [0.0] * n
    for i in range(n):
        m[i] = c[i] + 1
    return s + k[1] + len(c) + k[2] + d + b + m[n - 1] + sum([v * v for v in k])


def lists_of_names(x):
    i = 3
    y = [i + 1 for i in range(3)]
    return y[2] + i + x[0]


def min_max(x):
    return min(x[0], x[1], x[2]) + max(x[0], 2.0) * max((x[0], x[1], 3)) + pow(x[0], 2) + sum((x[0], 1))


def builtins_(x, k):
    q, r = divmod(k, 3)
    return int(x[0]) + float(k) + q * 10 + r + round(x[2]) + abs(x[1]) + bool(k) + math.pi + np.float32(0.5)


def raises(x):
    for i in range(len(x)):
        if x[i] > 3:
            raise ValueError("too big")
        x[i] += 1
    return 1.0


def asserts(x):
    assert x[0] > 1, "small"
    assert len(x) > 100, "short"
    return x[0]


def raise_or_value(x, k):
    if k == 0:
        v = x[0]
    elif k == 1:
        v = x[1] * 2
    else:
        raise RuntimeError
    return v * 2


def helper(a, k=2, *rest, scale=1.0):
    a[0] += k
    for r in rest:
        a[0] += r
    if a[0] > 100:
        return a[0] * scale
    return a[0] + 1


def calls(x):
    return helper(x) + helper(x, 3) * helper(x, 3, 4.0, 5.0, scale=2.0) + helper(k=7, a=x)


def closures(x):
    c = 2.0

    def scaled(v, d=c):
        return v * c + d

    g = lambda v: scaled(v) - 1
    a = g(x[0])
    c = 5.0
    return a + g(x[1])


def apply(f, x):
    s = 0.0
    for i in range(len(x)):
        s += f(x[i])
    return s


def function_argument(x):
    return apply(lambda v: v * v, x) + apply(math.sin, x) + apply(functools.partial(pow2, 3.0), x)


def pow2(a, b):
    return a * b * b


TABLE = np.array([1.0, 2.0, 4.0])
FACTOR = 3
PAIR = (2.0, TABLE)


def captured(x):
    return x[0] * TABLE[1] + FACTOR * PAIR[0] + PAIR[1][2]


def make(c, w):
    def inner(x):
        return c * x[0] * w[1]

    return inner


def insertion_sort(x):
    for i in range(1, len(x)):
        v = x[i]
        j = i - 1
        while j >= 0 and x[j] > v:
            x[j + 1] = x[j]
            j -= 1
        x[j + 1] = v
    return x[0]


def counting(keys, m):
    start = np.zeros(m + 1, dtype=np.int64)
    for k in keys:
        start[k + 1] += 1
    for c in range(m):
        start[c + 1] += start[c]
    out = np.empty(len(keys), dtype=np.int64)
    fill = start.copy()
    for i in range(len(keys)):
        out[fill[keys[i]]] = i
        fill[keys[i]] += 1
    return out, start


def augmented_once(x, calls_):
    calls_[0] = 0.0

    def where():
        calls_[0] += 1
        return 1

    x[where()] += 2.0
    return calls_[0]


def many_exits(x, a, b):
    s = 0.0
    for i in range(len(x)):
        if x[i] > a:
            if x[i] > b:
                s += 100
                break
            s += 10
            if i == 2:
                continue
        elif x[i] < -1:
            return s - 1
        for j in range(3):
            if j == 2 and i == 1:
                break
            if j == 1 and i == 3:
                return s + 0.5
            s += j
        else:
            s += 0.25
        s *= 2
    return s


def unrolled(x, t):
    s = 0.0
    for v in (x[0], x[1], x[2], 9.0):
        if v < 0:
            continue
        if v > t:
            break
        s += v
    else:
        s = -s
    return s


def early_none(x):
    if x[0] > 1:
        return
    x[1] = 5.0


def last_value(x):
    best = x[0]
    where = 0
    for i, v in enumerate(x):
        if v > best:
            best = v
            where = i
    return best, where


def dtype_arg(x):
    y = np.zeros(3, x.dtype)
    y[0] = x[0]
    return y


def ndindex(a):
    s = 0.0
    for i, j in np.ndindex(a.shape):
        s = s * 0.5 + a[i, j] * (i + 2 * j)
    return s


def in_tuple(x, k):
    return x[0] if k in (1, 3) else x[1] if k not in (2,) else x[2]


def numbers_only(a, b):
    return (a << 2) ^ b | 5 & ~a, a // b, a % b, -a, +b, not a, a >> 1


def deep_return(x):
    while x[0] < 100:
        x[0] *= 2
        if x[1] > 0:
            while True:
                x[1] -= 1
                if x[1] < -3:
                    return x[1]
                if x[0] > 50:
                    break
    return x[0]


def matrix(a):
    m = np.array([[1.0, 2.0], [a[0], 4.0]])
    v = np.array([a[1], 2.0, 3.0])
    return m[1, 0] * v[2] + np.eye(3)[1, 1] + np.arange(2, 9, 3)[1]


def deleted(x):
    t = x[0] + 1
    y = t * 2
    del t
    return y


def annotated(x):
    s: float = 0.0
    t: float
    s += x[0]
    return s


def while_false(x):
    while False:
        x[0] = 7.0
    return x[0]


def shadowed_range(x):
    n = len(x)
    for i in range(n):
        n = 2
        x[i] += n
    return n


PROGRAMS = [
    (product, X),
    (product, np.zeros(0)),
    (in_place, X, X * 2),
    (newton, 2.0),
    (break_early, X),
    (nested_ranges, X, 5),
    (rebound_kind, A),
    (loop_var_after, X, 4),
    (loop_var_after, X, 0),
    (loop_var_unbound, X),
    (carried_unbound, X),
    (carried_unbound_branch, X),
    (carried_unbound_array, A),
    (continue_nested, X),
    (return_in_loop, X, -5.0),
    (return_in_loop, X, -50.0),
    (for_else, X, 2.0),
    (for_else, X, 20.0),
    (while_else, 3),
    (while_else, 30),
    (while_true, X),
    (while_true, X * 100),
    (while_true_return_only, X),
    (swap_arrays, X, X * 3, 3),
    (swap_arrays, X, X * 3, 0),
    (swap_elements, X),
    (chained, X, X * 2),
    (short_circuit, X, 0),
    (short_circuit, X, 1),
    (short_circuit, X, 10),
    (compare_chain, X),
    (ternary, 100.0),
    (ternary, 1.0),
    (values_of_or, 0, 3),
    (values_of_or, 2, 3),
    (walrus, X),
    (none_argument, X, None),
    (none_argument, X, X * 2),
    (named, P(2.0, X), X),
    (tuples, ((1.0, (2.0, 4)), 3)[0:1] + (3,), X) if False else (tuples, (1.0, (2.0, 4)), X),
    (zips, X, X[:3] * 2),
    (rows, A),
    (views, A, 1),
    (index_tuple, A),
    (allocations, X, 5),
    (lists, X, 4),
    (lists_of_names, X),
    (min_max, X),
    (builtins_, X, 8),
    (raises, X),
    (raises, X * 0.1),
    (asserts, X),
    (asserts, X * 0),
    (raise_or_value, X, 0),
    (raise_or_value, X, 1),
    (raise_or_value, X, 2),
    (calls, X),
    (closures, X),
    (function_argument, X),
    (captured, X),
    (make(2.5, X.copy()), X),
    (apply, math.cos, X),
    (insertion_sort, X),
    (counting, np.array([2, 0, 1, 2, 0]), 3),
    (augmented_once, X, np.zeros(1)),
    (many_exits, X, 1.0, 3.5),
    (many_exits, X, 5.0, 9.0),
    (many_exits, np.abs(X), 1.0, 30.0),
    (many_exits, np.abs(X), 100.0, 30.0),
    (unrolled, X, 2.0),
    (unrolled, X, 20.0),
    (early_none, X),
    (early_none, X * 0),
    (last_value, X),
    (dtype_arg, X.astype(np.float32)),
    (ndindex, A),
    (in_tuple, X, 1),
    (in_tuple, X, 2),
    (in_tuple, X, 4),
    (numbers_only, 7, 3),
    (deep_return, X),
    (deep_return, -X),
    (matrix, X),
    (deleted, X),
    (annotated, X),
    (while_false, X),
    (shadowed_range, X),
    (nb.njit(product), X),
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: getattr(p[0], "__name__", "f"))
def test_same_as_python(program):
    check(*program)
