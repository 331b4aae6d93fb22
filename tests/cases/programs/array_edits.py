"""Arrays put together and taken apart, sets, windows, polynomials."""

from __future__ import annotations

import numpy as np
import numpy.polynomial.polynomial as poly

from ..record import wave
from .array_functions import Sample, tell

X = wave(7, seed=1) - 1.0
A, B = wave(4, 5, seed=3) - 1.0, wave(2, 3, 4, seed=4) - 1.0


def sets(x, y):
    z = np.concatenate((y, x[:3]))
    return (
        tell(np.union1d(x, z))
        + tell(np.intersect1d(x, z))
        + tell(np.setdiff1d(x, z))
        + tell(np.setxor1d(x, z))
        + tell(np.intersect1d(x, x[2:5], assume_unique=True))
        + tell(np.setdiff1d(x, z, True))
    )


def uniq(a, n, x):
    u, i, inv, c = np.unique(n, return_index=True, return_inverse=True, return_counts=True)
    v, j = np.unique(a, return_inverse=True)
    w_, k = np.unique(x[n], return_counts=True)
    s = np.zeros(len(u))
    np.add.at(s, inv, x)
    return tell(s / c) + np.sum(u * x[i]) + tell(v) + np.sum(j * a) + tell(w_ * k)


def lex(x, n):
    o = np.lexsort((x, n))
    return tell(x[o]) + tell(x[np.lexsort([n, x])])


def edits(x, a, t):
    i = np.array([3, 0])
    s = (
        tell(np.delete(x, 2))
        + tell(np.delete(x, -1))
        + tell(np.delete(x, i))
        + tell(np.delete(a, 1, axis=0))
        + tell(np.delete(a, [0, 2], axis=1))
        + tell(np.delete(a, 3))
        + tell(np.delete(t, slice(0, 2), axis=1))
        + tell(np.delete(x, x > 1))
    )
    s += (
        tell(np.insert(x, 2, x[0] * 2))
        + tell(np.insert(x, 7, [x[1], 3.0]))
        + tell(np.insert(x, i, x[1:3]))
        + tell(np.insert(a, 1, x[:5], axis=0))
        + tell(np.insert(a, -1, x[:4], axis=1))
        + tell(np.insert(a, [1, 1, 4], x[:3], axis=1))
        + tell(np.insert(a, 2, a[1:3], axis=0))
        + tell(np.insert(t, 1, 5.0, axis=2))
        + tell(np.insert(a, 5, x[2]))
        + tell(np.insert(x, [2, 5, 2], 1.5))
    )
    return s


def blocks(a, b, c, d, v):
    m = np.block([[a, b], [c, d]])
    n = np.block([v, 2.0 * v])
    o = np.block([[v], [v * v]])
    p = np.block([[1.0, v], [v[:, None], d]])
    return tell(m) + tell(n) + tell(o) + tell(p) + tell(np.block(a))


def ixs(a, x):
    i = np.ix_([0, 2, 3], [4, 1])
    b = a[i]
    a[np.ix_(np.array([1, 3]), x[:5] > 0.9)] *= 2.0
    a[i] += 1.0
    p, q = np.ix_(np.arange(2), np.arange(3))
    g = np.indices((2, 3))
    r = a[g[0], g[1]] * (p + q)
    return tell(b) + tell(a) + tell(r) + np.broadcast_shapes((2, 1), (3,))[1] * x[0]


def einsum_dots(t, a, m):
    s = (
        tell(np.einsum("...ij,jk->...ik", t, a))
        + tell(np.einsum("...j,...j->...", t, m))
        + tell(np.einsum("i...->...", t))
        + tell(np.einsum("...ij->...ji", t))
        + tell(np.einsum("...,...", m, m[0]))
        + tell(np.einsum("i...,i...->...", m, m))
    )
    return (
        s
        + tell(np.tensordot(t, m, axes=([1, 2], [0, 1])))
        + tell(np.tensordot(a, m, axes=[[1], [1]]))
        + tell(np.einsum("k...i,...i", t, t[0, 0]))
    )


def misc(x, v, a):
    s = (
        tell(np.geomspace(v, 10.0, 5))
        + tell(np.geomspace(-1.0, -x[0], 4))
        + tell(np.heaviside(a, v))
        + tell(np.heaviside(x - x[0], x))
        + np.heaviside(v, x[0])
        + np.heaviside(0.0, v)
    )
    h, e = np.histogram(x, bins=4, density=True, weights=x * x)
    k, f = np.histogram(x, 3, density=True)
    q, r = np.divmod(x, v)
    q2, r2 = np.divmod(v, 0.3)
    s += tell(h) + tell(k * f[1:]) + tell(r) + q.sum() + r2
    return (
        s
        + tell(np.kaiser(6, v * 5))
        + tell(np.i0(x * 8))
        + np.i0(v)
        + tell(np.hanning(5) * x[:5] + np.hamming(5) + np.bartlett(5) * np.blackman(5))
        + tell(np.asarray_chkfinite(x))
        + tell(np.kaiser(1, v))
    )


def polys(c, d, x):
    q, r = poly.polydiv(c, d)
    return (
        tell(poly.polyadd(c, d))
        + tell(poly.polysub(d, c))
        + tell(poly.polymul(c, d))
        + tell(q)
        + tell(r)
        + tell(poly.polyint(c))
        + tell(poly.polyint(c, 2))
        + tell(poly.polyder(d))
        + poly.polyval(x, c)
        + tell(poly.polyval(c, d))
        + tell(poly.polysub(c, c))
    )


def sliding(a, h):
    v = np.lib.stride_tricks.sliding_window_view
    total = tell(v(a[0], 3) @ h) + tell(v(a, (2, 3))) + tell(v(a, 2, axis=1).max(axis=2))
    b = a[:4, :4]
    b[np.diag_indices(3)] *= 2.0
    b[np.diag_indices_from(b)] += 1.0
    return total + np.sum(v(a, (2, 2)) * v(b[::-1], (2, 1))[:, :, :, :][:, :4]) + tell(a)


def parts_assigned(x, y):
    z = np.zeros(7, np.complex128)
    z[:] = x * (1.0 + 1j)
    z.imag += y
    z.real = x * x
    z[1:].imag *= 2.0
    z.real += z.imag
    return np.sum(np.abs(z) ** 3)


def flat(a, b, x):
    a.flat[5] = a.flat[-1] * 2.0
    a.flat[7] += b.flat[8]
    for j in range(3):
        b.flat[j * 2] *= a.flat[j]
    total = np.vdot(a, a[::-1]) + tell(np.inner(a, a)) + tell(np.inner(a, x[:5])) + tell(np.inner(x[:5], a))
    return total + tell(a) + tell(b) + a.flat[a.argmax()]


def slicing(a):
    s = slice(1, None)
    t = np.s_[::2, 1:3]
    a[s, 0] = 2.0
    a[t] *= a[t]
    return tell(a[s]) + tell(a[np.s_[..., 2]])


def kinds(x):
    z = x[:4] * (1.0 + 0j)
    total = x[0]
    if not np.iscomplexobj(x) and np.isrealobj(x) and np.isscalar(total) and not np.isscalar(x):
        total += np.sum(x[:4] * np.isreal(z)) + np.sum(np.iscomplex(z * 1j) * x[3:])
    return total + (x[1] if np.isreal(z[0]) else 0.0)


SAMPLES: dict[str, Sample] = {
    "sets": (
        sets,
        (
            (X + 1.0),
            wave(5, seed=3),
        ),
    ),
    "unique with its numbers": (
        uniq,
        (
            wave(2, 3, seed=8),
            np.array([3, 1, 3, 2, 1, 1]),
            wave(6, seed=2),
        ),
    ),
    "lexsort": (
        lex,
        (
            (X + 1.0),
            np.array([1, 0, 1, 2, 0, 2, 1]),
        ),
    ),
    "deleted and inserted": (
        edits,
        (
            (X + 1.0),
            A,
            B,
        ),
    ),
    "blocks": (
        blocks,
        (
            wave(2, 2, seed=7) - 1.0,
            wave(2, 3, seed=1) - 1.0,
            wave(3, 2, seed=2) - 1.0,
            wave(3, 3, seed=3) - 1.0,
            wave(3, seed=8),
        ),
    ),
    "grids of indices": (
        ixs,
        (
            A,
            (X + 1.0),
        ),
    ),
    "einsum with dots": (
        einsum_dots,
        (
            B,
            A[:, :4],
            wave(3, 4, seed=5) - 1.0,
        ),
    ),
    "spaces, steps, windows": (
        misc,
        (
            (X + 1.0),
            0.7,
            A,
        ),
    ),
    "kinds of numbers": (kinds, (X,)),
    "polynomials": (
        polys,
        (
            (X + 1.0),
            np.array([1.0, 0.0, -2.0, 0.5]),
            1.3,
        ),
    ),
    "sliding windows": (sliding, (A, X[:3])),
    "parts assigned": (parts_assigned, (X, X[::-1] * 0.5)),
    "flat": (flat, (A, B, X)),
    "slices with names": (slicing, (A,)),
}
