"""Host programs on device arrays: those of the kernel tests that read no element in host code, and more."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import prange

import adjit as aj
from tests.kernels import programs as p

X, W = p.X, p.W


@dataclass(frozen=True)
class Program:
    """A host function that returns a number. float32: tolerance in single precision; None: not tried."""

    name: str
    f: Callable[..., Any]
    args: tuple[Any, ...]
    wrt: tuple[int, ...] = (0,)
    float32: float | None = 2e-5


def binned(w, bins):
    h = np.zeros(3)
    p.histogram(h, bins, w, ndrange=len(w))
    return np.sum(h * h * h)


def outer_norm(a, b):
    c = np.zeros((len(a), len(b)))
    p.outer(c, a, b, ndrange=(len(a), len(b)))
    total = np.zeros(1)
    p.add_all(total, c, ndrange=c.shape)
    return np.sum(total)


def gathered(x, w):
    """A window of an inner loop, read shifted: its adjoint adds to neighbours."""
    y = np.zeros(len(x))
    for i in prange(len(x)):
        s = 0.0
        for k in range(max(0, i - 2), min(len(x), i + 3)):
            s += w[k] * x[k] * x[i]
        y[i] = math.sin(s)
    return np.sum(y * w)


def diffused(u, rate, steps):
    """Array statements of a time loop: a stencil by slices into a second array, swapped."""
    a, b = u.copy(), u.copy()
    for _ in range(steps):
        b[1:-1, 1:-1] = a[1:-1, 1:-1] + rate * (
            a[2:, 1:-1] + a[:-2, 1:-1] + a[1:-1, 2:] + a[1:-1, :-2] - 4.0 * a[1:-1, 1:-1]
        )
        b[0] = a[1]
        b[-1, :] = 2.0
        a, b = b, a
    return np.sum(a * a) * a[0, 1]


def scalars_in_between(x, w):
    """Numbers from reductions steer the host and go into the next kernel; scalars are recorded by it."""
    v = x * 1.0
    scale = 1.0
    for k in range(4):
        norm = math.sqrt(np.sum(v * v))
        if norm > 2.5:
            scale = scale * 0.5
        else:
            scale = scale + 0.1 * norm
        v = v * scale + w / (norm + k)
    return np.sum(v) * scale


@aj.kernel
def pulled_by_springs(force, pos, rest):
    i = aj.index()
    n = pos.shape[0]
    for d in range(2):
        left = pos[i - 1, d] if i > 0 else 0.0
        right = pos[i + 1, d] if i + 1 < n else 1.0
        force[i, d] = (left - pos[i, d]) + (right - pos[i, d]) * rest[i]


@aj.kernel
def moved(pos, velocity, force, dt):
    i, d = aj.index(2)
    velocity[i, d] += dt * force[i, d]
    pos[i, d] += dt * velocity[i, d]


def strings(pos, rest, dt, steps):
    """Positions and velocities in place, over time: old values of what kernels overwrite are needed."""
    velocity = np.zeros_like(pos)
    force = np.empty_like(pos)
    q = pos.copy()
    for _ in range(steps):
        pulled_by_springs(force, q, rest, ndrange=len(q))
        moved(q, velocity, force, dt, ndrange=q.shape)
    return np.sum(q * q * velocity)


@aj.kernel
def burgers(new, old, nu):
    i = aj.index()
    n = len(old)
    left, right = old[i - 1], old[(i + 1) % n]
    new[i] = old[i] - old[i] * (right - left) / (1.0 + abs(old[i])) + nu * (left - 2.0 * old[i] + right)


def periodic(u, nu):
    a, b = u.copy(), np.empty_like(u)
    for _ in range(3):
        burgers(b, a, nu, ndrange=len(u))
        a, b = b, a
    return np.sum(a**3)


def sections(u):
    """Views of device arrays: rows, transposes, steps, other shapes."""
    v = np.zeros_like(u)
    v[::2] = u[1::2]
    row = u[-1]
    t = u.T
    flat = u.reshape(-1)
    for i in prange(t.shape[0]):
        v[1, i] = t[i, 0] * row[i] + flat[2 * i]
    return np.sum(v * v * v)


def bounded(x, low, high):
    """Choices, extremes and masks."""
    y = np.where(x > low, np.minimum(x, high), low * x)
    total = 0.0
    biggest = -1e9
    for i in prange(len(y)):
        if y[i] < 1.0:
            total += y[i] * y[i]
        biggest = max(biggest, y[i])
    return total


@aj.kernel
def half_life(y, x, n):
    i = aj.index()
    v = x[i]
    for _ in range(n):
        v = v * 0.5 + 0.1 * math.sin(v)
    y[i] = v


def iterated(x, n):
    """A loop in a kernel whose length the host knows: each work item has as many records."""
    y = np.empty_like(x)
    half_life(y, x, n, ndrange=len(x))
    return np.sum(y)


GRID = np.linspace(-1.0, 1.0, 30).reshape(5, 6) ** 2
SAME = (
    "shared_by_prange",
    "scaled",
    "summed_by_prange",
    "squared_thrice",
    "pulled",
    "red_black",
    "marched",
    "powers",
    "filtered",
)

PROGRAMS = [
    *(Program(q.name, q.f, q.args, q.wrt) for q in p.PROGRAMS if q.name in SAME),
    Program("binned", binned, (W, p.BINS)),
    Program("outer_norm", outer_norm, (X, W), (0, 1)),
    Program("gathered", gathered, (X, W), (0, 1)),
    Program("diffused", diffused, (GRID, 0.1, 3), (0, 1), 1e-4),
    Program("scalars_in_between", scalars_in_between, (X, W), (0, 1)),
    Program("strings", strings, (GRID[:, :2].copy(), np.abs(X), 0.1, 3), (0, 1, 2)),
    Program("periodic", periodic, (X, 0.2), (0, 1)),
    Program("sections", sections, (GRID[:4].copy(),)),
    Program("bounded", bounded, (X, -0.5, 1.2), (0, 1)),
    Program("iterated", iterated, (X, 3)),
]
