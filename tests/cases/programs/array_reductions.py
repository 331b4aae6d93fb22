"""Reductions of arrays: where and from what they start, in which type, into which array; norms of any order."""

from __future__ import annotations

import numpy as np

from ..record import wave
from .array_functions import Sample

X = wave(7, seed=1) - 1.0
A, B = wave(4, 5, seed=3) - 1.0, wave(2, 3, 4, seed=4) - 1.0


def minmax(a, x, e, v):
    m = a > 0
    s = np.max(a, where=m, initial=v * 2) + np.min(a, initial=v * v) + np.max(e, initial=v)
    r = np.max(a, axis=1, where=m, initial=v)
    q = a.min(axis=0, keepdims=True, initial=x[1], where=a < 0.2)
    return s + r @ r + np.sum(q * q) + np.max(x, initial=100.0) * v


def varstd(a, t):
    m = a > -0.8
    s = np.var(a, where=m) + np.std(a, where=m, ddof=1)
    v = a.var(axis=1, where=m, ddof=1)
    k = np.std(a, axis=0, where=m, keepdims=True)
    u = np.var(t, axis=(0, 2), where=t > -1.0)
    mm = np.mean(t, axis=1, where=(t > -1)[:, :, :1])
    return s + v @ v + np.sum(k * a) + u @ u + np.sum(mm**2) + np.any(m, axis=1, where=a > 0).sum() * v[0]


def outred(a, v, t):
    c = np.zeros(5)
    np.sum(a, axis=0, out=c)
    b = np.mean(a * a, axis=1, out=a[:, 1])
    b *= 2
    a.max(axis=0, out=v)
    np.cumsum(c)
    d = np.zeros((2, 1, 4))
    t.prod(axis=1, keepdims=True, out=d)
    np.sum(v, dtype=np.float64)
    return c @ v + np.sum(a * a) + np.sum(d * d) + np.sum(t, axis=0, dtype=np.float64).sum()


def norms(a, x, t, p, z):
    n = np.linalg.norm
    s = (
        n(x, 3)
        + n(x, p)
        + n(x, 0.5)
        + n(x, 0) * p
        + n(x, -1)
        + n(a, 1)
        + n(a, -1)
        + n(a, np.inf)
        + n(a, -np.inf)
        + n(a, 2)
        + n(a, -2)
        + n(a, "nuc")
        + n(a, "fro")
    )
    s += (
        n(t, 1, axis=(0, 2)).sum()
        + n(t, np.inf, axis=(2, 0)).sum()
        + np.sum(n(t, -1, axis=(1, 2), keepdims=True) * t)
        + n(z, 3)
        + n(z, 1)
    )
    return (
        s
        + n(a, 4, axis=1).sum()
        + n(t[0], 2)
        + np.linalg.cond(a)
        + np.linalg.cond(a[:, :4], 1)
        + np.linalg.cond(a, -2)
        + np.linalg.matrix_rank(a) * p
        + n(a, axis=(0, 1))
    )


SAMPLES: dict[str, Sample] = {
    "extremes from a start, where": (
        minmax,
        (
            A,
            (X + 1.0),
            wave(0, seed=8),
            0.3,
        ),
    ),
    "spread where": (
        varstd,
        (
            A,
            B,
        ),
    ),
    "reductions into arrays": (
        outred,
        (
            A,
            wave(5, seed=8),
            B,
        ),
    ),
    "norms": (
        norms,
        (
            A,
            (X + 1.0),
            B,
            2.5,
            wave(3, seed=7) - 1.0 + 1j * wave(3, seed=1) - 1.0,
        ),
    ),
}
