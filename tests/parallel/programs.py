"""Programs with parallel loops, each beside its form in order: `loop` is `prange` or `range`."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np

import adjit as aj


@dataclass(frozen=True)
class Program:
    """A program's text, with `loop` for its parallel loops, and arguments for a size n."""

    text: str
    arguments: Callable[[np.random.Generator, int], tuple[Any, ...]]

    def function(self, loop: object) -> Callable[..., Any]:
        """The function with `loop` in place of each parallel loop's range."""
        name = f"<program {abs(hash((self.text, str(loop))))}>"
        text = self.text.replace("loop(", "range(" if loop is range else "prange(")
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        space: dict[str, Any] = {"np": np, "aj": aj, "prange": numba.prange}
        exec(compile(text, name, "exec"), space)
        return space["f"]


def _vectors(count: int) -> Callable[[np.random.Generator, int], tuple[Any, ...]]:
    return lambda rng, n: tuple(rng.uniform(0.5, 1.5, n) for _ in range(count))


PROGRAMS = {
    "scaled": Program("""
def f(x, a):
    y = np.empty_like(x)
    for i in loop(x.shape[0]):
        y[i] = a[0] * x[i]
    return np.sum(y * y)
""", lambda rng, n: (rng.uniform(0.5, 1.5, n), rng.uniform(0.5, 1.5, 1))),
    "sum": Program("""
def f(x, y):
    s = 0.0
    for i in loop(x.shape[0]):
        s += x[i] * y[i] + x[i] ** 2
    return s
""", _vectors(2)),
    "two sums and a scalar": Program("""
def f(x, alpha):
    s = 1.0
    m = 0.0
    for i in loop(x.shape[0]):
        t = alpha * x[i]
        s += t * t
        if x[i] > 1.0:
            m -= t
    return s / (1.0 + m * m)
""", lambda rng, n: (rng.uniform(0.5, 1.5, n), 1.3)),
    "product": Program("""
def f(x):
    p = 1.0
    for i in loop(x.shape[0]):
        p *= x[i]
    return p
""", _vectors(1)),
    "greatest": Program("""
def f(x):
    m = -np.inf
    for i in loop(x.shape[0]):
        m = max(m, x[i] * x[i])
    return m
""", _vectors(1)),
    "shifted reads": Program("""
def f(x, y):
    n = x.shape[0]
    for i in loop(1, n - 1):
        y[i] = x[i - 1] * x[i] + x[i + 1]
    return np.sum(y)
""", _vectors(2)),
    "guarded neighbours": Program("""
def f(x, y):
    n = x.shape[0]
    for i in loop(n):
        t = x[i] * x[i]
        if i > 0:
            t += x[i - 1] * x[i]
        if i < n - 1:
            t -= x[i + 1]
        y[i] = t
    s = 0.0
    for i in loop(n):
        s += y[i] * y[i]
    return s
""", _vectors(2)),
    "clamped neighbours": Program("""
def f(x):
    n = x.shape[0]
    y = np.zeros(n)
    for i in loop(n):
        y[i] = x[max(i - 1, 0)] * x[i] - x[min(i + 2, n - 1)]
    return np.sum(y * y)
""", _vectors(1)),
    "around a ring": Program("""
def f(x):
    n = x.shape[0]
    y = np.zeros(n)
    for i in loop(n):
        y[i] = x[(i + 1) % n] * x[(i - 1) % n] + x[i]
    return np.sum(y * y)
""", _vectors(1)),
    "from the end": Program("""
def f(x):
    n = x.shape[0]
    y = np.zeros(n)
    for i in loop(n):
        y[i] = x[i - 1] * x[i] + x[i - 2]
    return np.sum(y * y)
""", _vectors(1)),
    "backwards": Program("""
def f(x):
    n = x.shape[0]
    y = np.zeros(n)
    for k in loop(n - 2):
        i = n - 2 - k
        y[i] = x[i - 1] * x[i] + x[i + 1]
    return np.sum(y * y)
""", _vectors(1)),
    "gathered": Program("""
def f(x, index):
    n = index.shape[0]
    y = np.empty(n)
    for i in loop(n):
        y[i] = x[index[i]] * x[i] + x[index[n - 1 - i]]
    s = 0.0
    for i in range(n):
        s += y[i] * y[i]
    return s
""", lambda rng, n: (rng.uniform(0.5, 1.5, n), rng.integers(0, n, n))),
    "rows": Program("""
def f(a, v):
    n, m = a.shape
    y = np.zeros(n)
    for i in loop(n):
        row = a[i]
        t = 0.0
        for j in range(m):
            t += row[j] * v[j]
        y[i] = t * t
    return np.sum(y)
""", lambda rng, n: (rng.uniform(0.5, 1.5, (n, 4)), rng.uniform(0.5, 1.5, 4))),
    "in place, several launches": Program("""
def f(u, k):
    for _ in range(k):
        for i in loop(u.shape[0]):
            u[i] = u[i] * u[i] * 0.9
    return np.sum(u)
""", lambda rng, n: (rng.uniform(0.5, 1.0, n), 3)),
    "state in a turn": Program("""
def f(x, count):
    y = np.zeros(x.shape[0])
    for i in loop(x.shape[0]):
        t = x[i]
        for _ in range(count[0]):
            t = np.sin(t) * t + x[i]
        y[i] = t
    return np.sum(y)
""", lambda rng, n: (rng.uniform(0.5, 1.0, n), np.array([4]))),
    "a count from data": Program("""
def f(x, count):
    y = np.zeros(x.shape[0])
    for i in loop(x.shape[0]):
        t = x[i]
        for _ in range(count[i]):
            t = np.sin(t) * t + x[i]
        y[i] = t
    return np.sum(y)
""", lambda rng, n: (rng.uniform(0.5, 1.0, n), rng.integers(0, 4, n))),
    "while in a turn": Program("""
def f(x):
    y = np.zeros(x.shape[0])
    for i in loop(x.shape[0]):
        r = 1.0
        while abs(r * r - x[i]) > 1e-12:
            r = 0.5 * (r + x[i] / r)
        y[i] = r
    return np.sum(y)
""", _vectors(1)),
    "walks of data-dependent length": Program("""
def f(x, seed):
    n = x.shape[0]
    y = np.zeros(n)
    for i in loop(n):
        state = seed[i]
        at = x[i]
        weight = 1.0
        while abs(at) < 2.0 and weight > 0.1:
            state = (state * 1103515245 + 12345) % 2147483648
            step = state / 2147483648.0 - 0.4
            at = at + step * at * x[i]
            weight = weight * (0.7 + 0.2 * np.sin(at))
        y[i] = at * weight
    return np.sum(y * y)
""", lambda rng, n: (rng.uniform(0.5, 1.5, n), rng.integers(0, 1 << 30, n))),
    "marching with a break": Program("""
def f(o, d, k):
    n = o.shape[0]
    s = 0.0
    for i in loop(n):
        t = 0.1
        light = 1.0
        for m in range(k):
            p = o[i] + t * d[i]
            r = np.sqrt(p * p + 0.3) - 0.9
            if r < 0.05:
                break
            light = light * np.exp(-0.1 * r)
            t = t + abs(r) * 0.8
        s += light * t
    return s
""", lambda rng, n: (rng.uniform(-3.0, -1.5, n), rng.uniform(0.5, 1.5, n), 12)),
    "a record in a branch": Program("""
def f(x, y):
    n = x.shape[0]
    z = np.zeros(n)
    for i in loop(n):
        t = x[i]
        if x[i] > 1.0:
            t = np.exp(t) * y[i]
            t = t * t
            if y[i] > 1.0:
                t = np.sin(t) * t
        else:
            t = t * y[i]
            t = np.cos(t) * t
        z[i] = t * t
    return np.sum(z)
""", _vectors(2)),
    "loops in branches": Program("""
def f(x, count):
    n = x.shape[0]
    z = np.zeros(n)
    for i in loop(n):
        t = x[i]
        if count[i] > 1:
            for _ in range(3):
                t = np.sin(t) * t + x[i]
        else:
            for _ in range(count[i] + 1):
                t = t * t * 0.5
        z[i] = t
    return np.sum(z)
""", lambda rng, n: (rng.uniform(0.5, 1.0, n), rng.integers(0, 4, n))),
    "while in a turn, again and again": Program("""
def f(x, k):
    n = x.shape[0]
    y = x.copy()
    for step in range(k):
        for i in loop(n):
            r = y[i]
            while r * r > 0.5 + 0.1 * step:
                r = r * (0.8 + 0.1 * np.sin(r))
            y[i] = r + 0.5 * y[i]
        for i in loop(n - 1):
            y[i] = y[i] * 0.9
    return np.sum(y * y)
""", lambda rng, n: (rng.uniform(0.5, 1.5, n), 3)),
    "two records, one under the other": Program("""
def f(x, m):
    n = x.shape[0]
    s = 0.0
    for i in loop(n):
        t = x[i]
        for j in range(m[i]):
            u = t
            while u > 0.3:
                u = u * u * 0.7
            t = t + np.sin(u) * t
        s += t * t
    return s
""", lambda rng, n: (rng.uniform(0.5, 1.0, n), rng.integers(0, 4, n))),
    "neighbours until it is far": Program("""
def f(x, v, start, index):
    n = x.shape[0]
    e = np.zeros(n)
    for i in loop(n):
        k = start[i]
        w = 1.0
        while k < start[i + 1] and w > 0.05:
            d = x[i] - x[index[k]]
            w = w * np.exp(-d * d) * (0.9 + 0.1 * v[index[k]])
            e[i] += w * v[i]
            k += 1
    return np.sum(e * e)
""", lambda rng, n: (
        rng.uniform(0, 1, n), rng.uniform(0.5, 1.5, n), np.arange(n + 1) * 3, rng.integers(0, n, 3 * n)
    )),
    "backwards, a step of two": Program("""
def f(x):
    n = x.shape[0]
    y = np.zeros(n)
    for i in loop(0, n, 2):
        t = x[i]
        while t < 3.0:
            t = t * t + 0.5
        y[n - 1 - i] = t
    return np.sum(y * y)
""", _vectors(1)),
    "local matrices, again and again": Program("""
def f(x, y, k):
    n = x.shape[0]
    m = y.shape[0]
    z = x.copy()
    for _ in range(k):
        for i in loop(1, n - 1):
            w = np.full((2, m), x[i])
            for a in range(2):
                for j in range(m):
                    w[a, j] = w[a, j] * y[j] + z[i]
                    w[a, j] *= w[1 - a, j]
            t = 0.0
            for j in range(m):
                t += w[0, j] * w[1, j]
            z[i] = np.sin(t) * z[i]
    return np.sum(z * z)
""", lambda rng, n: (rng.uniform(0.5, 1.0, n), rng.uniform(0.2, 0.5, 3), 2)),
    "local arrays in loops and branches": Program("""
def f(x):
    n = x.shape[0]
    s = 0.0
    for i in loop(n - 1, -1, -1):
        t = x[i]
        for k in range(1, 4):
            w = np.zeros(2)
            w[0] = t * k
            w[1] = w[0] * w[0] * x[i]
            if x[i] > 1.0:
                v = np.empty(4)
                for j in range(k + 1):
                    v[j] = w[1] * w[0] + j
                t = np.sin(v[k] * v[0])
            else:
                t = np.sin(w[1]) * w[0]
        s += t * t
    return s
""", _vectors(1)),
    "local arrays of different extents": Program("""
def f(x):
    n = x.shape[0]
    y = np.zeros(n)
    for i in loop(1, n):
        w = x[i - 1:i + 1] * x[i]
        w *= w
        v = np.zeros(i % 3 + 1)
        v[i % 3] = w[0] * w[1]
        v[0] += v[i % 3] * w[0]
        y[i] = np.sum(w * w) + np.sum(v * v)
    return np.sum(y)
""", _vectors(1)),
    "a local array in every third turn": Program("""
def f(x):
    n = x.shape[0]
    y = np.zeros(n)
    for i in loop(1, n, 3):
        w = x[:3] * x[i]
        w[1] *= w[0] * w[2]
        y[i] = np.sum(w * w)
    return np.sum(y)
""", _vectors(1)),
    "rows of a sparse matrix": Program("""
def f(values, columns, start, x):
    s = 0.0
    for i in loop(start.shape[0] - 1):
        t = 0.0
        for k in range(start[i], start[i + 1]):
            t += values[k] * x[columns[k]]
        s += t * t
    return s
""", lambda rng, n: (
        rng.uniform(0.5, 1.5, 40 * n), rng.integers(-4, 4, 40 * n),
        np.sort(rng.integers(0, 40 * n, n + 1)), rng.uniform(0.5, 1.5, 4)
    )),
    "rows that overlap": Program("""
def f(values, start, x):
    y = np.zeros(x.shape[0])
    for i in loop(start.shape[0] - 1):
        t = 0.0
        for k in range(start[i], start[i + 1]):
            t += values[k] * values[k] * x[i]
        y[i] = t * values[start[0] - 1]
    return np.sum(y)
""", lambda rng, n: (
        rng.uniform(0.5, 1.5, 40 * n), rng.integers(-n, 40 * n, n + 1), rng.uniform(0.5, 1.5, n)
    )),
    "rows from the end, in place": Program("""
def f(values, start):
    n = start.shape[0]
    for i in loop(n - 2, -1, -1):
        for k in range(start[i + 1] - 1, start[i] - 1, -1):
            values[k] = values[k] * values[k] * 0.9
    return np.sum(values * values)
""", lambda rng, n: (rng.uniform(0.5, 1.0, 40 * n), np.sort(rng.integers(0, 40 * n, n + 1)))),
    "local array": Program("""
def f(x):
    n = x.shape[0]
    y = np.zeros(n)
    for i in loop(n):
        w = np.zeros(3)
        for k in range(3):
            w[k] = x[i] * (k + 1.0)
        w[0] = w[1] * w[2]
        y[i] = w[0] + w[2]
    return np.sum(y * y)
""", _vectors(1)),
    "local array that is kept": Program("""
def f(x):
    n = x.shape[0]
    s = 0.0
    for i in loop(n):
        w = np.empty(4)
        for k in range(4):
            w[k] = x[i] ** k
        for k in range(3):
            w[k + 1] *= w[k]
        s += w[3] * x[i - 1]
    return s
""", _vectors(1)),
    "red and black": Program("""
def f(u, th, k):
    n = u.shape[0]
    for _ in range(k):
        for c in range(2):
            for i in loop(1, n - 1):
                for j in range(1, n - 1):
                    if (i + j) % 2 == c:
                        u[i, j] = 0.25 * (u[i-1, j] + u[i+1, j] + u[i, j-1] + u[i, j+1] - th[i-1, j-1])
    s = 0.0
    for i in loop(n):
        for j in range(n):
            s += u[i, j] ** 2
    return s
""", lambda rng, n: (rng.uniform(0, 1, (n, n)), rng.uniform(0, 1, (n - 2, n - 2)), 2)),
    "buffers that swap": Program("""
def f(u, k):
    n = u.shape[0]
    a, b = u.copy(), u.copy()
    for _ in range(k):
        for i in loop(1, n - 1):
            b[i] = a[i] + 0.1 * (a[i - 1] - 2 * a[i] + a[i + 1]) * a[i]
        a, b = b, a
    return np.sum(a * a)
""", lambda rng, n: (rng.uniform(0.5, 1.5, n), 4)),
    "two arrays, one scattered": Program("""
def f(x, w, cell):
    n = x.shape[0]
    y = np.zeros(n)
    for i in loop(n):
        for d in range(-1, 2):
            j = i + d
            if 0 <= j and j < n:
                y[i] += w[cell[j]] * x[j] * x[i]
    return np.sum(y * y)
""", lambda rng, n: (rng.uniform(0.5, 1.5, n), rng.uniform(0.5, 1.5, 3), rng.integers(0, 3, n))),
    "convolution": Program("""
def f(x, w):
    m = w.shape[0]
    s = 0.0
    for i in loop(x.shape[0] - m + 1):
        t = 0.0
        for k in range(m):
            t += w[k] * x[i + k]
        s += t * t
    return s
""", lambda rng, n: (rng.uniform(0.5, 1.5, n), rng.uniform(0.5, 1.5, min(3, n)))),
    "a window around each place": Program("""
def f(x, r):
    n = x.shape[0]
    y = np.zeros(n)
    for i in loop(n):
        t = 0.0
        for k in range(max(0, i - r), min(n, i + r + 1)):
            t += x[k] * x[i]
        y[i] = t
    return np.sum(y * y)
""", lambda rng, n: (rng.uniform(0.5, 1.5, n), 2)),
    "a shift that is an argument": Program("""
def f(x, d):
    n = x.shape[0]
    y = np.zeros(n)
    for i in loop(n - d):
        y[i] = x[i + d] * x[i]
    return np.sum(y * y)
""", lambda rng, n: (rng.uniform(0.5, 1.5, n), 2)),
    "down a window": Program("""
def f(x, w):
    m = w.shape[0]
    s = 0.0
    for i in loop(m - 1, x.shape[0]):
        t = 0.0
        for k in range(m - 1, -1, -1):
            t += w[k] * x[i - k]
        s += t * t
    return s
""", lambda rng, n: (rng.uniform(0.5, 1.5, n), rng.uniform(0.5, 1.5, min(3, n)))),
    "total variation": Program("""
def f(x):
    n, m = x.shape
    s = 0.0
    for i in loop(n - 1):
        t = 0.0
        for j in range(m - 1):
            a = x[i + 1, j] - x[i, j]
            b = x[i, j + 1] - x[i, j]
            t += np.sqrt(a * a + b * b + 1e-3)
        s += t
    return s
""", lambda rng, n: (rng.uniform(0, 1, (n, n)),)),
    "descending sum carried through branches": Program("""
def f(x, y):
    s = 0.5
    for i in loop(x.shape[0]):
        if x[i] > 1.0:
            s += x[i] * y[i]
        else:
            for j in range(3):
                s += y[i] * j
    return s * s
""", _vectors(2)),
    "product of guarded powers": Program("""
def f(x, y):
    p = 1.5
    q = 1.0
    m = 2.0
    for i in loop(x.shape[0]):
        p *= x[i] ** 2 * 0.9
        if y[i] > 1.0:
            p *= 1.1 * y[i]
        q /= x[i] + y[i]
        m = min(m, x[i] * y[i])
    return p + q * m
""", _vectors(2)),
    "products of rows of different lengths": Program("""
def f(x, k):
    p = 1.0
    m = -1.0
    for i in loop(x.shape[0]):
        for j in range(k[i]):
            p *= np.sin(x[i] * j) + 1.0
            m = max(np.cos(x[i] * j) * x[i], m)
    return p * m
""", lambda rng, n: (rng.uniform(0.5, 1.5, n), rng.integers(0, 4, n))),
    "greatest of each turn's own array": Program("""
def f(x):
    m = -1.0
    w = 1.0
    for i in loop(x.shape[0]):
        v = np.empty(3)
        for j in range(3):
            v[j] = x[i] * (j - 1)
        m = max(m, v[2] - v[0])
        w = min(w, v[0] + v[1])
    return m * w
""", _vectors(1)),
    "product, then a sweep in place": Program("""
def f(x):
    p = 1.0
    for i in loop(x.shape[0]):
        p *= x[i]
    for i in loop(x.shape[0]):
        x[i] = x[i] * p
    m = 0.0
    for i in loop(x.shape[0]):
        m = max(m, x[i] * x[i - 1])
    return m + p
""", _vectors(1)),
    "two arrays of the turn's own extents": Program("""
def f(x, k):
    s = 0.0
    for i in loop(x.shape[0]):
        w = np.empty((k[i], 2))
        for j in range(k[i]):
            w[j, 0] = np.sin(x[i] * j)
            w[j, 1] = w[j, 0] * x[i]
        if k[i] > 1:
            v = np.full(k[i] - 1, x[i])
            for j in range(k[i] - 1):
                v[j] *= w[j, 1] * w[j + 1, 0]
            for j in range(k[i] - 1):
                s += v[j] * v[k[i] - 2 - j]
        s += np.sum(w)
    return s
""", lambda rng, n: (rng.uniform(0.5, 1.5, n), rng.integers(0, 5, n))),
    "arrays whose extents follow from values": Program("""
def f(x, y):
    s = 0.0
    for _ in range(2):
        for i in loop(x.shape[0]):
            m = int(x[i] * 3.0) + 1
            w = np.zeros(m)
            w[0] = y[i]
            for j in range(1, m):
                w[j] = w[j - 1] * w[j - 1] * x[i]
            s += w[m - 1] * w[-1]
            y[i] = w[m // 2] * 0.5
    return s + np.sum(y)
""", _vectors(2)),
    "local arrays of extents that a turn changes": Program("""
def f(x, k):
    s = 0.0
    for i in loop(x.shape[0]):
        k[i] = k[i] + 1
        w = np.zeros(k[i])
        for j in range(k[i]):
            w[j] = x[i] * j
            w[j] *= w[j]
        s += w[k[i] - 1] * w[0] + w[k[i] // 2]
    return s
""", lambda rng, n: (rng.uniform(0.5, 1.5, n), rng.integers(0, 5, n))),
    "rings by negative indices": Program("""
def f(u):
    n, m = u.shape
    v = np.zeros((n, m))
    for i in loop(n):
        for j in range(m):
            v[i, j] = u[i - 1, j] * u[i, j] + np.sin(u[i, j - 1]) - u[i - n + 1, j] + u[i, j - m]
    return np.sum(v * v)
""", lambda rng, n: (rng.uniform(0, 1, (n, n + 1)),)),
    "rings, clamps and mirrors by tests": Program("""
def f(u):
    n, m = u.shape
    v = np.zeros((n, m))
    for i in loop(n):
        up = i + 1 if i < n - 1 else 0
        down = i - 1 if i > 0 else 1
        for j in range(m):
            if j == m - 1:
                right = j
            else:
                right = j + 1
            left = j - 2
            if left < 0:
                left += m
            v[i, j] = u[up, j] * u[i, j] + u[down, j] - u[i, right] * u[i, left]
    return np.sum(v * v)
""", lambda rng, n: (rng.uniform(0, 1, (n, n + 1)),)),
}  # fmt: skip
