"""Arrays as people have them: offsets, strides, orders, empty ones, other queues; what a call leaves alone when it is refused."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any, NamedTuple

import numpy as np
import pytest

import adjit as aj
from tests.kernels.programs import half_sweep, scale, square

from .places import ARRAY, same, to_device


@pytest.fixture(autouse=True)
def _uncompiled(uncompiled):
    """Nothing is kept on disk."""


def norm(x):
    y = np.zeros_like(x)
    for i in range(x.shape[0]):
        y[i] = x[i] * x[i]
    return np.sum(y * x)


VIEWS = {
    "offset": lambda a: a[3:9],
    "step": lambda a: a[1::2],
    "backwards": lambda a: a[::-1],
    "one": lambda a: a[4:5],
    "empty": lambda a: a[4:4],
}


@pytest.mark.parametrize("view", VIEWS)
def test_views_of_device_arrays(view: str):
    base = np.linspace(-1.0, 2.0, 12)
    x, given = VIEWS[view](base), VIEWS[view](to_device(base))
    value, gradient = aj.value_and_grad(norm)(given)
    np.testing.assert_allclose(value, np.sum(x**3), rtol=1e-14, atol=1e-300)
    assert isinstance(gradient, ARRAY) and gradient.shape == x.shape
    same(gradient, 3 * x**2)
    before = to_device(base)
    square(VIEWS[view](before), ndrange=len(x))
    want = base.copy()
    VIEWS[view](want)[:] **= 2
    same(before, want)


@pytest.mark.parametrize("form", ["transposed", "columns", "fortran"])
def test_layouts_of_two_axes(form: str):
    base = np.linspace(-1.0, 1.0, 48).reshape(6, 8)
    forms = {"transposed": lambda a: a.T, "columns": lambda a: a[:, 1:7:2], "fortran": lambda a: a}
    order = "F" if form == "fortran" else "C"
    u, given = forms[form](np.array(base, order=order)), forms[form](to_device(base, order))
    f, given_f = np.ones(u.shape), to_device(np.ones(u.shape))
    du, given_du = np.ones(u.shape, order="F" if u.flags.f_contiguous else "C"), None
    given_du = to_device(du, "F" if u.flags.f_contiguous else "C")
    df, given_df = np.zeros(u.shape), to_device(np.zeros(u.shape))
    aj.autodiff(aj.Reverse, half_sweep, aj.Duplicated(u, du), aj.Duplicated(f, df), 0, ndrange=u.shape)
    aj.autodiff(
        aj.Reverse, half_sweep, aj.Duplicated(given, given_du), aj.Duplicated(given_f, given_df), 0,
        ndrange=u.shape,
    )  # fmt: skip
    same((given_du, given_df), (du, df))
    np.testing.assert_allclose(given.get() if form == "fortran" else to_device(u).get() * 0 + u, u)


class Spring(NamedTuple):
    stiffness: float
    rest: Any


def test_tuples_of_device_arrays():
    def force(p, x):
        f = x - p.rest
        return p.stiffness * np.sum(f * f)

    x, rest = np.array([1.0, 2.0, 4.0]), np.ones(3)
    want = aj.grad(force)(Spring(3.0, rest), x)
    got = aj.grad(force)(to_device(Spring(3.0, rest)), to_device(x))
    assert type(got) is Spring and got.stiffness == want.stiffness
    same(got.rest, want.rest)


# what does not fit


def test_arrays_in_two_places():
    y, x = np.zeros(3), to_device(np.ones(3))
    with pytest.raises(aj.DeviceError, match="'x' is on a device, and 'y' is a NumPy array"):
        scale(y, 2.0, x, ndrange=3)
    with pytest.raises(aj.ArgumentError, match="shadow of 'u' must be a device array"):
        aj.autodiff(aj.Forward, square, aj.Duplicated(x, np.ones(3)), ndrange=3)


def test_a_captured_numpy_array():
    table = np.ones(3)

    @aj.kernel
    def weighted(y, x):
        i = aj.index()
        y[i] = table[i] * x[i]

    with pytest.raises(aj.DeviceError, match=r"captured array 'table' of weighted\(\) is a NumPy array"):
        weighted(*to_device((np.zeros(3), np.ones(3))), ndrange=3)


def test_shared_memory():
    base = to_device(np.arange(6.0))
    with pytest.raises(aj.ArgumentError, match="'y' shares memory with 'x'"):
        scale(base[:4], 2.0, base[2:], ndrange=4)
    same(base, np.arange(6.0))
    scale(base[:3], 2.0, base[3:], ndrange=3)
    same(base, np.array([6.0, 8.0, 10.0, 3.0, 4.0, 5.0]))


def test_an_array_that_does_not_fit():
    def huge(x):
        y = np.zeros(x.shape[0] * 2**40)
        y[:3] = x
        return np.sum(y)

    x = to_device(np.ones(3))
    with pytest.raises(
        aj.MemoryLimitError, match="an array of 26388279066624 bytes does not fit on the device"
    ):
        aj.jit(huge)(x)
    square(x, ndrange=3)
    same(x, np.ones(3))


def test_checks_run_on_the_cpu():
    x = to_device(np.ones(3))
    for check in (lambda: aj.check_grad(norm, x), lambda: aj.check_races(square, 3, x)):
        with pytest.raises(aj.DeviceError, match="of device arrays"):
            check()
    with pytest.raises(aj.DeviceError, match="boundscheck of a program on a device"):
        aj.options(square, boundscheck=True)(x, ndrange=3)
    with pytest.raises(aj.ArgumentError, match="stream is 'fast'"):
        square(x, ndrange=3, stream="fast")


def test_import_adjit_imports_no_device_library():
    code = "import adjit, sys; print([m for m in ('pyopencl', 'cupy') if m in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


RUN = """
import sys; sys.path.insert(0, {root!r})
import numpy as np, adjit as aj
from adjit.runtime import cache
from tests.gpu.places import to_device
from tests.kernels.programs import red_black
stored = []
store = cache.store
cache.store = lambda *a: (stored.append(a[0]), store(*a))
u = np.linspace(0, 1, 12).reshape(3, 4)
print(aj.grad(red_black)(*to_device((u, u)), 2).get().sum(), len(stored))
"""


def test_a_second_process_takes_programs_from_the_disk(tmp_path, monkeypatch):
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    monkeypatch.delenv("ADJIT_UNCOMPILED")
    monkeypatch.delenv("ADJIT_NO_CACHE", raising=False)
    monkeypatch.setenv("ADJIT_CACHE_DIR", str(tmp_path / "cache"))
    code = RUN.format(root=root)
    runs = [subprocess.check_output([sys.executable, "-c", code], text=True).split() for _ in range(2)]
    assert runs[0][0] == runs[1][0] and [r[1] for r in runs] == ["1", "0"]


def test_names_that_the_generated_text_has_too():
    @aj.kernel
    def step(new, old, index, half_):
        i = aj.index()
        double = old[i] * index
        new[i] = double + half_

    def device(kernel, x):
        exp = np.zeros_like(x)
        step(exp, x, kernel, 1.0, ndrange=len(x))
        SOURCE = exp.reshape((2, 3)).T
        return np.sum(SOURCE * SOURCE)

    x = np.linspace(0, 1, 12)[::2]
    same(aj.grad(device, wrt=(0, 1))(2.0, to_device(x)), aj.grad(device, wrt=(0, 1))(2.0, x.copy()))
