"""Points without a derivative, where the documented table says what comes back (case A 18; design 2)."""

from __future__ import annotations

import math

import numpy as np

from ..record import Case, vec


def softplus_guarded(z):
    return z if z > 20 else math.log(1 + math.exp(z))


def norm(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * x[i]
    return math.sqrt(s)


def hypot_norm(x):
    return math.hypot(x[0], x[1])


def root_of_zero(x):
    return (x - x) ** 0.5 + x


def zeroth_power(x):
    return x**0 + x


def zero_to_the(y):
    return 0.0**y + y


def float_zeroth_power(x, e):
    return x**e + x


def absolute(x):
    return abs(x) * 3 + x


def tie_max(x):
    return max(x[0], x[1])


def tie_branch(x):
    m = x[0]
    if x[1] > m:
        m = x[1]
    return m


def nan_not_taken(x):
    s = 0.0
    for i in range(len(x)):
        if x[i] > 0:
            s += math.sqrt(x[i]) + math.log(x[i])
        else:
            s += x[i] * 2
    return s


def pairs_with_self(x, y):
    s = 0.0
    for i in range(len(x)):
        for j in range(len(x)):
            dx = x[i] - x[j]
            dy = y[i] - y[j]
            s += math.sqrt(dx * dx + dy * dy)
    return s


def zero_times_infinite_slope(x):
    return 0.0 * math.sqrt(x) + x


def underflowing_product(x):
    p = 1.0
    for i in range(len(x)):
        p *= x[i]
    return p


def _pairs_gradient(x, y):
    dx, dy = x[:, None] - x, y[:, None] - y
    r = np.sqrt(dx**2 + dy**2) + np.eye(len(x))
    return 2 * (dx / r).sum(1), 2 * (dy / r).sum(1)


def _not_taken_gradient(x):
    positive = np.where(x > 0, x, 1.0)
    return (np.where(x > 0, 0.5 / np.sqrt(positive) + 1 / positive, 2.0),)


def _point(name, program, args, gradient, wrt=(0,)):
    return Case(name, program, args, wrt, gradient, "A18", differences=False)


CASES = [
    _point("softplus_far", softplus_guarded, (100.0,), lambda z: (1.0,)),
    _point("softplus_beyond_exp", softplus_guarded, (1e4,), lambda z: (1.0,)),
    _point("norm_at_zero", norm, (vec(0, 0),), lambda x: (0 * x,)),
    _point("hypot_at_zero", hypot_norm, (vec(0, 0),), lambda x: (0 * x,)),
    _point("root_of_zero", root_of_zero, (1.5,), lambda x: (1.0,)),
    _point("zeroth_power", zeroth_power, (0.0,), lambda x: (1.0,)),
    _point("zero_to_the", zero_to_the, (2.0,), lambda y: (1.0,)),
    _point("float_zeroth_power", float_zeroth_power, (0.0, 0.0), lambda x, e: (1.0,)),
    _point("absolute_at_zero", absolute, (0.0,), lambda x: (1.0,)),
    _point("tie_branch", tie_branch, (vec(2, 2),), lambda x: (vec(1, 0),)),
    _point("nan_not_taken", nan_not_taken, (vec(-1, 0.5, 0, 2),), _not_taken_gradient),
    _point(
        "pairs_with_self", pairs_with_self, (vec(0.3, 0.9, 0.4), vec(0.1, 0.8, 0.6)), _pairs_gradient, (0, 1)
    ),
    _point("zero_times_infinite_slope", zero_times_infinite_slope, (0.0,), lambda x: (1.0,)),
    _point("product_with_zeros", underflowing_product, (vec(0, 2, 3),), lambda x: (vec(6, 0, 0),)),
]
