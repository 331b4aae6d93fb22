"""Lanes: what compiled code does with several numbers side by side is what the plain stand-ins do with arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import njit, uint64

from adjit.runtime import lanes
from adjit.runtime.lanes import lanes_dtype, plain_lanes

RNG = np.random.default_rng(0)
WIDTHS = (2, 4, 8, 16)
NAMES = ("lanes_at", "put_lanes", "vadd", "vsub", "vmul", "vdiv", "vneg", "vscale", "vwhere", "spread")


def filled(shape: tuple[int, ...], width: int, dtype: Any = np.float64, order: Any = "C") -> np.ndarray:
    a = np.zeros(shape, lanes_dtype(np.dtype(dtype), width), order)
    a["lanes"] = RNG.standard_normal((*shape, width))
    return a


TEXT = """
def f(a, b, out, s, flag):
    x = lanes_at(a, (0, -1))
    y = lanes_at(b, (uint64(1), 2))
    put_lanes(out, (0,), vadd(x, y))
    put_lanes(out, (1,), vsub(x, s))
    put_lanes(out, (2,), vmul(vneg(x), s))
    put_lanes(out, (3,), vdiv(y, s))
    put_lanes(out, (4,), vscale(x, s))
    put_lanes(out, (-1,), vwhere(flag, x, 0.0))
    put_lanes(out, (6,), vadd(spread(1.5, {width}), vwhere(not flag, x, y)))
"""


@pytest.mark.parametrize("width", WIDTHS)
def test_compiled_and_plain_agree(width: int) -> None:
    text = TEXT.format(width=width)
    plain: dict[str, Any] = {**plain_lanes(), "uint64": int}
    exec(text, plain)
    compiled: dict[str, Any] = {name: getattr(lanes, name) for name in NAMES} | {"uint64": uint64}
    exec(text, compiled)
    f = njit(compiled["f"])
    for order, scalar in (("C", 0.7), ("F", 0.0), ("C", np.inf), ("C", np.nan)):
        a, b = filled((3, 4), width, order=order), filled((2, 4), width)
        a["lanes"][0, -1, 0] = 0.0  # a strong zero
        a["lanes"][0, -1, 1] = np.nan
        for flag in (True, False):
            found, right = filled((8,), width), filled((8,), width)
            found["lanes"][...] = right["lanes"][...] = 0
            with np.errstate(all="ignore"):
                plain["f"](a, b, right, scalar, flag)
            f(a, b, found, scalar, flag)
            np.testing.assert_array_equal(found["lanes"], right["lanes"])
            assert found["lanes"][4, 0] == 0.0


def test_numbers_of_another_precision() -> None:
    dtype = lanes_dtype(np.dtype(np.float32), 8)
    to_double, to_single, load, store = lanes.vfloat64, lanes.vfloat32, lanes.lanes_at, lanes.put_lanes

    @njit
    def f(a: Any, b: Any, c: Any) -> None:
        x = to_double(load(a, (0,)))
        store(b, (0,), x)
        store(c, (0,), x)
        store(c, (1,), to_single(x))

    a, b = filled((1,), 8, np.float32), filled((1,), 8)
    c = np.zeros(2, dtype)
    f(a, b, c)
    assert np.array_equal(b["lanes"], a["lanes"].astype(np.float64))
    assert np.array_equal(c["lanes"], np.tile(a["lanes"], (2, 1)))


def test_columns_of_a_matrix() -> None:
    put_row, put_lane, load = lanes.put_row, lanes.put_lane, lanes.lanes_at

    @njit
    def f(a: Any, matrix: Any) -> None:
        put_lane(a, 2, 3, 7.0)
        put_row(matrix, 0, 1, 8, load(a, (0,)))
        put_row(matrix, 1, 6, 3, load(a, (1,)))

    a, matrix = filled((3,), 8), np.zeros((2, 9))
    before = a["lanes"].copy()
    f(a, matrix)
    assert a["lanes"][2, 3] == 7.0
    assert np.array_equal(matrix[0], np.append(0.0, before[0]))
    assert np.array_equal(matrix[1], np.concatenate([np.zeros(6), before[1, :3]]))
