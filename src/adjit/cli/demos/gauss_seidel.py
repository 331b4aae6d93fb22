"""Gauss-Seidel sweeps for the Poisson equation, in place: lexicographic order and red-black.

A source ``theta`` on an n x n grid of the unit square, zero on the boundary, gives ``u`` after K sweeps; the loss is
the squared misfit to ``uobs``. Every update overwrites an element that later updates read, which is what makes the
program hard for tools that forbid mutation. It is linear, so the reverse pass needs no record: its memory does not
grow with K.
"""

import numpy as np
from numba import njit

import adjit as aj


@njit
def lexicographic_loss(theta, uobs, K):
    """Misfit after K sweeps in row order, each of which reads its own newest values.

    Arguments:
        theta: source term (value per length squared), float64 of shape (n, n).
        uobs: observed solution (value), float64 of shape (n, n).
        K: number of sweeps.

    Returns: the sum of (u - uobs) squared (value squared). Nothing is mutated; u lives inside.
    """
    n = theta.shape[0]
    h2 = 1.0 / (n + 1) ** 2
    u = np.zeros((n + 2, n + 2))
    for _ in range(K):
        for i in range(1, n + 1):
            for j in range(1, n + 1):
                u[i, j] = (
                    h2 * theta[i - 1, j - 1] + u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
                ) / 4
    loss = 0.0
    for i in range(n):
        for j in range(n):
            loss += (u[i + 1, j + 1] - uobs[i, j]) ** 2
    return loss


@njit
def red_black_loss(theta, uobs, K):
    """Misfit after K sweeps, each of which updates the even points from the odd ones, then the odd from the even.

    Arguments and result are those of ``lexicographic_loss``.
    """
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
    loss = 0.0
    for i in range(n):
        for j in range(n):
            loss += (u[i + 1, j + 1] - uobs[i, j]) ** 2
    return loss


@aj.kernel
def half_sweep(u, theta, h2, colour):
    """The points of one colour, each a work item of its own: none reads what another one writes."""
    i, j = aj.index(2)
    if (i + j) % 2 == colour:
        u[i + 1, j + 1] = (
            h2 * theta[i, j] + u[i, j + 1] + u[i + 2, j + 1] + u[i + 1, j] + u[i + 1, j + 2]
        ) / 4


def red_black_on_device(theta, uobs, K):
    """``red_black_loss`` by kernels, on the device of its arrays."""
    n = theta.shape[0]
    h2 = 1.0 / (n + 1) ** 2
    u = np.zeros((n + 2, n + 2))
    for _ in range(K):
        half_sweep(u, theta, h2, 0, ndrange=(n, n))
        half_sweep(u, theta, h2, 1, ndrange=(n, n))
    return np.sum((u[1:-1, 1:-1] - uobs) ** 2)


def inputs(n: int = 64, K: int = 100, seed: int = 0) -> tuple[np.ndarray, np.ndarray, int]:
    """theta, uobs (both n x n, normal, uobs scaled by 0.01) and K; the same numbers for the same ``seed``."""
    random = np.random.default_rng(seed)
    return random.standard_normal((n, n)), 0.01 * random.standard_normal((n, n)), K


def main(n: int = 64, K: int = 100, device: str = "cpu") -> None:
    """Differentiate both losses with respect to theta, check them, time them, print all of it.

    On a device the red-black one alone: in lexicographic order each point waits for the one before.
    """
    from adjit.cli.demonstrate import Program, demonstrate

    losses = (("lexicographic", lexicographic_loss), ("red-black", red_black_loss))
    if device != "cpu":
        losses = (("red-black", red_black_on_device),)
    # the loss is quadratic in theta, so a large finite-difference step is exact up to rounding
    for title, loss in losses:
        title = f"{title} Gauss-Seidel, n={n}, K={K}"
        demonstrate(Program(title, loss, inputs(n, K), step=1e-2, device=device))


if __name__ == "__main__":
    main()
