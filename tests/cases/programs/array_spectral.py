"""Spectral methods by `np.fft`: waves in time loops, Poisson's equation, filters, correlations."""

from __future__ import annotations

import numpy as np

from ..record import wave


def burgers(u, nu, steps):
    """Burgers' equation, pseudo-spectral: Heun's steps, an integrating factor, two thirds of the frequencies."""
    n, dt = len(u), 0.05
    k = 2.0 * np.pi * np.fft.rfftfreq(n, 1.0 / n)
    keep = k < 2.0 * np.pi * n / 3.0
    decay = np.exp(-nu * k**2 * dt)
    c = np.fft.rfft(u)
    for _ in range(steps):
        v = np.fft.irfft(c, n)
        first = -0.5j * k * np.fft.rfft(v * v) * keep
        half = decay * (c + dt * first)
        w = np.fft.irfft(half, n)
        c = decay * (c + 0.5 * dt * first) - 0.25j * dt * k * np.fft.rfft(w * w) * keep
    u[:] = np.fft.irfft(c, n)
    return np.sum(u**3)


def korteweg_de_vries(u, length, steps):
    """u_t + u u_x + u_xxx = 0, split: dispersion exactly by complex transforms, the rest by a step on a grid."""
    k = 2.0 * np.pi * np.fft.fftfreq(u.size, d=length / u.size)
    turn = np.exp(1j * k**3 * 0.01)
    for _ in range(steps):
        c = np.fft.fft(u) * turn
        slope = np.fft.ifft(1j * k * c)
        u[:] = c_to_x(c) - 0.1 * c_to_x(c) * slope.real
    return np.max(u) + np.dot(u, u)


def c_to_x(c):
    """Numbers on the grid, which are real but for rounding."""
    return np.fft.ifft(c).real


def poisson(f, size):
    """-laplace u = f with periodic borders, of mean 0: energy, and a value."""
    kx = np.fft.fftfreq(f.shape[0], size / f.shape[0])
    ky = np.fft.rfftfreq(f.shape[1], size / f.shape[1])
    square = (2.0 * np.pi) ** 2 * (kx[:, None] ** 2 + ky**2)
    square[0, 0] = 1.0
    c = np.fft.rfft2(f) / square
    c[0, 0] = 0.0
    u = np.fft.irfft2(c, s=f.shape)
    return 0.5 * np.sum(u * f) + u[1, 2] ** 2


def deconvolved(y, kernel, noise):
    """Wiener's filter: what was blurred by the kernel, padded to twice its length."""
    n = 2 * len(y)
    h = np.fft.rfft(kernel, n)
    found = np.fft.irfft(np.conj(h) * np.fft.rfft(y, n) / (np.abs(h) ** 2 + noise), n)[: len(y)]
    y -= found
    return np.sum(y * y) + np.sum(np.abs(np.diff(found)))


def correlated(x, y):
    """The lag and the height of the peak of a correlation, smoothed; phases by their arguments."""
    product = np.fft.fft(x) * np.conj(np.fft.fft(y))
    peak = np.fft.fftshift(np.fft.ifft(product).real)
    k = np.argmax(peak)
    phases = np.angle(product[1:3])
    return peak[k] * np.exp(0.1 * np.sum(phases * phases)) + np.sum(product.imag**2) * 0.01


def shells(a, width):
    """Energy of a field in shells of wave numbers, ortho-normal, with a smooth window in between."""
    c = np.fft.fftshift(np.fft.fftn(a, norm="ortho"))
    total = 0.0
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            r = (i - c.shape[0] // 2) ** 2 + (j - c.shape[1] // 2) ** 2
            c[i, j] *= np.exp(-width * r)
            total += r * (c[i, j].real ** 2 + c[i, j].imag ** 2)
    a[:] = np.fft.ifftn(np.fft.ifftshift(c), norm="ortho").real
    return total + np.sum(a**3)


PROGRAMS = [
    (burgers, (wave(9), 0.02, 2)),
    (korteweg_de_vries, (wave(8, seed=1), 3.0, 2)),
    (poisson, (wave(4, 5, seed=2), 1.5)),
    (deconvolved, (wave(5, seed=3), wave(3, seed=4), 0.2)),
    (correlated, (wave(6, seed=5), wave(6, seed=6))),
    (shells, (wave(3, 4, seed=7), 0.3)),
]
