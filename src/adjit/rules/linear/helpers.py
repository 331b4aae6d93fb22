"""Functions that the printed operations call. Their source is copied into generated modules, so they use only `np`."""

from __future__ import annotations

import numpy as np


def cofactors(a):  # type: ignore[no-untyped-def]
    """The matrix of cofactors, det(a) * inv(a).T, of a singular matrix too."""
    d = np.linalg.det(a)
    if d != 0:
        return d * np.linalg.inv(a).T
    u, s, vt = np.linalg.svd(a)
    rest = np.ones_like(s)
    for i in range(s.size):
        for j in range(s.size):
            if j != i:
                rest[i] *= s[j]
    return np.linalg.det(u) * np.linalg.det(vt) * np.dot(np.conj(u) * rest, np.conj(vt))


FFT, IFFT, RFFT, IRFFT = range(4)
BACKWARD, ORTHO, FORWARD = range(3)


def fourier(kind, x, n, axis, norm, out):  # type: ignore[no-untyped-def]
    """`np.fft.fft(x, n, axis, norm, out)`, or ifft, rfft, irfft; generated modules have another (`codegen.fourier`)."""
    transform = (np.fft.fft, np.fft.ifft, np.fft.rfft, np.fft.irfft)[kind]
    transform(x, n, axis, ("backward", "ortho", "forward")[norm], out)


def order(x, axis, out):  # type: ignore[no-untyped-def]
    """The places of the elements along an axis in order."""
    out[...] = np.argsort(x, axis, kind="stable")


def running_sum(x, axis, step, out):  # type: ignore[no-untyped-def]
    """The running sum along an axis, from the end on where the step is -1."""
    given, made = (x, out) if step == 1 else (np.flip(x, axis), np.flip(out, axis))
    made[...] = np.cumsum(given, axis)
