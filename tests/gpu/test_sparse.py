"""Sparse Jacobians and Hessians of device arrays: the host's matrices, with entries on the device."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import adjit as aj

from .places import ARRAY, copies, same, to_device


@pytest.fixture(autouse=True)
def _uncompiled(uncompiled):
    """What runs on the CPU for comparison runs as plain Python."""


U = np.linspace(0.0, 1.0, 23) ** 2


def diffusion(u, c):
    out = np.zeros(len(u))
    for i in range(1, len(u) - 1):
        flux = u[i + 1] - u[i]
        if flux > 0:
            out[i] = flux * flux * c - (u[i] - u[i - 1])
        else:
            out[i] = u[i - 1] * u[i]
    return out


def in_place(u, c):
    for i in range(0, len(u) - 1, 2):
        u[i] = c * u[i] * u[i + 1]
    return u * u


def squares(x):
    return x**2


def planes(a, b):
    return a * a.T[0, 0], b * b


def few_rows(a, b):
    return np.sum(a * b), np.sum(b) * a[0]


@aj.kernel
def _gather(y, x, index):
    k = aj.index()
    y[k] = x[index[k]] ** 2


def gathered(x, index):
    y = np.zeros(len(index))
    _gather(y, x, index, ndrange=len(index))
    return y


def chain(x):
    s = 0.0
    for i in range(len(x) - 1):
        s += 100.0 * (x[i + 1] - x[i] * x[i]) ** 2 + (1.0 - x[i]) ** 2
    return s


def equal(got: Any, want: Any, rtol: float = 1e-12) -> None:
    """The host's matrix, entry by entry."""
    assert isinstance(got.data, ARRAY)
    got = got.get()
    assert got.shape == want.shape and got.dtype == want.dtype
    assert np.array_equal(got.indptr, want.indptr) and np.array_equal(got.indices, want.indices)
    np.testing.assert_allclose(got.data, want.data, rtol, 1e-14)


def both(op: Any, args: tuple[Any, ...], order: str = "C", rtol: float = 1e-12) -> None:
    """Twice, so that the second call takes what the first has kept."""
    host = tuple(np.array(a, order=order) if isinstance(a, np.ndarray) else a for a in copies(args))
    want = op(*copies(host))
    for _ in range(2):
        there = to_device(host, order)
        value, got = op.value_and_matrix(*there)
        equal(got, want, rtol)
        equal(op(*to_device(host, order)), want, rtol)
        own = copies(host)
        same(value, op.base(*own))
        same(there, own)


CASES = {
    "a branch": (diffusion, (U, 2.0), 0),
    "in place": (in_place, (U, 2.0), 0),
    "two arguments": (diffusion, (U, 2.0), (1, 0)),
    "a diagonal": (squares, (U,), 0),
    "no elements": (squares, (U[:0],), 0),
    "two axes": (planes, (U[:12].reshape(3, 4), U[:6].reshape(2, 3)), (0, 1)),
    "few rows": (few_rows, (U, U + 1.0), (1, 0)),
    "integers": (gathered, (U, np.arange(10)[::-1] * 2), 0),
}


@pytest.mark.parametrize("name", CASES)
def test_what_the_host_gives(name: str):
    f, args, wrt = CASES[name]
    both(aj.jacobian(f, wrt=wrt, sparse=True), args)


def test_other_orders_and_dtypes():
    f, args, wrt = CASES["two axes"]
    both(aj.jacobian(f, wrt=wrt, sparse=True), args, "F")
    both(aj.jacobian(f, wrt=wrt, sparse=True), tuple(a.astype(np.float32) for a in args), rtol=1e-5)
    few = aj.jacobian(few_rows, wrt=(0, 1), sparse=True)
    assert few.prepare(*to_device((U, U))).how.mode == "reverse"
    both(few, (U.astype(np.float32), U.astype(np.float32)), rtol=1e-5)


def test_hessians():
    both(aj.hessian(chain, sparse=True), (U,))
    pattern = aj.sparsity(aj.grad(chain), to_device(U))
    assert pattern.proven and (pattern != aj.sparsity(aj.grad(chain), U)).nnz == 0


def test_other_integers_are_another_pattern():
    op = aj.jacobian(gathered, sparse=True)
    x, index = to_device((U, np.arange(5)))
    kept = op.prepare(x, index)
    assert op.prepare(x, index) is kept and op.prepare(x + 1.0, to_device(np.arange(5))) is kept
    index += 2
    equal(op(x, index), op(U, np.arange(5) + 2))
    assert op.prepare(x, index) is not kept


@pytest.mark.parametrize("f", [diffusion, few_rows])
def test_given_patterns_are_checked(f: Any):
    args = (U, 2.0) if f is diffusion else (U, U + 1.0)
    right = aj.sparsity(f, *args)
    both(aj.jacobian(f, sparse=right.toarray()), args)
    wrong = right.toarray()
    wrong[(1, 1) if f is diffusion else (0, 1)] = False
    with pytest.raises(aj.CheckError, match="lacks entries in row"):
        aj.jacobian(f, sparse=wrong)(*to_device(args))
    with pytest.raises(aj.ArgumentError, match="the pattern has shape"):
        aj.jacobian(f, sparse=wrong[:, :-1])(*to_device(args))


def test_a_wrong_pattern_leaves_arguments_alone():
    u = to_device(U)
    with pytest.raises(aj.CheckError):
        aj.jacobian(in_place, sparse=np.eye(len(U)))(u, 2.0)
    same(u, U)


def test_patterns_that_floats_decide():
    def looked_up(x):
        y = np.zeros(len(x))
        for i in range(len(x)):
            y[i] = x[int(10 * x[i]) % len(x)] * x[i]
        return y

    with pytest.raises(aj.DeviceError, match="an index that is computed from floats, in line"):
        aj.jacobian(looked_up, sparse=True)(to_device(U))
    both(aj.jacobian(looked_up, sparse=aj.sparsity(looked_up, U)), (U,))


def test_prepared():
    for f, args in ((diffusion, (U, 2.0)), (few_rows, (U, U + 1.0))):
        op = partial(aj.jacobian, sparse=True)
        p, matrix = aj.prepare(op, f, *to_device(args)), None
        for k in range(3):
            given = (args[0] + 0.1 * k, *args[1:])
            found = p(*to_device(given))
            assert matrix is None or found is matrix
            matrix = found
            equal(matrix, op(f)(*given))
            same(p.value, f(*given))
        with pytest.raises(aj.ArgumentError, match=r"shares memory|prepare again"):
            p(matrix.data, *to_device(args[1:]))
