"""Smoothed particles in a periodic box: the gradient of a density loss, cell list and counting sort included.

The whole pipeline is one differentiated function: cell ids, counting sort, gather into sorted order, and
neighbour loops whose ranges depend on the positions. Lengths are in units of the particle spacing scale (the
default density is ten particles per unit area), masses in units of one particle.

Each particle is its own neighbour at distance zero, where ``sqrt`` has no derivative; adjit passes zero there, so
the plain code needs no guard.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit


class Params(NamedTuple):
    """The box and the fluid: constants of the loss, not differentiated unless asked for."""

    L: float
    """Edge of the periodic box (length)."""
    h: float
    """Smoothing length (length); the kernel reaches to 2 h."""
    m: float
    """Mass of a particle (mass)."""
    rho0: float
    """Density that the loss asks for (mass per area)."""
    nc: int
    """Cells per edge; a cell is at least 2 h wide, and ``nc >= 3``."""


@njit
def W(r: float, h: float) -> float:
    """Cubic spline kernel in two dimensions (1 / area) at distance ``r`` (length); zero from ``2 h`` on."""
    q = r / h
    sigma = 10.0 / (7.0 * math.pi * h * h)
    if q < 1.0:
        return sigma * (1.0 - 1.5 * q * q + 0.75 * q * q * q)
    if q < 2.0:
        return sigma * 0.25 * (2.0 - q) * (2.0 - q) * (2.0 - q)
    return 0.0


@njit
def minimum_image(d: float, L: float) -> float:
    """The shortest of the periodic images of the difference ``d`` (length) in a box of edge ``L`` (length)."""
    return d - L * math.floor(d / L + 0.5)


@njit
def density_loss(x, p):
    """Sum over particles of (density - rho0) squared.

    Arguments:
        x: positions (length), float64 of shape (N, 2), inside the box or outside it (images are equivalent).
        p: Params.

    Returns: the loss ((mass / area) squared). Nothing is mutated.
    """
    N, nc = x.shape[0], p.nc
    s = p.L / nc

    # 1. cell of every particle, and particles per cell
    cell = np.empty(N, np.int64)
    start = np.zeros(nc * nc + 1, np.int64)
    for i in range(N):
        cx = math.floor(x[i, 0] / s) % nc
        cy = math.floor(x[i, 1] / s) % nc
        cell[i] = cx + nc * cy
        start[cell[i] + 1] += 1

    # 2. counting sort by cell: start[c] is the first sorted index of cell c
    for c in range(nc * nc):
        start[c + 1] += start[c]
    cursor = start[:-1].copy()
    perm = np.empty(N, np.int64)
    for i in range(N):
        perm[cursor[cell[i]]] = i
        cursor[cell[i]] += 1

    # 3. positions in sorted order: each cell is contiguous in memory
    xs = np.empty_like(x)
    for k in range(N):
        xs[k, 0] = x[perm[k], 0]
        xs[k, 1] = x[perm[k], 1]

    return misfit(xs, cell, perm, start, p)


@njit
def misfit(xs, cell, perm, start, p):
    """Sum over particles of (density - rho0) squared, for particles in the order of their cells.

    Arguments:
        xs: positions in that order. perm: which particle each is. cell: the cell of every particle.
        start: for each cell the place of its first particle in the order, and the number of all.
        p: Params.
    """
    nc, rc = p.nc, 2.0 * p.h
    # density over the 3 x 3 neighbouring cells, each a range whose length depends on the positions
    loss = 0.0
    for k in range(xs.shape[0]):
        c = cell[perm[k]]
        cx, cy = c % nc, c // nc
        rho = 0.0
        for dy in range(-1, 2):
            for dx in range(-1, 2):
                cn = (cx + dx) % nc + nc * ((cy + dy) % nc)
                for other in range(start[cn], start[cn + 1]):
                    rx = minimum_image(xs[k, 0] - xs[other, 0], p.L)
                    ry = minimum_image(xs[k, 1] - xs[other, 1], p.L)
                    r2 = rx * rx + ry * ry
                    if r2 < rc * rc:
                        rho += p.m * W(math.sqrt(r2), p.h)
        loss += (rho - p.rho0) ** 2
    return loss


def density_loss_in_steps(x, p):
    """``density_loss`` in steps that a device makes: a loop over particles, running sum, sort, gather, neighbours."""
    N, nc = x.shape[0], p.nc
    s = p.L / nc
    cell = np.empty(N, np.int64)
    start = np.zeros(nc * nc + 1, np.int64)
    for i in range(N):
        cell[i] = math.floor(x[i, 0] / s) % nc + nc * (math.floor(x[i, 1] / s) % nc)
        start[cell[i] + 1] += 1
    start = np.cumsum(start)
    perm = np.argsort(cell)
    return misfit(x[perm], cell, perm, start, p)


def params(n: int) -> Params:
    """The box that holds ``n`` particles at a density of ten per unit area."""
    L = math.sqrt(n / 10.0)
    return Params(L=L, h=0.5, m=1.0, rho0=10.0, nc=max(3, int(L)))


def inputs(n: int = 1000, seed: int = 0) -> tuple[np.ndarray, Params]:
    """Positions of ``n`` particles, uniform in the box, and its Params; the same numbers for the same ``seed``."""
    p = params(n)
    return np.random.default_rng(seed).random((n, 2)) * p.L, p


def main(n: int = 1000, device: str = "cpu") -> None:
    """Differentiate the loss of ``n`` particles, check it against finite differences, time it, print all of it."""
    from adjit.cli.demonstrate import Program, demonstrate

    loss = density_loss if device == "cpu" else density_loss_in_steps
    demonstrate(Program(f"particles, N={n}", loss, inputs(n), step=1e-6, device=device))


if __name__ == "__main__":
    main()
