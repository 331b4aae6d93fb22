"""The generated C: its form, and that NVIDIA's compiler takes every kernel of the programs and of the semantics tests."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjit as aj
from adjit.codegen.c_family.dialect import CUDA
from adjit.codegen.driver.module import kernels_text
from adjit.runtime import device_text, program

from . import test_counted_records as counted
from . import test_semantics as semantics
from .nvrtc import compile_cuda
from .places import to_device
from .programs import PROGRAMS, Program

_GROUPS = ("-DINDEX=int", "-DTABLE", "-DGROUPED")


@pytest.fixture(autouse=True)
def _uncompiled(uncompiled):
    """Nothing is kept on disk."""


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kernels of every program that is built for a device, in CUDA C++."""
    found: list[str] = []
    render = program.device_text

    def both(module: Any, results: int, dialect: Any) -> str:
        found.append(kernels_text(device_text.host_units(module, results), CUDA))
        return render(module, results, dialect)

    monkeypatch.setattr(program, "device_text", both)
    return found


def built(k: Any, *args: Any, ndrange: Any) -> None:
    aj.jit(k).source(*to_device(args), ndrange=ndrange)


@pytest.mark.parametrize("p", PROGRAMS, ids=[p.name for p in PROGRAMS])
def test_cuda_compiles_programs_and_their_derivatives(p: Program, cuda: list[str]):
    aj.grad(p.f, wrt=p.wrt).source(*to_device(p.args))
    (text,) = cuda
    for options in (("-DINDEX=int",), ("-DINDEX=int64",), ("-DINDEX=int", "-DTABLE"), _GROUPS):
        ptx = compile_cuda(text, *options)
        assert ptx.count(".visible .entry") == text.count("__global__")


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_cuda_compiles_every_operation(dtype: str, cuda: list[str]):
    x = semantics.FLOATS.astype(dtype)
    built(semantics.elementary, np.zeros((17, 12), dtype), x, ndrange=12)
    built(semantics.not_numbers, np.zeros((13, 12), dtype), x, ndrange=12)
    built(semantics.mixed, np.zeros(12, dtype), x, np.arange(12, dtype="int32"), ndrange=12)
    built(semantics.flow, np.zeros((7, 12), dtype), x, 6.0, ndrange=12)
    built(semantics.sections, np.zeros((5, 4), dtype), np.zeros((4, 6), dtype), 1, 2, ndrange=4)
    built(semantics.small_arrays, np.zeros(12, dtype), x, ndrange=12)
    built(semantics.box, np.zeros((2, 3, 4), dtype), np.ones((4, 3, 2), dtype), ndrange=(2, 3, 4))
    compile_all(cuda)


@pytest.mark.parametrize("dtype", ["int64", "int32", "int16", "int8", "uint64", "uint32"])
def test_cuda_compiles_integers(dtype: str, cuda: list[str]):
    a = np.arange(10).astype(dtype)
    if not dtype.startswith("u"):
        built(semantics.whole_numbers, np.zeros((13, 10), "int64"), a, a, ndrange=10)
    built(semantics.divided, np.zeros((3, 10)), a, a, ndrange=10)
    if a.itemsize >= 4:
        built(semantics.pile, a, a, ndrange=10)
    built(semantics.flags, np.zeros(10, bool), np.zeros(10), np.ones(10), True, ndrange=10)
    compile_all(cuda)


def compile_all(texts: list[str]) -> None:
    assert texts
    for text in texts:
        assert ".visible .entry" in compile_cuda(text, "-DINDEX=int")


def test_a_kernel_reads_as_what_it_was_made_from():
    x, y = to_device((np.arange(3.0), np.zeros(3)))
    text = aj.jit(semantics.mixed).source(y, x, to_device(np.arange(3)), ndrange=3)
    assert "y[i] = k[i] * x[i] + k[i] / 4 + 0.5 * i + x[i] ** k[i]" in text  # the user's line, as a comment
    assert "__global double *restrict y_memory" in text and "__global const double *restrict x_memory" in text
    assert "get_global_id(0)" in text and "if (i >= n_items) return;" in text
    assert "mixed_1(device, ndrange_0" in text.replace("max(ndrange_0, 0)", "ndrange_0")


@aj.kernel
def stencil(y, x):
    i, j = aj.index(2)
    if 0 < i < x.shape[0] - 1:
        y[i, j] = x[i + 1, j] - x[i - 1, j] + x[i, 0]


def test_golden_texts(golden, cuda: list[str]):
    def smoothed(x, w):
        y = np.zeros_like(x)
        stencil(y, x, ndrange=x.shape)
        return np.sum(y * w)

    args = to_device((np.ones((3, 4)), np.ones((3, 4))))
    golden("stencil_opencl", aj.grad(smoothed).source(*args).partition('"""\n\n\n')[2])
    golden("stencil_cuda", cuda[-1])


def test_cuda_compiles_records_that_are_counted(cuda: list[str]):
    def roots(x):
        y = np.zeros_like(x)
        counted.cube_roots(y, x, 1e-9, ndrange=x.shape)
        return np.sum(y)

    def settled(u, c):
        for _ in range(2):
            counted.settle(u, c, ndrange=len(u))
        return np.sum(u)

    aj.grad(roots).source(*to_device((counted.GRID,)))
    aj.grad(settled).source(*to_device((counted.X, counted.C)))
    assert "fma.rn.f64" in compile_cuda(cuda[0], "-DINDEX=int")
    for table in ((), ("-DTABLE",)):  # as modules are built that are `strict`
        assert "fma.rn.f64" not in compile_cuda(cuda[0], "-DINDEX=int", "--fmad=false", *table)
        compile_cuda(cuda[1], "-DINDEX=int", "--fmad=false", *table)
