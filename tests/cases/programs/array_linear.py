"""Linear algebra in NumPy style: rows, columns and blocks of matrices as slices."""

from __future__ import annotations

import numpy as np

from ..record import ints, wave


def _spd(n: int, seed: int = 0) -> np.ndarray:
    a = wave(n, n, seed=seed)
    return a @ a.T + n * np.eye(n)


def conjugate_gradients(a, b, iterations):
    x = np.zeros_like(b)
    r = b - a @ x
    p = r.copy()
    rs = np.dot(r, r)
    for _ in range(iterations):
        ap = a @ p
        alpha = rs / np.dot(p, ap)
        x += alpha * p
        r -= alpha * ap
        new = np.dot(r, r)
        p = r + (new / rs) * p
        rs = new
    return np.sum(x * x)


def cholesky(a):
    """PolyBench `cholesky` with dot products of rows, in place."""
    n = a.shape[0]
    for i in range(n):
        for j in range(i):
            a[i, j] -= np.dot(a[i, :j], a[j, :j])
            a[i, j] /= a[j, j]
        a[i, i] = np.sqrt(a[i, i] - np.dot(a[i, :i], a[i, :i]))
    return np.sum(np.log(np.array([a[0, 0], a[1, 1]]))) + np.sum(a[-1] ** 2)


def lu(a):
    """Elimination by outer products, in place."""
    n = a.shape[0]
    for k in range(n - 1):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    total = 0.0
    for k in range(n):
        total += np.log(np.abs(a[k, k]))
    return total + np.sum(a * a)


def lu_pivoted(a, b):
    """Elimination with row swaps (by index arrays), then the solution of a system."""
    n = a.shape[0]
    for k in range(n):
        p = k + np.argmax(np.abs(a[k:, k]))
        if p != k:
            a[np.array([k, p])] = a[np.array([p, k])]
            b[k], b[p] = b[p], b[k]
        for i in range(k + 1, n):
            f = a[i, k] / a[k, k]
            a[i, k:] -= f * a[k, k:]
            b[i] -= f * b[k]
    for k in range(n - 1, -1, -1):
        b[k] = (b[k] - a[k, k + 1 :] @ b[k + 1 :]) / a[k, k]
    return np.sum(b * b)


def gram_schmidt(a):
    """PolyBench `gramschmidt`."""
    q, r = np.zeros_like(a), np.zeros((a.shape[1], a.shape[1]))
    for k in range(a.shape[1]):
        r[k, k] = np.sqrt(np.dot(a[:, k], a[:, k]))
        q[:, k] = a[:, k] / r[k, k]
        for j in range(k + 1, a.shape[1]):
            r[k, j] = np.dot(q[:, k], a[:, j])
            a[:, j] -= q[:, k] * r[k, j]
    return np.sum(q[0] * r[0]) + np.sum(r * r)


def householder(a):
    """QR by reflections: a rank-one update of a block of the matrix."""
    for k in range(a.shape[1]):
        v = a[k:, k].copy()
        v[0] += np.linalg.norm(v)
        v /= np.linalg.norm(v)
        a[k:, k:] -= 2.0 * np.outer(v, v @ a[k:, k:])
    return np.sum(a[0] ** 2) - a[1, 1] * a[0, 2]


def durbin(r):
    """Levinson-Durbin (PolyBench `durbin`): overlapping slices, one turned round."""
    n = r.shape[0]
    y = np.empty_like(r)
    alpha, beta = -r[0], 1.0
    y[0] = -r[0]
    for k in range(1, n):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(r[k - 1 :: -1][:k], y[:k])) / beta
        y[:k] += alpha * y[k - 1 :: -1][:k]
        y[k] = alpha
    return np.sum(y * y)


def thomas(lower, diagonal, upper, b):
    """A tridiagonal system for several right-hand sides, in place."""
    n = b.shape[0]
    for i in range(1, n):
        w = lower[i] / diagonal[i - 1]
        diagonal[i] -= w * upper[i - 1]
        b[i] -= w * b[i - 1]
    b[-1] /= diagonal[-1]
    for i in range(n - 2, -1, -1):
        b[i] = (b[i] - upper[i] * b[i + 1]) / diagonal[i]
    return np.sum(b**2)


def triangular_solve(a, b):
    """PolyBench `trisolv`."""
    x = np.zeros_like(b)
    for i in range(b.shape[0]):
        x[i] = (b[i] - a[i, :i] @ x[:i]) / a[i, i]
    return x @ x


def _weights(m):
    w = np.zeros((m, m))
    for i in range(m):
        w[i, i:] = 0.3 * i + 0.1
    return w


def covariance(data):
    """PolyBench `covariance` as in NPBench: one value for a row and a column."""
    mean = data.sum(axis=0) / data.shape[0]
    data -= mean
    m = data.shape[1]
    cov = np.zeros((m, m))
    for i in range(m):
        cov[i:m, i] = cov[i, i:m] = data[:, i] @ data[:, i:m] / (data.shape[0] - 1.0)
    return np.sum(cov * cov * _weights(m))


def correlation(data):
    """PolyBench `correlation`: deviations that are too small are one, by a mask."""
    mean = np.sum(data, axis=0) / data.shape[0]
    deviation = np.sqrt(np.sum((data - mean) ** 2, axis=0) / data.shape[0])
    deviation[deviation <= 0.1] = 1.0
    data -= mean
    data /= np.sqrt(float(data.shape[0])) * deviation
    m = data.shape[1]
    corr = np.eye(m)
    for i in range(m - 1):
        corr[i + 1 : m, i] = corr[i, i + 1 : m] = data[:, i] @ data[:, i + 1 : m]
    return np.sum(corr[0] * corr[1]) + corr[0, m - 1]


def ridge(x, y, penalty):
    """Normal equations, solved by elimination with slices."""
    n = x.shape[1]
    a = x.T @ x + penalty * np.eye(n)
    b = x.T @ y
    for k in range(n):
        b[k + 1 :] -= a[k + 1 :, k] / a[k, k] * b[k]
        a[k + 1 :, k:] -= (a[k + 1 :, k] / a[k, k])[:, None] * a[k, k:]
    for k in range(n - 1, -1, -1):
        b[k] = (b[k] - np.sum(a[k, k + 1 :] * b[k + 1 :])) / a[k, k]
    residual = x @ b - y
    return 0.5 * np.sum(residual**2) + 0.5 * penalty * np.sum(b**2)


def power_iteration(data, v, turns):
    """The leading principal component."""
    centred = data - data.mean(axis=0)
    c = centred.T @ centred / (data.shape[0] - 1)
    for _ in range(turns):
        v = c @ v
        v /= np.linalg.norm(v)
    return v @ c @ v


def kalman(f, h, q, r, x, p, seen):
    """A Kalman filter with matrices and one observed number a step: the negative log-likelihood."""
    loss = 0.0
    for z in seen:
        x = f @ x
        p = f @ p @ f.T + q
        s = h @ p @ h + r
        gain = p @ h / s
        e = z - np.dot(h, x)
        x = x + gain * e
        p = p - np.outer(gain, h @ p)
        loss += 0.5 * (np.log(s) + e * e / s)
    return loss


def csr_product(values, columns, starts, x):
    """A sparse matrix times a vector: rows of gathered elements (NPBench `spmv`)."""
    y = np.empty(starts.shape[0] - 1)
    for i in range(y.shape[0]):
        cols = columns[starts[i] : starts[i + 1]]
        vals = values[starts[i] : starts[i + 1]]
        y[i] = vals @ x[cols]
    return np.sum(y * y)


def power_trace(a):
    """Numba's own example (`go_fast`), to the trace of it."""
    trace = 0.0
    for i in range(a.shape[0]):
        trace += np.tanh(a[i, i])
    b = a + trace
    return np.trace(b @ b) / a.size


def symmetric_rank_k(alpha, beta, c, a):
    """PolyBench `syrk`."""
    for i in range(a.shape[0]):
        c[i, : i + 1] *= beta
        for k in range(a.shape[1]):
            c[i, : i + 1] += alpha * a[i, k] * a[: i + 1, k]
    return np.sum(c * c)


PROGRAMS = [
    (conjugate_gradients, (_spd(4), wave(4), 3)),
    (cholesky, (_spd(4),)),
    (lu, (_spd(4),)),
    (lu_pivoted, (wave(4, 4)[::-1] + np.eye(4)[::-1], wave(4))),
    (gram_schmidt, (wave(4, 3),)),
    (householder, (wave(4, 3),)),
    (durbin, (0.3 * wave(5),)),
    (thomas, (wave(4), 4.0 * wave(4, seed=1), wave(4, seed=2), wave(4, 2))),
    (triangular_solve, (wave(4, 4), wave(4))),
    (covariance, (wave(5, 3),)),
    (correlation, (wave(5, 3),)),
    (ridge, (wave(5, 3), wave(5), 0.3)),
    (power_iteration, (wave(5, 3), wave(3), 3)),
    (
        kalman,
        (0.7 * wave(2, 2), wave(2), 0.2 * np.eye(2), 0.5, wave(2), np.eye(2), wave(3)),
    ),
    (csr_product, (wave(6), ints(0, 2, 1, 0, 3, 2), ints(0, 2, 3, 3, 6), wave(4))),
    (power_trace, (wave(3, 3),)),
    (symmetric_rank_k, (0.7, 0.4, wave(3, 3), wave(3, 2))),
]
