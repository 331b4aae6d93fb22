"""Records of nested loops: allocated once, of the right size, where the turns can be counted before the loops.

Every program squares in place, again and again, so that what each turn overwrites is recorded. Sizes are those of the
arrays that the forward function passes on; gradients are held to differences.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjit as aj

N = 7


def triangle(x, n, m):
    for i in range(n):
        for j in range(i):
            x[j] = x[j] * x[i] * 0.9 + 0.1
    return x.sum()


def triangle_down(x, n, m):
    for i in range(n - 1, -1, -2):
        for j in range(i, n):
            x[j] = x[j] * x[i] * 0.9
    return x.sum()


def three_deep(x, n, m):
    for t in range(m):
        for i in range(1, n):
            for j in range(i - 2, min(i + 1, n - 1)):
                for k in range(j * j % 5, n, 2):
                    x[k] = np.sin(x[k] * x[i])
    return x.sum()


def negative_extents(x, n, m):
    for i in range(-3, n):
        for j in range(2 - i, m - i * i):
            x[j % n] = x[j % n] * x[j % n] * 0.9
    return x.sum()


def no_turns(x, n, m):
    for i in range(n, m):
        for j in range(i):
            x[j] = x[j] * x[i] * 0.9
    return x.sum()


def around_the_record(x, n, m):
    total = 0.0
    for i in range(n):
        k = i * 2 - n
        for j in range(max(k, 0), n):
            total += x[j] * x[j]
            x[j] = total * x[i] * 0.1
    return total


def bound_in_a_branch(x, n, m):
    for i in range(n):
        if i % 2 == 0:
            for j in range(i):
                x[j] = x[j] * x[i] * 0.9
    return x.sum()


def growing_bound(x, n, m):
    k = 1
    for i in range(n):
        for j in range(k):
            x[j] = x[j] * x[i] * 0.9
        k = min(k * 2, n)
    return x.sum()


def loaded_bound(x, n, m):
    b = np.arange(n)
    for i in range(n):
        b[i] = n - b[i] - 1
        for j in range(b[i]):
            x[j] = x[j] * x[i] * 0.9
    return x.sum()


def inner_break(x, n, m):
    for i in range(n):
        for j in range(i):
            if x[j] > 0.8:
                break
            x[j] = x[j] * x[i] * 0.9 + 0.1
    return x.sum()


def outer_break(x, n, m):
    for i in range(n):
        if x[i] > 1.2:
            break
        for j in range(i):
            x[j] = x[j] * x[i] * 0.9 + 0.1
    return x.sum()


COUNTED = {
    triangle: sum(range(N)),
    triangle_down: sum(N - i for i in range(N - 1, -1, -2)),
    three_deep: 3
    * sum(len(range(j * j % 5, N, 2)) for i in range(1, N) for j in range(i - 2, min(i + 1, N - 1))),
    negative_extents: sum(len(range(2 - i, 3 - i * i)) for i in range(-3, N)),
    no_turns: 0,
    around_the_record: 2 * sum(N - max(i * 2 - N, 0) for i in range(N)),
}
GROWING = (bound_in_a_branch, growing_bound, loaded_bound, inner_break, outer_break)


def start() -> np.ndarray:
    return np.linspace(0.5, 1.3, N)


def right(program: Callable[..., Any]) -> str:
    """The generated source, after the gradient was held to differences."""
    gradient = aj.grad(program)
    x = start()
    got = gradient(x.copy(), N, 3)
    for k in range(N):
        h = np.zeros(N)
        h[k] = 1e-6
        slope = (program(x + h, N, 3) - program(x - h, N, 3)) / 2e-6
        assert got[k] == pytest.approx(slope, rel=1e-6, abs=1e-8)
    return gradient.source(x, N, 3)


def records(program: Callable[..., Any]) -> list[int]:
    """Sizes of the arrays of one axis that are not the program's own, of those that it hands to its pullback."""
    sizes: list[int] = []
    made = np.empty

    def noted(shape: Any, dtype: Any = float, *more: Any, **named: Any) -> np.ndarray:
        if dtype is np.float64 and not isinstance(shape, tuple):
            sizes.append(int(shape))
        return made(shape, dtype, *more, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(np, "empty", noted)
        aj.grad(program)(start(), N, 3)
    return sizes


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("program", COUNTED, ids=lambda p: p.__name__)
def test_a_record_has_the_size_that_its_loops_fill(program: Callable[..., Any]) -> None:
    assert "grow(" not in right(program)
    assert COUNTED[program] in records(program)


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("program", GROWING, ids=lambda p: p.__name__)
def test_a_record_grows_where_the_turns_are_not_known_before(program: Callable[..., Any]) -> None:
    assert "grow(" in right(program)


@pytest.mark.usefixtures("uncompiled")
def test_the_limit_holds_for_what_is_counted() -> None:
    size = 8 * COUNTED[triangle]
    aj.grad(aj.options(triangle, memory=size))(start(), N, 3)
    x = start()
    with pytest.raises(aj.MemoryLimitError):
        aj.grad(aj.options(triangle, memory=size - 1))(x, N, 3)
    np.testing.assert_array_equal(x, start())


@pytest.mark.usefixtures("uncompiled")
def test_sizes_beyond_64_bits_are_over_the_limit() -> None:
    def wide(x, n, m):
        for i in range(n - 2, n):
            for j in range(i * m, i * m + m):
                for k in range(m):
                    x[0] = x[0] * x[0]
        return x[0]

    with pytest.raises(aj.MemoryLimitError):
        aj.grad(wide)(start(), N, 2**40)


def test_compiled() -> None:
    right(three_deep)
