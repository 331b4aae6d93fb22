"""Views of views, made turn after turn: the tail of the tail, halves, boxes that shrink."""

from __future__ import annotations

import numpy as np

from ..record import Case, vec, wave

X = vec(0.7, 1.3, 0.4, 1.9, 1.1)


def tail_of_the_tail(x):
    v = x
    s = 1.0
    for _ in range(3):
        s = s * v[0]
        v = v[1:]
    return s * v[0]


def halves(x):
    s = 1.0
    while len(x) > 1:
        k = len(x) // 2
        lo = x[:k]
        x = x[k:]
        for i in range(len(lo)):
            s += lo[i] * x[0]
    return s * x[0]


def chosen_end(x):
    v = x
    s = 1.0
    for _ in range(3):
        if v[0] > 0.5:
            v = v[1:]
        else:
            v = v[:-1]
        s += v[0] * v[-1]
        v[0] = v[0] * s
    return s


def every_other(x, turns):
    s = 0.0
    for j in range(turns):
        v = x
        while len(v) > 1:
            s += v[0] * v[1] * (j + 1)
            v = v[::2]
    return s


def stepped_tails(x):
    v = x
    s = 0.0
    while len(v) > 1:
        s += v[0] * v[-1]
        v = v[1::2] if s < 2.0 else v[:-1]
        v[0] = v[0] * v[0]
    return s * v[0]


def shrinking_box(a):
    s = 0.0
    m = a
    while m.shape[0] > 1:
        m = m[1:, :-1] if s < 1.0 else m[:-1, 1:]
        s += m[0, 0] ** 2 * m[-1, -1]
    return s


def crossed(x):
    a, b = x[:3], x[2:]
    s = 1.0
    while len(a) > 1:
        s += a[0] * b[-1]
        a[-1] = a[-1] * s
        a, b = b[1:], a
    return s * a[0] * b[0]


def past_the_end(x):
    v = x
    s = 0.0
    for k in range(4):
        for i in range(len(v)):
            s += v[i] * v[i] * (k + 1)
        v = v[2:]
    return s


def bounds_from_data(x, n):
    v = x
    s = 0.0
    for k in range(n):
        w = v[k - 1 : len(v) + k]
        if len(w) > 1:
            v = w[: 1 - n]
        if len(v) > 0:
            s += v[0] * (k + 2)
            v[0] = s * v[0]
    return s


def inner_tails(x):
    s = 0.0
    v = x
    while len(v) > 2:
        w = v
        while len(w) > 1:
            s += w[0] * w[1]
            w = w[1:]
        v = v[1:]
        v[0] = v[0] * w[0]
    return s


def fresh_tails(x):
    v = x
    s = 0.0
    for k in range(4):
        if len(v) == 2:
            t = np.empty(4)
            for i in range(4):
                t[i] = v[i % 2] * s
            v = t
        s += v[0] * v[-1]
        v = v[1:]
    return s


def to_and_fro(x):
    v = x
    s = 0.0
    for k in range(4):
        v = v[-2::-1] if k % 2 == 0 else v[::-2]
        for i in range(len(v)):
            s += v[i] * v[i] * (i + 1)
        if len(v) > 0:
            v[0] = v[0] * s
    return s


def backwards_by_a_variable(x, n):
    v = x
    s = 0.0
    for k in range(n):
        v = v[n - k :: -1] if k < 2 else v[:-n:-1]
        for i in range(len(v)):
            s += v[i] * v[i] * (i + k)
    return s


CASES = [
    Case("to_and_fro", to_and_fro, (wave(9),), origin="random programs"),
    Case("backwards_by_a_variable", backwards_by_a_variable, (wave(9), 4), origin="random programs"),
    Case("tail_of_the_tail", tail_of_the_tail, (X,), origin="the brief"),
    Case("halves", halves, (X,), origin="the brief"),
    Case("chosen_end", chosen_end, (X,), origin="the brief"),
    Case("every_other", every_other, (X, 2), origin="the brief"),
    Case("stepped_tails", stepped_tails, (wave(9),), origin="the brief"),
    Case("shrinking_box", shrinking_box, (wave(4, 4),), origin="the brief"),
    Case("crossed", crossed, (X,), origin="the brief; tags and windows at once"),
    Case("past_the_end", past_the_end, (X,), origin="the brief; empty views"),
    Case("bounds_from_data", bounds_from_data, (wave(7), 2), origin="the brief; negative bounds"),
    Case("inner_tails", inner_tails, (X,), origin="the brief"),
    Case("fresh_tails", fresh_tails, (X,), dtypes=("float64",), origin="the brief"),
]
