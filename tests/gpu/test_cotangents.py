"""Cotangents and tangents in another layout than what they belong to are copied on the device."""

from __future__ import annotations

import numpy as np
import pytest

import adjit as aj

from .places import same, to_device


@pytest.fixture(autouse=True)
def _uncompiled(uncompiled):
    """What runs on the CPU for comparison runs as plain Python."""


WIDE = np.cos(np.linspace(0.0, 1.0, 240)).reshape(10, 12, 2)
FORMS = {
    "every second": lambda a: a[::2, ::2],
    "backwards": lambda a: a[4::-1, 5::-1],
    "turned": lambda a: a.transpose((1, 0, 2))[6:1:-1, 3:9],
}


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("form", ["every second", "backwards", "turned"])
def test_any_layout(order: str, dtype: str, form: str):
    def f(u):
        return np.sin(u) * u

    u = np.linspace(-1.0, 1.0, 60).reshape(5, 6, 2).astype(dtype)
    wide = WIDE.astype(dtype)
    ct, given = FORMS[form](wide), FORMS[form](to_device(wide))
    value, pullback = aj.vjp(f, np.array(u, order=order))
    held, pulled = aj.vjp(f, to_device(u, order))
    tolerance = {"rtol": 1e-6, "atol": 1e-6} if dtype == "float32" else {}
    same(held, value, **tolerance)
    for _ in range(2):
        same(pulled(given), pullback(ct), **tolerance)
    tangent = aj.jvp(f, (to_device(u, order),), (given,))[1]
    same(tangent, aj.jvp(f, (np.array(u, order=order),), (ct,))[1], **tolerance)


@pytest.mark.parametrize(("one", "other"), ["CF", "FC"])
def test_the_other_order(one: str, other: str):
    def f(u):
        return u * u

    u, ct = np.linspace(-1.0, 1.0, 12).reshape(3, 4), np.cos(np.linspace(0.0, 3.0, 12)).reshape(3, 4)
    _, pulled = aj.vjp(f, to_device(u, one))
    given = to_device(ct, other)
    (got,) = pulled(given)
    same(got, 2 * u * ct)
    same(given, ct)  # not written


def test_no_elements():
    def f(u):
        return u * u

    _, pulled = aj.vjp(f, to_device(np.zeros((0, 3)), "F"))
    same(pulled(to_device(np.zeros((0, 3)))), (np.zeros((0, 3)),))
