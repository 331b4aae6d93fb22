"""Programs that call themselves, with arguments; each returns one number."""

from __future__ import annotations

import math
from collections import namedtuple

import numpy as np
from numba import njit

Pair = namedtuple("Pair", "a b")


@njit
def power(x, n):
    if n == 0:
        return 1.0
    return x * power(x, n - 1)


@njit
def tree(x, n):
    if n < 2:
        return x + n
    return math.sin(tree(x, n - 1)) * tree(0.9 * x, n - 2) + x


@njit
def quicksort(a, lo, hi):
    if lo >= hi:
        return
    pivot = a[hi]
    i = lo
    for j in range(lo, hi):
        if a[j] < pivot:
            a[i], a[j] = a[j], a[i]
            i += 1
    a[i], a[hi] = a[hi], a[i]
    quicksort(a, lo, i - 1)
    quicksort(a, i + 1, hi)


@njit
def sorted_sum(a):
    quicksort(a, 0, len(a) - 1)
    s = 0.0
    for i in range(len(a)):
        s += math.exp(-a[i]) * i
    return s


@njit
def merge(a, lo, hi, work):
    if hi - lo < 2:
        return
    mid = (lo + hi) // 2
    merge(a, lo, mid, work)
    merge(a, mid, hi, work)
    i, j = lo, mid
    for k in range(lo, hi):
        if j >= hi or (i < mid and a[i] <= a[j]):
            work[k] = a[i]
            i += 1
        else:
            work[k] = a[j]
            j += 1
    for k in range(lo, hi):
        a[k] = work[k]


@njit
def merged(a):
    work = np.empty(len(a))
    merge(a, 0, len(a), work)
    return a[0] * a[1] + a[len(a) - 1] ** 2 + a[3]


@njit
def halves(x):
    n = len(x)
    if n == 1:
        return
    h = n // 2
    low = x[:h]
    high = x[h:]
    for i in range(h):
        t = low[i] * high[i]
        high[i] = low[i] - 0.5 * high[i]
        low[i] = t
    halves(low)
    halves(high)


@njit
def butterfly(x):
    halves(x)
    s = 0.0
    for i in range(len(x)):
        s += x[i] * x[i] * (i + 1)
    return s


@njit
def local_sort(a):
    n = len(a)
    if n < 2:
        return
    h = n // 2
    left = np.empty(h)
    right = np.empty(n - h)
    for i in range(h):
        left[i] = a[i]
    for i in range(n - h):
        right[i] = a[h + i] * 1.01
    local_sort(left)
    local_sort(right)
    i = 0
    j = 0
    for k in range(n):
        if j == n - h or (i < h and left[i] * left[i] <= right[j] * right[j]):
            a[k] = left[i] * left[i]
            i += 1
        else:
            a[k] = right[j] * right[j]
            j += 1


@njit
def with_locals(a):
    local_sort(a)
    return a[0] + 2.0 * a[1] * a[2] + a[len(a) - 1]


@njit
def integrand(x, p):
    return math.exp(-p * x) * math.cos(3.0 * x)


@njit
def simpson(p, a, b, fa, fm, fb, eps, depth):
    m = 0.5 * (a + b)
    lm = 0.5 * (a + m)
    rm = 0.5 * (m + b)
    flm = integrand(lm, p)
    frm = integrand(rm, p)
    whole = (b - a) / 6.0 * (fa + 4.0 * fm + fb)
    left = (m - a) / 6.0 * (fa + 4.0 * flm + fm)
    right = (b - m) / 6.0 * (fm + 4.0 * frm + fb)
    if depth == 0 or abs(left + right - whole) < 15.0 * eps:
        return left + right + (left + right - whole) / 15.0
    return simpson(p, a, m, fa, flm, fm, eps / 2, depth - 1) + simpson(
        p, m, b, fm, frm, fb, eps / 2, depth - 1
    )


@njit
def adaptive(p, b):
    return simpson(p, 0.0, b, integrand(0.0, p), integrand(0.5 * b, p), integrand(b, p), 1e-7, 12)


@njit
def visit(node, left, right, value, out, depth):
    if node < 0:
        return 0.0
    out[node] = value[node] * depth
    a = visit(left[node], left, right, value, out, depth + 1)
    b = visit(right[node], left, right, value, out, depth + 1)
    value[node] = value[node] + a * b
    return math.tanh(value[node]) + a - 0.3 * b


@njit
def walk_tree(value, left, right):
    out = np.zeros(len(value))
    s = visit(0, left, right, value, out, 1)
    for i in range(len(value)):
        s += out[i] * value[i]
    return s


@njit
def children(node, first, count, w):
    total = w[node]
    for k in range(count[node]):
        c = first[node] + k
        total += math.sin(children(c, first, count, w)) * w[c]
        if total > 50.0:
            break
    return total * w[node]


@njit
def many_children(w, first, count):
    return children(0, first, count, w)


@njit
def ping(a, b, n):
    if n == 0:
        return a[0] * a[1] + a[len(a) - 1]
    for i in range(1, len(a) - 1):
        b[i] = a[i] + 0.1 * (a[i - 1] - 2.0 * a[i] + a[i + 1]) * a[i]
    b[0] = a[0]
    b[len(a) - 1] = a[len(a) - 1]
    return ping(b, a, n - 1)


@njit
def swapped(x, n):
    return ping(x, np.zeros(len(x)), n)


@njit
def collatz(x, n):
    if n == 1:
        return x
    if n % 2 == 0:
        return collatz(x * 0.9 + 0.1, n // 2)
    y = x
    k = 0
    while k < n and y < 3.0:
        y = y * 1.5 + 0.1
        k += 1
    return math.sin(y) + collatz(x * 1.1, 3 * n + 1) * 0.5


@njit
def is_even(x, n):
    if n == 0:
        return x, 1
    y, k = is_odd(x * 1.5, n - 1)
    return math.sin(y), k + 1


@njit
def is_odd(x, n):
    if n == 0:
        return -x, 1
    return is_even(x - 0.25, n - 1)


@njit
def mutual(x, n):
    y, k = is_even(x, n)
    return y * k


def closure(x, n):
    c = x * 0.5

    def inner(y, k):
        if k == 0:
            return y * c
        return inner(y * c + x, k - 1) + math.sin(y)

    return inner(x * x, n)


@njit
def gcd(a, b):
    return a if b == 0 else gcd(b, a % b)


@njit
def integers(x, a, b):
    s = 0.0
    for i in range(1, a):
        s += x**2 / gcd(i * b, a)
    return s


@njit
def structured(p, n):
    if n == 0:
        return p
    q = structured(Pair(p.a * p.b, p.b + 0.1 * p.a), n - 1)
    return Pair(q.b, q.a * p.a)


@njit
def pairs(x, n):
    q = structured(Pair(x, 1.0 + x), n)
    return q.a * q.b


@njit
def again(x, n):
    """The call's argument is overwritten by the caller afterwards, the same array passed twice."""
    s = 0.0
    for t in range(n):
        s += both(x, x, 2)
        for i in range(len(x)):
            x[i] = math.sin(x[i]) + 0.1 * t
    return s


@njit
def both(a, b, n):
    if n == 0:
        return a[0] * b[1]
    a[0] = a[0] * b[1]
    r = both(b, a, n - 1)
    b[1] = b[1] + a[0] * a[0]
    return r * b[2]


@njit
def outer(x, n):
    if n == 0:
        return x
    return outer(nested(x, n), n - 1) + x * nested(0.5 * x, 2)


@njit
def nested(x, n):
    if n <= 0:
        return math.cos(x)
    return x * nested(x + 0.1, n - 2)


@njit
def permute(p, k, x, best):
    """Heap's permutations: an index array changes, the best value is kept."""
    if k == 1:
        s = 0.0
        for i in range(len(p)):
            s += x[p[i]] * (i + 1) ** 2 * x[p[0]]
        if s > best[0]:
            best[0] = s
        return
    for i in range(k):
        permute(p, k - 1, x, best)
        j = i if k % 2 == 0 else 0
        p[j], p[k - 1] = p[k - 1], p[j]


@njit
def best_order(x):
    p = np.empty(len(x), np.int64)
    for i in range(len(x)):
        p[i] = i
    best = np.full(1, -1e9)
    permute(p, len(x), x, best)
    return best[0]


@njit
def early(x, i, target):
    if i >= len(x):
        return 0.0
    for j in range(i, len(x)):
        if x[j] > target:
            x[j] = x[j] * x[i]
            return x[j] + early(x, j + 1, target)
    return x[i]


@njit
def find(x):
    return early(x, 0, 0.5) + x[2] * x[1]


def plain(x, n):
    if n == 0:
        return 0
    return x * n + plain(x * 0.5, n - 1)


@njit
def merged_copy(a):
    """Merge sort that returns fresh arrays; the values change on the way."""
    n = len(a)
    if n < 2:
        return a.copy()
    left = merged_copy(a[: n // 2])
    right = merged_copy(a[n // 2 :])
    out = np.empty(n)
    i = 0
    j = 0
    for k in range(n):
        if j >= len(right) or (i < len(left) and left[i] <= right[j]):
            out[k] = left[i] * left[i] + 0.1
            i += 1
        else:
            out[k] = right[j] * 1.1
            j += 1
    return out


@njit
def sorted_copy(a):
    b = merged_copy(a)
    a[0] = a[1] * b[0]
    s = 0.0
    for i in range(len(b)):
        s += b[i] * b[i] * (i + 1)
    return s + a[0] * b[2]


@njit
def multiply(a, b):
    """Karatsuba's product of two polynomials of 2**k coefficients."""
    n = len(a)
    out = np.zeros(2 * n - 1)
    if n == 1:
        out[0] = a[0] * b[0]
        return out
    h = n // 2
    low = multiply(a[:h], b[:h])
    high = multiply(a[h:], b[h:])
    sa = np.empty(h)
    sb = np.empty(h)
    for i in range(h):
        sa[i] = a[i] + a[h + i]
        sb[i] = b[i] + b[h + i]
    mid = multiply(sa, sb)
    for i in range(2 * h - 1):
        out[i] += low[i]
        out[h + i] += mid[i] - low[i] - high[i]
        out[2 * h + i] += high[i]
    return out


@njit
def product(a):
    s = 0.0
    for t in range(2):
        p = multiply(a, a)
        for i in range(len(p)):
            s += p[i] * p[i] * (i + 1 + t)
        a[t] = math.sin(a[t])
    return s


@njit
def level(x, n):
    a = np.zeros(2)
    a[0] = x[0] if n == 0 else level(x, n - 1)[0] * x[1]
    a[1] = math.sin(a[0])
    return a


@njit
def overwritten_after(x, n):
    """What a recursive function returned is overwritten by the one who received it."""
    a = level(x, n)
    s = a[1]
    a[0] = 5.0
    return s


@njit
def one_level_up(x, n):
    if n == 0:
        a = np.zeros(2)
        a[0] = x[0]
        return a
    a = one_level_up(x, n - 1)
    a[1] = a[0] * x[1]
    a[0] = math.sin(a[1])
    return a


@njit
def overwritten_above(x, n):
    return one_level_up(x, n)[0]


@njit
def scale(a, b, n):
    if n == 0:
        return
    b[0] *= a[1]
    scale(a, b, n - 1)


@njit
def overlapping_views(x, n):
    scale(x, x, n)
    scale(x[:2], x[1:], n)
    return x[0] * x[1]


@njit
def tripled(x, n):
    if n == 0:
        return x.copy()
    a = tripled(x, n - 1)
    a[0] = a[0] * 3.0
    x[0] = x[0] + a[0] * a[0]
    return a


@njit
def result_overwritten(x):
    a = tripled(x, 2)
    a[0] = 5.0
    return x[0] * x[1]


@njit
def squared(x, n):
    if n == 0:
        return x.copy()
    a = squared(x, n - 1)
    d = np.zeros(1)
    d[0] = a[0] * a[0]
    a[0] = d[0] * d[0]
    x[0] = x[0] + a[0]
    return d


@njit
def overwritten_by_a_call(x):
    a = squared(x, 1)
    b = squared(a, 1)
    return x[0] * b[0]


@njit
def shift_into(a, b, n):
    """b is a but for the first call: what t is made of is written before t is read."""
    if n > 0:
        t = a[:-1] * 2.0
        b[1:] += t
        shift_into(a, a, n - 1)


@njit
def shifted(x, n):
    shift_into(x, x.copy(), n)
    return np.sum(x * x)


@njit
def scale_beside(a, b, n):
    """b is a but for the first call: its stores reach the element of a that the loop reads in each turn."""
    if n > 0:
        a[0] += 1.0
        for j in range(1, a.shape[0]):
            a[j] += a[0] * a[0]
            b[j - 1] *= 0.5
        scale_beside(a, a, n - 1)


@njit
def scaled(x, n):
    scale_beside(x, x.copy(), n)
    return np.sum(x * x)


_rng = np.random.default_rng(5)


def _x(n):
    return _rng.uniform(0.3, 1.2, n)


LEFT = np.array([1, 3, 5, -1, -1, -1, -1])
RIGHT = np.array([2, 4, 6, -1, -1, -1, -1])
FIRST = np.array([1, 4, 6, 0, 0, 0, 0])
COUNT = np.array([3, 2, 1, 0, 0, 0, 0])

PROGRAMS = {
    "power": (power, (1.3, 5)),
    "tree": (tree, (0.7, 7)),
    "quicksort": (sorted_sum, (_x(12),)),
    "merge": (merged, (_x(9),)),
    "views": (butterfly, (_x(8),)),
    "locals": (with_locals, (_x(7),)),
    "simpson": (adaptive, (0.8, 1.7)),
    "visit": (walk_tree, (_x(7), LEFT, RIGHT)),
    "children": (many_children, (_x(7), FIRST, COUNT)),
    "ping_even": (swapped, (_x(6), 4)),
    "ping_odd": (swapped, (_x(6), 3)),
    "no_turns": (swapped, (_x(6), 0)),
    "collatz": (collatz, (0.6, 7)),
    "mutual": (mutual, (0.4, 6)),
    "closure": (closure, (0.8, 4)),
    "integers": (integers, (0.7, 12, 8)),
    "pairs": (pairs, (0.7, 5)),
    "same_array": (again, (_x(4), 3)),
    "nested": (outer, (0.6, 4)),
    "permute": (best_order, (_x(4),)),
    "early": (find, (_x(6),)),
    "plain": (plain, (0.9, 4)),
    "sorted_copy": (sorted_copy, (_x(7),)),
    "karatsuba": (product, (_x(4),)),
    "overwritten_after": (overwritten_after, (_x(2), 2)),
    "overwritten_above": (overwritten_above, (_x(2), 3)),
    "result_overwritten": (result_overwritten, (_x(2),)),
    "overwritten_by_a_call": (overwritten_by_a_call, (_x(1),)),
    "overlapping_views": (overlapping_views, (_x(3), 2)),
    "array_of_two_names": (shifted, (_x(5), 3)),
    "element_of_two_names": (scaled, (_x(5), 3)),
}
"""Name -> (function, arguments); the first argument is differentiated."""
