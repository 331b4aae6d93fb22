"""`autodiff`: annotations, shadows in place, batches, refusals before anything is touched."""

from typing import NamedTuple

import numpy as np
import pytest

import adjit as aj

X = np.array([1.0, 2.0, 3.0])


def scaled_sum(x, a, n):
    s = 0.0
    for i in range(x.shape[0]):
        s += a * x[i] * x[i]
    return s * n


def in_place(x, a):
    for i in range(x.shape[0]):
        x[i] = a * x[i] * x[i]


class TestReverse:
    def test_shadows_accumulate_and_active_floats_come_back(self):
        dx = np.ones(3)
        result = aj.autodiff(aj.Reverse, scaled_sum, aj.Duplicated(X, dx), aj.Active(2.0), 1)
        assert result.value == 28.0
        assert result.gradients[0] is None
        assert result.gradients[1] == pytest.approx(14.0)
        assert result.gradients[2] is None
        np.testing.assert_allclose(dx, 1 + 4 * X, rtol=1e-6)

    def test_written_array(self):
        x, dx = X.copy(), np.array([1.0, 10.0, 100.0])
        result = aj.autodiff(aj.Reverse, in_place, aj.Duplicated(x, dx), aj.Active(2.0))
        assert result.value is None
        assert result.gradients[1] == pytest.approx(1 + 40 + 900)
        np.testing.assert_array_equal(x, 2 * X * X)
        np.testing.assert_allclose(dx, [4.0, 80.0, 1200.0], rtol=1e-6)

    def test_const(self):
        dx = np.zeros(3)
        result = aj.autodiff(aj.Reverse, scaled_sum, aj.Duplicated(X, dx), aj.Const(2.0), 1)
        assert result.gradients == (None, None, None)
        np.testing.assert_allclose(dx, 4 * X, rtol=1e-6)

    def test_tuples(self):
        class P(NamedTuple):
            a: np.ndarray
            n: int
            b: np.ndarray

        def f(p, s):
            return p.a[0] * p.b[1] * s[0] * s[1]

        p, dp = P(X, 1, X), P(np.zeros(3), None, None)
        result = aj.autodiff(aj.Reverse, f, aj.Duplicated(p, dp), aj.Active((3.0, 4)))
        assert result.gradients[1] == (pytest.approx(8.0), None)
        np.testing.assert_allclose(dp.a, [24.0, 0.0, 0.0], atol=1e-6)

    def test_batches(self):
        d1, d2 = np.zeros(3), np.ones(3)
        result = aj.autodiff(aj.Reverse, scaled_sum, aj.BatchDuplicated(X, (d1, d2)), aj.Active(2.0), 1)
        assert result.gradients[1] == (pytest.approx(14.0), pytest.approx(14.0))
        np.testing.assert_allclose(d1, 4 * X, rtol=1e-6)
        np.testing.assert_allclose(d2, 1 + 4 * X, rtol=1e-6)

    def test_a_strided_view_takes_a_contiguous_shadow(self):
        base, dx = np.repeat(X, 2), np.zeros(3)
        aj.autodiff(aj.Reverse, scaled_sum, aj.Duplicated(base[::2], dx), aj.Const(2.0), 1)
        np.testing.assert_allclose(dx, 4 * X, rtol=1e-6)


class TestForward:
    def test_tangent(self):
        dx = np.array([1.0, 0.0, 0.0])
        value, tangent = aj.autodiff(aj.Forward, scaled_sum, aj.Duplicated(X, dx), aj.Duplicated(2.0, 1.0), 1)
        assert value == 28.0
        assert tangent == pytest.approx(4.0 + 14.0)
        np.testing.assert_array_equal(dx, [1.0, 0.0, 0.0])

    def test_shadows_move_along(self):
        x, dx = X.copy(), np.array([1.0, 1.0, 0.0])
        value, tangent = aj.autodiff(aj.Forward, in_place, aj.Duplicated(x, dx), aj.Const(2.0))
        assert value is None
        assert tangent is None
        np.testing.assert_array_equal(x, 2 * X * X)
        np.testing.assert_allclose(dx, [4.0, 8.0, 0.0], rtol=1e-6, atol=1e-8)

    def test_batches(self):
        d1, d2 = np.eye(3)[0].copy(), np.eye(3)[1].copy()
        value, tangent = aj.autodiff(
            aj.Forward, scaled_sum, aj.BatchDuplicated(X, (d1, d2)), aj.Const(2.0), 1
        )
        assert value == 28.0
        assert tangent == (pytest.approx(4.0), pytest.approx(8.0))

    def test_active_is_refused(self):
        with pytest.raises(aj.ArgumentError, match="Active, which Forward has not"):
            aj.autodiff(aj.Forward, scaled_sum, aj.Duplicated(X, X.copy()), aj.Active(2.0), 1)


class TestRefusals:
    @pytest.mark.parametrize(
        ("dx", "says"),
        [
            (np.zeros(2), "shape"),
            (np.zeros(3, np.float32), "dtype"),
            (np.zeros(6)[::2], "layout"),
            (X, "shares memory"),
            (1.0, "must be an array"),
            (np.broadcast_to(np.zeros(3), (3,)), "read-only"),
        ],
    )
    @pytest.mark.parametrize("mode", [aj.Reverse, aj.Forward])
    def test_shadow(self, mode, dx, says):
        if mode is aj.Forward and says == "read-only":
            return
        before = X.copy()
        with pytest.raises(aj.ArgumentError, match=says):
            aj.autodiff(mode, scaled_sum, aj.Duplicated(X, dx), aj.Const(2.0), 1)
        np.testing.assert_array_equal(X, before)

    def test_without_annotation(self):
        with pytest.raises(aj.ArgumentError, match="'x' is an array without annotation"):
            aj.autodiff(aj.Reverse, scaled_sum, X, aj.Active(2.0), 1)
        with pytest.raises(aj.ArgumentError, match="'a' is a float without annotation"):
            aj.autodiff(aj.Reverse, scaled_sum, aj.Const(X), 2.0, 1)

    def test_annotation_that_does_not_fit(self):
        with pytest.raises(aj.ArgumentError, match="'x' is Active and holds an array"):
            aj.autodiff(aj.Reverse, scaled_sum, aj.Active(X), aj.Const(2.0), 1)
        with pytest.raises(aj.ArgumentError, match="'n' is Active, and int64"):
            aj.autodiff(aj.Reverse, scaled_sum, aj.Const(X), aj.Const(2.0), aj.Active(1))
        with pytest.raises(aj.ArgumentError, match="'a' is a number"):
            aj.autodiff(aj.Reverse, scaled_sum, aj.Const(X), aj.Duplicated(2.0, 1.0), 1)
        two = aj.BatchDuplicated(X, (np.zeros(3), np.zeros(3)))
        with pytest.raises(aj.ArgumentError, match="different sizes"):
            aj.autodiff(aj.Reverse, lambda x, y: x[0] * y[0], two, aj.Duplicated(X, np.zeros(3)))
        with pytest.raises(aj.ArgumentError, match=r"aj\.Reverse"):
            aj.autodiff("reverse", scaled_sum, X)

    def test_returned_arrays(self):
        with pytest.raises((aj.ArgumentError, aj.UnsupportedError), match="array"):
            aj.autodiff(aj.Reverse, lambda x: x * 2.0, aj.Duplicated(X, np.zeros(3)))

    def test_one_shadow_for_two_arrays(self):
        dx = np.zeros(3)
        with pytest.raises(aj.ArgumentError, match="the shadow of 'x' shares memory with the shadow of 'y'"):
            aj.autodiff(
                aj.Reverse, lambda x, y: x[0] * y[0], aj.Duplicated(X, dx), aj.Duplicated(X.copy(), dx)
            )
