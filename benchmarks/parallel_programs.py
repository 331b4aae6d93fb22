"""Programs with parallel loops and kernels, and JAX's forms of two of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit, prange
from scipy.spatial import cKDTree

import adjit as aj


@aj.kernel
def relax(u: Any, theta: Any, colour: int) -> None:
    """One point of a half sweep."""
    i, j = aj.index(2)
    if (i + j) % 2 == colour:
        u[i + 1, j + 1] = 0.25 * (u[i, j + 1] + u[i + 2, j + 1] + u[i + 1, j] + u[i + 1, j + 2] - theta[i, j])


def red_black(u: Any, theta: Any, sweeps: int) -> float:
    """Red-black Gauss-Seidel: two launches a sweep."""
    n = theta.shape[0]
    for _ in range(sweeps):
        relax(u, theta, 0, ndrange=(n, n))
        relax(u, theta, 1, ndrange=(n, n))
    return np.sum(u)


def red_black_jax(u: Any, theta: Any, sweeps: int) -> Any:
    """Whole half sweeps under a mask, in a scan."""
    import jax.numpy as jnp
    from jax import lax

    n = theta.shape[0]
    i, j = jnp.arange(n)[:, None], jnp.arange(n)[None, :]

    def half(u: Any, colour: int) -> Any:
        new = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - theta)
        return u.at[1:-1, 1:-1].set(jnp.where((i + j) % 2 == colour, new, u[1:-1, 1:-1]))

    def sweep(u: Any, _: Any) -> tuple[Any, None]:
        return half(half(u, 0), 1), None

    return jnp.sum(lax.scan(sweep, u, None, length=sweeps)[0])


@njit(parallel=True)
def variation_2d(x):
    """Total variation of an image."""
    n, m = x.shape
    s = np.float32(0.0)
    for i in prange(n - 1):
        t = np.float32(0.0)
        for j in range(m - 1):
            a = x[i + 1, j] - x[i, j]
            b = x[i, j + 1] - x[i, j]
            t += np.sqrt(a * a + b * b + np.float32(1e-6))
        s += t
    return s


def variation_2d_jax(x: Any) -> Any:
    """The same in whole arrays."""
    import jax.numpy as jnp

    a, b = x[1:, :-1] - x[:-1, :-1], x[:-1, 1:] - x[:-1, :-1]
    return jnp.sum(jnp.sqrt(a * a + b * b + np.float32(1e-6)))


@njit(parallel=True)
def variation_3d(x):
    """Total variation of a volume."""
    n, m, depth = x.shape
    s = np.float32(0.0)
    for i in prange(n - 1):
        t = np.float32(0.0)
        for j in range(m - 1):
            for k in range(depth - 1):
                a = x[i + 1, j, k] - x[i, j, k]
                b = x[i, j + 1, k] - x[i, j, k]
                c = x[i, j, k + 1] - x[i, j, k]
                t += np.sqrt(a * a + b * b + c * c + np.float32(1e-6))
        s += t
    return s


def variation_3d_jax(x: Any) -> Any:
    """The same in whole arrays."""
    import jax.numpy as jnp

    inner = x[:-1, :-1, :-1]
    a, b, c = x[1:, :-1, :-1] - inner, x[:-1, 1:, :-1] - inner, x[:-1, :-1, 1:] - inner
    return jnp.sum(jnp.sqrt(a * a + b * b + c * c + np.float32(1e-6)))


@njit(parallel=True)
def particles(position, mass, neighbours, start, h):
    """SPH density from neighbour lists; its adjoint adds to elements that nobody knows before."""
    n = position.shape[0]
    density = np.zeros(n)
    for i in prange(n):
        t = 0.0
        for k in range(start[i], start[i + 1]):
            j = neighbours[k]
            dx = position[i, 0] - position[j, 0]
            dy = position[i, 1] - position[j, 1]
            q = np.sqrt(dx * dx + dy * dy + 1e-12) / h
            if q < 1.0:
                t += mass[j] * (1 - 1.5 * q * q + 0.75 * q * q * q)
            elif q < 2.0:
                t += mass[j] * 0.25 * (2 - q) ** 3
        density[i] = t
    s = 0.0
    for i in prange(n):
        s += density[i] * density[i]
    return s


@njit(parallel=True)
def convolution(x, w):
    """Each weight and each element is read by many turns."""
    n, m = x.shape[0], w.shape[0]
    s = 0.0
    for i in prange(n - m + 1):
        t = 0.0
        for k in range(m):
            t += w[k] * x[i + k]
        s += t * t
    return s


@njit(parallel=True)
def sparse(values, columns, start, x):
    """A CSR product."""
    s = 0.0
    for i in prange(start.shape[0] - 1):
        t = 0.0
        for k in range(start[i], start[i + 1]):
            t += values[k] * x[columns[k]]
        s += t * t
    return s


@aj.kernel
def root(a: Any, b: Any, y: Any) -> None:
    """The root of r ** 3 + a r = b, to the last bits but a few."""
    i = aj.index()
    r = 1.0 + a[i]
    step = 1.0
    while abs(step) > 1e-10:
        step = (r * r * r + a[i] * r - b[i]) / (3.0 * r * r + a[i])
        r = r - step
    y[i] = r


def roots(a: Any, b: Any) -> float:
    """Newton's method for each item, as many steps as it needs."""
    n = a.shape[0]
    y = np.zeros(n)
    root(a, b, y, ndrange=n)
    s = 0.0
    for i in prange(n):
        s += y[i] * y[i]
    return s


@dataclass(frozen=True)
class ParallelProgram:
    """One program. bars: on gradient / forward (at most), one thread / two (at least), JAX / ours (at least)."""

    name: str
    f: Callable[..., Any]
    inputs: Callable[[np.random.Generator, bool], tuple[Any, ...]]
    wrt: tuple[int, ...]
    jax: Callable[..., Any] | None = None
    ratio: float | None = None
    scaling: float | None = None
    ahead: float | None = None


def _grid(n: int, sweeps: int) -> Callable[[np.random.Generator, bool], tuple[Any, ...]]:
    def inputs(rng: np.random.Generator, quick: bool) -> tuple[Any, ...]:
        size = min(n, 128) if quick else n
        return rng.random((size + 2, size + 2)), rng.random((size, size)), 10 if quick else sweeps

    return inputs


def _volume(n: int, rank: int) -> Callable[[np.random.Generator, bool], tuple[Any, ...]]:
    def inputs(rng: np.random.Generator, quick: bool) -> tuple[Any, ...]:
        return (rng.random((n // 8 if quick else n,) * rank, dtype=np.float32),)

    return inputs


def _particles(rng: np.random.Generator, quick: bool) -> tuple[Any, ...]:
    n = 2000 if quick else 30000
    position = rng.random((n, 2))
    h = 0.5 * np.sqrt(20 / np.pi / n)
    lists = cKDTree(position).query_ball_point(position, 2 * h)
    start = np.concatenate([[0], np.cumsum([len(one) for one in lists])])
    return position, rng.random(n), np.concatenate([np.array(one) for one in lists]), start, h


def _signal(rng: np.random.Generator, quick: bool) -> tuple[Any, ...]:
    return rng.random(20000 if quick else 400000), rng.random(31)


def _matrix(rng: np.random.Generator, quick: bool) -> tuple[Any, ...]:
    n = 3000 if quick else 60000
    return rng.random(20 * n), rng.integers(0, n, 20 * n), np.arange(0, 20 * n + 1, 20), rng.random(n)


def _coefficients(rng: np.random.Generator, quick: bool) -> tuple[Any, ...]:
    n = 20_000 if quick else 400_000
    return rng.uniform(0.5, 1.5, n), rng.uniform(0.5, 3.0, n)


_HEADS = (
    (red_black, _grid(1024, 100), (0, 1), red_black_jax),
    (red_black, _grid(32, 100), (0, 1), None),
    (variation_2d, _volume(4096, 2), (0,), variation_2d_jax),
    (variation_3d, _volume(300, 3), (0,), variation_3d_jax),
    (particles, _particles, (0, 1), None),
    (convolution, _signal, (0, 1), None),
    (sparse, _matrix, (0, 3), None),
    (roots, _coefficients, (0, 1), None),
)
PROGRAMS = (
    ParallelProgram("red-black kernels 1024, 100 sweeps", *_HEADS[0], ratio=2.6, ahead=8.0),
    ParallelProgram("red-black kernels 32, 100 sweeps", *_HEADS[1]),
    ParallelProgram("total variation 4096 x 4096 float32", *_HEADS[2], ratio=5.0, ahead=4.0),
    ParallelProgram("total variation 300^3 float32", *_HEADS[3], ratio=5.0, ahead=4.0),
    ParallelProgram("particles, neighbour lists", *_HEADS[4], scaling=1.6),
    ParallelProgram("convolution, 31 weights", *_HEADS[5], scaling=1.5),
    ParallelProgram("sparse product, 20 a row", *_HEADS[6], scaling=1.5),
    ParallelProgram("roots by Newton's method, a while loop", *_HEADS[7], scaling=1.6),
)
"""Every program of the table."""
