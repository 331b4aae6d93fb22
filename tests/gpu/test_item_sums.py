"""What the turns of a loop in a kernel add to one element is added up first; pairs of atomic sums side by side."""

from __future__ import annotations

import re

import numpy as np
import pytest

import adjit as aj
from adjit.codegen.c_family.dialect import CUDA
from adjit.codegen.driver.module import kernels_text
from adjit.runtime import device_text, program

from .nvrtc import compile_cuda
from .places import CUDA as ON_CUDA
from .places import copies, same, to_device


@pytest.fixture(autouse=True)
def _uncompiled(uncompiled):
    """What runs on the CPU for comparison runs as plain Python."""


@aj.kernel
def attract(f, x, first, near, cut):
    i = aj.index()
    for p in range(first[i], first[i + 1]):
        j = near[p]
        dx, dy = x[i, 0] - x[j, 0], x[i, 1] - x[j, 1]
        r2 = dx * dx + dy * dy
        if r2 < cut:
            for k in range(2):
                f[i] += r2 * x[j, k]


def forces(x, first, near, cut):
    f = np.zeros_like(x[:, 0])
    attract(f, x, first, near, cut, ndrange=len(f))
    return np.sum(f * f)


@aj.kernel
def guarded(y, x, at):
    """The element of a guard that is never true lies outside of the array."""
    i = aj.index()
    j = at[i]
    for k in range(3):
        if j < len(y):
            aj.atomic_add(y, j, x[i] * k)


def spread(x, at):
    y = np.zeros(4, x.dtype)
    guarded(y, x, at, ndrange=len(at))
    return np.sum(y * y)


def arguments(dtype: str, offset: int = 0):
    rng = np.random.default_rng(4)
    n = 9
    counts = rng.integers(0, 5, n)
    first = np.concatenate(([0], np.cumsum(counts)))
    near = rng.integers(0, n, counts.sum())
    flat = rng.uniform(-1, 1, 2 * n + offset).astype(dtype)
    return flat, first, near, n


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("offset", [0, 1])  # of elements: pairs at places that are no multiple of their size
def test_gradients_of_neighbour_loops(dtype: str, offset: int):
    flat, first, near, n = arguments(dtype, offset)
    cut = np.dtype(dtype).type(1.5)

    def whole(flat, first, near, cut):
        return forces(flat[offset:].reshape(n, 2), first, near, cut)

    args = (flat, first, near, cut)
    want = aj.grad(whole)(*copies(args))
    tolerance = 1e-12 if dtype == "float64" else 2e-5
    same(aj.grad(whole)(*to_device(args)), want, tolerance, tolerance)


def test_own_elements_are_added_to_once():
    flat, first, near, n = arguments("float64")
    args = to_device((flat.reshape(n, 2), first, near))
    text = aj.grad(forces).source(*args, 1.5)
    kernel = next(k for k in text.split("\n}\n") if "atomic_add_float64(&dx[" in k)
    inside, _, after = kernel.rpartition("        }\n    }\n")
    assert len(re.findall(r"atomic_add_float64\(&dx\[\(index\)i ", inside)) == 0
    assert len(re.findall(r"atomic_add_float64\(&dx\[\(index\)i ", after)) == 2
    assert "!= 0.0" in after


def test_elements_that_no_turn_reaches_are_left_alone():
    x, at = np.array([1.0, 2.0, 3.0]), np.array([1, 1_000_000_000_000, 3])
    same(aj.jit(spread)(*to_device((x, at))), aj.jit(spread)(x, at))
    same(aj.grad(spread)(*to_device((x, at))), aj.grad(spread)(x, at))


@pytest.mark.skipif(ON_CUDA, reason="NVRTC of the test extras")
def test_pairs_in_cuda(monkeypatch: pytest.MonkeyPatch):
    texts: list[str] = []
    render = program.device_text

    def both(module, results, dialect):
        texts.append(kernels_text(device_text.host_units(module, results), CUDA))
        return render(module, results, dialect)

    monkeypatch.setattr(program, "device_text", both)
    flat, first, near, n = arguments("float32")
    aj.grad(forces).source(*to_device((flat.reshape(n, 2), first, near)), np.float32(1.5))
    (text,) = texts
    assert "atomic_add_pair_float32(&dx[" in text
    assert "global.add.v2.f32" in compile_cuda(text, "-DINDEX=int")
    assert "global.add.v2.f32" not in compile_cuda(text, "-DINDEX=int", arch="compute_80")
