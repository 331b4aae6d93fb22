"""Arrays seen through other axes and other shapes: what is written through one name is read through the other."""

from __future__ import annotations

import numpy as np

from ..record import Case, wave


def permuted(m):
    t = np.transpose(m, (2, 0, 1))
    s = 0.0
    for i in range(t.shape[0]):
        for j in range(t.shape[1]):
            for k in range(t.shape[2]):
                t[i, j, k] = t[i, j, k] * m[j, k - 1, i]
                s += t[i, j, k] * (i + 2 * j + 3 * k)
    return s + m[1, 0, 1]


def permuted_by_method(m):
    t = m.transpose((1, 2, 0))
    u = t.transpose(0, -1, 1)
    u[0, 1, 0] = u[0, 1, 0] * u[1, 0, 1]
    return m[1, 0, 0] * m[0, 1, 1] + t[0, 0, 1] * u[0, 1, 0]


def swapped_and_moved(m):
    s = np.swapaxes(m, 0, -1)
    v = np.moveaxis(m, 0, 1)
    s[1, 0, 0] = s[1, 0, 0] * v[0, 1, 1]
    v[1, 0, 1] *= m[1, 1, 0]
    return s[1, 0, 0] * v[1, 0, 1] + m[0, 0, 1] ** 2


def rows_of_a_permuted(m):
    t = np.transpose(m, (1, 0, 2))
    s = 0.0
    for i in range(len(t)):
        row = t[i, 1:]
        for j in range(row.shape[1]):
            row[0, j] = row[0, j] * t[i - 1, 0, j]
            s += row[0, j] * (j + 1)
    return s * m[0, 0, 0]


def outer(x):
    column = x[:, None]
    row = x[np.newaxis, :]
    s = 0.0
    for i in range(column.shape[0]):
        for j in range(row.shape[1]):
            s += column[i, 0] * row[0, j] * (i + 1)
    column[0, 0] = s * row[0, 1]
    return x[0] * x[2] + row.shape[0]


def new_axes_of_parts(m):
    a = m[1:, None, 0]
    b = m[..., None]
    c = m[None]
    d = m[None, 1, ::-1]
    a[0, 0] = a[0, 0] * b[0, 1, 0]
    d[0, 0] = d[0, 0] * c[0, 0, 0]
    return b[1, 0, 0] * c[0, 1, 2] + a.shape[1] * m[1, 1]


def at_least_and_back(x):
    m = np.atleast_2d(x)
    t = np.expand_dims(m, -1)
    v = t[0, :, 0]
    s = 0.0
    for i in range(v.shape[0]):
        v[i] = v[i] * m[0, i - 1]
        s += t[0, i, 0] * (i + 1)
    return s * x[0]


def flipped(m):
    u = np.flipud(m)
    v = np.fliplr(u)
    v[0, 0] = v[0, 0] * u[1, 1]
    return m[1, 2] * m[0, 0]


def reshaped(x):
    y = np.empty(x.size)
    for i in range(x.size):
        y[i] = x[i] * x[i - 1]
    m = y.reshape(2, -1)
    m[1, 0] = m[1, 0] * y[0]
    s = 0.0
    for i in range(m.shape[0]):
        for j in range(m.shape[1]):
            s += m[i, j] * (i + 1) * (j + 2)
    return s + y[3] * y[3]


def reshaped_in_a_loop(x):
    n = x.size // 2
    y = np.zeros(x.size)
    s = 0.0
    for t in range(3):
        m = y.reshape((n, 2))
        for i in range(n):
            m[i, 0] = m[i, 0] * 0.5 + x[i] * x[-1]
            m[i, 1] = m[i - 1, 0] * x[i + n] + t
        f = m.ravel()
        s += f[1] * f[2] + y[t]
    return s


def chosen_shape(x, tall):
    y = np.empty(6)
    for i in range(6):
        y[i] = x[i] * x[i]
    if tall:
        m = y.reshape(3, 2)
    else:
        m = y.reshape(2, 3)
    m[1, 1] = m[1, 1] * m[0, 1]
    return m[1, 1] + y[3] * y[4]


def chosen_axes_in_a_loop(m, n):
    s = 0.0
    for k in range(n):
        if k % 2 == 0:
            t = np.transpose(m, (1, 0))
        else:
            t = m
        for i in range(2):
            t[i, 0] = t[i, 0] * t[0, 1] + 0.1
        s += t[1, 0] * m[1, 0]
    return s


def rebound_shape(x, n):
    y = np.empty(4)
    for i in range(4):
        y[i] = x[i] * x[i]
    v = y
    for k in range(n):
        z = np.empty((2, 2))
        for i in range(4):
            z[i // 2, i % 2] = v[i] * x[k] + v[i - 1]
        v = z.reshape(-1)
    return v[0] * v[3] + y[1]


def returned_shape(x):
    def folded(a, n):
        return np.reshape(a, (n, -1)).T

    y = np.empty(6)
    for i in range(6):
        y[i] = x[i] * x[i - 1]
    m = folded(y, 2)
    m[0, 1] = m[0, 1] * m[2, 0]
    return y[3] * m[1, 1] + m[2, 0]


def computed_extent(x, n):
    y = np.ones(6)
    for i in range(6):
        y[i] = x[i] * x[i]
    m = y.reshape(n, 2)
    k = n if n > 0 else 3
    u = y.reshape(k - 1, n)
    return m[1, 0] * y[3] * u[1, 0] + m.shape[0] + u.shape[1]


def by_size(x):
    y = np.empty(x.shape)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] ** 2
    f = y.reshape(y.size)
    g = y.reshape(y.shape[1], y.shape[0])
    f[1] = f[1] * f[2]
    return f[1] * g[1, 0] + g[2, 1] * y[0, 0]


CASES = [
    Case("permuted", permuted, (wave(2, 3, 2),), origin="views", core=True),
    Case("permuted_by_method", permuted_by_method, (wave(2, 2, 2),), origin="views"),
    Case("swapped_and_moved", swapped_and_moved, (wave(2, 2, 2),), origin="views"),
    Case("rows_of_a_permuted", rows_of_a_permuted, (wave(2, 3, 2),), origin="views"),
    Case("outer", outer, (wave(3),), origin="views: a new axis", core=True),
    Case("new_axes_of_parts", new_axes_of_parts, (wave(2, 3),), origin="views: new axes"),
    Case("at_least_and_back", at_least_and_back, (wave(3),), origin="views: new axes"),
    Case("flipped", flipped, (wave(2, 3),), origin="views"),
    Case("reshaped", reshaped, (wave(6),), origin="views: another shape", core=True),
    Case("reshaped_in_a_loop", reshaped_in_a_loop, (wave(4),), origin="views: another shape"),
    Case("chosen_shape_tall", chosen_shape, (wave(6), True), origin="views: another shape"),
    Case("chosen_shape_wide", chosen_shape, (wave(6), False), origin="views: another shape"),
    Case("chosen_axes_in_a_loop", chosen_axes_in_a_loop, (wave(2, 2), 3), origin="views"),
    Case(
        "rebound_shape", rebound_shape, (wave(4), 3), origin="views: another shape, of a new array each turn"
    ),
    Case("returned_shape", returned_shape, (wave(6),), origin="views: a callee reshapes"),
    Case("computed_extent", computed_extent, (wave(6), 3), origin="views: an extent that may be negative"),
    Case("computed_unknown_extent", computed_extent, (wave(6), -1), origin="views: an extent that is -1"),
    Case("by_size", by_size, (wave(2, 3),), origin="views: another shape"),
]
