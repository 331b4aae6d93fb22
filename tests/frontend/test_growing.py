"""Lists that grow and shrink: values are Python's, derivatives those of differences; what may be another list is refused."""

import math

import numpy as np
import pytest
from numba import njit

import adjit as aj

X = np.random.default_rng(5).standard_normal(9)


def gathered(out, v, lim):
    if v < lim:
        return 0
    for k in range(3):
        if k == 2 and v > 1.0:
            return 5
        out.append(v * (k + 1))
    return len(out)


def by_helper(x, lim):
    out = []
    n = 0
    for v in x:
        n += gathered(out, v + lim, lim)
    s = 0.0
    for i in range(len(out)):
        s += out[i] * (i + 1)
    return s + n * out[-1] + max(out)


def fronts(w, root):
    """Distances by fronts of places, each made from the one before."""
    dist = np.full(len(w), -1.0)
    dist[root] = 0.0
    front = [root]
    while front:
        after = []
        for u in front:
            for d in (1, 3):
                v = (u + d) % len(w)
                if dist[v] < 0:
                    dist[v] = dist[u] + w[v] ** 2
                    after.append(v)
        front = after
    return np.sum(dist**2)


def fronts_that_swap(w, root):
    dist = np.full(len(w), -1.0)
    dist[root] = 0.0
    front, after = [root], [0]
    after.clear()
    while len(front) > 0:
        for u in front:
            for d in (1, 3):
                v = (u + d) % len(w)
                if dist[v] < 0:
                    dist[v] = dist[u] + w[v] ** 2
                    after.append(v)
        front.clear()
        front, after = after, front
    return np.sum(dist**2)


def methods(x):
    st = [0.0]
    s = 0.0
    for i in range(len(x)):
        while len(st) > 1 and st[-1] > x[i]:
            s += st.pop() * x[i]
        st.append(x[i])
    st.append(st.pop() * st.pop())
    st[0] = s
    st[-1] *= 2.0
    st.extend(x[2:5])
    st += [s, s * s]
    st.insert(1, x[0] * x[1])
    st.insert(-2, s)
    t = st.pop(0) + st.pop(-2)
    st.reverse()
    st.sort()
    for i, v in enumerate(st):
        t += (i + 1) * v
    a = np.array(st)
    return t + np.sum(a * a) + max(st) + sum(st) + a[-1]


def parted(x, lim):
    above, below = [], []
    for v in x:
        if v > lim:
            above.append(v)
        elif v < -lim:
            below.append(-v)
    return above, below


def returned(x, lim):
    p, n = parted(x, lim)
    p.append(lim)
    q = p.copy()
    q.append(3.0)
    n += p
    s = 0.0
    for a, b in zip(p, n):
        s += a * b
    return s * len(q) + q[-1] + n[0] + lim * len(p)


def of_tuples(x):
    todo = [(0, 0.0)]
    todo.clear()
    for i in range(len(x)):
        todo.append((i, x[i] ** 2) if x[i] > 0 else (-i, x[i]))
    s = 0.0
    for k, v in todo:
        s += k * v
    todo[1] = (7, s)
    todo.insert(-1, (2, todo[-3][1]))
    for j in range(-len(todo), len(todo)):
        s += todo[j][0] * todo[j][1]
    while len(todo) > 3:
        _, v = todo.pop()
        s *= 1.0 + 0.01 * v
    return s


def simpson(a, b, tol):
    todo = [(a, b, tol)]
    total = 0.0
    while todo:
        lo, hi, t = todo.pop()
        m, h = 0.5 * (lo + hi), hi - lo
        f, g, e = math.exp(-lo * lo), math.exp(-m * m), math.exp(-hi * hi)
        p, q = math.exp(-((0.5 * (lo + m)) ** 2)), math.exp(-((0.5 * (m + hi)) ** 2))
        fine = h / 12 * (f + 4 * p + 2 * g + 4 * q + e)
        if abs(fine - h / 6 * (f + 4 * g + e)) < 15 * t:
            total += fine
        else:
            todo.append((lo, m, t / 2))
            todo.append((m, hi, t / 2))
    return total


def two_names(x):
    a = [x[0]]
    b = a
    for i in range(4):
        a.append(x[i] * x[i])
        if x[i] > 0:
            b.append(x[i])
    t = (a, x)
    t[0].append(x[5])
    return len(b) * x[0] + b[-1] + a[2] * len(t[0])


def lent_twice(x):
    def f(a, b):
        a.append(b[-1] * 2)
        b.append(a[0])
        return len(a) + len(b)

    q, r = [x[0]], [x[1]]
    n = f(q, q) + f(q, r)
    return n * q[-1] + r[-1] * len(q)


def on_paths(x):
    a = [x[0], x[1]] if x[8] > 0 else []
    if x[3] > 0:
        a.append(x[3])
    else:
        a.append(x[4])
        a.append(x[5])
    rows = 0.0
    for i in range(len(x)):
        row = []
        for j in range(i):
            if x[j] * x[i] > 0:
                row.append(x[j])
            if len(row) > 2:
                break
        else:
            row.append(1.0)
            continue
        for v in row:
            rows += v * x[i]
    return rows + sum(a) * len(a)


def never_filled(x):
    a = []
    s = 0.0
    for v in a:
        s += v
    return s + x[0] * len(a) + (x[1] if a else x[2])


PROGRAMS = [
    (by_helper, (X, 0.1)),
    (fronts, (X, 3)),
    (fronts_that_swap, (X, 3)),
    (methods, (X,)),
    (returned, (X, 0.2)),
    (of_tuples, (X,)),
    (simpson, (0.1, 2.0, 1e-5)),
    (two_names, (X,)),
    (lent_twice, (X,)),
    (on_paths, (X,)),
    (never_filled, (X,)),
]


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize(("f", "args"), PROGRAMS, ids=[f.__name__ for f, _ in PROGRAMS])
def test_values_and_derivatives(f, args):
    assert math.isclose(aj.value_and_grad(f)(*args)[0], f(*args), rel_tol=1e-13)
    aj.check_grad(f, *args)


@pytest.mark.parametrize("f", [njit(simpson)], ids=["dispatcher"])
def test_compiled(f):
    value, slope = aj.value_and_grad(f)(0.1, 2.0, 1e-7)
    assert value == f(0.1, 2.0, 1e-7)
    assert math.isclose(slope, -math.exp(-0.01), rel_tol=1e-6)


@pytest.mark.usefixtures("uncompiled")
def test_numbers_of_two_types():
    """What a later item needs is the type of all of them, of arrays that were typed before it was met, too."""

    def f(x):
        row = []
        for v in x:
            row.append(v)
            if len(row) > 4:
                row.append(0.1)
        return row[0] * row[-1] * len(row)

    x = X.astype(np.float32)
    value, gradient = aj.value_and_grad(f)(x)
    assert value == f(x)
    assert gradient.dtype == np.float32
    assert np.allclose(gradient, [0.1 * 14] + [0.0] * 8)


@pytest.mark.usefixtures("uncompiled")
def test_nothing_to_take():
    def f(x, n):
        items = [x]
        items.append(2.0 * x)
        for _ in range(n):
            items.pop()
        return items.pop(0)

    assert aj.grad(f)(3.0, 1) == 1.0
    with pytest.raises(IndexError, match="pop from empty list"):
        aj.grad(f)(3.0, 2)


def maybe_another(x):
    a = [x[0]]
    b = a if x[0] > 0 else [x[5]]
    a.append(x[3])
    return len(b) * x[0]


def by_or(x):
    a = [x[0]]
    a.append(x[1])
    b = a or [x[2]]
    a.append(x[3])
    return len(b) * x[0]


def zipped_before(x):
    a = [x[0]]
    pairs = zip(a, x)
    a.append(x[2])
    s = 0.0
    for u, v in pairs:
        s += u * v
    return s


def of_the_outer(x):
    out = []

    def add(v):
        out.append(v)

    add(x[0])
    return out[0]


def popped_in_comprehension(x):
    st = [x[0], x[1], x[2]]
    y = [st.pop() * 2 for _ in range(2)]
    return y[0] * len(st)


def run_over(x):
    q = [x[0]]
    for _, v in enumerate(q):
        if len(q) < 5:
            q.append(v * v)
    return q[-1]


def two_kinds(x):
    a = []
    a.append(x[0])
    a.append((x[0], x[1]))
    return x[0]


REFUSED = [
    (maybe_another, "may have another name"),
    (by_or, "is kept in this way"),
    (zipped_before, "is kept in this way"),
    (of_the_outer, "as an argument"),
    (popped_in_comprehension, "write the loop"),
    (run_over, "while a loop runs over it"),
    (two_kinds, "a list of other items"),
]


@pytest.mark.parametrize(("f", "words"), REFUSED, ids=[f.__name__ for f, _ in REFUSED])
def test_refused(f, words):
    with pytest.raises(aj.UnsupportedError, match=words):
        aj.grad(f)(X)
