"""Products of matrices and vectors on devices, and their derivatives, are nests of work items."""

from __future__ import annotations

import numpy as np
import pytest

import adjit as aj

from .modes import every_mode
from .places import same, to_device


@pytest.fixture(autouse=True)
def _uncompiled(uncompiled):
    """What runs on the CPU for comparison runs as plain Python."""


A, B = np.sin(np.arange(16.0)).reshape(4, 4), np.cos(np.arange(20.0)).reshape(4, 5)
X = np.linspace(-1.0, 1.0, 4)


def matrices(a, b):
    c = a.T @ b
    return np.sum(np.sin(np.dot(c, b.T)) @ a) + np.sum((a @ b) ** 2)


def layers(a, x):
    v = x * 1.0
    for _ in range(3):
        v = np.tanh(a @ v)
    return v @ x + np.dot(x, a.T @ x)


def stacked(a, b):
    t = a.reshape(2, 2, -1)
    return np.sum(np.matmul(t, b) ** 2) + np.trace(a @ a)


CASES = {matrices: (A, B), layers: (A, X), stacked: (A, B)}


@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
def test_every_mode(f):
    every_mode(f, CASES[f], (0, 1))


@pytest.mark.parametrize("order", ["C", "F"])
def test_results_in_float32(order: str):
    def product(a, b):
        return a @ b

    a, b = A.astype("float32"), B.astype("float32")
    given = to_device((a, b), order)
    same(aj.jit(product)(*given), a @ b, rtol=1e-5, atol=1e-5)
    _, pulled = aj.vjp(product, *given)
    same(
        pulled(to_device(np.ones_like(B, "float32"))),
        (np.ones_like(b) @ b.T, a.T @ np.ones_like(b)),
        1e-5,
        1e-5,
    )


def test_no_elements():
    def product(a, b):
        return np.sum(a @ b)

    for n, k, m in ((0, 2, 3), (2, 0, 3), (2, 3, 0)):
        args = (np.ones((n, k)), np.ones((k, m)))
        same(
            aj.value_and_grad(product, wrt=(0, 1))(*to_device(args)),
            aj.value_and_grad(product, wrt=(0, 1))(*args),
        )


def test_the_same_bits_every_time():
    a = np.sin(np.arange(40.0 * 70)).reshape(40, 70)
    runs = [aj.grad(lambda a: np.sum((a @ a.T) ** 2))(to_device(a)).get().tobytes() for _ in range(3)]
    assert len(set(runs)) == 1
