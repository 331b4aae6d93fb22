"""Python's integers that are none of NumPy's type: plain functions raise OverflowError, as NumPy does.

The tests stand ahead of loops where that makes no difference, and of all that runs at once.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from numba import prange

import adjit as aj

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")


def of_elements(x, u, n):
    return x * (u[0] + n) + x * (u[1] * n) + x * (u[0] & n)


def of_arrays(x, u, n):
    return x * np.sum(u + n) + x * np.sum(np.maximum(u, n))


def in_turns(x, u, n):
    s = 0.0
    for i in range(u.shape[0]):
        for j in range(i + 1):
            s += x * (u[j] - n)
    return s


def on_threads(x, u, n):
    s = 0.0
    for i in prange(u.shape[0]):
        s += x * (u[i] * n)
    return s


def stored(x, u, n):
    u[1] = n
    return x * u[1]


def put(x, u, n):
    u[:] = n
    u[0] += n
    return x * np.sum(u) + x * np.sum(np.full(3, n, np.uint8))


def powers(x, u, n):
    return x * float(u[0] ** n) + x * (u[1] << n)


def by_path(x, u, n):
    k = n
    if u[0] == 3:
        k = u[1]
    return x * (k + u[0])


PROGRAMS = (of_elements, of_arrays, in_turns, on_threads, stored, put, powers, by_path)


def _raised(call: Any) -> type | None:
    try:
        call()
    except OverflowError as error:
        return type(error)
    return None


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_as_numpy(f: Any, uncompiled: None) -> None:
    for n in (2, 255, 256, 300, -1):

        def u() -> Any:
            return np.array([100, 3, 200], np.uint8)

        raised = _raised(lambda n=n: f(2.0, u(), n))
        assert raised == _raised(lambda n=n: aj.value_and_grad(f)(2.0, u(), n)), n
        if raised is None:
            assert aj.value_and_grad(f)(2.0, u(), n)[0] == float(f(2.0, u(), n))


def test_compiled() -> None:
    def f(x, u, n):
        return x * (u[0] + n) + in_turns(x, u, n)

    u = np.array([100, 3, 200], np.uint8)
    assert aj.value_and_grad(f)(2.0, u, 5)[0] == f(2.0, u, 5)
    with pytest.raises(OverflowError, match="a Python integer is out of bounds for uint8"):
        aj.grad(f)(2.0, u, 300)


def test_what_is_compared_or_chosen_may_have_any_value(uncompiled: None) -> None:
    def f(x, u, n):
        return x * (u[0] > n) + x * max(u[0], n) + x * np.sum(u == n) + x * np.clip(u[0], -1, 300)

    u = np.array([100, 3, 200], np.uint8)
    for n in (-1, 300, 3):
        assert aj.value_and_grad(f)(2.0, u, n)[0] == f(2.0, u, n)


def test_literals_are_refused(uncompiled: None) -> None:
    def stores(x, u):
        u[0] = 300
        return x * u[0]

    for f in (stores, lambda x, u: x * np.maximum(u[0], -1), lambda x, u: x * np.full(2, 256, np.uint8)[0]):
        with pytest.raises(aj.UnsupportedError, match="out of bounds for uint8: NumPy raises OverflowError"):
            aj.grad(f)(2.0, np.array([100], np.uint8))


def test_tests_are_ahead_of_loops(uncompiled: None) -> None:
    """Once, and only where the loop has a turn; a store that comes first keeps them in it."""

    def early(x, u, n):
        s = 0.0
        for i in range(u.shape[0]):
            for j in range(3):
                s += x * (u[j] + n) * i
        return s

    def late(x, u, n):
        s = 0.0
        for i in range(u.shape[0]):
            u[i] = 1
            s += x * (u[i] + n)
        return s

    u = np.array([100, 3, 200], np.uint8)
    loop = re.compile(r"^ *for ", re.MULTILINE)
    for f, ahead in ((early, True), (late, False)):
        text = aj.jit(f).source(2.0, u, 3)
        body = text[loop.search(text).start() :]  # type: ignore[union-attr]
        assert ("OverflowError" not in body) == ahead
    assert aj.value_and_grad(early)(2.0, u[:0], 300) == (0.0, 0.0)
    with pytest.raises(OverflowError):
        aj.grad(late)(2.0, u, 300)
    assert u.tolist() == [1, 3, 200]
