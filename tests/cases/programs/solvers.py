"""Linear algebra and iterations as people write them in loops, in place (cases A 5, 9, 15, 19, 36)."""

from __future__ import annotations

import math

import numpy as np

from ..record import Case, ints, vec, wave


def thomas(low, diag, up, rhs):
    n = len(diag)
    for i in range(1, n):
        w = low[i] / diag[i - 1]
        diag[i] -= w * up[i - 1]
        rhs[i] -= w * rhs[i - 1]
    rhs[n - 1] /= diag[n - 1]
    for i in range(n - 2, -1, -1):
        rhs[i] = (rhs[i] - up[i] * rhs[i + 1]) / diag[i]
    s = 0.0
    for i in range(n):
        s += rhs[i]
    return s


def lu_solve(a, b):
    n = len(b)
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]
    for i in range(n):
        for j in range(i):
            b[i] -= a[i, j] * b[j]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            b[i] -= a[i, j] * b[j]
        b[i] /= a[i, i]
    s = 0.0
    for i in range(n):
        s += b[i]
    return s


def lu_pivoted_determinant(a):
    n = a.shape[0]
    det = 1.0
    for k in range(n):
        p = k
        for i in range(k + 1, n):
            if abs(a[i, k]) > abs(a[p, k]):
                p = i
        if p != k:
            for j in range(n):
                a[k, j], a[p, j] = a[p, j], a[k, j]
            det = -det
        det *= a[k, k]
        for i in range(k + 1, n):
            factor = a[i, k] / a[k, k]
            for j in range(k, n):
                a[i, j] -= factor * a[k, j]
    return det


def cholesky_logdet(a):
    n = a.shape[0]
    logdet = 0.0
    for j in range(n):
        for k in range(j):
            a[j, j] -= a[j, k] * a[j, k]
        a[j, j] = math.sqrt(a[j, j])
        logdet += 2 * math.log(a[j, j])
        for i in range(j + 1, n):
            for k in range(j):
                a[i, j] -= a[i, k] * a[j, k]
            a[i, j] /= a[j, j]
    return logdet


def triangular_solve(t, b):
    for i in range(len(b)):
        s = b[i]
        for j in range(i):
            s -= t[i, j] * b[j]
        b[i] = s / t[i, i]
    return b[-1]


def levinson_durbin(r, y):
    n = len(r)
    y[0] = -r[0]
    beta = 1.0
    alpha = -r[0]
    for k in range(1, n):
        beta = (1 - alpha * alpha) * beta
        s = r[k]
        for i in range(k):
            s += r[k - 1 - i] * y[i]
        alpha = -s / beta
        front = y[:k]
        back = front[::-1]
        half = (k + 1) // 2
        for i in range(half):
            left = front[i] + alpha * back[i]
            right = back[i] + alpha * front[i]
            front[i] = left
            if i != k - 1 - i:
                back[i] = right
        y[k] = alpha
    total = 0.0
    for i in range(n):
        total += y[i] * (i + 1)
    return total


def gauss_seidel(u, f, sweeps):
    n, m = u.shape
    for s in range(sweeps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - f[i, j])
    total = 0.0
    for i in range(n):
        for j in range(m):
            total += u[i, j] ** 2
    return total


def red_black(u, f, sweeps):
    n, m = u.shape
    for s in range(sweeps):
        for colour in range(2):
            for i in range(1, n - 1):
                for j in range(1, m - 1):
                    if (i + j) % 2 == colour:
                        u[i, j] = (
                            0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]) - f[i, j] * u[i, j]
                        )
    return u[1, 1] + u[n - 2, m - 2] * u[1, m - 2]


def csr_product(indptr, col, val, x, y):
    for i in range(len(y)):
        s = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            s += val[k] * x[col[k]]
        y[i] = s
    total = 0.0
    for i in range(len(y)):
        total += y[i] * y[i]
    return total


def newton_cube_root(a, start):
    x = start
    turns = 0
    while abs(x * x * x - a) > 1e-12 and turns < 60:
        x -= (x * x * x - a) / (3 * x * x)
        turns += 1
    return x


def newton_per_element(a):
    s = 0.0
    for i in range(len(a)):
        y = 1.0
        k = 0
        while k < 40:
            step = (y * y - a[i]) / (2 * y)
            y -= step
            k += 1
            if abs(step) < 1e-5:
                break
        s += y * (i + 1)
    return s


def runge_kutta(u, k1, k2, rate, steps):
    n = len(u)
    dt = 0.1
    for _ in range(steps):
        for i in range(n):
            k1[i] = -rate * u[i] * u[i - 1]
        for i in range(n):
            u[i] += 0.5 * dt * k1[i]
        for i in range(n):
            k2[i] = -rate * u[i] * u[i - 1] + math.cos(u[i])
        for i in range(n):
            u[i] += dt * (k2[i] - 0.5 * k1[i])
    s = 0.0
    for i in range(n):
        s += u[i] * u[i]
    return s


def matrix_product(a, b, c):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            c[i, j] = 0.0
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[k, j]
    trace = 0.0
    for i in range(c.shape[0]):
        trace += c[i, i] * c[i, 0]
    return trace


def power_iteration(a, v, turns):
    n = len(v)
    w = np.empty(n)
    norm = 0.0
    for _ in range(turns):
        norm = 0.0
        for i in range(n):
            w[i] = 0.0
            for j in range(n):
                w[i] += a[i, j] * v[j]
            norm += w[i] * w[i]
        norm = math.sqrt(norm)
        for i in range(n):
            v[i] = w[i] / norm
    return norm


def _tridiagonal(low, diag, up):
    return np.diag(diag) + np.diag(low[1:], -1) + np.diag(up[:-1], 1)


def _thomas_gradient(low, diag, up, rhs):
    a = _tridiagonal(low, diag, up)
    x, y = np.linalg.solve(a, rhs), np.linalg.solve(a.T, np.ones(len(rhs)))
    d = -np.outer(y, x)
    return (
        np.concatenate([[0.0], np.diag(d, -1)]),
        np.diag(d).copy(),
        np.concatenate([np.diag(d, 1), [0.0]]),
        y,
    )


def _lu_gradient(a, b):
    x, y = np.linalg.solve(a, b), np.linalg.solve(a.T, np.ones(len(b)))
    return -np.outer(y, x), y


def _newton_gradient(a):
    return (0.5 * np.arange(1, len(a) + 1) / np.sqrt(a),)


def _csr_gradient(indptr, col, val, x, y):
    rows = np.repeat(np.arange(len(y)), np.diff(indptr))
    a = np.zeros((len(y), len(x)))
    np.add.at(a, (rows, col), val)
    r = 2 * (a @ x)
    return r[rows] * x[col], a.T @ r, 0 * y


_dominant = wave(3, 3) + 3 * np.eye(3)
_spd = wave(3, 3) @ wave(3, 3).T + 2 * np.eye(3)
CASES = [
    Case(
        "thomas",
        thomas,
        (wave(4), wave(4, seed=1, low=4, high=5), wave(4, seed=2), wave(4, seed=3)),
        (0, 1, 2, 3),
        _thomas_gradient,
        "A15",
    ),
    Case("lu_solve", lu_solve, (_dominant, wave(3)), (0, 1), _lu_gradient, "A15", core=True),
    Case(
        "lu_pivoted_determinant",
        lu_pivoted_determinant,
        (np.array([[0.2, 1.1, 0.7], [1.5, 0.4, 0.9], [0.6, 1.9, 0.3]]),),
        gradient=lambda a: (np.linalg.det(a) * np.linalg.inv(a).T,),
        origin="A15, rows swapped",
    ),
    Case("cholesky_logdet", cholesky_logdet, (_spd,), origin="A15"),
    Case("triangular_solve", triangular_solve, (_dominant, wave(3)), (0, 1), origin="A15"),
    Case(
        "levinson_durbin",
        levinson_durbin,
        (vec(0.5, 0.3, 0.2, 0.1), np.zeros(4)),
        origin="A15: overlapping views",
    ),
    Case("gauss_seidel", gauss_seidel, (wave(4, 4), wave(4, 4, seed=1), 2), (0, 1), origin="B30"),
    Case(
        "red_black", red_black, (wave(4, 4), wave(4, 4, seed=1, low=0.05, high=0.1), 2), (0, 1), origin="B30"
    ),
    Case(
        "csr_product",
        csr_product,
        (ints(0, 2, 2, 5), ints(0, 0, 2, 1, 2), wave(5), wave(3, seed=1), np.zeros(3)),
        (2, 3, 4),
        _csr_gradient,
        "A19",
    ),
    Case(
        "newton_cube_root",
        newton_cube_root,
        (2.0, 1.0),
        gradient=lambda a, s: (a ** (-2 / 3) / 3,),
        origin="A5",
    ),
    Case(
        "newton_per_element",
        newton_per_element,
        (wave(3),),
        gradient=_newton_gradient,
        origin="A5, in a for loop",
    ),
    Case("runge_kutta", runge_kutta, (wave(3), np.zeros(3), np.zeros(3), 0.4, 3), (0, 3), origin="C36"),
    Case(
        "matrix_product",
        matrix_product,
        (wave(2, 3), wave(3, 2, seed=1), np.ones((2, 2))),
        (0, 1, 2),
        origin="A15",
    ),
    Case("power_iteration", power_iteration, (_spd, wave(3), 3), (0, 1), origin="A15"),
]
