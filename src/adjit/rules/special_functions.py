"""Special functions that derivatives need and `math` lacks: digamma, polygamma, spherical Bessel.

Plain scalar Python on floats that Numba compiles. Generated modules copy the source of each function
(`adjit.rules.prelude`), so a function here uses only `math`, builtins and others of this module.
"""

from __future__ import annotations

import math


def digamma(x: float) -> float:
    """d/dx lgamma(x), float64.

    Upward recurrence (Abramowitz & Stegun 6.3.5) to the asymptotic series (6.3.18); reflection for x < 0
    (6.3.7); Taylor series about the positive root, where the recurrence would cancel. nan at the poles.
    """
    reflected = 0.0
    if x <= 0.0:
        past = (-x) % 1.0
        if past == 0.0:
            return math.nan
        reflected = -math.pi / math.tan(math.pi * (past if past < 0.5 else past - 1.0))
        x = 1.0 - x
    t = (x - 1.4616321449683622) - 9.549995429965697e-17
    if abs(t) < 0.2:
        s = 0.0
        for c in (
            0.000504953265834602,
            -0.0007380709389960052,
            0.0010788252019162967,
            -0.0015769367714301972,
            0.002305126326734928,
            -0.003369801655439328,
            0.004926781395729853,
            -0.007204534386356869,
            0.010538791616612175,
            -0.01542476590494896,
            0.022597648232218104,
            -0.03316112647484736,
            0.04880428816414311,
            -0.07219956125645471,
            0.10782405069126237,
            -0.16394270544240652,
            0.258499760955651,
            -0.4427631689835921,
            0.9676722454476212,
        ):
            s = c + t * s
        return t * s - reflected
    shift = 0.0
    while x < 10.0:
        shift += 1.0 / x
        x += 1.0
    w = 1.0 / (x * x)
    tail = 1 / 12 - w * (
        1 / 120 - w * (1 / 252 - w * (1 / 240 - w * (1 / 132 - w * (691 / 32760 - w * (1 / 12)))))
    )
    return math.log(x) - 0.5 / x - w * tail - shift - reflected


def positive_zeta(s: int, x: float) -> float:
    """sum of (x + j)**-s over j = 0, 1, ..., for int s > 1 and x > 0.

    Direct sum, then Euler-Maclaurin (Abramowitz & Stegun 6.4.11, DLMF 25.11.28). Exponents are floats: a whole
    negative power that is beyond all floats raises in compiled code, whatever the error model.
    """
    total = 0.0
    while x < 10.0 + s:
        total += math.pow(x, float(-s))
        x += 1.0
    w = 1.0 / (x * x)
    # B_2k/(2k)! * s (s+1) ... (s+2k-2) * x**-(2k)
    term = s * w
    tail = 0.0
    k = 1
    for bernoulli in (
        1 / 12,
        -1 / 720,
        1 / 30240,
        -1 / 1209600,
        1 / 47900160,
        -691 / 1307674368000,
        1 / 74724249600,
    ):
        tail += bernoulli * term
        term *= (s + 2 * k - 1) * (s + 2 * k) * w
        k += 1
    return total + math.pow(x, float(1 - s)) * (1.0 / (s - 1) + 0.5 / x + tail)


def hurwitz_zeta(s: int, x: float) -> float:
    """`positive_zeta` continued to every real x; inf at 0, -1, -2, ...

    For x < 0 the finitely many negative terms are a difference of two sums of positive ones, so that
    the cost does not grow with |x|.
    """
    if x > 0.0:
        return positive_zeta(s, x)
    past = (-x) % 1.0
    if past == 0.0:
        return math.inf
    negative = positive_zeta(s, past) - positive_zeta(s, 1.0 - x)
    return positive_zeta(s, 1.0 - past) + (negative if s % 2 == 0 else -negative)


def polygamma(n: int, x: float) -> float:
    """The n-th derivative of digamma, n >= 1: (-1)**(n + 1) * n! * zeta(n + 1, x) (DLMF 25.11.12)."""
    factor = -1.0
    for k in range(1, n + 1):
        factor *= -k
    return factor * hurwitz_zeta(n + 1, x)


def spherical_bessel(n: int, z: float) -> float:
    """j_n(z) of int order; 0 for n < 0 (only ever multiplied by 0).

    Power series for small |z| (DLMF 10.53.1), else upward recurrence (DLMF 10.51.1).
    """
    if n < 0:
        return 0.0
    if abs(z) < n + 1.0:
        lead = 1.0
        for k in range(1, n + 1):
            lead *= z / (2 * k + 1)
        term = 1.0
        total = 1.0
        k = 1
        while abs(term) > 1e-18 * abs(total):
            term *= -0.5 * z * z / (k * (2 * n + 2 * k + 1))
            total += term
            k += 1
        return lead * total
    before = math.cos(z) / z
    here = math.sin(z) / z
    for k in range(n):
        before, here = here, (2 * k + 1) / z * here - before
    return here
