"""Several derivatives at once of device arrays: what the CPU gives, in launches that the number of inputs does not change."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import adjit as aj

from .places import ARRAY, copies, same, to_device, to_host


@pytest.fixture(autouse=True)
def _uncompiled(uncompiled):
    """What runs on the CPU for comparison runs as plain Python."""


def numbers(*shape: int, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).uniform(0.5, 1.5, shape)


def sweeps(u, c):
    """In place, the neighbours of before."""
    for _ in range(2):
        for i in range(1, len(u) - 1, 2):
            u[i] = u[i] * c + u[i - 1] * u[i + 1]
        for i in range(2, len(u) - 1, 2):
            u[i] -= np.sin(u[i - 1]) * u[i + 1]
    return u * c


@aj.kernel
def stretched(y, x, c):
    i, j = aj.index(2)
    y[i, j] = c * x[i, j] * x[i, j - 1]


def launched(x, c):
    y = np.zeros_like(x)
    stretched(y, x, c, ndrange=x.shape)
    return y, np.sum(y * x)


def planes(a, b):
    return a[0] * b + a[1] ** 2


def turned(a):
    return a.T * a[0, 1], a[1]


def of_no_axes(x, y):
    out = np.zeros(())
    out[()] = x[()] * y[()] * y[()]
    return out


class Pair(NamedTuple):
    x: Any
    c: Any


def of_pairs(p, k):
    return p.x * p.c, p.c * k


def counted(x, n, scale):
    return x * n * scale


PROGRAMS = {
    "in place": (sweeps, (numbers(7), 1.25), (0, 1)),
    "kernel": (launched, (numbers(3, 4), 0.5), (0, 1)),
    "three axes": (planes, (numbers(2, 3, 2), numbers(3, 2, seed=1)), (0, 1)),
    "views": (turned, (numbers(2, 3),), 0),
    "no axes": (of_no_axes, (numbers(), numbers(seed=1)), ("y", "x")),
    "tuples": (of_pairs, (Pair(numbers(3), 2.0), 0.5), (0, "k")),
    "one number": (launched, (numbers(2, 3), 0.5), "c"),
    "integers": (counted, (numbers(4), 3, np.float32(0.5)), "x"),
    "no elements": (counted, (numbers(0), 3, 2.0), (0, 2)),
}


def both(op: Any, args: tuple[Any, ...], order: str = "C", rtol: float = 1e-12) -> Any:
    """On the device what is on the host: values, and the arguments that it leaves behind."""
    host = tuple(np.array(a, order=order) if isinstance(a, np.ndarray) else a for a in copies(args))
    there = to_device(host, order)
    want, got = op(*host), op(*there)
    same(got, want, rtol, rtol)
    same(there, host, rtol, rtol)
    return got


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("op", [aj.jacfwd, aj.jacrev])
def test_what_the_host_gives(op: Any, name: str):
    f, args, wrt = PROGRAMS[name]
    both(op(f, wrt=wrt), args)


@pytest.mark.parametrize("op", [aj.jacfwd, aj.jacrev])
def test_single_precision_in_the_other_order(op: Any):
    for name in ("three axes", "views"):
        f, args, wrt = PROGRAMS[name]
        args = tuple(a.astype(np.float32) for a in args)
        both(op(f, wrt=wrt), args, "F", 1e-5)
    both(op(lambda a, b: a * b, wrt=(0, 1)), (numbers(3).astype(np.float32), numbers(3)), rtol=1e-6)


def test_more_inputs_than_a_pass_carries():
    """37 columns: passes that are full, one that is not, and pieces of two arguments in one."""
    both(aj.jacfwd(lambda x, c, y: x * c + y[::2] ** 2, wrt=(0, 1, 2)), (numbers(12), 2.0, numbers(24)))
    f, args, _ = PROGRAMS["in place"]
    both(aj.jacfwd(f), (numbers(21), *args[1:]))


def scattered(x, index):
    y = np.zeros(3)
    for i in range(len(x)):
        aj.atomic_add(y, index[i], x[i] * x[i])
    return y, x


@aj.kernel
def _local(y, x):
    i = aj.index()
    w = np.zeros(3)
    for k in range(3):
        w[k] = x[(i + k) % len(x)] * (k + 1.0)
    y[i] = w[0] * w[1] + w[2]


def with_local_memory(x):
    y = np.zeros(len(x))
    _local(y, x, ndrange=len(x))
    return y


def turned_and_written(a):
    b = a.T * 2.0
    a[0, 1:] *= a[1, 1:]
    return a.T, b[1] * a[0, 1]


def squared_in_place(a):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j] = a[i, j] * a[i, j]
    return a.T, a[:, 1:]


def recorded(u):
    for _ in range(3):
        for i in range(1, len(u) - 1):
            if u[i] > 0.9:
                u[i] *= u[i]
    return np.sum(u * u)


MANY = {
    "atomic sums": (aj.jacfwd, scattered, (numbers(40), np.arange(40) % 3)),
    "local memory": (aj.jacfwd, with_local_memory, (numbers(39),)),
    "two axes": (aj.jacfwd, lambda a: (a.T * 2.0, a[1:] * a[:-1], a), (numbers(5, 8),)),
    "a number read": (aj.jacfwd, turned_and_written, (numbers(5, 8),)),
    "written": (aj.jacfwd, squared_in_place, (numbers(5, 8),)),
    "three axes": (aj.jacfwd, lambda a: a * a[1, 2, 0], (numbers(3, 4, 3),)),
    "sums": (aj.jacfwd, lambda x: (x * np.sum(x), np.sum(x)), (numbers(40),)),
    "records": (aj.hessian, recorded, (numbers(40),)),
    "single": (aj.hessian, lambda x: np.sum(x**3) * x[0], (numbers(40).astype(np.float32),)),
}


@pytest.mark.parametrize("name", MANY)
def test_passes_at_once(name: str):
    op, f, args = MANY[name]
    for order in "CF"[: 1 + (args[0].ndim > 1)]:
        both(op(f), args, order, 1e-4 if args[0].dtype == np.float32 else 1e-12)


def test_passes_in_several_parts(monkeypatch: pytest.MonkeyPatch):
    """Where the seeds of all do not fit in what they may take."""
    from adjit.api.device import passes

    monkeypatch.setattr(passes, "_ROOM", 3 * 16 * 8 * 130)
    both(aj.jacfwd(with_local_memory), (numbers(130),))


def test_the_mode_that_costs_less():
    many, few = to_device(numbers(40)), to_device(numbers(3))
    jacobian = aj.jacobian(lambda x: np.sum(x * x))
    assert jacobian.mode(many) == "reverse" and jacobian.mode(few) == "forward"
    same(jacobian(many), 2.0 * to_host(many))


def energy(x, c):
    s = 0.0
    for i in range(len(x) - 1):
        s += c * (x[i + 1] - x[i] * x[i]) ** 2 + np.exp(x[i])
    return s


def test_hessians_and_laplacians():
    args = numbers(6), 1.5
    both(aj.hessian(energy), args)
    both(aj.hessian(energy, wrt=(0, 1)), args)
    both(aj.laplacian(energy, wrt=(0, 1)), args)
    both(aj.laplacian(lambda a: np.sum(a**3 * a[0, 0])), (numbers(3, 4),), "F")


def test_batches_of_tangents():
    rng = np.random.default_rng(5)
    for name, count in (("in place", 3), ("kernel", 5), ("three axes", 18), ("no axes", 1)):
        f, args, _ = PROGRAMS[name]
        given = [rng.uniform(-1, 1, (count, *np.shape(a))) for a in args]
        for order in "CF":
            host = tuple(np.array(a, order=order) if isinstance(a, np.ndarray) else a for a in args)
            tangents = tuple(
                aj.Batch(to_device(g) if isinstance(a, np.ndarray) else g)
                for a, g in zip(args, given, strict=True)
            )
            want = aj.jvp(f, copies(host), tuple(map(aj.Batch, given)))
            same(aj.jvp(f, to_device(host, order), tangents), want, 1e-12, 1e-12)
            for t, g in zip(tangents, given, strict=True):
                same(t.values, g)  # not written


def test_batches_of_cotangents():
    for name in ("in place", "three axes"):
        f, args, _ = PROGRAMS[name]
        value, pullback = aj.vjp(f, *copies(args))
        batch = np.random.default_rng(2).uniform(-1, 1, (3, *value.shape))
        _, pulled = aj.vjp(f, *to_device(args, "F"))
        same(pulled(aj.Batch(to_device(batch))), pullback(aj.Batch(batch)))
        same(pulled(aj.Batch(to_device(batch[:0]))), pullback(aj.Batch(batch[:0])))
    with pytest.raises(aj.ArgumentError, match="must be a device array as the result is"):
        pulled(aj.Batch(batch))


@pytest.mark.parametrize("op", [aj.grad, aj.value_and_grad, aj.jacfwd, aj.jacrev, aj.hessian])
def test_prepared(op: Any):
    f = sweeps if op in (aj.jacfwd, aj.jacrev) else energy
    x = numbers(6)
    want, got = aj.prepare(op, f, x.copy(), 2.0), aj.prepare(op, f, to_device(x), 2.0)
    last = None
    for k in range(3):
        found = got(to_device(x + k), 2.0 + k)
        same(found, want(x + k, 2.0 + k), 1e-12, 1e-12)
        same(got.value, want.value, 1e-12, 1e-12)
        array = found[1] if op is aj.value_and_grad else found
        assert isinstance(array, ARRAY) and (last is None or array is last)
        last = array
    if last.ndim == 1:
        with pytest.raises(aj.ArgumentError, match="shares memory with what the last call returned"):
            got(last, 2.0)
    with pytest.raises(aj.ArgumentError, match="prepare again"):
        got(to_device(numbers(7)), 2.0)


def test_what_does_not_fit():
    x = to_device(numbers(3))
    with pytest.raises(aj.MemoryLimitError, match="3 rows and 3 columns: 72 bytes"):
        aj.jacfwd(aj.options(lambda x: x * x, memory=71))(x)
    with pytest.raises(aj.ArgumentError, match="the batch of tangents of 'x' must be a device array"):
        aj.jvp(lambda x: x * x, (x,), (aj.Batch(np.eye(3)),))
    with pytest.raises(aj.ArgumentError, match="must be an array"):
        aj.jvp(lambda x, c: x * c, (x, 2.0), (None, aj.Batch(to_device(np.ones(3)))))
