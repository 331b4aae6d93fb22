"""Programs of linear algebra, and of what becomes of its operands and results."""

from __future__ import annotations

import numpy as np

from .programs import Program, numbers

S = numbers(3, 3, seed=11) + 2.0 * np.eye(3)
P = S @ S.T + 0.5 * np.eye(3)
T, W = numbers(4, 3, seed=12), numbers(3, 4, seed=13)
X, V = numbers(3, 2, seed=14), numbers(3, seed=15)
C3, C4 = numbers(3, 3, seed=16), numbers(4, 3, seed=17)


def solve_vector(a, b):
    x = np.linalg.solve(a, b)
    return np.sum(x * x * x)


def solve_matrix(a, b):
    x = np.linalg.solve(a.T, b)
    return np.sum(np.sin(x))


def inverse(a, c):
    return np.sum(np.linalg.inv(a) * c) + np.linalg.inv(a)[0, 1] ** 2


def determinant(a):
    return np.sin(np.linalg.det(a)) + np.linalg.det(a @ a)


def log_determinant(a):
    sign, size = np.linalg.slogdet(a)
    return sign * size * size


def factor(a, c):
    low = np.linalg.cholesky(a)
    return np.sum(low * c) + np.sum(low**3)


def factor_of_product(a, v):
    low = np.linalg.cholesky(a @ a.T + np.eye(3))
    y = np.linalg.solve(low, v)
    return np.sum(y * y) + 2.0 * np.log(low[0, 0] * low[1, 1] * low[2, 2])


def eigenvalues(a):
    w = np.linalg.eigvalsh(a)
    return w[0] * w[1] + w[2] ** 3


def eigenvectors(a, c):
    w, v = np.linalg.eigh(a)
    return np.sum(w**3) + np.sum((v * v) * c) + np.sum((v * np.exp(0.1 * w)) @ v.T * c)


def singular_values(a):
    u, s, vt = np.linalg.svd(a, False)
    return np.sum(s**3) + s[0] * s[1]


def singular_vectors(a, c):
    u, s, vt = np.linalg.svd(a, False)
    n = s.shape[0]
    return (
        np.sum((u * u) * c[:, :n])
        + np.sum((vt * vt) @ c[: vt.shape[1], :n])
        + np.sum((u * np.sqrt(s)) @ vt * c)
    )


def singular_square(a, c):
    u, s, vt = np.linalg.svd(a)
    return np.sum((u * u) * c) + np.sum((vt * vt) @ c) + s[2]


def orthogonal(a, c):
    q, r = np.linalg.qr(a)
    return np.sum(q * c) + np.sum(r * r * r)


def pseudo_inverse(a, c):
    return np.sum(np.linalg.pinv(a) * c) + np.linalg.pinv(a)[0, 1] ** 2


def least_squares(a, b):
    x = np.linalg.lstsq(a, b)[0]
    return np.sum(x * x * x)


def newton_like(a, b):
    x = b * 0.1
    for k in range(3):
        j = a + np.outer(x, x)
        x = x - 0.5 * np.linalg.solve(j, a @ x + x * x - b)
    return np.sum(x * x)


def kalman(p, h):
    m = h[0] * 0.5
    total = 0.0
    for k in range(3):
        s = h @ p @ h.T
        s[0, 0] += 1.0
        s[1, 1] += 1.0
        gain = np.linalg.solve(s, h @ p).T
        m = m + gain @ (h[:, 0] - h @ m)
        p = 1.1 * p - gain @ h @ p
        total += np.sum(m * m) + np.log(np.linalg.det(s))
    return total


def overwritten(a, b):
    x = np.linalg.solve(a, b)
    a[0, :] = x
    b[1] = 5.0 * a[0, 1]
    y = np.linalg.solve(a + 3.0 * np.eye(3), b)
    x[0] = 2.0 * x[0] * y[1]
    return np.sum(x * y)


def in_branches(a, b):
    total = 0.0
    for k in range(3):
        if b[k] > 0.0:
            x = np.linalg.solve(a, b)
            total += x[0] * x[1] * (k + 1)
        else:
            c = np.linalg.inv(a)
            total += c[0, 0] * c[k, 1] * b[k]
    return total


def powers(a, c):
    p = np.linalg.matrix_power(a, 5)
    return np.sum(p * c) + np.sum(np.linalg.matrix_power(a, -2)) + np.sum(np.linalg.matrix_power(a, 1) ** 2)


PROGRAMS = (
    Program(powers, (S, C3)),
    Program(solve_vector, (S, V)),
    Program(solve_matrix, (S, X)),
    Program(inverse, (S, C3)),
    Program(determinant, (S,)),
    Program(log_determinant, (S,)),
    Program(factor, (P, C3)),
    Program(factor_of_product, (S, V)),
    Program(eigenvalues, (P,)),
    Program(eigenvectors, (P, C3)),
    Program(singular_values, (T,)),
    Program(singular_vectors, (T, C4)),
    Program(singular_square, (S, C3)),
    Program(orthogonal, (T, C4)),
    Program(pseudo_inverse, (T, W)),
    Program(least_squares, (T, numbers(4, seed=18))),
    Program(least_squares, (W, numbers(3, 2, seed=19))),
    Program(newton_like, (S, V)),
    Program(kalman, (P, numbers(2, 3, seed=20))),
    Program(overwritten, (S, V)),
    Program(in_branches, (S, V)),
)
"""Of symmetric matrices only the lower triangle is read, by the plain functions as well: differences agree."""
