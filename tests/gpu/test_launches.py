"""How often the device is asked for something: launches and memory do not grow with the arrays, nothing is read back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjit as aj

from .places import CUDA, to_device


class Counts:
    """What a call took: launches, and numbers allocated."""

    def __init__(self) -> None:
        self.launches, self.allocated = 0, 0

    def of(self, call: Callable[[], Any]) -> tuple[int, int]:
        """Launches and numbers of one call."""
        self.launches = self.allocated = 0
        call()
        return self.launches, self.allocated


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch, uncompiled: None) -> Counts:
    """Counts, and an error where a number comes back from the device."""
    if CUDA:
        from adjit.runtime.cuda import capture, device, graph, launch

        classes = (device.Device, capture.Capturing)
        for module in (device, graph):
            monkeypatch.setattr(module, "read", _refuse)
    else:
        import pyopencl as cl

        from adjit.runtime.opencl import device, launch

        classes = (device.Device,)
        copied = cl.enqueue_copy

        def copy(queue: Any, target: Any, source: Any, **more: Any) -> Any:
            return _refuse() if isinstance(target, np.ndarray) else copied(queue, target, source, **more)

        monkeypatch.setattr(cl, "enqueue_copy", copy)
    found, launched = Counts(), launch.Launch.__call__

    def count(self: Any, *args: Any) -> Any:
        found.launches += 1
        return launched(self, *args)

    monkeypatch.setattr(launch.Launch, "__call__", count)
    for cls in classes:
        if "empty" in vars(cls):
            monkeypatch.setattr(cls, "empty", _counted(found, cls.empty))
    return found


def _counted(found: Counts, empty: Callable[..., Any]) -> Callable[..., Any]:
    def made(self: Any, shape: Any, *args: Any) -> Any:
        found.allocated += int(np.prod(shape)) * self.groups
        return empty(self, shape, *args)

    return made


def _refuse(*_: Any) -> Any:
    raise AssertionError("a number was read from the device")


def squares(x):
    return x**2


def neighbours(u):
    y = np.zeros_like(u)
    for _ in range(2):
        for i in range(1, len(u) - 1):
            y[i] = u[i - 1] * u[i] * u[i + 1] + y[i]
    return y


@pytest.mark.parametrize("f", [squares, neighbours])
@pytest.mark.parametrize(
    "op", [aj.jacobian, lambda f, sparse: aj.hessian(lambda x: np.sum(f(x)), sparse=sparse)]
)
def test_sparse(f: Callable[..., Any], op: Any, counts: Counts):
    found = []
    for n in (41, 97):
        x = to_device(np.linspace(0.5, 1.5, n))
        launches, allocated = counts.of(lambda x=x: op(f, sparse=True)(x))
        found.append(launches)
        assert allocated <= (8 if f is squares else 50) * (n + 1)
    assert found[0] == found[1] and found[0] <= 12
    if f is squares and op is aj.jacobian:
        assert found[0] == 4  # seeds, the program, what it gives, the entries


def test_gradients(counts: Counts):
    sums, norms = aj.grad(lambda x: np.sum(x)), aj.grad(lambda x: np.sum(squares(x)))
    found = []
    for n in (300, 700):
        x = to_device(np.ones(n))
        assert counts.of(lambda x=x: sums(x)) == (1, 0)
        found.append(counts.of(lambda x=x: norms(x))[0])
    assert found[0] == found[1]


def test_dense(counts: Counts):
    """Seeds, the program, its columns: for all passes at once, and the columns of the last that is not full."""
    for n, wanted in ((48, 3), (96, 3), (90, 4)):
        x = to_device(np.linspace(0.5, 1.5, n))
        launches, allocated = counts.of(lambda x=x: aj.jacfwd(squares)(x))
        assert launches == wanted
        assert allocated <= n * n + 2 * n * (n + 16)  # the matrix; seeds and tangents
    found = [counts.of(lambda x=x: aj.jacfwd(neighbours)(to_device(np.ones(n))))[0] for n in (48, 96)]
    assert found[0] == found[1]


def test_rows(counts: Counts):
    found = []
    for n in (48, 96):
        x = to_device(np.linspace(0.5, 1.5, n))
        found.append(counts.of(lambda x=x: aj.jacrev(lambda x: x[:3] * x[1:4])(x))[0])
    assert found[0] == found[1]


def test_prepared(counts: Counts):
    """The matrix is not made again."""
    n = 64
    x = to_device(np.linspace(0.5, 1.5, n))
    prepared = aj.prepare(aj.jacfwd, squares, x)
    first = counts.of(lambda: prepared(x))
    again = counts.of(lambda: prepared(x))
    assert again[0] in (0, first[0])  # a replay of a graph launches nothing by itself
    assert again[1] <= first[1] - n * n
