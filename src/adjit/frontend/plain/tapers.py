"""Windows of signals, and the Bessel function that one of them is made of, by Numba's formulas."""

from __future__ import annotations

from typing import Any

import numpy as np


def bartlett(M: Any) -> Any:
    """`np.bartlett`: a triangle."""
    if M < 1:
        return np.zeros(0)
    if M == 1:
        return np.ones(1)
    n = np.arange(1.0 - M, M, 2)
    return np.where(n <= 0, 1 + n / (M - 1), 1 - n / (M - 1))


def blackman(M: Any) -> Any:
    """`np.blackman`."""
    if M < 1:
        return np.zeros(0)
    if M == 1:
        return np.ones(1)
    n = np.arange(1.0 - M, M, 2)
    return 0.42 + 0.5 * np.cos(np.pi * n / (M - 1)) + 0.08 * np.cos(2.0 * np.pi * n / (M - 1))


def hamming(M: Any) -> Any:
    """`np.hamming`."""
    if M < 1:
        return np.zeros(0)
    if M == 1:
        return np.ones(1)
    n = np.arange(1 - M, M, 2)
    return 0.54 + 0.46 * np.cos(np.pi * n / (M - 1))


def hanning(M: Any) -> Any:
    """`np.hanning`."""
    if M < 1:
        return np.zeros(0)
    if M == 1:
        return np.ones(1)
    n = np.arange(1 - M, M, 2)
    return 0.5 + 0.5 * np.cos(np.pi * n / (M - 1))


def kaiser(M: Any, beta: Any) -> Any:
    """`np.kaiser`, with a derivative in beta."""
    if M < 1:
        return np.zeros(0)
    if M == 1:
        return np.ones(1)
    alpha = (M - 1) / 2.0
    made = np.empty(M)
    scale = i0(np.float64(beta))
    for k in range(M):
        made[k] = i0(beta * np.sqrt(1 - ((k - alpha) / alpha) ** 2.0)) / scale
    return made


def i0(x: Any) -> Any:
    """`np.i0` of a number: two series of Chebyshev polynomials."""
    size = np.float64(abs(x))
    if size <= 8.0:
        return np.exp(size) * chebyshev(0.5 * size - 2.0, _NEAR)
    return np.exp(size) * chebyshev(32.0 / size - 2.0, _FAR) / np.sqrt(size)


def chebyshev(x: Any, coefficients: Any) -> Any:
    """The sum of a series, by Clenshaw's recurrence."""
    b0 = 0.0
    b1 = 0.0
    b2 = 0.0
    for c in coefficients:
        b2 = b1
        b1 = b0
        b0 = x * b1 - b2 + c
    return 0.5 * (b0 - b2)


_NEAR = (
    -4.4153416464793395e-18,
    3.3307945188222384e-17,
    -2.431279846547955e-16,
    1.715391285555133e-15,
    -1.1685332877993451e-14,
    7.676185498604936e-14,
    -4.856446783111929e-13,
    2.95505266312964e-12,
    -1.726826291441556e-11,
    9.675809035373237e-11,
    -5.189795601635263e-10,
    2.6598237246823866e-09,
    -1.300025009986248e-08,
    6.046995022541919e-08,
    -2.670793853940612e-07,
    1.1173875391201037e-06,
    -4.4167383584587505e-06,
    1.6448448070728896e-05,
    -5.754195010082104e-05,
    0.00018850288509584165,
    -0.0005763755745385824,
    0.0016394756169413357,
    -0.004324309995050576,
    0.010546460394594998,
    -0.02373741480589947,
    0.04930528423967071,
    -0.09490109704804764,
    0.17162090152220877,
    -0.3046826723431984,
    0.6767952744094761,
)
_FAR = (
    -7.233180487874754e-18,
    -4.830504485944182e-18,
    4.46562142029676e-17,
    3.461222867697461e-17,
    -2.8276239805165836e-16,
    -3.425485619677219e-16,
    1.7725601330565263e-15,
    3.8116806693526224e-15,
    -9.554846698828307e-15,
    -4.150569347287222e-14,
    1.54008621752141e-14,
    3.8527783827421426e-13,
    7.180124451383666e-13,
    -1.7941785315068062e-12,
    -1.3215811840447713e-11,
    -3.1499165279632416e-11,
    1.1889147107846439e-11,
    4.94060238822497e-10,
    3.3962320257083865e-09,
    2.266668990498178e-08,
    2.0489185894690638e-07,
    2.8913705208347567e-06,
    6.889758346916825e-05,
    0.0033691164782556943,
    0.8044904110141088,
)
