"""What OpenCL alone has: queues, contexts, devices that lack something."""

from __future__ import annotations

import numpy as np
import pytest

import adjit as aj
from tests.kernels.programs import half_sweep, scale, square

from .places import CUDA, context, device, queue, same, to_device, to_host

if CUDA:
    pytest.skip("tests of OpenCL", allow_module_level=True)

import pyopencl as cl
import pyopencl.array as cla


@pytest.fixture(autouse=True)
def _uncompiled(uncompiled):
    """Nothing is kept on disk."""


def test_arrays_of_other_queues_of_the_context_are_waited_for():
    other = cl.CommandQueue(context())
    x, y = np.linspace(0.0, 1.0, 100_000), cla.zeros(queue(), 100_000, np.float64)
    given = cla.to_device(other, x, async_=True)
    for _ in range(3):
        scale(y, 2.0, given, ndrange=len(x))
        given = (y + y).with_queue(other)
    np.testing.assert_allclose(y.get(), x * 2.0 * 4.0**2)


def test_a_queue_that_is_given():
    other = cl.CommandQueue(context())
    u = to_device(np.full(1000, 3.0))
    for k in range(4):
        square(u, ndrange=1000, stream=other if k % 2 else None)
    same(u, np.full(1000, 3.0**16))
    with pytest.raises(aj.DeviceError, match="launched on a stream, and its arrays are NumPy's"):
        square(np.ones(3), ndrange=3, stream=other)


def test_a_queue_out_of_order():
    free = cl.CommandQueue(context(), properties=cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE)
    u = cla.to_device(free, np.full(1000, 1.0 + 1e-4))

    def many(u):
        for _ in range(6):
            square(u, ndrange=len(u))

    aj.jit(many)(u)
    np.testing.assert_allclose(u.get(), np.full(1000, (1.0 + 1e-4) ** 64), rtol=1e-12)


def test_wide_places_give_the_same(monkeypatch):
    from adjit.runtime.opencl import launch

    grid = np.linspace(0, 1, 30).reshape(5, 6)
    want, got = to_device((grid, grid)), to_device((grid, grid))
    half_sweep(*want, 1, ndrange=(5, 6))
    monkeypatch.setattr(launch, "SMALL", 3)
    half_sweep(*got, 1, ndrange=(5, 6))
    same(got[0], to_host(want[0]))


def test_two_contexts():
    other = cl.CommandQueue(cl.Context([device()]))
    y, x = to_device(np.zeros(3)), cla.to_device(other, np.ones(3))
    with pytest.raises(aj.DeviceError, match="different OpenCL contexts"):
        scale(y, 2.0, x, ndrange=3)
    assert not y.get().any()


def test_an_array_without_a_queue():
    x = to_device(np.ones(3)).with_queue(None)
    with pytest.raises(aj.DeviceError, match="'u' has no queue"):
        square(x, ndrange=3)


def test_a_device_without_what_the_kernels_need():
    from adjit.runtime.opencl.launch import Source

    class Small:
        name, extensions = "small", "cl_khr_icd"

    with pytest.raises(aj.DeviceError, match="'small' has no float64"):
        Source("", fp64=True, wide_atomics=False).check(Small)
    with pytest.raises(aj.DeviceError, match="'small' has no atomic operations on 64 bits"):
        Source("", fp64=False, wide_atomics=True).check(Small)
    Source("", fp64=False, wide_atomics=False).check(Small)
