"""Simulations in NumPy style: stencils by slices, boundary writes in callees, limiters, masks."""

from __future__ import annotations

import numpy as np

from ..record import wave


def jacobi(u, f, sweeps):
    """Jacobi's iteration with two arrays that change names."""
    v = u.copy()
    for _ in range(sweeps):
        v[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - f[1:-1, 1:-1])
        u, v = v, u
    return np.sum(u * u)


def jacobi_at_once(u, sweeps):
    """The same onto itself: what a store reads is from before it."""
    for _ in range(sweeps):
        u[1:-1] = 0.5 * (u[:-2] + u[2:]) + 0.1 * u[1:-1] ** 2
    return np.sum(u**2)


def gauss_seidel_rows(u, f):
    """Rows in order, each from the row before as it is now (`seidel_2d`)."""
    for _ in range(2):
        for i in range(1, u.shape[0] - 1):
            u[i, 1:-1] = 0.25 * (u[i - 1, 1:-1] + u[i + 1, 1:-1] + u[i, :-2] + u[i, 2:]) - f[i, 1:-1]
            for j in range(1, u.shape[1] - 1):
                u[i, j] += 0.2 * u[i, j - 1]
    return np.mean(u * u)


def red_black(u, f):
    """Every other point, then the others, by steps of two."""
    for _ in range(2):
        u[1:-1:2] = 0.5 * (u[:-2:2] + u[2::2]) - f[1:-1:2]
        u[2:-1:2] = 0.5 * (u[1:-2:2] + u[3::2]) - f[2:-1:2]
    return np.sum(u * u)


def adi(u, a):
    """Alternating directions: Thomas' algorithm along rows, then along columns (PolyBench `adi`)."""
    n = u.shape[0]
    v, p, q = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
    b, c = 1.0 + 2.0 * a, -a
    for _ in range(2):
        v[0, 1:-1] = 1.0
        p[1:-1, 0] = 0.0
        q[1:-1, 0] = v[0, 1:-1]
        for j in range(1, n - 1):
            p[1:-1, j] = -c / (-a * p[1:-1, j - 1] + b)
            q[1:-1, j] = (
                a * u[j, :-2] + (1.0 - 2.0 * a) * u[j, 1:-1] + a * u[j, 2:] + a * q[1:-1, j - 1]
            ) / (-a * p[1:-1, j - 1] + b)
        v[n - 1, 1:-1] = 1.0
        for j in range(n - 2, 0, -1):
            v[j, 1:-1] = p[1:-1, j] * v[j + 1, 1:-1] + q[1:-1, j]
        u, v = v.T.copy(), u
    return np.sum(u * u)


def fdtd(ex, ey, hz, drive):
    """Yee's scheme (PolyBench `fdtd_2d`): three fields in place."""
    for t in range(drive.shape[0]):
        ey[0, :] = drive[t]
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return np.sum(hz * hz)


def heat_3d(a, b):
    """PolyBench `heat_3d`."""
    for _ in range(2):
        b[1:-1, 1:-1, 1:-1] = (
            0.125 * (a[2:, 1:-1, 1:-1] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[:-2, 1:-1, 1:-1])
            + 0.125 * (a[1:-1, 2:, 1:-1] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[1:-1, :-2, 1:-1])
            + 0.125 * (a[1:-1, 1:-1, 2:] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[1:-1, 1:-1, :-2])
            + a[1:-1, 1:-1, 1:-1]
        )
        a[1:-1, 1:-1, 1:-1] = b[1:-1, 1:-1, 1:-1] * b[1:-1, 1:-1, 1:-1]
    return np.sum(a * a)


def _source(b, u, v, dt, dx):
    ux = (u[1:-1, 2:] - u[1:-1, :-2]) / (2.0 * dx)
    vy = (v[2:, 1:-1] - v[:-2, 1:-1]) / (2.0 * dx)
    uy, vx = (u[2:, 1:-1] - u[:-2, 1:-1]) / (2.0 * dx), (v[1:-1, 2:] - v[1:-1, :-2]) / (2.0 * dx)
    b[1:-1, 1:-1] = 1.0 / dt * (ux + vy) - ux**2 - 2.0 * uy * vx - vy**2


def _pressure(p, b, dx, sweeps):
    for _ in range(sweeps):
        pn = p.copy()
        p[1:-1, 1:-1] = 0.25 * (pn[1:-1, 2:] + pn[1:-1, :-2] + pn[2:, 1:-1] + pn[:-2, 1:-1])
        p[1:-1, 1:-1] -= 0.25 * dx * dx * b[1:-1, 1:-1]
        p[:, -1] = p[:, -2]
        p[0, :] = p[1, :]
        p[:, 0] = p[:, 1]
        p[-1, :] = 0.0


def cavity(u, v, p, nu, steps):
    """Barba's cavity flow, as in NPBench: boundary writes in a callee."""
    b, dt, dx = np.zeros_like(u), 0.01, 0.5
    for _ in range(steps):
        un, vn = u.copy(), v.copy()
        _source(b, u, v, dt, dx)
        _pressure(p, b, dx, 2)
        u[1:-1, 1:-1] = (
            un[1:-1, 1:-1]
            - un[1:-1, 1:-1] * dt / dx * (un[1:-1, 1:-1] - un[1:-1, :-2])
            - vn[1:-1, 1:-1] * dt / dx * (un[1:-1, 1:-1] - un[:-2, 1:-1])
            - dt / (2.0 * dx) * (p[1:-1, 2:] - p[1:-1, :-2])
            + nu * dt / dx**2 * (un[1:-1, 2:] - 2.0 * un[1:-1, 1:-1] + un[1:-1, :-2])
        )
        v[1:-1, 1:-1] = vn[1:-1, 1:-1] - dt / (2.0 * dx) * (p[2:, 1:-1] - p[:-2, 1:-1])
        u[0, :] = u[:, 0] = u[:, -1] = 0.0
        u[-1, :] = 1.0
        v[0, :] = v[-1, :] = v[:, 0] = v[:, -1] = 0.0
    return np.sum(u * u) + np.sum(v * p)


def _wrapped(q):
    q[:, 0] = q[:, -2]
    q[:, -1] = q[:, 1]
    q[0, :] = 0.0
    q[-1, :] = 0.0


def channel(u, force, tolerance):
    """Channel flow until it is steady: a `while` that depends on data, periodic boundaries in a callee."""
    change, steps = 1.0, 0
    while change > tolerance:
        un = u.copy()
        u[1:-1, 1:-1] = un[1:-1, 1:-1] + 0.2 * (
            un[1:-1, 2:] + un[1:-1, :-2] + un[2:, 1:-1] + un[:-2, 1:-1] - 4.0 * un[1:-1, 1:-1]
        )
        u[1:-1, 1:-1] += force - 0.1 * un[1:-1, 1:-1] ** 2
        _wrapped(u)
        change = (np.sum(u) - np.sum(un)) / np.sum(u)
        steps += 1
    return np.sum(u * u) / steps


def advection_limited(q, c):
    """Flux-limited advection (minmod by np.where), periodic by index arrays."""
    n = q.shape[0]
    left = np.arange(n) - 1
    for _ in range(3):
        d = q - q[left]
        e = d[(np.arange(n) + 1) % n]
        slope = np.where(d * e > 0.0, np.where(np.abs(d) < np.abs(e), d, e), 0.0)
        flux = c * (q + 0.5 * (1.0 - c) * slope)
        q -= flux - flux[left]
    return np.sum(q**3)


def horizontal_diffusion(field, coefficient):
    """Smagorinsky-like diffusion with a limiter (NPBench `hdiff`), three axes."""
    lap = 4.0 * field[1:-1, 1:-1, :] - (
        field[2:, 1:-1, :] + field[:-2, 1:-1, :] + field[1:-1, 2:, :] + field[1:-1, :-2, :]
    )
    res = lap[1:, 1:-1, :] - lap[:-1, 1:-1, :]
    fx = np.where(res * (field[2:-1, 2:-2, :] - field[1:-2, 2:-2, :]) > 0.0, 0.0, res)
    res = lap[1:-1, 1:, :] - lap[1:-1, :-1, :]
    fy = np.where(res * (field[2:-2, 2:-1, :] - field[2:-2, 1:-2, :]) > 0.0, 0.0, res)
    out = field[2:-2, 2:-2, :] - coefficient[:, :, None] * (
        fx[1:, :, :] - fx[:-1, :, :] + fy[:, 1:, :] - fy[:, :-1, :]
    )
    return np.sum(out * out)


def vertical_advection(w, phi):
    """A tridiagonal solve along the last axis for all columns at once (NPBench `vadv`)."""
    n = phi.shape[2]
    cc, dd = np.empty(phi.shape), np.empty(phi.shape)
    cc[:, :, 0] = w[:, :, 0] / 3.0
    dd[:, :, 0] = phi[:, :, 0] / 3.0
    for k in range(1, n):
        bottom = 1.0 / (3.0 - 0.3 * w[:, :, k] * cc[:, :, k - 1])
        cc[:, :, k] = w[:, :, k] * bottom
        dd[:, :, k] = (phi[:, :, k] + 0.3 * w[:, :, k] * dd[:, :, k - 1]) * bottom
    x = dd[:, :, n - 1].copy()
    total = np.sum(x * x)
    for k in range(n - 2, -1, -1):
        x = dd[:, :, k] - cc[:, :, k] * x
        phi[:, :, k] = x
        total += np.sum(x * x)
    return total


def n_body(pos, vel, mass):
    """Gravity between all pairs with a softening, by broadcasting over new axes."""
    for _ in range(2):
        dx = pos[None, :, 0] - pos[:, 0][:, None]
        dy = pos[None, :, 1] - pos[:, 1][:, None]
        inv = dx**2 + dy**2 + 0.1
        near = inv > 0.2
        inv[near] = inv[near] ** -1.5
        inv[~near] = 11.0
        vel[:, 0] += 0.1 * (dx * inv) @ mass
        vel[:, 1] += 0.1 * (dy * inv) @ mass
        pos += 0.1 * vel
    return 0.5 * np.sum(mass * np.sum(vel**2, axis=1)) + np.sum(pos)


def escape(cr, ci, bound):
    """Mandelbrot by masks, in real arithmetic: what has escaped stands still."""
    zr, zi = np.zeros_like(cr), np.zeros_like(ci)
    count = np.zeros(cr.shape, np.int64)
    for _ in range(4):
        inside = zr * zr + zi * zi < bound
        count[inside] += 1
        r, i = zr[inside], zi[inside]
        zr[inside] = r * r - i * i + cr[inside]
        zi[inside] = 2.0 * r * i + ci[inside]
    return np.sum(zr * zr + zi) + 0.1 * np.sum(count * zr)


def sir(state, beta, gamma):
    """An epidemic in several places with travel between them, explicit steps."""
    for _ in range(4):
        s, i = state[0], state[1]
        new = beta * s * i / state.sum(axis=0)
        gone = gamma * i
        state[0] -= new
        state[1] += new - gone
        state[2] += gone
        state[:, 1:] = 0.9 * state[:, 1:] + 0.1 * state[:, :-1]
    return np.max(state[1]) + np.sum(state[2] ** 2)


def spectral(u, forward, backward, k):
    """A step of Burgers' equation by matrices that stand for transforms."""
    for _ in range(2):
        du = backward @ (k * (forward @ u))
        u -= 0.1 * u * du
        c = forward @ u
        c[3:] = 0.0
        u[:] = backward @ (c * np.exp(-0.1 * k**2))
    return np.dot(u, u)


def blur_tv(image, weight):
    """A separable blur in place, then total variation (smooth)."""
    image[1:-1, :] = 0.25 * image[:-2, :] + 0.5 * image[1:-1, :] + 0.25 * image[2:, :]
    image[:, 1:-1] = 0.25 * image[:, :-2] + 0.5 * image[:, 1:-1] + 0.25 * image[:, 2:]
    gx, gy = image[1:, :-1] - image[:-1, :-1], image[:-1, 1:] - image[:-1, :-1]
    return np.sum(weight * np.sqrt(gx * gx + gy * gy + 1e-2)) + np.mean(image[::-1, ::2] ** 2)


PROGRAMS = [
    (jacobi, (wave(5, 6), wave(5, 6, seed=1), 3)),
    (jacobi_at_once, (wave(7), 3)),
    (gauss_seidel_rows, (wave(5, 5), wave(5, 5, seed=1))),
    (red_black, (wave(9), wave(9, seed=1))),
    (adi, (wave(5, 5), 0.3)),
    (fdtd, (wave(4, 5), wave(4, 5, seed=1), wave(4, 5, seed=2), wave(3))),
    (heat_3d, (wave(4, 4, 5), wave(4, 4, 5, seed=1))),
    (cavity, (wave(5, 5), wave(5, 5, seed=1), wave(5, 5, seed=2), 0.1, 2)),
    (channel, (wave(5, 6), 0.7, 0.21)),
    (advection_limited, (wave(6), 0.4)),
    (horizontal_diffusion, (wave(7, 6, 2), wave(3, 2, seed=1))),
    (vertical_advection, (wave(2, 3, 4), wave(2, 3, 4, seed=1))),
    (n_body, (wave(4, 2), wave(4, 2, seed=1), wave(4))),
    (escape, (0.9 * wave(3, 4), 0.5 * wave(3, 4, seed=1), 2.0)),
    (sir, (wave(3, 4), 0.6, 0.2)),
    (spectral, (wave(5), wave(5, 5, seed=1), wave(5, 5, seed=2), wave(5, seed=3))),
    (blur_tv, (wave(5, 6), 0.7)),
]
