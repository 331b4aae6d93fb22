"""Array names that are rebound under branches, in loops, after guards: each once a crash, a refusal, or hard.

Values against the plain function, gradients (joint and split) against Richardson-free central differences.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjit as aj


def swap_under_else(a, b, n):
    if n > 3:
        pass
    else:
        for i in range(n):
            a, b = b, a
    return a[0]


def swap_under_branch(a, b, n):
    if n > 3:
        for i in range(n):
            a, b = b, a
    a[0] = a[0] * a[-1]
    return a[0] * b[0]


def two_sizes(a, n):
    for _ in range(n):
        w = np.ones(3)
        for _ in range(2):
            w[0] = a[0]
            w = np.zeros(4)
        a[1] = w[-1]
    return a[0] * a[1]


def view_after_guard(a, b, y, n):
    if len(b) < 3:
        return 0.5 * a[0]
    j = 0
    while j < n:
        j += 1
        for i in range(1, len(a)):
            a = b[:i]
    return a[0] * a[0]


def row_after_return(M, x, r):
    for i in range(M.shape[0]):
        if x < -2.0:
            return 0.5
        v0 = M[r[2], :]
    return v0[-1]


def fresh_then_return(a, x):
    w0 = np.ones(len(a))
    for i in range(len(w0)):
        w0 = np.ones(2)
        return 0.5
    w0[3] = x
    return w0[0]


def swap_then_square(a, b, n):
    if n > 3:
        for i in range(n):
            a, b = b, a
    return a[0] * a[0]


def swap_or_loop(a, b, c, n):
    if n > 2:
        c, b = b, c
    else:
        for i in range(len(b)):
            b[i] = b[i] * c[i]
    return b[0] * c[1]


def scratch_in_while(a, n):
    s = 0.0
    for i in range(n):
        for j in range(2):
            k = 0
            while k < 2:
                w = np.empty(2)
                w[0] = a[0] * a[1]
                w[1] = w[0] * a[k]
                s += w[1] * w[0]
                k += 1
    return s


def swap_then_slice(a, b, x, y, n):
    if y:
        a, b = b, a
    if n % 3 != 1:
        x = x * 2
    else:
        a = b[::-2]
    return a[0] * x * a[0] + b[0]


def row_after_break(M, p, n):
    for i in range(n):
        if p[i] < 0:
            break
        v = M[p[i]]
    return v[0] * v[0]


def view_of_ping_pong(a, b, T):
    for t in range(T):
        r = a[1:]
        for i in range(r.shape[0]):
            r[i] = r[i] * b[i] + 0.1
        a, b = b, a
    v = a[:2]
    return v[0] * v[1] + b[0]


def previous_row(x, n):
    prev = x[0]
    for i in range(1, n):
        cur = x[i]
        for j in range(cur.shape[0]):
            cur[j] = cur[j] * prev[j]
        prev = cur
    s = 0.0
    for j in range(prev.shape[0]):
        s += prev[j]
    return s


def reversed_fresh(x, n):
    w = np.zeros(3)
    for t in range(n):
        z = np.empty(3)
        for j in range(3):
            z[j] = x[j] * x[j] + w[j] * w[(j + 1) % 3]
        if t % 2 == 0:
            w = z[::-1]
        else:
            w = z
    return w[0] * w[1] + w[2]


def chosen_then_sliced(x, y, k):
    a = x
    b = y
    for t in range(k):
        if t % 3 == 0:
            c = a
        else:
            c = b
        c = c[:3]
        for i in range(3):
            c[i] = c[i] * 1.1 + c[(i + 1) % 3] * c[i]
        a, b = b, a
    return x[0] + y[1] * x[2]


def chosen_in_a_branch_by_a_count(b, c, n):
    k = 0
    while k < n:
        k += 1
    if n > 5:
        pass
    else:
        if max(k, k * 3 + 1) > 6:
            pass
        else:
            b, c = c, b
    return c[-1] * c[0] * b[1]


def copied_after_an_early_return(u, v, k):
    b = v
    if k <= 2:
        if v[1] > 0.9:
            return b[0] * u[1]
        b = v.copy()
    return b[1] * u[1]


A = np.array([0.5, 0.7, 0.2])
B = np.array([0.3, 0.2, 0.1, 0.9])
M = np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])
R = np.array([1, 2, 1])
G = np.linspace(0.4, 1.3, 15).reshape(5, 3)

CASES = [
    (swap_under_else, A, B, 1),
    (swap_under_else, A, B, 2),
    (swap_under_branch, A, B, 5),
    (swap_under_branch, A, B, 2),
    (two_sizes, A, 3),
    (two_sizes, A, 0),
    (view_after_guard, A, A + 0.1, 1.0, 2),
    (view_after_guard, A, A + 0.1, 1.0, 0),
    (row_after_return, M, -3.0, R),
    (row_after_return, M, 1.0, R),
    (fresh_then_return, A, 1.0),
    (swap_then_square, A, B, 5),
    (swap_then_square, A, B, 2),
    (swap_or_loop, A, B, A + 1, 3),
    (swap_or_loop, A, B[:3].copy(), A + 1, 1),
    (scratch_in_while, A, 2),
    (swap_then_slice, A, B, 1.3, True, 1),
    (swap_then_slice, A, B, 1.3, False, 2),
    (row_after_break, M, R, 2),
    (view_of_ping_pong, B, B + 0.5, 5),
    (view_of_ping_pong, B, B + 0.5, 0),
    (previous_row, G, 5),
    (reversed_fresh, A, 5),
    (chosen_in_a_branch_by_a_count, A, B, 1),
    (chosen_in_a_branch_by_a_count, A, B, 3),
    (chosen_then_sliced, B, np.append(B, 0.8), 7),
    (copied_after_an_early_return, A, B, 1),
]


def _difference(f: Callable[..., Any], args: tuple[Any, ...], i: int, e: Any) -> float:
    h = 1e-5
    found = []
    for s in (h, -h, 2 * h, -2 * h):
        moved = list(copy.deepcopy(args))
        moved[i] = moved[i] + s * e
        found.append(f(*moved))
    return (8 * (found[0] - found[1]) - (found[2] - found[3])) / (12 * h)


@pytest.mark.parametrize(("f", "args"), [(c[0], c[1:]) for c in CASES])
def test_rebound_arrays(f: Callable[..., Any], args: tuple[Any, ...]) -> None:
    active = [
        i for i, a in enumerate(args) if type(a) is float or (isinstance(a, np.ndarray) and a.dtype == float)
    ]
    value, gradient = aj.value_and_grad(f, wrt=tuple(active))(*copy.deepcopy(args))
    cotangents = aj.vjp(f, *copy.deepcopy(args))[1](1.0)
    assert value == f(*copy.deepcopy(args))
    rng = np.random.default_rng(7)
    for i, g in zip(active, gradient, strict=True):
        e = rng.standard_normal(np.shape(args[i]))[()]
        want = _difference(f, args, i, e)
        assert np.sum(g * e) == pytest.approx(want, abs=1e-8)
        assert np.sum(cotangents[i] * e) == pytest.approx(want, abs=1e-8)


def made_then_stored_in_another_branch(u, v, k):
    b = v
    if k > 2:
        b = np.full(k % 4 + 1, u[0])
    if v[k % len(v)] < 0.36:
        b[-1] += u[1]


@pytest.mark.parametrize(("k", "of_u"), [(0, [0.0, 1.0, 0.0]), (3, [0.0, 0.0, 0.0])])
def test_an_array_of_one_branch_stored_to_in_another(k: int, of_u: list[float]) -> None:
    _, pull = aj.vjp(aj.pure(made_then_stored_in_another_branch), A.copy(), np.array([0.3, 0.6, 0.7, 0.2]), k)
    du, dv, _ = pull((np.ones(4),))
    assert (du.tolist(), dv.tolist()) == (of_u, [1.0] * 4)


def repeated(x, a, n):
    v = x
    for _ in range(n):
        v = a @ v * v
    return np.sum(v)


def conjugate(b, a, n):
    x = np.zeros(3)
    r = b - a @ x
    p = r.copy()
    for _ in range(n):
        q = a @ p
        step = (r @ r) / (p @ q)
        x = x + step * p
        left = r - step * q
        p = left + (left @ left) / (r @ r) * p
        r = left
    return x @ x


def chosen(x, y, n):
    p = x
    for t in range(n):
        if t % 2:
            p = p[::-1] * y
        else:
            q = np.sin(p)
            p = q * p
    return np.sum(p * p)


def exchanged(a, b, n):
    for _ in range(n):
        c = a * b
        a, b = b, c + a
    return a @ b


@pytest.mark.parametrize("n", [0, 1, 3])
@pytest.mark.parametrize("f", [repeated, conjugate, chosen, exchanged], ids=lambda f: f.__name__)
def test_reverse_over_reverse(f: Callable[..., Any], n: int, uncompiled: None) -> None:
    """The cotangent of the gradient, paired with a direction, is the gradient's tangent paired with it."""
    rng = np.random.default_rng(n)
    x, t, ct = rng.uniform(0.5, 1.5, (3, 3))
    other = np.eye(3) * 2.0 + 0.1 if f in (repeated, conjugate) else x[::-1].copy()
    n = min(n, 2) if f is conjugate else n
    _, pullback = aj.vjp(aj.grad(f), x, other, n)
    tangent = aj.jvp(aj.grad(f), (x, other, n), (t, None, None))[1]
    np.testing.assert_allclose(np.sum(pullback(ct)[0] * t), np.sum(ct * tangent), rtol=1e-9)


def scaled(x, n):
    return x * x if n == 0 else scaled(x, n - 1) * x


def carried_on(x, n):
    v = x
    for i in range(n):
        v = scaled(v, i) * 0.5
        v = scaled(v, 1)[::-1]
    return np.sum(v * x)


def picked(x, n):
    v = scaled(x, 1)
    for i in range(n):
        w = scaled(x, i)
        if w[0] > 0.5:
            v = w
        v[1] *= x[0]
    return np.sum(v * v)


@pytest.mark.parametrize("n", [0, 2])
@pytest.mark.parametrize("f", [carried_on, picked], ids=lambda f: f.__name__)
def test_arrays_of_recursive_functions_are_rebound(f: Callable[..., Any], n: int, uncompiled: None) -> None:
    x = np.array([0.9, 0.7, 0.8])
    assert aj.value_and_grad(f)(x.copy(), n)[0] == pytest.approx(f(x.copy(), n), rel=1e-14)
    aj.check_grad(f, x.copy(), n)
