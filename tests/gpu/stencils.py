"""Programs of kernels that read neighbours: their adjoints are pulled, but for what `atomic` says."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import prange

import adjit as aj


@dataclass(frozen=True)
class Stencil:
    """A host function that returns a number. atomic: arrays whose adjoints stay atomic. held: whether sums are held."""

    name: str
    f: Callable[..., Any]
    args: tuple[Any, ...]
    wrt: tuple[int, ...] = (0,)
    atomic: tuple[str, ...] = ()
    held: bool = False


@aj.kernel
def half_sweep(u, f, colour, h2):
    i, j = aj.index(2)
    n, m = u.shape
    if (i + j) % 2 == colour and 0 < i < n - 1 and 0 < j < m - 1:
        u[i, j] = 0.25 * (u[i + 1, j] + u[i - 1, j] + u[i, j + 1] + u[i, j - 1]) - h2 * f[i, j]


def red_black(u, f, h2, steps):
    for _ in range(steps):
        for colour in range(2):
            half_sweep(u, f, colour, h2, ndrange=u.shape)
    return np.sum(u * u)


@aj.kernel
def half_returning(u, f, colour):
    i, j = aj.index(2)
    if i == 0 or j == 0 or i == u.shape[0] - 1 or j == u.shape[1] - 1:
        return
    if (i + j) % 2 == colour:
        u[i, j] = 0.25 * (u[i + 1, j] + u[i - 1, j] + u[i, j + 1] + u[i, j - 1]) - f[i, j]


def returning(u, f, steps):
    for _ in range(steps):
        half_returning(u, f, 0, ndrange=u.shape)
        half_returning(u, f, 1, ndrange=u.shape)
    return np.sum(u * u)


@aj.kernel
def half_nonlinear(u, f, colour):
    i, j = aj.index(2)
    if (i + j) % 2 == colour and 0 < i < u.shape[0] - 1 and 0 < j < u.shape[1] - 1:
        around = u[i + 1, j] * u[i - 1, j] + u[i, j + 1] * u[i, j - 1]
        u[i, j] = math.sin(u[i, j]) * 0.5 + 0.3 * around * u[i, j] - f[i, j]


def nonlinear(u, f, steps):
    """In place, and what is overwritten is needed: a record in each work item."""
    for _ in range(steps):
        half_nonlinear(u, f, 0, ndrange=u.shape)
        half_nonlinear(u, f, 1, ndrange=u.shape)
    return np.sum(u * u)


@aj.kernel
def nine_points(b, a, f, c):
    i, j = aj.index(2)
    n, m = a.shape
    if 0 < i < n - 1 and 0 < j < m - 1:
        near = a[i + 1, j] + a[i - 1, j] + a[i, j + 1] + a[i, j - 1]
        far = a[i + 1, j + 1] + a[i - 1, j - 1] + a[i - 1, j + 1] + a[i + 1, j - 1]
        b[i, j] = 0.2 * near + 0.05 * far - c * f[i, j]


def jacobi(u, f, c, steps):
    a, b = u.copy(), u.copy()
    for _ in range(steps):
        nine_points(b, a, f, c, ndrange=a.shape)
        a, b = b, a
    return np.sum(a * a)


@aj.kernel
def seven_points(b, a):
    i, j, k = aj.index(3)
    l, m, n = a.shape
    if 0 < i < l - 1 and 0 < j < m - 1 and 0 < k < n - 1:
        near = (
            a[i + 1, j, k]
            + a[i - 1, j, k]
            + a[i, j + 1, k]
            + a[i, j - 1, k]
            + a[i, j, k + 1]
            + a[i, j, k - 1]
        )
        b[i, j, k] = a[i, j, k] + 0.1 * (near - 6.0 * a[i, j, k]) * a[i, j, k]


def heat(u, steps):
    a, b = u.copy(), u.copy()
    for _ in range(steps):
        seven_points(b, a, ndrange=a.shape)
        a, b = b, a
    return np.sum(a * a)


def total_variation(x):
    total = 0.0
    for i in prange(x.shape[0] - 1):
        for j in range(x.shape[1] - 1):
            a, b = x[i + 1, j] - x[i, j], x[i, j + 1] - x[i, j]
            total += math.sqrt(a * a + b * b + 1e-6)
    return total


@aj.kernel
def variation(t, x):
    i, j, k = aj.index(3)
    a = x[i + 1, j, k] - x[i, j, k] if i + 1 < x.shape[0] else 0.0
    b = x[i, j + 1, k] - x[i, j, k] if j + 1 < x.shape[1] else 0.0
    c = x[i, j, k + 1] - x[i, j, k] if k + 1 < x.shape[2] else 0.0
    t[i, j, k] = math.sqrt(a * a + b * b + c * c + 1e-6)


def total_variation_3d(x):
    t = np.zeros_like(x)
    variation(t, x, ndrange=x.shape)
    return np.sum(t)


@aj.kernel
def convolved(y, x, w):
    i, j = aj.index(2)
    if 1 <= i < x.shape[0] - 1 and 1 <= j < x.shape[1] - 1:
        s = 0.0
        for p in range(3):
            for q in range(3):
                s += w[p, q] * x[i + p - 1, j + q - 1]
        y[i, j] = s


def convolution(x, w):
    y = np.zeros_like(x)
    convolved(y, x, w, ndrange=x.shape)
    return np.sum(y * y)


@aj.kernel
def upwinded(new, old, vel, dt):
    i, j = aj.index(2)
    n, m = old.shape
    w = vel[i, j]
    left, right = old[max(i - 1, 0), j], old[min(i + 1, n - 1), j]
    low, high = old[i, j - 1], old[i, (j + 1) % m]
    flow = max(w, 0.0) * (old[i, j] - left) + min(w, 0.0) * (right - old[i, j])
    new[i, j] = old[i, j] - dt * flow * (high - low) + 0.1 * (high - 2.0 * old[i, j] + low)


def upwind(u, vel, steps):
    a, b = u.copy(), np.empty_like(u)
    for _ in range(steps):
        upwinded(b, a, vel, 0.1, ndrange=a.shape)
        a, b = b, a
    return np.sum(a * a)


@aj.kernel
def spring_forces(force, pos, rest):
    i = aj.index()
    n = pos.shape[0]
    for d in range(2):
        left = pos[i - 1, d] if i > 0 else 0.0
        right = pos[i + 1, d] * rest[i + 1] if i + 1 < n else 1.0
        force[i, d] = left * rest[i] - 2.0 * pos[i, d] + right


def springs(pos, rest):
    """Two adjoint arrays, components by a short inner loop, neighbours by choices."""
    force = np.empty_like(pos)
    spring_forces(force, pos, rest, ndrange=len(pos))
    return np.sum(force * force * pos)


@aj.kernel
def mixed_kernel(y, x, w, at):
    i, j = aj.index(2)
    if i > 0:
        y[i, j] = x[i - 1, j] * w[i, j] + x[at[i], j] * x[i, j] + w[0, 0]


def mixed(x, w, at):
    y = np.zeros_like(x)
    mixed_kernel(y, x, w, at, ndrange=x.shape)
    return np.sum(y * y)


@aj.kernel
def costly_kernel(y, x):
    i, j = aj.index(2)
    if 1 < i < x.shape[0] - 2 and 1 < j < x.shape[1] - 2:
        s = math.exp(x[i, j + 1] * x[i + 1, j]) * math.erf(x[i - 1, j] * x[i, j - 1])
        c = math.tan(0.1 * x[i + 2, j]) ** 1.5 + math.cosh(2.5 + x[i, j - 2])
        y[i, j] = math.exp(math.sin(s * c) * math.cosh(0.1 * s)) * math.cos(x[i, j + 2] * s) * math.atan(c)


def costly(x):
    y = np.zeros_like(x)
    costly_kernel(y, x, ndrange=x.shape)
    return np.sum(y * y)


@aj.kernel
def scaled_neighbours(out, src, colour):
    i, j = aj.index(2)
    if (i + j) % 2 == colour and 0 < i < src.shape[0] - 1 and 0 < j < src.shape[1] - 1:
        out[i, j] = 0.5 * (src[i, j + 1] + src[i - 1, j]) * src[i + 1, j]


def chosen(x, y, steps):
    """One array by two names in every second turn."""
    a, b = x.copy(), y.copy()
    for t in range(steps):
        c = a if t % 2 == 0 else b
        scaled_neighbours(c, b, t % 2, ndrange=a.shape)
    return np.sum(a * b * b)


@aj.kernel
def stopped_early(y, x, n):
    i = aj.index()
    y[i] = x[min(i + 1, n - 1)] * x[max(i - 2, 0)] + x[(i + 1) % n]


def smaller(x, n):
    """Places end before the range of work items does, if n is less than their number."""
    y = np.zeros_like(x)
    stopped_early(y, x, n, ndrange=len(x))
    return np.sum(y * y)


@aj.kernel
def stepped(y, x):
    i = aj.index()
    for j in range(1, x.shape[1] - 1, 3):
        y[i, j] = x[i, j - 1] * x[i, j + 1]


def strided(x):
    """A launch of every third element, and of views."""
    y = np.zeros_like(x)
    stepped(y, x, ndrange=len(x))
    y[1:-1] = y[1:-1] + x[2:] * x[:-2]
    y[::2, 1:] = y[::2, 1:] * x[::2, :-1]
    return np.sum(y * y)


def later(x):
    """A range that begins later than the places that a ring and a clamp lead to."""
    y = np.zeros_like(x)
    n, m = x.shape
    for i in prange(2, n - 1):
        for j in range(3, m - 1):
            y[i, j] = x[i - 2, j] * x[(i - 2) % n, (j - 1) % m] + x[i, max(j - 4, 0)] * x[(i + 2) % n, j]
    return np.sum(y * y)


GRID = np.linspace(-1.0, 1.0, 42).reshape(6, 7) ** 2 + 0.1 * np.sin(np.arange(42.0).reshape(6, 7))
BOX = np.cos(np.arange(120.0).reshape(4, 5, 6))
LINE = np.cos(np.arange(9.0))

STENCILS = [
    Stencil("red_black", red_black, (GRID, GRID + 1.0, 0.1, 2), (0, 1, 2)),
    Stencil("returning", returning, (GRID, GRID + 1.0, 2), (0, 1)),
    Stencil("nonlinear", nonlinear, (GRID, GRID + 1.0, 2), (0, 1)),
    Stencil("jacobi", jacobi, (GRID, GRID + 1.0, 0.3, 3), (0, 1, 2)),
    Stencil("heat", heat, (BOX, 3)),
    Stencil("total_variation", total_variation, (GRID,)),
    Stencil("total_variation_3d", total_variation_3d, (BOX,)),
    Stencil("convolution", convolution, (GRID, GRID[:3, :3].copy()), (0, 1), atomic=("dw",)),
    Stencil("upwind", upwind, (GRID, GRID - 0.5, 3), (0, 1)),
    Stencil("springs", springs, (GRID[:, :2].copy(), LINE[:6].copy()), (0, 1)),
    Stencil("mixed", mixed, (GRID, GRID + 1.0, np.array([3, 0, 5, 5, 1, 2])), (0, 1), atomic=("dx", "dw")),
    Stencil("costly", costly, (GRID,), held=True),
    Stencil("chosen", chosen, (GRID, GRID + 1.0, 3), (0, 1)),
    Stencil("smaller", smaller, (LINE, 9)),
    Stencil("strided", strided, (GRID,)),
    Stencil("later", later, (GRID,)),
]
