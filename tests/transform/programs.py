"""Small programs, each of which shows what one pass does."""

import math

import numpy as np
from numba import prange

import adjit as aj


def settles(x):
    y = 1.0
    while abs(y * y - x) > 1e-10:
        y = 0.5 * (y + x / y)
    return y


def columns(a):
    s = 0.0
    for j in range(a.shape[1]):
        column = a[:, j]
        for i in range(a.shape[0]):
            s += column[i]
            column[i] = s
    return s


def triangle(a, n):
    s = 0.0
    for _ in range(n):
        for j in range(2 * n - 1):
            s += a[j]
    return s


def red_black(u, colour):
    for i in range(1, u.shape[0] - 1):
        for j in range(1, u.shape[1] - 1):
            if (i + j) % 2 == colour:
                u[i, j] = 0.5 * (u[i, j - 1] + u[i, j + 1])


def clipped(x, low):
    s = 0.0
    for i in range(x.shape[0]):
        v = x[i]
        if v < low:
            w = low
        else:
            w = v * 2.0
        s += w
    return s


def pushes(a, x):
    for i in range(1, a.shape[0]):
        a[i] = a[i] + x
        a[i - 1] = a[i - 1] - x
        a[i] = a[i] + 2.0 * x


def prefix(a):
    for j in range(a.shape[0] - 1, 0, -1):
        d = a[j]
        a[j] = d * 0.5
        a[j - 1] = a[j - 1] + d


def repeats(x, y):
    p = x * y + x * y
    if p > 1.0:
        p = p + x * y
    return p


def square_sum(x):
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i] ** 2
    return s


def burgers(u, steps):
    for _ in range(steps):
        for i in range(1, u.shape[0]):
            u[i] = u[i] - 0.1 * u[i] * (u[i] - u[i - 1])


def gauss_seidel(u, f):
    for i in range(1, u.shape[0] - 1):
        u[i] = 0.5 * (u[i - 1] + u[i + 1] - f[i])


def product(x):
    p = 1.0
    for i in range(x.shape[0]):
        p *= x[i]
    return p


def branches(x):
    s = 0.0
    for i in range(x.shape[0]):
        if x[i] > 0.0:
            s += x[i] * s
        else:
            x[i] = s
    return s


def in_reach(x, y, h):
    s = 0.0
    for i in range(x.shape[0]):
        d = x[i] - y[i]
        w = 0.0
        if d * d < h:
            w = math.exp(-d)
        s += w
    return s


def ping_pong(a, b, n):
    for _ in range(n):
        for i in range(a.shape[0]):
            b[i] = a[i] * a[i]
        a, b = b, a
    return a[0]


def doubles(x, y):
    for i in range(x.shape[0]):
        x[i] = x[i] * y[i]
    return x[0]


def slope_inside(x, v):
    return x * aj.jvp(lambda y: x * y * y, (x,), (v,))[1]


def pulled_inside(x):
    value, pullback = aj.vjp(lambda y: x * y * y, x)
    return pullback(value)[0] + pullback(1.0)[0]


def product_rule(x):
    return x * aj.grad(lambda y: x * y)(1.0)


@aj.custom_vjp
def clamped(x, low):
    return max(x, low)


def clamped_fwd(x, low):
    return max(x, low), (x > low,)


def clamped_bwd(res, ct):
    (above,) = res
    return ct if above else 0.5 * ct, None


clamped.defvjp(clamped_fwd, clamped_bwd)


@aj.custom_jvp
def cubed(x):
    return x * x * x


def cubed_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    return x * x * x, 3.0 * x * x * t


cubed.defjvp(cubed_jvp)


def through_rules(x):
    return clamped(x * 2.0, 1.0)


def through_a_tangent_rule(x):
    return cubed(x * 2.0)


def scratch(x):
    w = np.empty(x.shape[0])
    for i in range(x.shape[0]):
        w[i] = x[i] * x[i]
    s = 0.0
    for i in range(x.shape[0]):
        s += w[i] * w[i]
    return s


def smeared(a, b):
    for i in range(1, a.shape[0] - 1):
        for j in range(1, a.shape[1] - 1):
            b[i, j] = a[i, j] + 0.25 * (a[i, j - 1] + a[i, j + 1]) * a[i - 1, j]
    return b[0, 0]


def pushed(a, b):
    for i in range(a.shape[0] - 1, 0, -1):
        for j in range(a.shape[1] - 1):
            w = a[i, j] * 0.5
            b[i - 1, j] += w
            b[i, j + 1] += w
            a[i, j] = 0.0


def shifted(a):
    v = a[1:, 2]
    for i in range(v.shape[0]):
        v[i] += a[i, 2]


def downwards(a, record):
    c = record.shape[0]
    for j in range(a.shape[1] - 1, 0, -1):
        c -= 1
        x = record[c]
        a[0, j] += x
        a[1, 0] += x * a[2, j]
        a[2, j] = 0.0
    return c


def scattered(a, d, starts, places):
    for i in range(starts.shape[0] - 1):
        for k in range(starts[i], starts[i + 1]):
            d[places[k]] += a[i]


def across(a, b):
    for i in prange(a.shape[0]):
        for j in prange(a.shape[1]):
            a[i, j] = b[i, j] * (i + 2 * j)


def across_three(a, b, total):
    for i in prange(a.shape[0]):
        for j in prange(1, a.shape[1]):
            for k in prange(a.shape[2]):
                if (i + k) % 2 == 0:
                    a[i, j, k] = b[i, j - 1, k] + i
                aj.atomic_add(total, k, b[i, j, k])


def turned(a):
    v = np.transpose(a, (2, 0, 1))
    for i in prange(v.shape[0]):
        for j in prange(v.shape[1]):
            for k in prange(v.shape[2]):
                v[i, j, k] = v[i, j, k] * 2.0 + j


def triangular(a):
    for i in prange(a.shape[0]):
        for j in prange(i):
            a[i, j] = a[i, j] + i


def row_sums(a, s):
    for i in prange(a.shape[0]):
        t = a[i, 0]
        for j in range(1, a.shape[1]):
            t += a[i, j]
        s[i] = t


def alternating(a, b, n):
    for _ in range(n):
        for i in prange(a.shape[0]):
            own = np.zeros(2)
            own[0] = b[i]
            a[i] = own[0] + own[1]
        a, b = b, a
    return a[0]


def differences(a, b):
    t = a[1:] - a[:-1]
    for i in range(len(t)):
        b[i] += t[i] * b[i]


def cleared(a):
    d = np.zeros(a.shape[0])
    for i in range(a.shape[0]):
        d[i] += a[i]
    for i in range(a.shape[0]):
        a[i] += 2.0 * d[i]
        d[i] = 0.0


def eliminates(a):
    for k in range(a.shape[0]):
        for i in range(k + 1, a.shape[0]):
            a[i, k] = 2.0 * a[i, k]
            for j in range(k + 1, a.shape[1]):
                a[i, j] -= a[i, k] * a[k, j]


def weighs(a, b, h):
    for i in range(a.shape[0]):
        s = 0.0
        for j in range(a.shape[1]):
            c = 0.5 * h
            s += a[i, j] / h * c
        b[i] += s
