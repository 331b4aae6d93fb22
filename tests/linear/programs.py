"""Programs with products of arrays: what overwrites, rebinds, aliases and repeats their operands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Program:
    """A scalar function and its arguments, which are all differentiated but for integers."""

    function: Callable[..., Any]
    args: tuple[Any, ...]

    @property
    def name(self) -> str:
        return self.function.__name__

    def of(self, dtype: str = "float64") -> tuple[Any, ...]:
        """The arguments, copied, in a dtype."""
        return tuple(a.astype(dtype) if isinstance(a, np.ndarray) else a for a in self.args)


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    """Reproducible numbers of both signs, of size one."""
    return np.random.default_rng(seed + 5).uniform(-1.0, 1.0, shape)


A, B, V, W = numbers(3, 4), numbers(4, 2, seed=1), numbers(4, seed=2), numbers(3, seed=3)
S, X = numbers(3, 3, seed=4), numbers(3, 2, seed=5)


def matrices(a, b):
    c = a @ b
    return np.sum(c * c * c)


def matrix_vector(a, v):
    y = np.dot(a, v)
    return np.sum(np.sin(y))


def vector_matrix(v, b):
    y = v.dot(b)
    return np.sum(y * y)


def vectors(v, w):
    return np.sin(v @ w) + w.dot(v) ** 2


def transposed(a, b):
    c = b.T @ a.T
    return np.sum(np.cos(c))


def expression(a, b):
    return np.sum(((a * 2.0 + 1.0) @ np.sin(b)) ** 2)


def sliced(a, b):
    return np.sum((a[:, 1:] @ b[1:, :]) ** 2) + np.sum((a[::2, ::3] @ b[:2, ::-1]) ** 3)


def row_of_a_stack(t, v):
    s = 0.0
    for k in range(t.shape[0]):
        y = t[k] @ v
        s += np.sum(y * y * y)
    return s


def with_itself(s):
    c = s @ s
    d = c.T @ s
    return np.sum(np.sin(d) * c)


def two_views_of_one(x):
    c = x[:2, :2] @ x[1:3, 1:3]
    return np.sum(np.exp(c))


def overwritten_afterwards(s, x):
    y = s @ x
    s[0, 0] = 7.0
    s[1, :] *= 0.5
    x[:, 1] = y[:, 0] * x[:, 1]
    return np.sum(y * y) + np.sum(s * s) * np.sum(x)


def result_overwritten(s, x):
    y = s @ x
    z = np.sum(np.sin(y))
    y[0, 0] = y[0, 0] ** 2 + y[1, 1] * y[0, 0]
    y[1:] *= y[:-1]
    return z + np.sum(y * y)


def overwritten_in_place(s, x):
    for k in range(3):
        x[:] = np.tanh(s @ x + k)
    return np.sum(x * x)


def rebound(s, x):
    y = x
    for _ in range(4):
        y = np.tanh(s @ y)
    return np.sum(y * y)


def rebound_data_dependent(s, x):
    y = x
    n = 0
    while np.sum(y * y) > 0.05 and n < 6:
        y = s @ y * 0.7
        n += 1
    return np.sum(y * y * y) * n


def swapped(s, x):
    a, b = s, np.sin(s)
    for _ in range(3):
        c = a @ b
        a, b = b, c * 0.5
    return np.sum(b @ x)


def powers(s):
    p = np.eye(3)
    total = 0.0
    for k in range(5):
        p = p @ s
        total += p[0, 1] / (k + 1.0) + np.trace(p)
    return total


def chosen(s, x):
    if s[0, 0] > 0.2:
        y = s @ x
    else:
        y = s.T @ x
    return np.sum(y * y)


def kept_between_turns(s, x):
    before = x
    total = 0.0
    for k in range(4):
        now = s @ before
        total += np.sum(now * before) * (k + 1)
        before = now
    return total


def scratch(s, x):
    y = np.empty_like(x)
    total = 0.0
    for _ in range(3):
        y[:] = s @ x
        y *= y
        total += np.sum(y * x)
        x = x + 0.1 * y
    return total


def layers(x, w1, b1, w2, b2):
    h = np.tanh(x @ w1 + b1)
    o = h @ w2 + b2
    return np.mean(o * o)


def several_steps(s, x):
    """A function of its own, called again and again."""

    def step(m, v, k):
        u = m @ v
        return u * u + k * v

    for k in range(3):
        x = step(s, x, k)
    return np.sum(x)


def early_exit(s, v):
    x = v * 1.0
    for k in range(20):
        y = s @ x
        if np.sum(y * y) < 0.02:
            return np.sum(y) * (k + 1)
        x = y * 0.6
    return np.sum(x)


def recursive(s, v, n):
    if n == 0:
        return np.sum(v * v)
    return recursive(s, np.sin(s @ v), n - 1) + v[0]


def of_shape_alone(a, b, v):
    c = a @ b
    return c.shape[0] * np.sum(v * v)


def stacked(t, a, v):
    c = t @ a
    d = t @ v
    e = np.matmul(c.transpose(0, 2, 1), np.sin(t))
    return np.sum(c * c) + np.sum(d**3) + np.sum(e * e)


PROGRAMS = (
    Program(stacked, (numbers(2, 3, 4, seed=21), B, V)),
    Program(matrices, (A, B)),
    Program(matrix_vector, (A, V)),
    Program(vector_matrix, (V, B)),
    Program(vectors, (V, numbers(4, seed=9))),
    Program(transposed, (A, B)),
    Program(expression, (A, B)),
    Program(sliced, (A, B)),
    Program(row_of_a_stack, (numbers(3, 2, 4), V)),
    Program(with_itself, (S,)),
    Program(two_views_of_one, (S,)),
    Program(overwritten_afterwards, (S, X)),
    Program(result_overwritten, (S, X)),
    Program(overwritten_in_place, (S, X)),
    Program(rebound, (S, X)),
    Program(rebound_data_dependent, (S, X)),
    Program(swapped, (S, X)),
    Program(powers, (S,)),
    Program(chosen, (S, X)),
    Program(kept_between_turns, (S, X)),
    Program(scratch, (S, X)),
    Program(layers, (A, B, numbers(2, seed=6), numbers(2, 3, seed=7), numbers(3, seed=8))),
    Program(several_steps, (S, X)),
    Program(early_exit, (S, W)),
    Program(recursive, (S, W, 3)),
    Program(of_shape_alone, (A, B, V)),
)
