"""Stencils in slices: what NumPy computes with a temporary for each operator."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import lax

from array_program import ArrayProgram
from recurrences import grid


def jacobi(A0, steps):
    """Sum of squares after Jacobi sweeps over five points, two a step."""
    A = A0.copy()
    B = A0.copy()
    for _ in range(steps):
        B[1:-1, 1:-1] = 0.2 * (A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1])
        A[1:-1, 1:-1] = 0.2 * (B[1:-1, 1:-1] + B[1:-1, :-2] + B[1:-1, 2:] + B[2:, 1:-1] + B[:-2, 1:-1])
    return np.sum(A * A)


def jacobi_jax(A, steps):
    """The same slices."""

    def relaxed(A, B):
        inner = 0.2 * (A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1])
        return B.at[1:-1, 1:-1].set(inner)

    def step(AB, _):
        A, B = AB
        B = relaxed(A, B)
        return (relaxed(B, A), B), None

    (A, _), _ = lax.scan(step, (A, A), None, length=steps)
    return jnp.sum(A * A)


def jacobi_pad(A, steps):
    """The border does not change: only the inner points are carried, and padded."""
    border = A.at[1:-1, 1:-1].set(0.0)

    def relaxed(inner):
        A = border + jnp.pad(inner, 1)
        return 0.2 * (A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1])

    inner, _ = lax.scan(lambda x, _: (relaxed(relaxed(x)), None), A[1:-1, 1:-1], None, length=steps)
    return jnp.sum(border * border) + jnp.sum(inner * inner)


def heat(A0, steps):
    """Sum of squares after steps of the heat equation in three dimensions, two sweeps a step."""
    A = A0.copy()
    B = A0.copy()
    for _ in range(steps):
        B[1:-1, 1:-1, 1:-1] = (
            0.125 * (A[2:, 1:-1, 1:-1] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[:-2, 1:-1, 1:-1])
            + 0.125 * (A[1:-1, 2:, 1:-1] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[1:-1, :-2, 1:-1])
            + 0.125 * (A[1:-1, 1:-1, 2:] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[1:-1, 1:-1, :-2])
            + A[1:-1, 1:-1, 1:-1]
        )
        A[1:-1, 1:-1, 1:-1] = (
            0.125 * (B[2:, 1:-1, 1:-1] - 2.0 * B[1:-1, 1:-1, 1:-1] + B[:-2, 1:-1, 1:-1])
            + 0.125 * (B[1:-1, 2:, 1:-1] - 2.0 * B[1:-1, 1:-1, 1:-1] + B[1:-1, :-2, 1:-1])
            + 0.125 * (B[1:-1, 1:-1, 2:] - 2.0 * B[1:-1, 1:-1, 1:-1] + B[1:-1, 1:-1, :-2])
            + B[1:-1, 1:-1, 1:-1]
        )
    return np.sum(A * A)


def _heated(A):
    return (
        0.125 * (A[2:, 1:-1, 1:-1] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[:-2, 1:-1, 1:-1])
        + 0.125 * (A[1:-1, 2:, 1:-1] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[1:-1, :-2, 1:-1])
        + 0.125 * (A[1:-1, 1:-1, 2:] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[1:-1, 1:-1, :-2])
        + A[1:-1, 1:-1, 1:-1]
    )


def heat_jax(A, steps):
    """The same slices."""

    def step(AB, _):
        A, B = AB
        B = B.at[1:-1, 1:-1, 1:-1].set(_heated(A))
        return (A.at[1:-1, 1:-1, 1:-1].set(_heated(B)), B), None

    (A, _), _ = lax.scan(step, (A, A), None, length=steps)
    return jnp.sum(A * A)


def heat_pad(A, steps):
    """The border does not change: only the inner points are carried, and padded."""
    border = A.at[1:-1, 1:-1, 1:-1].set(0.0)

    def step(inner, _):
        return _heated(border + jnp.pad(_heated(border + jnp.pad(inner, 1)), 1)), None

    inner, _ = lax.scan(step, A[1:-1, 1:-1, 1:-1], None, length=steps)
    return jnp.sum(border * border) + jnp.sum(inner * inner)


def cube(n: int, steps: int) -> tuple[np.ndarray, int]:
    """A random cube and a number of steps."""
    return np.random.default_rng(0).uniform(0, 1, (n, n, n)), steps


def fdtd(ex0, ey0, hz0, source, steps):
    """Energy after steps of Maxwell's equations in two dimensions."""
    ex, ey, hz = ex0.copy(), ey0.copy(), hz0.copy()
    for t in range(steps):
        ey[0, :] = source[t]
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return np.sum(ex * ex) + np.sum(ey * ey) + np.sum(hz * hz)


def fdtd_jax(ex, ey, hz, source, steps):
    """The same slices."""

    def step(fields, fictitious):
        ex, ey, hz = fields
        ey = ey.at[0, :].set(fictitious)
        ey = ey.at[1:, :].add(-0.5 * (hz[1:, :] - hz[:-1, :]))
        ex = ex.at[:, 1:].add(-0.5 * (hz[:, 1:] - hz[:, :-1]))
        hz = hz.at[:-1, :-1].add(-0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1]))
        return (ex, ey, hz), None

    fields, _ = lax.scan(step, (ex, ey, hz), source[:steps])
    return sum(jnp.sum(field * field) for field in fields)


def fdtd_pad(ex, ey, hz, source, steps):
    """Differences padded with zeros, so that a step is a sum of whole arrays."""

    def step(fields, fictitious):
        ex, ey, hz = fields
        down = jnp.pad(hz[1:, :] - hz[:-1, :], ((1, 0), (0, 0)))
        ey = jnp.where(jnp.arange(ey.shape[0])[:, None] == 0, fictitious, ey - 0.5 * down)
        ex = ex - 0.5 * jnp.pad(hz[:, 1:] - hz[:, :-1], ((0, 0), (1, 0)))
        curl = ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1]
        return (ex, ey, hz - 0.7 * jnp.pad(curl, ((0, 1), (0, 1)))), None

    fields, _ = lax.scan(step, (ex, ey, hz), source[:steps])
    return sum(jnp.sum(field * field) for field in fields)


def fields(n: int, steps: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, int]:
    """Random fields, a source in time, a number of steps."""
    rng = np.random.default_rng(0)
    ex, ey, hz = rng.uniform(0, 1, (3, n, n))
    return ex, ey, hz, np.sin(np.arange(steps) / 3.0), steps


def diffusion(field, coefficient):
    """Horizontal diffusion with a flux limiter; the sum of squares of what comes out."""
    near = field[1:-1, 1:-1, :]
    lap = 4.0 * near - (field[2:, 1:-1, :] + field[:-2, 1:-1, :] + field[1:-1, 2:, :] + field[1:-1, :-2, :])
    rise = lap[1:, 1:-1, :] - lap[:-1, 1:-1, :]
    flx = np.where(rise * (field[2:-1, 2:-2, :] - field[1:-2, 2:-2, :]) > 0.0, 0.0, rise)
    rise = lap[1:-1, 1:, :] - lap[1:-1, :-1, :]
    fly = np.where(rise * (field[2:-2, 2:-1, :] - field[2:-2, 1:-2, :]) > 0.0, 0.0, rise)
    out = field[2:-2, 2:-2, :] - coefficient * (
        flx[1:, :, :] - flx[:-1, :, :] + fly[:, 1:, :] - fly[:, :-1, :]
    )
    return np.sum(out * out)


def diffusion_jax(field, coefficient):
    """The same slices."""
    near = field[1:-1, 1:-1, :]
    lap = 4.0 * near - (field[2:, 1:-1, :] + field[:-2, 1:-1, :] + field[1:-1, 2:, :] + field[1:-1, :-2, :])
    rise = lap[1:, 1:-1, :] - lap[:-1, 1:-1, :]
    flx = jnp.where(rise * (field[2:-1, 2:-2, :] - field[1:-2, 2:-2, :]) > 0.0, 0.0, rise)
    rise = lap[1:-1, 1:, :] - lap[1:-1, :-1, :]
    fly = jnp.where(rise * (field[2:-2, 2:-1, :] - field[2:-2, 1:-2, :]) > 0.0, 0.0, rise)
    out = field[2:-2, 2:-2, :] - coefficient * (
        flx[1:, :, :] - flx[:-1, :, :] + fly[:, 1:, :] - fly[:, :-1, :]
    )
    return jnp.sum(out * out)


def layers(n: int, levels: int) -> tuple[np.ndarray, np.ndarray]:
    """A random field with a halo of two, and the coefficients within."""
    rng = np.random.default_rng(0)
    return rng.uniform(0, 1, (n + 4, n + 4, levels)), rng.uniform(0, 0.1, (n, n, levels))


def cavity(u0, v0, p0, steps):
    """Energy and pressure after steps of flow in a cavity driven by its lid; ten sweeps for the pressure each."""
    u, v, p = u0.copy(), v0.copy(), p0.copy()
    b = np.zeros_like(u0)
    dx, dy, dt, rho, nu = 2.0 / (u0.shape[1] - 1), 2.0 / (u0.shape[0] - 1), 0.001, 1.0, 0.1
    for _ in range(steps):
        b[1:-1, 1:-1] = rho * (
            1.0 / dt * ((u[1:-1, 2:] - u[1:-1, :-2]) / (2.0 * dx) + (v[2:, 1:-1] - v[:-2, 1:-1]) / (2.0 * dy))
            - ((u[1:-1, 2:] - u[1:-1, :-2]) / (2.0 * dx)) ** 2
            - 2.0 * ((u[2:, 1:-1] - u[:-2, 1:-1]) / (2.0 * dy) * (v[1:-1, 2:] - v[1:-1, :-2]) / (2.0 * dx))
            - ((v[2:, 1:-1] - v[:-2, 1:-1]) / (2.0 * dy)) ** 2
        )
        for _ in range(10):
            pn = p.copy()
            p[1:-1, 1:-1] = (
                (pn[1:-1, 2:] + pn[1:-1, :-2]) * dy**2 + (pn[2:, 1:-1] + pn[:-2, 1:-1]) * dx**2
            ) / (2.0 * (dx**2 + dy**2)) - dx**2 * dy**2 / (2.0 * (dx**2 + dy**2)) * b[1:-1, 1:-1]
            p[:, -1] = p[:, -2]
            p[0, :] = p[1, :]
            p[:, 0] = p[:, 1]
            p[-1, :] = 0.0
        un = u.copy()
        vn = v.copy()
        u[1:-1, 1:-1] = (
            un[1:-1, 1:-1]
            - un[1:-1, 1:-1] * dt / dx * (un[1:-1, 1:-1] - un[1:-1, :-2])
            - vn[1:-1, 1:-1] * dt / dy * (un[1:-1, 1:-1] - un[:-2, 1:-1])
            - dt / (2.0 * rho * dx) * (p[1:-1, 2:] - p[1:-1, :-2])
            + nu * (
                dt / dx**2 * (un[1:-1, 2:] - 2.0 * un[1:-1, 1:-1] + un[1:-1, :-2])
                + dt / dy**2 * (un[2:, 1:-1] - 2.0 * un[1:-1, 1:-1] + un[:-2, 1:-1])
            )
        )  # fmt: skip
        v[1:-1, 1:-1] = (
            vn[1:-1, 1:-1]
            - un[1:-1, 1:-1] * dt / dx * (vn[1:-1, 1:-1] - vn[1:-1, :-2])
            - vn[1:-1, 1:-1] * dt / dy * (vn[1:-1, 1:-1] - vn[:-2, 1:-1])
            - dt / (2.0 * rho * dy) * (p[2:, 1:-1] - p[:-2, 1:-1])
            + nu * (
                dt / dx**2 * (vn[1:-1, 2:] - 2.0 * vn[1:-1, 1:-1] + vn[1:-1, :-2])
                + dt / dy**2 * (vn[2:, 1:-1] - 2.0 * vn[1:-1, 1:-1] + vn[:-2, 1:-1])
            )
        )  # fmt: skip
        u[0, :] = 0.0
        u[:, 0] = 0.0
        u[:, -1] = 0.0
        u[-1, :] = 1.0
        v[0, :] = 0.0
        v[-1, :] = 0.0
        v[:, 0] = 0.0
        v[:, -1] = 0.0
    return np.sum(u * u) + np.sum(v * v) + np.sum(p * p)


def cavity_jax(u, v, p, steps):
    """The same slices; the pressure sweeps are a scan within the scan over steps."""
    dx, dy, dt, rho, nu = 2.0 / (u.shape[1] - 1), 2.0 / (u.shape[0] - 1), 0.001, 1.0, 0.1

    def east(a):
        return a[1:-1, 2:] - a[1:-1, :-2]

    def north(a):
        return a[2:, 1:-1] - a[:-2, 1:-1]

    def carried(a, u, v):
        c = a[1:-1, 1:-1]
        return (
            c
            - u[1:-1, 1:-1] * dt / dx * (c - a[1:-1, :-2])
            - v[1:-1, 1:-1] * dt / dy * (c - a[:-2, 1:-1])
            + nu * (
                dt / dx**2 * (a[1:-1, 2:] - 2.0 * c + a[1:-1, :-2])
                + dt / dy**2 * (a[2:, 1:-1] - 2.0 * c + a[:-2, 1:-1])
            )
        )  # fmt: skip

    def step(state, _):
        u, v, p = state
        ux, vx = east(u) / (2.0 * dx), east(v) / (2.0 * dx)
        uy, vy = north(u) / (2.0 * dy), north(v) / (2.0 * dy)
        b = rho * (1.0 / dt * (ux + vy) - ux**2 - 2.0 * (uy * vx) - vy**2)

        def sweep(p, _):
            near = ((p[1:-1, 2:] + p[1:-1, :-2]) * dy**2 + (p[2:, 1:-1] + p[:-2, 1:-1]) * dx**2) / (
                2.0 * (dx**2 + dy**2)
            )
            inner = near - dx**2 * dy**2 / (2.0 * (dx**2 + dy**2)) * b
            # the last row is zero, the other edges repeat their neighbours
            sides = jnp.pad(inner, ((1, 0), (1, 1)), mode="edge")
            return jnp.pad(sides, ((0, 1), (0, 0))), None

        p, _ = lax.scan(sweep, p, None, length=10)
        new_u = carried(u, u, v) - dt / (2.0 * rho * dx) * east(p)
        new_v = carried(v, u, v) - dt / (2.0 * rho * dy) * north(p)
        return (jnp.pad(new_u, 1).at[-1, :].set(1.0), jnp.pad(new_v, 1), p), None

    (u, v, p), _ = lax.scan(step, (u, v, p), None, length=steps)
    return jnp.sum(u * u) + jnp.sum(v * v) + jnp.sum(p * p)


def flow(n: int, steps: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Small random velocities and pressure, a number of steps."""
    u, v, p = 0.01 * np.random.default_rng(0).uniform(-1, 1, (3, n, n))
    return u, v, p, steps


PROGRAMS = [
    ArrayProgram(
        "Jacobi 2-D", "stencil", jacobi, {"slices": jacobi_jax, "padded": jacobi_pad},
        grid, (0,), (250, 20), (40, 3), statements=2, threads=True,
    ),
    ArrayProgram(
        "heat 3-D", "stencil", heat, {"slices": heat_jax, "padded": heat_pad},
        cube, (0,), (25, 24), (12, 3), statements=2, threads=True, jit_bar=5.0,
    ),
    ArrayProgram(
        "FDTD 2-D", "stencil", fdtd, {"slices": fdtd_jax, "padded": fdtd_pad},
        fields, (0, 1, 2, 3), (200, 30), (30, 4), statements=3, threads=True,
    ),
    ArrayProgram(
        "horizontal diffusion", "stencil", diffusion, {"slices": diffusion_jax},
        layers, (0, 1), (64, 60), (12, 8), statements=6, threads=True,
    ),
    ArrayProgram(
        "cavity flow", "stencil", cavity, {"slices": cavity_jax}, flow, (0, 1, 2), (61, 15), (21, 2), statements=55,
        threads=True,
    ),
]  # fmt: skip
