"""Plain loop programs for the round trip source -> IR -> types -> source; each with its arguments."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np


def gauss_seidel(u, f, h, sweeps):
    n = u.shape[0]
    h2 = h * h
    for _ in range(sweeps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] + h2 * f[i, j])
    s = 0.0
    for i in range(n):
        s += u[i, i] ** 2
    return s


def newton(x, tolerance):
    turns = 0
    step = 1.0
    while abs(step) > tolerance and turns < 50:
        step = (x * x - 2.0) / (2.0 * x)
        x = x - step
        turns += 1
    return x, turns


def fibonacci(n):
    a, b = 0, 1
    while a < n:
        a, b = b, a + b
    return a


def first_above(x, limit):
    for i in range(len(x)):
        if x[i] > limit:
            return x[i] * 2.0
    return -1.0


def swapped_buffers(u, steps):
    v = np.empty_like(u)
    n = len(u)
    a, b = u, v
    for _ in range(steps):
        for i in range(n):
            left = a[i - 1] if i > 0 else 0.0
            b[i] = 0.5 * (a[i] + left)
        a, b = b, a
    return a[n - 1]


def backward(x):
    s = 0.0
    for i in range(len(x) - 2, -1, -1):
        x[i] += 0.5 * x[i + 1]
        s = s * 0.9 + math.sin(x[i])
    return s


def integers(n):
    v = 2**53 + 1
    r = 0
    for i in range(n):
        r += (v + i) // 3
        v = v - 1
    return r, r % 7, r / 3


def mixed(x, k):
    total = 0
    best = x[0]
    where = -1
    for i in range(len(x)):
        total += x[i]
        if x[i] < best:
            best = x[i]
            where = i
        elif i == k:
            continue
        total = total * 0.5
    return total, best, where


def clipped(x):
    y = np.zeros(len(x))
    count = 0
    i = 0
    while True:
        if i >= len(x):
            break
        if x[i] < 0.0:
            i += 1
            continue
        y[count] = np.sqrt(x[i]) + max(x[i], 0.25)
        count += 1
        i += 1
    return y, count


def views(a):
    row = a[1, :]
    t = a.T
    s = 0.0
    for i in range(row.shape[0]):
        s += row[i] * t[i, 0]
    tail = a[:, ::2]
    tail[0, 0] = s
    return s


def cells(x, n):
    count = np.zeros(n + 1, np.int64)
    for p in range(x.shape[0]):
        c = min(max(int(x[p] * n), 0), n - 1)
        count[c + 1] += 1
    for c in range(n):
        count[c + 1] += count[c]
    s = 0.0
    for c in range(n):
        for k in range(count[c], count[c + 1]):
            s += x[k] * c
    return s, count


def last_index(x):
    for i in range(len(x)):
        if x[i] > 100.0:
            break
    return x[i] * i


def guarded(x, flag):
    if flag:
        scale = 2.0
    s = 0.0
    for i in range(len(x)):
        if flag:
            s += scale * x[i]
        else:
            s += x[i]
    return s


def _x() -> Any:
    return np.linspace(-1.0, 1.2, 9)


PROGRAMS: list[tuple[Callable[..., Any], Callable[[], tuple[Any, ...]]]] = [
    (gauss_seidel, lambda: (np.outer(_x(), _x()), np.ones((9, 9)), 0.3, 3)),
    (newton, lambda: (1.5, 1e-9)),
    (fibonacci, lambda: (500,)),
    (first_above, lambda: (_x(), 0.3)),
    (first_above, lambda: (_x(), 3.0)),
    (swapped_buffers, lambda: (_x(), 3)),
    (backward, lambda: (_x(),)),
    (integers, lambda: (12,)),
    (mixed, lambda: (_x()[::-1].copy(), 4)),
    (mixed, lambda: (_x()[::-1], 4)),
    (clipped, lambda: (_x(),)),
    (views, lambda: (np.outer(_x(), _x()),)),
    (cells, lambda: (np.abs(_x()) / 1.3, 4)),
    (last_index, lambda: (_x(),)),
    (guarded, lambda: (_x(), True)),
    (guarded, lambda: (_x(), False)),
]
