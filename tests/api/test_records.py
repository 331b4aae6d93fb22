"""Gates what the forward sweep keeps: the exact records of known programs, and the limit on their size."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjit as aj
from adjit.ir.structure import leaves
from adjit.runtime.arguments import spec_of
from adjit.runtime.program import Compiled, build
from adjit.runtime.request import Request

pytestmark = pytest.mark.usefixtures("uncompiled")


def compiled(f: Any, *args: Any, kind: str = "joint") -> Compiled:
    specs = tuple(spec_of(a) for a in args)
    active = tuple(leaf.type.differentiable for s in specs for leaf in leaves(s))
    return build(Request(f, specs, kind, active))


def doubles(records: tuple[tuple[str, int], ...]) -> int:
    """Doubles recorded per turn, if every tape is of doubles."""
    assert all(dtype == "float64" for dtype, _ in records)
    return sum(width for _, width in records)


def burgers(u, steps):
    for _ in range(steps):
        for i in range(1, u.shape[0]):
            u[i] = u[i] - 0.1 * u[i] * (u[i] - u[i - 1])
    return u[-1]


def gauss_seidel(u, f, sweeps):
    for _ in range(sweeps):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - f[i, j])
    return u[1, 1]


def red_black(u, f, sweeps):
    for sweep in range(2 * sweeps):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                if (i + j) % 2 == sweep % 2:
                    u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - f[i, j])
    return u[1, 1]


def dot(x, w):
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i] * w[i]
    return s


def mean(x, w):
    s = 0.0
    m = 0.0
    for i in range(x.shape[0]):
        s += x[i] * w[i]
        m += w[i]
    return s / m


def copies(x):
    y = np.empty_like(x)
    for i in range(x.shape[0]):
        y[i] = x[i] * x[i]
    s = 0.0
    for i in range(x.shape[0]):
        s += y[i] * y[i]
    return s


def product(x):
    p = 1.0
    for i in range(x.shape[0]):
        p *= x[i]
    return p


def density(x, start):
    total = 0.0
    for c in range(start.shape[0] - 1):
        for i in range(start[c], start[c + 1]):
            for j in range(start[c], start[c + 1]):
                d = x[i] - x[j]
                if d * d < 1.0:
                    total += (1.0 - d * d) ** 3
    return total


V, M = np.ones(5), np.ones((4, 4))


@pytest.mark.parametrize(
    ("program", "args", "count"),
    [
        (burgers, (V, 3), 1),
        (gauss_seidel, (M, M, 3), 0),
        (red_black, (M, M, 3), 0),
        (dot, (V, V), 0),
        (mean, (V, V), 0),
        (copies, (V,), 0),
        (product, (V,), 1),
        (density, (V, np.array([0, 2, 5])), 0),
    ],
    ids=lambda v: getattr(v, "__name__", None),
)
@pytest.mark.parametrize("kind", ["joint", "split"])
def test_doubles_recorded_per_turn(kind: str, program: Any, args: tuple[Any, ...], count: int) -> None:
    assert doubles(compiled(program, *args, kind=kind).records) == count


def in_place(x, turns):
    for _ in range(turns):
        for i in range(x.shape[0]):
            x[i] = np.sin(x[i]) * x[i]
    return x[0]


OPERATORS = {
    "grad": lambda f, x, n: aj.grad(f)(x, n),
    "vjp": lambda f, x, n: aj.vjp(f, x, n),
    "autodiff": lambda f, x, n: aj.autodiff(aj.Reverse, f, aj.Duplicated(x, np.zeros_like(x)), n),
}


@pytest.mark.parametrize("operator", OPERATORS)
def test_too_much_is_said_before_anything_is_touched(operator: str) -> None:
    """8 TB: said at once, with the line, the size and the way out."""
    x = np.ones(1000)
    with pytest.raises(aj.MemoryLimitError) as caught:
        OPERATORS[operator](in_place, x, 10**9)
    np.testing.assert_array_equal(x, 1.0)
    text = str(caught.value)
    assert "7450.6 GiB" in text
    assert "aj.options(f, memory=bytes)" in text
    assert "for i in range(x.shape[0]):" in text
    assert "^" in text


def test_limit_is_the_users() -> None:
    x = np.ones(10)
    bound = aj.options(in_place, memory=10 * 8 * 5)
    np.testing.assert_array_equal(aj.grad(bound)(x.copy(), 5), aj.grad(in_place)(x.copy(), 5))
    with pytest.raises(aj.MemoryLimitError, match="480 bytes"):
        aj.grad(bound)(x, 6)
    np.testing.assert_array_equal(x, 1.0)


def test_linear_code_has_no_limit() -> None:
    bound = aj.options(gauss_seidel, memory=0)
    u, f = np.random.default_rng(1).normal(size=(2, 4, 4))
    assert np.any(aj.grad(bound, wrt=(0, 1))(u, f, 3)[0])


def rarely(x, n):
    s = x
    for k in range(n):
        if k % 1000 == 999:
            s = s * s * x
    return s


def test_a_rare_branch_reserves_little() -> None:
    """A record in a branch taken every thousandth turn grows with the times that it is taken."""
    bound = aj.options(rarely, memory=100_000)
    x = 0.999
    p = 2.0**5 + 2.0**5 - 1  # s_k = s^2 * x, five times
    assert aj.grad(bound)(x, 5000) == pytest.approx(p * x ** (p - 1), rel=1e-12)
