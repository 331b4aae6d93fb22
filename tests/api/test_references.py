"""Array names are references: buffers that swap, names that a branch chooses, new arrays each turn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjit as aj
from adjit.testing.checks import check_function

pytestmark = pytest.mark.usefixtures("uncompiled")


def ping_pong(a, b, n):
    for _ in range(n):
        for i in range(a.shape[0]):
            b[i] = a[i] * a[i]
        a, b = b, a
    return a[0] + 3.0 * a[1]


def ping_pong_by_copying(a, b, n):
    for _ in range(n):
        for i in range(a.shape[0]):
            b[i] = a[i] * a[i]
        for i in range(a.shape[0]):
            a[i], b[i] = b[i], a[i]
    return a[0] + 3.0 * a[1]


def three_buffers(a, b, c, n):
    for _ in range(n):
        for i in range(1, a.shape[0] - 1):
            c[i] = 2.0 * b[i] - a[i] + 0.1 * (b[i - 1] - 2.0 * b[i] + b[i + 1]) * b[i]
        a, b, c = b, c, a
    return b[1] * b[2]


def swap_sometimes(a, b, n):
    for k in range(n):
        if a[0] < b[0]:
            a, b = b, a
        a[0] = a[0] * b[1]
    return a[0] + b[0]


def fresh_each_turn(x, v, n):
    for _ in range(n):
        y = np.empty_like(x)
        for i in range(x.shape[0]):
            y[i] = x[i] * x[i] + v[i]
        x = y
    return x[0] * x[1]


def chosen(a, b, flag):
    c = a if flag else b
    c[0] = c[0] * c[1]
    return c[0] + a[0]


A, B, C = np.array([0.9, 0.7, 0.6, 0.8]), np.array([1.1, 0.4, 0.3, 0.5]), np.array([0.2, 0.1, 0.3, 0.4])


def work_array_each_turn(x, n):
    s = 0.0
    for k in range(n):
        w = np.zeros(2)
        w[0] = x[k] * x[k]
        w[1] = w[0] * x[k]
        w[0] = w[0] * w[1]
        s += w[0] * w[1]
    return s


PROGRAMS: list[tuple[Any, tuple[Any, ...]]] = [
    *[(ping_pong, (A, B, n)) for n in (0, 1, 2, 3)],
    *[(three_buffers, (A, B, C, n)) for n in (0, 1, 2, 5)],
    *[(swap_sometimes, (A, B, n)) for n in (0, 3)],
    (fresh_each_turn, (A, B, 0)),
    *[(chosen, (A, B, flag)) for flag in (True, False)],
]


@pytest.mark.parametrize(("program", "args"), PROGRAMS, ids=[f"{p.__name__}-{a[-1]}" for p, a in PROGRAMS])
def test_every_operator(program: Any, args: tuple[Any, ...]) -> None:
    """Values, final states, both modes and differences agree."""
    check_function(program, args)


@pytest.mark.parametrize(
    ("program", "args"),
    [(fresh_each_turn, (A, B, 1)), (fresh_each_turn, (A, B, 3)), (work_array_each_turn, (A, 3))],
    ids=lambda v: getattr(v, "__name__", None),
)
def test_every_operator_with_arrays_made_in_a_loop(program: Any, args: tuple[Any, ...]) -> None:
    check_function(program, args)


def test_batches_with_arrays_made_in_a_loop() -> None:
    """Two cotangents at once are two gradients."""
    shadows = [np.zeros(4), np.zeros(4)], [np.zeros(4), np.zeros(4)]
    pairs = [aj.BatchDuplicated(x.copy(), tuple(d)) for x, d in zip((A, B), shadows, strict=True)]
    aj.autodiff(aj.Reverse, fresh_each_turn, *pairs, 2)
    want = aj.grad(fresh_each_turn, wrt=(0, 1))(A.copy(), B.copy(), 2)
    for given, gradient in zip(shadows, want, strict=True):
        for one in given:
            np.testing.assert_allclose(one, gradient)


@pytest.mark.parametrize("n", [0, 1, 3])
def test_gradient_with_arrays_made_in_a_loop(n: int) -> None:
    """x <- x^2 + v, n times."""
    a, v = A[:2].copy(), B[:2]
    slope_a, slope_v = np.ones(2), np.zeros(2)
    for _ in range(n):
        slope_a, slope_v, a = 2 * a * slope_a, 2 * a * slope_v + 1.0, a * a + v
    got = aj.grad(fresh_each_turn, wrt=(0, 1))(A.copy(), B.copy(), n)
    np.testing.assert_allclose(got[0][:2], slope_a * a[::-1])
    np.testing.assert_allclose(got[1][:2], slope_v * a[::-1])


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_swapped_names_are_swapped_contents(n: int) -> None:
    """The gradient equals that of the program that copies; a^(2^n) has slope 2^n a^(2^n - 1)."""
    got = aj.grad(ping_pong, wrt=(0, 1))(A.copy(), B.copy(), n)
    want = aj.grad(ping_pong_by_copying, wrt=(0, 1))(A.copy(), B.copy(), n)
    np.testing.assert_allclose(got[0], want[0], rtol=1e-14)
    np.testing.assert_array_equal(got[1], want[1])
    p = 2.0**n
    np.testing.assert_allclose(got[0][:2], [p * A[0] ** (p - 1), 3 * p * A[1] ** (p - 1)])
