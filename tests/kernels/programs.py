"""Host programs with kernels and parallel loops, after section B of the cases, and their gradients."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit, prange

import adjit as aj

X = np.array([0.7, -1.2, 0.4, 1.9, -0.3])
W = np.array([1.5, 0.5, -2.0, 0.25, 3.0])


@dataclass(frozen=True)
class Program:
    """A host function that returns a number. gradient: closed form, one per entry of wrt; None: by differences."""

    name: str
    f: Callable[..., Any]
    args: tuple[Any, ...]
    wrt: tuple[int, ...] = (0,)
    gradient: Callable[..., tuple[Any, ...]] | None = None


# 24, 25: a shared number, a scalar parameter


def shared_by_prange(a, x, w):
    y = np.zeros(len(x))
    for i in prange(len(x)):
        y[i] = a[0] * x[i]
    s = 0.0
    for i in range(len(x)):
        s += w[i] * y[i]
    return s


@aj.kernel
def scale(y, alpha, x):
    i = aj.index()
    y[i] = alpha * x[i]


def scaled(alpha, x, w):
    y = np.zeros(len(x))
    scale(y, alpha, x, ndrange=len(x))
    return np.sum(w * y)


def summed_by_prange(x):
    s = 0.0
    for i in prange(len(x)):
        s += x[i] * x[i]
    return s


# 26, 28: loops in a kernel, whose length is read from memory


@aj.kernel
def iterate(y, x, count):
    i = aj.index()
    v = x[i]
    for _ in range(count[i]):
        v = math.sin(v) * v + 0.1
    y[i] = v


def iterated(x, count):
    y = np.empty_like(x)
    iterate(y, x, count, ndrange=x.shape[0])
    return np.sum(y)


@aj.kernel
def settle(y, x):
    i = aj.index()
    v = 1.0
    while abs(v * v - x[i]) > 1e-12:
        v = 0.5 * (v + x[i] / v)
    y[i] = v


def settled(x):
    y = np.zeros(len(x))
    settle(y, x, ndrange=len(x))
    return np.sum(y)


# 27: in place


@aj.kernel
def square(u):
    i = aj.index()
    u[i] = u[i] * u[i]


def squared_thrice(u):
    v = u.copy()
    for _ in range(3):
        square(v, ndrange=len(v))
    return np.sum(v)


# 29: scatter


@aj.kernel
def pair_forces(f, x):
    i, j = aj.index(2)
    if i == j:
        return
    d = x[i] - x[j]
    aj.atomic_add(f, j, d * d * d)


def pulled(x, w):
    f = np.zeros(len(x))
    pair_forces(f, x, ndrange=(len(x), len(x)))
    return np.sum(w * f)


@aj.kernel
def histogram(h, bins, w):
    i = aj.index()
    aj.atomic_add(h, bins[i], w[i] * w[i])


def binned(w, bins):
    h = np.zeros(3)
    histogram(h, bins, w, ndrange=len(w))
    return h[0] * h[1] + h[2] ** 2


# 30: red-black half sweeps


@aj.kernel
def half_sweep(u, f, colour):
    i, j = aj.index(2)
    if i == 0 or j == 0 or i == u.shape[0] - 1 or j == u.shape[1] - 1:
        return
    if (i + j) % 2 == colour:
        u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] + f[i, j])


def red_black(u, f, sweeps):
    v = u.copy()
    for _ in range(sweeps):
        half_sweep(v, f, 0, ndrange=v.shape)
        half_sweep(v, f, 1, ndrange=v.shape)
    return np.sum(v * v)


# 31: outer products, reductions


@aj.kernel
def outer(c, a, b):
    i, j = aj.index(2)
    c[i, j] = a[i] * b[j]


@aj.kernel
def add_all(total, c):
    i, j = aj.index(2)
    aj.atomic_add(total, 0, c[i, j] * c[i, j])


def outer_norm(a, b):
    c = np.zeros((len(a), len(b)))
    outer(c, a, b, ndrange=(len(a), len(b)))
    total = np.zeros(1)
    add_all(total, c, ndrange=c.shape)
    return total[0]


@aj.kernel
def extremes(low, high, x):
    i = aj.index()
    aj.atomic_min(low, 0, x[i])
    aj.atomic_max(high, 0, x[i])


def spread(x):
    low, high = np.full(1, 1e9), np.full(1, -1e9)
    extremes(low, high, x, ndrange=len(x))
    return high[0] - 2.0 * low[0]


# device functions, closures, local arrays, three axes


@njit
def wave(v):
    return math.sin(v)


def here(x):
    i, j, k = aj.index(3)
    return x[i, j, k] * (i + 2 * j + 3 * k)


def make_filter(strength):
    @aj.kernel
    def smooth(y, x):
        i, j, k = aj.index(3)
        if k >= y.shape[2]:
            return
        weights = np.zeros(3)
        weights[0] = strength
        weights[1] = wave(here(x))
        weights[2] = weights[0] * weights[1]
        s = 0.0
        for n in range(3):
            s += weights[n] * x[i, j, k]
        y[i, j, k] = s

    return smooth


filtered_by = make_filter(0.75)


def filtered(x):
    y = np.zeros_like(x)
    filtered_by(y, x, ndrange=(x.shape[0], x.shape[1], x.shape[2] + 1))
    return np.sum(y * x)


# launches in branches and while loops, swapped buffers, callees that launch


@aj.kernel
def step(new, old, dt):
    i = aj.index()
    left = old[i - 1] if i > 0 else 0.0
    new[i] = old[i] + dt * (left - old[i]) * old[i]


def advance(new, old, dt):
    if dt > 0.0:
        step(new, old, dt, ndrange=len(old))
    else:
        new[:] = old


def marched(u, dt, t_end):
    a, b = u.copy(), np.empty_like(u)
    t = 0.0
    while t < t_end:
        advance(b, a, dt)
        a, b = b, a
        t += 0.25
    return np.sum(a * a)


@aj.kernel
def of_ints(y, k, x):
    i = aj.index()
    y[i] = x[i] ** k[i]


def powers(x, k):
    y = np.zeros(len(x))
    of_ints(y, k, x, ndrange=len(x))
    return np.sum(y)


GRID = np.linspace(-1.0, 1.0, 30).reshape(5, 6) ** 2
CUBE = np.linspace(0.2, 1.1, 24).reshape(2, 3, 4)
BINS = np.array([0, 2, 1, 2, 0])

PROGRAMS = [
    Program(
        "shared_by_prange",
        shared_by_prange,
        (np.array([2.0]), X, W),
        (0, 1),
        lambda a, x, w: (np.array([np.sum(x * w)]), a[0] * w),
    ),
    Program("scaled", scaled, (2.0, X, W), (0, 1), lambda a, x, w: (np.sum(x * w), a * w)),
    Program("summed_by_prange", summed_by_prange, (X,), (0,), lambda x: (2 * x,)),
    Program("iterated", iterated, (X, np.array([0, 3, 1, 7, 2]))),
    Program("settled", settled, (np.abs(X),), (0,), lambda x: (0.5 / np.sqrt(x),)),
    Program("squared_thrice", squared_thrice, (X,), (0,), lambda u: (8 * u**7,)),
    Program("pulled", pulled, (X, W), (0, 1)),
    Program(
        "binned",
        binned,
        (W, BINS),
        (0,),
        lambda w, b: (
            2
            * w
            * np.array([w[2] ** 2, w[0] ** 2 + w[4] ** 2, 2 * (w[1] ** 2 + w[3] ** 2)])[[0, 2, 1, 2, 0]],
        ),
    ),
    Program("red_black", red_black, (GRID, GRID[::-1].copy(), 3), (0, 1)),
    Program(
        "outer_norm",
        outer_norm,
        (X, W),
        (0, 1),
        lambda a, b: (2 * a * np.sum(b * b), 2 * b * np.sum(a * a)),
    ),
    Program("spread", spread, (X,), (0,), lambda x: (1.0 * (x == x.max()) - 2.0 * (x == x.min()),)),
    Program("filtered", filtered, (CUBE,)),
    Program("marched", marched, (X, 0.1, 0.9), (0, 1)),
    Program(
        "powers", powers, (X, np.array([0, 1, 2, 3, 4])), (0,), lambda x, k: (k * x ** np.maximum(k - 1, 0),)
    ),
]
