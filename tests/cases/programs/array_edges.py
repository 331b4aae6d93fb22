"""Where array statements are easily got wrong: overlaps, views beside calls that write, extents of one, repeated indices."""

from __future__ import annotations

import numpy as np

from ..record import ints, wave


def _bumped(a):
    a[:] = a * 1.5 + 0.1
    return a


def _bump(a):
    return np.sum(_bumped(a)) * 0.1


def view_before_write(a):
    """A slice is a view: beside a call that writes the array it shows what was written."""
    y = a[1:] + _bump(a)
    y *= np.maximum(a[:-1], _bump(a)) + a[::-1][1:] * _bumped(a)[1:]
    return np.sum(y * y)


def value_before_write(a, idx):
    """What is computed, or picked, is a value: it is from before the call."""
    y = a * 2.0 + _bump(a)
    y[:5] += a[idx] * _bump(a)
    y += np.where(a < _bump(a), a, y)
    a[1:] += _bump(a) * a[:-1]
    a[idx] *= _bump(a)
    return np.sum(y * y) + np.sum(a)


def stored_from_itself(a):
    """Every overlap of what is read and what is written."""
    a[1:] = a[:-1] * 1.1
    a[:-1] = a[1:] * a[:-1]
    a[::-1] = a
    a[::2] = a[::-2] * a[:3]
    v = a[1:]
    v[:] = a[:-1] + v[::-1]
    v[::-1] += a[:-1]
    return np.sum(a * v[0])


def transposed_onto_itself(s):
    s[:] = s.T * s
    s += s.T
    s[0], s[1] = s[1], s[0].copy()
    s[1:, :2] = s[:-1, 1:3] + s[0, 0]
    t = s.T
    t[0] = s[0] * t[1]
    return np.sum(s * s[::-1])


def one_name_for_two(a, b, turns):
    """Names that a branch or a loop binds: which array they are is only known as it runs."""
    c = a if a[0] > 0.5 else b
    c[1:] = a[:-1] * 2.0
    a[:-1] += c[1:] * b[1:]
    d = a.copy()
    for k in range(turns):
        d[1:] = a[:-1] * 0.9
        if k == 1:
            a = d
        else:
            a, d = d, a
    return np.sum(a * d) + b[2]


def extents_of_one(a, i):
    """Axes of extent one: constant, kept by a reduction, new, by slices of at most one."""
    z, w = np.ones((1, 5)) * 2.0, np.zeros((4, 1)) + a[:, :1]
    y = a * z + w * z - a.sum(axis=1, keepdims=True) * a.max(axis=0, keepdims=True)
    y += a[:1] * a[:, -1:] + a[0:1] * w + a[i : i + 1] * y[:, 1:2]
    for k in range(2):
        y[k : k + 1] = a[k : k + 1] * y[k + 1 : k + 2] + z
        y[:, k : k + 1] *= w
    a[:] = z * y[:, 2:3]
    return np.sum(y * y) + np.sum(a)


def new_axes(x, a, t):
    """None among the indices, on both sides."""
    d = x[:, None] - a[0][None, :4]
    y = np.exp(-d * d) * a[:, None, 1] + x[None]
    t[:, None] *= x[None, None, :3, None] + 0.1
    t += t[:, None, 0] * x[:2]
    a[1, :4][:, None] += y[:, :1]
    i = np.array([0, -1, 2])
    z = a[i[:, None], np.array([1, 3])] * x[:3, None]
    return np.sum(y * y) + np.sum(z * z) + np.sum(t**2)


def slices_of_every_kind(a, k):
    """Bounds that are out of range, negative, empty; steps of both signs."""
    a[3:2] = a[4:1] * 2.0
    a[10:] = 3.0
    a[-100:2] *= 2.0
    a[:100:3] = a[1::3] * a[0]
    a[4:0:-2] = a[:2] * 3.0
    a[::k] = a[:3] * a[-3:]
    a[5:5] += a[9:]
    a[:0] *= a[-1:]
    b = a[k:] * a[:-k]
    return np.sum(a * a) + np.sum(b)


def picked_and_scattered(a, x, idx, w):
    """Repeated and negative indices; the last one wins."""
    x[idx] = w * x[idx]
    x[idx] += w
    i, j = np.array([0, -1, 2]), np.array([1, 1, -2])
    a[i, j] = a[i, j] * a[1, j] + a[i, 2]
    a[i] *= a[i][:, :1]
    a[np.array([0, 1])] = a[np.array([1, 0])]
    return np.sum(a * a) + np.sum(x * x)


def masked(a, x, y):
    """Masks of elements and of rows; what they are computed from is stored to."""
    x[x > 1.0] *= 2.0
    x[x[::-1] < 0.6] = 0.25
    m = x > 0.5
    x[m] = y[m] * x[m]
    x[~m] += np.mean(y[m])
    a[a > 1.2] -= a[a > 1.2] ** 2
    r = a[:, 0] > 0.6
    a[r] = a[r] * 0.5
    a[r, 1] = 0.7
    a[:, a[0] > 0.3] += 1.0
    return np.sum(a * a) + np.sum(x * x) + np.sum(y[y > 100.0])


def integers_too(x, k):
    """Arrays of integers are stored through and updated; sums of small ones do not wrap."""
    small = np.zeros(3, np.uint8)
    small[:] = 200
    k[:] = x * 10.0
    k[1:] += k[:-1]
    k[k > 12] = 3
    y = x * (k // 2) + k % 3 + k / 4 + k**2
    return np.sum(y * y) + 0.001 * np.sum(small) * np.sum(x)


def sums_of_numbers(x):
    """A number is an array of no axes."""
    return np.tanh(np.sum(_bump(x))) * np.max(x[0]) + np.mean(x[1] * 2.0) * np.prod(x[2]) + np.sum(x[:0])


def clipped(x, y):
    return np.sum(np.clip(x * 2.0, 0.8, 2.0) * np.clip(y, None, 1.0) + np.clip(x, y * 0.5, y * 2.0) ** 2)


def stretched_under_a_name(m, idx):
    """A slice that has one element by its form has one under a name, too."""
    i, first, last = idx[0], m[:1, :1], m[-1:]
    row = m[i : i + 1].copy()
    np.add.at(m, idx, m[:1] * 0.5)
    np.add.at(m, idx, m[:1, :1])
    m[:2] = m[:2] * last + row
    m += first * 0.25
    return np.sum(m * m)


def divided_as_arrays_and_as_numbers(x, k):
    """Beside arrays of floats, a remainder of int32 and int is int32 in NumPy, and raises as Python's."""
    y = 1.0 / (2.0 + x * x)
    y[k[0] % len(x)] *= x[k[1] // 2]
    return np.sum(y * x)


PROGRAMS = [
    (view_before_write, (wave(6),)),
    (value_before_write, (wave(6), ints(0, 2, 2, -1, 5))),
    (stored_from_itself, (wave(6),)),
    (transposed_onto_itself, (wave(4, 4),)),
    (one_name_for_two, (wave(5), wave(5, seed=1), 3)),
    (extents_of_one, (wave(4, 5), 2)),
    (new_axes, (wave(4), wave(4, 5), wave(2, 3, 2))),
    (slices_of_every_kind, (wave(6), -2)),
    (picked_and_scattered, (wave(4, 5), wave(6), ints(0, 2, 2, -1, 5), wave(5, seed=1))),
    (masked, (wave(4, 5), wave(6), wave(6, seed=1))),
    (integers_too, (wave(6), np.arange(6))),
    (sums_of_numbers, (wave(4),)),
    (clipped, (wave(6), wave(6, seed=1))),
    (stretched_under_a_name, (wave(4, 5), ints(1, 2, 1))),
    (divided_as_arrays_and_as_numbers, (wave(4), np.array([5, 3], np.int32))),
]
