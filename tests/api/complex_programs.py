"""Programs with complex numbers: transforms, roots, circuits, spins. Each returns a real number unless it says otherwise."""

from __future__ import annotations

import cmath
import math

import numpy as np


def fft_power(x, k):
    """Radix 2 in place (decimation in frequency); the power of one output, in bit-reversed order."""
    n = len(x)
    half = n // 2
    while half > 0:
        for start in range(0, n, 2 * half):
            for j in range(half):
                w = cmath.exp(-1j * math.pi * j / half)
                a, b = x[start + j], x[start + j + half]
                x[start + j] = a + b
                x[start + j + half] = (a - b) * w
        half //= 2
    return x[k].real ** 2 + x[k].imag ** 2


def dft(x, y):
    """y = DFT(x), complex out of real numbers."""
    n = len(x)
    for k in range(n):
        s = 0j
        for j in range(n):
            s += x[j] * np.exp(-2j * np.pi * j * k / n)
        y[k] = s


def newton_root(c, z):
    """The root of z**3 = c that Newton finds (complex result)."""
    for _ in range(40):
        step = (z**3 - c) / (3 * z**2)
        z -= step
        if abs(step) < 1e-13:
            break
    return z


def escape(c, limit):
    """Smoothed |z| of the first turn outside of the circle of radius 2."""
    z = 0j
    n = 0
    while z.real**2 + z.imag**2 < 4.0 and n < limit:
        z = z * z + c
        n += 1
    return math.log(abs(z)) / 2.0**n


def durand_kerner(a, roots):
    """Roots of z**n + a[n-1] z**(n-1) + ... + a[0], all at once, in place; their spread."""
    n = len(a)
    for i in range(n):
        roots[i] = (0.4 + 0.9j) ** i
    for _ in range(60):
        for i in range(n):
            p = 1.0 + 0j
            for k in range(n - 1, -1, -1):
                p = p * roots[i] + a[k]
            q = 1.0 + 0j
            for j in range(n):
                if j != i:
                    q *= roots[i] - roots[j]
            roots[i] -= p / q
    s = 0.0
    for i in range(n):
        s += abs(roots[i]) ** 2 * (i + 1)
    return s


def reflectance(indices, widths, k):
    """Of a stack of thin films: products of 2 x 2 characteristic matrices."""
    m00, m01, m10, m11 = 1 + 0j, 0j, 0j, 1 + 0j
    for i in range(len(widths)):
        n = indices[i]
        d = k * n * widths[i]
        c, s = np.cos(d), np.sin(d)
        a, b, e = c, 1j * s / n, 1j * n * s
        m00, m01, m10, m11 = m00 * a + m01 * e, m00 * b + m01 * a, m10 * a + m11 * e, m10 * b + m11 * a
    out = 1.5
    r = (m00 + m01 * out - (m10 + m11 * out)) / (m00 + m01 * out + m10 + m11 * out)
    return abs(r) ** 2


def ladder(r, ell, cap, omega):
    """Phase and size of the impedance of an RLC ladder."""
    z = complex(50.0, 0.0)
    for k in range(len(r) - 1, -1, -1):
        y = 1.0 / z + 1j * omega * cap[k]
        z = r[k] + 1j * omega * ell[k] + 1.0 / y
    return np.angle(z) + np.log(np.abs(z))


def spin_chain(psi, couplings, field, dt, steps):
    """Trotter steps of neighbouring spins in place; then the mean of the first one."""
    n = len(couplings) + 1
    for _ in range(steps):
        for b in range(n - 1):
            phase = np.exp(-1j * couplings[b] * dt)
            for s in range(len(psi)):
                psi[s] *= phase if ((s >> b) ^ (s >> (b + 1))) & 1 == 0 else np.conj(phase)
        c, w = math.cos(field * dt), -1j * math.sin(field * dt)
        for b in range(n):
            for s in range(len(psi)):
                if (s >> b) & 1 == 0:
                    t = s | (1 << b)
                    up, down = psi[s], psi[t]
                    psi[s], psi[t] = c * up + w * down, w * up + c * down
    m = 0.0
    for s in range(len(psi)):
        p = psi[s].real ** 2 + psi[s].imag ** 2
        m += p if s & 1 == 0 else -p
    return m


def horner(a, z):
    """A polynomial of complex coefficients (complex result)."""
    p = 0j
    for k in range(len(a) - 1, -1, -1):
        p = p * z + a[k]
    return p


def records(state, x):
    """Records of complex values, a local array, a rebound name, a branch, `polar` and `rect`."""
    a = np.empty(3, np.complex128)
    b = np.zeros(3, np.complex128)
    for i in range(3):
        a[i] = state.z * (i + x)
    for k in range(4):
        for i in range(3):
            b[i] = a[i] * a[(i + 1) % 3] + state.w.conjugate()
            if b[i].real > 0.5:
                b[i] = b[i] / (1.0 + abs(b[i]))
        a, b = b, a
    r, phase = cmath.polar(a[0])
    back = cmath.rect(r * x, phase)
    return (back - a[1]).imag + cmath.phase(a[2])


def norm_of_zero(z):
    """At 0 norms and angles pass 0."""
    return abs(z) + np.angle(z) + np.sqrt(z).real


def strong(z, x):
    """A branch that is not taken, and a zero weight on an infinite slope."""
    s = 0j
    if x > 0:
        s = z * x
    else:
        s = 1.0 / (z - z)
    w = 0.0 * np.sqrt(abs(z - z))
    return s.real + w
