"""Hand-written adjoints in Numba: the fastest form found of each program of the table.

`GENERATED` holds what a code generator can emit (docs/internals/adjoint-speed.md says how), `BEST` the fastest of all,
where that uses knowledge of the program. Each takes the arguments of the loss and returns (value, gradient).
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit, uint64

from adjit.cli.demos.particles import W, minimum_image

one = uint64(1)


# --- Gauss-Seidel ---------------------------------------------------------------------------------------------------


@njit
def _misfit(u, uobs):
    """The loss, and its derivative in the solution (with its rim of zeros)."""
    n = uobs.shape[0]
    loss = 0.0
    du = np.zeros((n + 2, n + 2))
    for i in range(n):
        for j in range(n):
            d = u[i + 1, j + 1] - uobs[i, j]
            loss += d**2
            du[i + 1, j + 1] = 2 * d
    return loss, du


@njit
def _lexicographic_forward(theta, K):
    n = theta.shape[0]
    h2 = 1.0 / (n + 1) ** 2
    u = np.zeros((n + 2, n + 2))
    for _ in range(K):
        for i in range(1, n + 1):
            for j in range(1, n + 1):
                u[i, j] = (
                    h2 * theta[i - 1, j - 1] + u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
                ) / 4
    return u


@njit(error_model="numpy")
def lexicographic(theta, uobs, K):
    """Unsigned indices, loads before stores, the adjoint of the next point in a scalar."""
    loss, du = _misfit(_lexicographic_forward(theta, K), uobs)
    n = theta.shape[0]
    h2 = 1.0 / (n + 1) ** 2
    dtheta = np.zeros_like(theta)
    for _ in range(K):
        for i in range(n, 0, -1):
            I = uint64(i)
            carried = du[I, uint64(n)]
            for j in range(n, 0, -1):
                J = uint64(j)
                t = carried * 0.25
                above, below = du[I - one, J], du[I + one, J]
                left, right = du[I, J - one], du[I, J + one]
                source = dtheta[I - one, J - one]
                du[I, J] = 0.0
                dtheta[I - one, J - one] = source + h2 * t
                du[I - one, J] = above + t
                du[I + one, J] = below + t
                du[I, J + one] = right + t
                carried = left + t
            du[I, uint64(0)] = carried
    return loss, dtheta


@njit(error_model="numpy")
def lexicographic_gathered(theta, uobs, K):
    """The reverse of a sweep as a sweep: each point pulls from its neighbours; the first one is peeled."""
    loss, du = _misfit(_lexicographic_forward(theta, K), uobs)
    n = theta.shape[0]
    h2 = 1.0 / (n + 1) ** 2
    dtheta = np.zeros_like(theta)
    for k in range(K):
        for i in range(n, 0, -1):
            I = uint64(i)
            carried = 0.0
            for j in range(n, 0, -1):
                J = uint64(j)
                pulled = du[I, J] if k == 0 else du[I - one, J] + du[I, J - one]
                t = (pulled + du[I + one, J] + carried) * 0.25
                du[I, J] = t
                dtheta[I - one, J - one] += h2 * t
                carried = t
    return loss, dtheta


@njit
def _red_black_forward(theta, K):
    n = theta.shape[0]
    h2 = 1.0 / (n + 1) ** 2
    u = np.zeros((n + 2, n + 2))
    for _ in range(K):
        for colour in range(2):
            for i in range(1, n + 1):
                for j in range(1, n + 1):
                    if (i + j) % 2 == colour:
                        u[i, j] = (
                            h2 * theta[i - 1, j - 1] + u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
                        ) / 4
    return u


@njit(error_model="numpy")
def red_black(theta, uobs, K):
    """Unsigned indices, loads before stores, the guard turned into a step of two."""
    loss, du = _misfit(_red_black_forward(theta, K), uobs)
    n = theta.shape[0]
    h2 = 1.0 / (n + 1) ** 2
    dtheta = np.zeros_like(theta)
    for _ in range(K):
        for colour in range(1, -1, -1):
            for i in range(n, 0, -1):
                I = uint64(i)
                last = n if (n + i) % 2 == colour else n - 1
                for j in range(last, 0, -2):
                    J = uint64(j)
                    t = du[I, J] * 0.25
                    above, below = du[I - one, J], du[I + one, J]
                    left, right = du[I, J - one], du[I, J + one]
                    source = dtheta[I - one, J - one]
                    du[I, J] = 0.0
                    dtheta[I - one, J - one] = source + h2 * t
                    du[I - one, J] = above + t
                    du[I + one, J] = below + t
                    du[I, J - one] = left + t
                    du[I, J + one] = right + t
    return loss, dtheta


@njit(error_model="numpy")
def red_black_gathered(theta, uobs, K):
    """Each point pulls from its neighbours of the other colour; a store takes the place of zeroing and adding."""
    loss, du = _misfit(_red_black_forward(theta, K), uobs)
    n = theta.shape[0]
    w = 0.25 / (n + 1) ** 2
    dtheta = np.zeros_like(theta)
    for half in range(2 * K):
        colour = 1 if half == 0 else (half - 1) % 2
        if half > 0:
            for i in range(1, n + 1):
                I = uint64(i)
                for j in range(1 if (1 + i) % 2 == colour else 2, n + 1, 2):
                    J = uint64(j)
                    t = (du[I - one, J] + du[I + one, J] + du[I, J - one] + du[I, J + one]) * 0.25
                    if half == 1:
                        t += du[I, J]
                    du[I, J] = t
                    dtheta[I - one, J - one] += w * t
        else:
            for i in range(1, n + 1):
                for j in range(1, n + 1):
                    if (i + j) % 2 == 1:
                        dtheta[i - 1, j - 1] += w * du[i, j]
    return loss, dtheta


# --- particles ------------------------------------------------------------------------------------------------------


@njit
def _sorted(x, p):
    N, nc = x.shape[0], p.nc
    s = p.L / nc
    cell = np.empty(N, np.int64)
    start = np.zeros(nc * nc + 1, np.int64)
    for i in range(N):
        cell[i] = math.floor(x[i, 0] / s) % nc + nc * (math.floor(x[i, 1] / s) % nc)
        start[cell[i] + 1] += 1
    for c in range(nc * nc):
        start[c + 1] += start[c]
    cursor = start[:-1].copy()
    perm = np.empty(N, np.int64)
    for i in range(N):
        perm[cursor[cell[i]]] = i
        cursor[cell[i]] += 1
    xs = np.empty_like(x)
    for k in range(N):
        xs[k, 0] = x[perm[k], 0]
        xs[k, 1] = x[perm[k], 1]
    return cell, start, perm, xs


@njit(error_model="numpy")
def particles(x, p):
    """Unsigned indices, selects for the kernel's pieces, own adjoint in scalars; records one density each."""
    cell, start, perm, xs = _sorted(x, p)
    N, nc, L, h, m, rc = xs.shape[0], p.nc, p.L, p.h, p.m, 2.0 * p.h
    density = np.empty(N)
    loss = 0.0
    for k in range(N):
        own = uint64(k)
        c = cell[uint64(perm[own])]
        cx, cy = c % nc, c // nc
        rho = 0.0
        for dy in range(-1, 2):
            for dx in range(-1, 2):
                cn = (cx + dx) % nc + nc * ((cy + dy) % nc)
                for q in range(start[cn], start[cn + 1]):
                    other = uint64(q)
                    rx = minimum_image(xs[own, 0] - xs[other, 0], L)
                    ry = minimum_image(xs[own, 1] - xs[other, 1], L)
                    r2 = rx * rx + ry * ry
                    if r2 < rc * rc:
                        rho += m * W(math.sqrt(r2), h)
        density[own] = rho
        loss += (rho - p.rho0) ** 2

    dxs = np.zeros_like(xs)
    sigma, inverse = 10.0 / (7.0 * math.pi * h * h), 1.0 / h
    for k in range(N - 1, -1, -1):
        own = uint64(k)
        c = cell[uint64(perm[own])]
        cx, cy = c % nc, c // nc
        dkernel = m * (2.0 * (density[own] - p.rho0))
        gx, gy = 0.0, 0.0
        for dy in range(1, -2, -1):
            for dx in range(1, -2, -1):
                cn = (cx + dx) % nc + nc * ((cy + dy) % nc)
                for q in range(start[cn + 1] - 1, start[cn] - 1, -1):
                    other = uint64(q)
                    rx = minimum_image(xs[own, 0] - xs[other, 0], L)
                    ry = minimum_image(xs[own, 1] - xs[other, 1], L)
                    r2 = rx * rx + ry * ry
                    if r2 < rc * rc:
                        r = math.sqrt(r2)
                        t = r / h
                        inner = -3.0 * t + 2.25 * t * t
                        outer = -0.75 * (2.0 - t) * (2.0 - t) if t < 2.0 else 0.0
                        dr = sigma * dkernel * (inner if t < 1.0 else outer) * inverse
                        dr2 = 0.5 * dr / r if r != 0.0 else 0.0
                        drx, dry = 2.0 * rx * dr2, 2.0 * ry * dr2
                        gx += drx
                        gy += dry
                        dxs[other, 0] -= drx
                        dxs[other, 1] -= dry
        dxs[own, 0] += gx
        dxs[own, 1] += gy
    dx_ = np.zeros_like(x)
    for k in range(N):
        dx_[perm[k], 0] += dxs[k, 0]
        dx_[perm[k], 1] += dxs[k, 1]
    return loss, dx_


# --- Burgers --------------------------------------------------------------------------------------------------------


@njit(error_model="numpy")
def burgers(u0, T, c):
    """One double recorded an update, unsigned indices and cursor, the running adjoint in a scalar."""
    u = u0.copy()
    n = u.shape[0]
    record = np.empty(T * (n - 1))
    cursor = uint64(0)
    for _ in range(T):
        for i in range(1, n):
            I = uint64(i)
            old = u[I]
            record[cursor] = old
            cursor += one
            u[I] = old - c * old * (old - u[I - one])
    loss = 0.0
    du = np.empty(n)
    for i in range(n):
        loss += u[i] * u[i]
        du[i] = 2 * u[i]
    for _ in range(T):
        carried = du[n - 1]
        for i in range(n - 1, 0, -1):
            I = uint64(i)
            cursor -= one
            old = record[cursor]
            u[I] = old
            left, dleft = u[I - one], du[I - one]
            slope = c * old
            du[I] = carried - (carried * (c * (old - left)) + carried * slope)
            carried = dleft + carried * slope
        du[0] = carried
    return loss, du


GENERATED = {
    "lexicographic": lexicographic,
    "red-black": red_black,
    "particles": particles,
    "burgers": burgers,
}
BEST = GENERATED | {"lexicographic": lexicographic_gathered, "red-black": red_black_gathered}
