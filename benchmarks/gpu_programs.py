"""The programs of the GPU table: what adjit is given, and JAX's form of it where there is one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import prange

import adjit as aj


@aj.kernel
def half_sweep(u, f, h2, colour):
    """One colour of a Gauss-Seidel sweep for the Poisson equation."""
    i, j = aj.index(2)
    n, m = u.shape
    if i == 0 or j == 0 or i == n - 1 or j == m - 1:
        return
    if (i + j) % 2 == colour:
        u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - h2 * f[i, j])


def red_black(u, f, h, sweeps):
    """Sweeps in place; the squared norm of what comes out."""
    h2 = h * h
    for _ in range(sweeps):
        half_sweep(u, f, h2, 0, ndrange=u.shape)
        half_sweep(u, f, h2, 1, ndrange=u.shape)
    return np.sum(u * u)


def sweeps_only(u, f, h, sweeps):
    """The sweeps of `red_black`, without the norm."""
    h2 = h * h
    for _ in range(sweeps):
        half_sweep(u, f, h2, 0, ndrange=u.shape)
        half_sweep(u, f, h2, 1, ndrange=u.shape)


def total_variation(x, eps):
    """The smoothed total variation of an image."""
    n, m = x.shape
    total = np.float32(0.0)
    for i in prange(n - 1):
        for j in range(m - 1):
            a = x[i + 1, j] - x[i, j]
            b = x[i, j + 1] - x[i, j]
            total += np.sqrt(a * a + b * b + eps)
    return total


@aj.kernel
def density(rho, xs, cell, start, nc, L, h, m):
    """Density at every particle, from the particles of the 3 x 3 cells around it (sorted by cell)."""
    k = aj.index()
    c = cell[k]
    cx = c % nc
    cy = c // nc
    sigma = np.float32(10.0 / (7.0 * math.pi)) / (h * h)
    total = np.float32(0.0)
    for dy in range(-1, 2):
        for dx in range(-1, 2):
            cn = (cx + dx) % nc + nc * ((cy + dy) % nc)
            for other in range(start[cn], start[cn + 1]):
                rx = xs[k, 0] - xs[other, 0]
                ry = xs[k, 1] - xs[other, 1]
                rx -= L * np.floor(rx / L + np.float32(0.5))
                ry -= L * np.floor(ry / L + np.float32(0.5))
                r2 = rx * rx + ry * ry
                if r2 < np.float32(4.0) * h * h:
                    q = np.sqrt(r2) / h
                    if q < np.float32(1.0):
                        total += (
                            m
                            * sigma
                            * (np.float32(1.0) - np.float32(1.5) * q * q + np.float32(0.75) * q * q * q)
                        )
                    else:
                        w = np.float32(2.0) - q
                        total += m * sigma * np.float32(0.25) * w * w * w
    rho[k] = total


def density_loss(xs, cell, start, nc, L, h, m, rho0):
    """The squared deviation of the density from rho0, summed over particles in sorted order."""
    rho = np.empty_like(xs[:, 0])
    density(rho, xs, cell, start, nc, L, h, m, ndrange=len(rho))
    d = rho - rho0
    return np.sum(d * d)


def particles(n: int, seed: int = 0) -> tuple[Any, ...]:
    """Positions in float32 sorted by cell, the cells, their starts, and numbers: ten particles per unit area."""
    L = math.sqrt(n / 10.0)
    nc = max(3, int(L))
    x = np.random.default_rng(seed).random((n, 2)) * L
    cells = np.minimum((x / (L / nc)).astype(np.int64), nc - 1)
    cell = cells[:, 0] + nc * cells[:, 1]
    order = np.argsort(cell, kind="stable")
    start = np.zeros(nc * nc + 1, np.int64)
    start[1:] = np.cumsum(np.bincount(cell, minlength=nc * nc))
    f = np.float32
    xs = np.ascontiguousarray(x[order].astype(f))
    return xs, cell[order].astype(np.int32), start.astype(np.int32), nc, f(L), f(0.5), f(1.0), f(10.0)


def jax_red_black(n: int, sweeps: int, h: float) -> Any:
    """The loss of u and f, with masks."""
    import jax
    import jax.numpy as jnp

    i, j = np.indices((n, n))
    inner = (i > 0) & (j > 0) & (i < n - 1) & (j < n - 1)
    masks = [jnp.asarray(inner & ((i + j) % 2 == c)) for c in (0, 1)]

    def loss(u: Any, f: Any) -> Any:
        def sweep(u: Any, _: Any) -> Any:
            for mask in masks:
                p = jnp.pad(u, 1)
                new = 0.25 * (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - h * h * f)
                u = jnp.where(mask, new, u)
            return u, None

        u, _ = jax.lax.scan(sweep, u, None, length=sweeps)
        return jnp.sum(u * u)

    return jax.jit(jax.value_and_grad(loss, argnums=(0, 1)))


def jax_total_variation() -> tuple[Any, Any]:
    """Value and gradient of `total_variation`."""
    import jax
    import jax.numpy as jnp

    def value(x: Any) -> Any:
        a = x[1:, :-1] - x[:-1, :-1]
        b = x[:-1, 1:] - x[:-1, :-1]
        return jnp.sum(jnp.sqrt(a * a + b * b + jnp.float32(1e-6)))

    return jax.jit(value), jax.jit(jax.grad(value))


def squares(x):
    """What a Jacobian of a million by a million is taken of: a diagonal."""
    return x**2


def neighbours(u):
    """A product of three neighbours in the plane: five entries a row."""
    out = np.zeros_like(u)
    for i in range(1, u.shape[0] - 1):
        for j in range(1, u.shape[1] - 1):
            out[i, j] = u[i, j] * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
    return out


def all_pairs(x):
    """Every number from all others: a Jacobian without zeros."""
    y = np.zeros_like(x)
    for i in range(len(x)):
        for j in range(len(x)):
            y[i] += np.sin(x[j] - x[i])
    return y


def jax_all_pairs(x):
    """The same for JAX."""
    import jax.numpy as jnp

    return jnp.sum(jnp.sin(x[None, :] - x[:, None]), axis=1)
