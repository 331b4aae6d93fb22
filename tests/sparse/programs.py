"""Programs whose patterns are known to be derived: name, function, arguments, whether the pattern is proven.

`tight`: whether some points together show every entry of the pattern (nothing cancels, no side is impossible).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numba import njit

import adjit as aj


@dataclass(frozen=True)
class Program:
    f: Callable[..., Any]
    args: tuple[Any, ...] = ()
    proven: bool = True
    tight: bool = True
    n: int = 8
    wrt: Any = 0
    positive: bool = False

    @property
    def __name__(self) -> str:
        return getattr(self.f, "__name__", repr(self.f))


def shifts(x):
    y = np.zeros(len(x))
    for i in range(2, len(x)):
        y[i] = x[i - 2] * x[i]
    return y


def branch(u):
    out = np.zeros(len(u))
    for i in range(1, len(u) - 1):
        flux = u[i + 1] - u[i]
        if flux > 0:
            out[i] = flux * flux
        else:
            out[i] = u[i - 1] * u[i]
    return out


def branch_out_of_range(x):
    """What the condition keeps in range is out of range on the side that is not taken."""
    y = np.zeros(len(x))
    for i in range(len(x)):
        if x[i] > 100.0:
            y[i] = x[i + 1000]
        else:
            y[i] = x[i] * x[i]
    return y


def guarded_branch(x):
    """The condition's part without floats keeps the other side's index in range (and from wrapping around)."""
    y = np.zeros(len(x))
    for i in range(len(x)):
        if i > 1 and x[i] > 0:
            y[i] = x[i - 2] * x[i]
        else:
            y[i] = x[i] * x[i]
    return y


def nested_branches(x):
    y = np.zeros(len(x))
    for i in range(1, len(x) - 1):
        if x[i] > 0:
            if x[i - 1] > 0:
                y[i] = x[i - 1] * x[i]
            else:
                y[i] = x[i + 1] ** 2
        elif x[i + 1] > 0.5:
            y[i] = x[0]
    return y


def branch_keeps_old(x):
    y = x * x
    for i in range(1, len(x)):
        if x[i] > 0:
            y[i] = x[i - 1]
    return y


def scratch_in_branch(x):
    """A scratch array that both sides fill is the turn's own."""
    w = np.zeros(1)
    y = np.zeros(len(x))
    for i in range(1, len(x)):
        if x[i] > 0:
            w[0] = x[i]
        else:
            w[0] = 2.0 * x[i - 1]
        y[i] = w[0] * w[0]
    return y


def time_loop(x):
    u = x.copy()
    v = np.zeros_like(x)
    for _ in range(2):
        for i in range(1, len(x) - 1):
            v[i] = u[i - 1] + u[i + 1] + u[i] * u[i]
        u, v = v, u
    return u


def gauss_seidel(u, b):
    for i in range(1, len(u) - 1):
        u[i] = 0.5 * (u[i - 1] * u[i - 1] + u[i + 1] + b[i])
    return u


def csr_product(x, data, indices, indptr):
    y = np.zeros(len(indptr) - 1)
    for i in range(len(y)):
        for k in range(indptr[i], indptr[i + 1]):
            y[i] += data[k] * x[indices[k]]
    return y


def gather(x, where):
    y = np.zeros(len(where))
    for i in range(len(where)):
        y[i] = x[where[i]] * x[-1]
    return y


def scatter(x, where):
    y = np.zeros(len(x))
    for i in range(len(where)):
        y[where[i]] += x[i] * x[i]
    return y


def array_statements(x):
    y = np.zeros_like(x)
    y[1:-1] = x[2:] - 2 * x[1:-1] ** 2 + x[:-2]
    return y


def where(x):
    return np.where(x > 0, np.roll(x, 1), x * x)


def minimum(x):
    return np.minimum(x[::-1], x) * 2.0 + np.maximum(x, 0.1)


def no_slope(x):
    y = np.zeros(len(x))
    for i in range(1, len(x)):
        y[i] = math.floor(x[i - 1]) + x[i] + np.sign(x[0]) + float(int(x[i - 1]))
    return y


def matrix_product(x, a):
    return (x.reshape(2, 4) @ a)[:, ::-1]


def matrix_product_of_column(x, a):
    return a @ x


def solved(x, a):
    return np.linalg.solve(a + np.diag(x), x)


def transformed(x):
    return np.fft.rfft(x).real[:2]


def cumulated(x):
    return np.cumsum(x * x)


def broken_off(x):
    y = np.zeros(len(x))
    s = 0.0
    for i in range(len(x)):
        if x[i] > 1.0:
            break
        s += x[i]
        y[i] = s * s
    return y


def converged(x):
    """A loop that floats end: its pattern is that of all turns."""
    u = x.copy()
    for _ in range(20):
        change = 0.0
        for i in range(1, len(x) - 1):
            new = 0.25 * (u[i - 1] + u[i + 1] + x[i] ** 2)
            change += abs(new - u[i])
            u[i] = new
        if change < 1e-1:
            break
    return u


def converged_with_swap(x):
    u = x.copy()
    v = x.copy()
    for _ in range(20):
        change = 0.0
        for i in range(1, len(x) - 1):
            v[i] = 0.25 * (u[i - 1] + u[i + 1])
            change += abs(v[i] - u[i])
        u, v = v, u
        if change < 1e-1:
            break
    return u


def while_loop(x):
    y = np.zeros(len(x))
    k, e = 0, 1.0
    while e > 0.01 and k < len(x):
        y[k] = x[k] * x[0]
        e *= 0.3 * abs(math.sin(x[k]))
        k += 1
    return y


def early_return(x):
    y = np.zeros(2)
    for i in range(len(x)):
        if x[i] > 0.8:
            y[0] = x[i]
            return y
        y[1] = y[1] + x[i] * x[i]
    return y


def computed_index(x):
    y = np.zeros(len(x))
    for i in range(len(x)):
        y[i] = x[int(abs(x[i]) * 3) % len(x)] * x[i]
    return y


def index_found_in_branch(x):
    """An index that a loop with a break finds, on one side of a branch."""
    y = np.zeros(len(x))
    if x[0] > 0:
        k = 0
        for i in range(len(x)):
            if x[i] > 0.5:
                break
            k = i
        y[0] = x[k]
    else:
        y[1] = x[1] * x[2]
    return y


def table(x, values):
    """A constant table at places that floats say has no derivative of its own."""
    y = np.zeros(len(x))
    for i in range(len(x)):
        k = int(x[i] * 3.0)
        t = x[i] * 3.0 - k
        y[i] = (1 - t) * values[k] + t * values[k + 1]
    return y


def searched(x, grid):
    y = np.zeros(len(x))
    for i in range(len(x)):
        k = 0
        while k < len(grid) - 1 and grid[k] < x[i]:
            k += 1
        y[i] = grid[k] * x[i]
    return y


def sorted_numbers(x):
    return np.sort(x * x)


def square(a, b):
    return a * b if a > b else a


def callees(x):
    y = np.zeros(len(x))
    for i in range(1, len(x)):
        y[i] = square(x[i], x[i - 1])
    return y


@njit
def compiled_callee(row, k):
    row[k] += row[k - 1] * row[k]


@njit
def dispatcher(x):
    y = x.copy()
    for i in range(1, len(x)):
        compiled_callee(y, i)
    return y


def views(x):
    m = x.copy().reshape(2, 4)
    row = m[1]
    row[1:3] = m[0, 1:3] * row[::-1][1:3]
    return m.T


def rows_in_branch(x):
    m = x.reshape(4, 2)
    y = np.zeros((4, 2))
    for i in range(1, 4):
        if x[i] > 0:
            a, b = m[i], m[i - 1]
            for j in range(2):
                y[i, j] = a[j] * b[j]
    return y


def aliases(x):
    y = np.zeros(len(x))
    z = y
    z[0] = x[1]
    y[1] = z[0] * x[2]
    return z


def raising(x):
    if x[0] > 1e9:
        raise ValueError("too large")
    return x[1:] * x[:-1]


def integers_decide(x, kind, steps):
    y = np.zeros(len(x))
    for _ in range(steps):
        for i in range(1, len(x)):
            if kind == 1:
                y[i] = x[i - 1] + y[i - 1]
            else:
                y[i] = x[i] ** 2
    return y


class State(NamedTuple):
    u: Any
    k: int
    scale: float


def trees(s, other):
    return s.u[s.k :] * s.scale, other[0] * other[1]


def scalars(x, y):
    return x * y + x, math.floor(x) * y


def nothing_active(x):
    return np.zeros(len(x)), x[0]


@aj.custom_jvp
def straight_through(v):
    return math.floor(v)


@straight_through.defjvp
def _straight(primals, tangents):
    return math.floor(primals[0]), tangents[0]


def custom_rule(x):
    """A rule of the user's own has a derivative where the function's body has none."""
    y = np.zeros(len(x))
    for i in range(len(x)):
        y[i] = straight_through(x[i])
    return y


def stopped(x):
    return aj.stop_gradient(x[1:]) * x[:-1]


def argument_tuple(pair):
    return pair[0][1:] * pair[1][:-1]


_A = np.array([[3.0, 1.0, 0.1], [0.5, 4.0, 1.0], [2.0, 0.3, 1.0], [1.0, 1.0, 2.0]])

PROGRAMS = (
    Program(shifts),
    Program(branch),
    Program(branch_out_of_range, tight=False),
    Program(guarded_branch),
    Program(nested_branches),
    Program(branch_keeps_old),
    Program(scratch_in_branch),
    Program(time_loop),
    Program(gauss_seidel, (np.ones(8),)),
    Program(csr_product, (np.arange(1.0, 6.0), np.array([0, 3, 1, 2, 7]), np.array([0, 2, 2, 5]))),
    Program(gather, (np.array([3, 0, 0, 5]),)),
    Program(scatter, (np.array([3, 0, 0, 5]),)),
    Program(array_statements),
    Program(where),
    Program(minimum),
    Program(no_slope),
    Program(matrix_product, (_A,)),
    Program(matrix_product_of_column, (np.ones((3, 8)),)),
    Program(solved, (np.eye(4) * 5 + 1,), n=4),
    Program(transformed, tight=False),
    Program(cumulated),
    Program(broken_off),
    Program(converged, tight=False),
    Program(converged_with_swap, proven=False, tight=False),
    Program(while_loop, proven=False, tight=False),
    Program(early_return),
    Program(computed_index, proven=False, tight=False),
    Program(index_found_in_branch, proven=False, tight=False),
    Program(table, (np.arange(40.0) ** 2,), positive=True),
    Program(searched, (np.linspace(-2.0, 2.0, 9),)),
    Program(sorted_numbers, proven=False, tight=False),
    Program(callees),
    Program(dispatcher),
    Program(views),
    Program(rows_in_branch),
    Program(aliases),
    Program(raising),
    Program(integers_decide, (1, 2)),
    Program(integers_decide, (0, 2)),
    Program(custom_rule),
    Program(stopped),
    Program(nothing_active),
)
