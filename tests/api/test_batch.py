"""`aj.Batch`: tangents and cotangents with a leading axis."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjit as aj

RNG = np.random.default_rng(3)


def f(x: np.ndarray, s: float) -> Any:
    y = np.empty((2, len(x)))
    for i in range(len(x)):
        y[0, i] = s * x[i] * x[i - 1]
        y[1, i] = x[i] - s
    return y, y.sum()


@pytest.mark.parametrize("count", [1, 2, 3, 8, 9, 16, 17, 50])
def test_tangents(count: int, uncompiled: None) -> None:
    x, v, s = RNG.standard_normal(5), RNG.standard_normal((count, 5)), RNG.standard_normal(count)
    value, (by, total) = aj.jvp(f, (x, 2.0), (aj.Batch(v), aj.Batch(s)))
    assert np.array_equal(value[0], f(x, 2.0)[0])
    assert by.shape == (count, 2, 5)
    assert total.shape == (count,)
    for k in range(count):
        _, (one, one_total) = aj.jvp(f, (x, 2.0), (v[k], s[k]))
        assert np.array_equal(by[k], one)
        assert total[k] == one_total
    _, (by, _) = aj.jvp(f, (x, 2.0), (None, aj.Batch(s)))
    assert np.allclose(by[:, 1], -s[:, None] * np.ones(5))


def test_cotangents(uncompiled: None) -> None:
    x = RNG.standard_normal(5)
    _, pullback = aj.vjp(f, x, 2.0)
    cts = RNG.standard_normal((4, 2, 5))
    by_x, by_s = pullback((aj.Batch(cts), None))
    assert by_x.shape == (4, 5)
    assert by_s.shape == (4,)
    for k in range(4):
        one = pullback((cts[k], None))
        assert np.array_equal(by_x[k], one[0])
        assert by_s[k] == one[1]


def test_tuples(uncompiled: None) -> None:
    def g(p: Any) -> Any:
        return p[0] * p[1], p[1]

    v, w = RNG.standard_normal((6, 3)), RNG.standard_normal(6)
    _, whole = aj.jvp(g, ((np.ones(3), 2.0),), (aj.Batch((v, w)),))
    _, parts = aj.jvp(g, ((np.ones(3), 2.0),), ((aj.Batch(v), aj.Batch(w)),))
    for a, b in zip(whole, parts, strict=True):
        assert np.array_equal(a, b)
    assert np.allclose(whole[0], 2 * v + w[:, None])


def test_arguments_that_are_written(uncompiled: None) -> None:
    def double(x: np.ndarray) -> np.ndarray:
        x *= x
        return x

    x = np.arange(1.0, 4.0)
    value, tangents = aj.jvp(double, (x,), (aj.Batch(np.ones((40, 3))),))
    assert np.array_equal(x, [1.0, 4.0, 9.0])
    assert np.array_equal(value, x)
    assert np.array_equal(tangents, np.tile([2.0, 4.0, 6.0], (40, 1)))


def test_bad_batches(uncompiled: None) -> None:
    x = RNG.standard_normal(5)
    for tangents, message in (
        ((aj.Batch(np.zeros((3, 4))), None), r"shape \(3, 4\)"),
        ((aj.Batch(np.zeros((3, 5))), 1.0), "another one float"),
        ((aj.Batch(np.zeros((3, 5))), aj.Batch(np.zeros(2))), "holds 3"),
        ((aj.Batch(np.zeros((3, 5), np.float32)), None), "dtype float32"),
        ((aj.Batch([[0.0] * 5]), None), "must be an array"),
    ):
        with pytest.raises(aj.ArgumentError, match=message):
            aj.jvp(f, (x, 2.0), tangents)
    _, pullback = aj.vjp(f, x, 2.0)
    with pytest.raises(aj.ArgumentError, match="holds 2"):
        pullback((aj.Batch(np.zeros((2, 2, 5))), aj.Batch(np.zeros(3))))


def test_bad_cotangents_name_the_batch(uncompiled: None) -> None:
    x = RNG.standard_normal(5)
    _, pullback = aj.vjp(lambda x: x * 2.0, x)
    for cts, message in (
        (np.zeros((3, 4)), r"shape \(3, 4\)"),
        (np.zeros(5), r"shape \(5,\)"),
        (1.0, "must be an array, not float"),
        ([[0.0] * 5], "must be an array, not list"),
    ):
        with pytest.raises(aj.ArgumentError, match=message):
            pullback(aj.Batch(cts))
    assert pullback(aj.Batch(np.zeros((0, 5))))[0].shape == (0, 5)


def test_results_without_axes(uncompiled: None) -> None:
    def product(x: np.ndarray) -> np.ndarray:
        y = np.empty(())
        y[()] = x[0] * x[1]
        return y

    x = np.array([2.0, 3.0])
    _, pullback = aj.vjp(product, x)
    assert np.array_equal(pullback(aj.Batch(np.array([1.0, 2.0])))[0], [[3.0, 2.0], [6.0, 4.0]])
    _, tangents = aj.jvp(product, (x,), (aj.Batch(np.eye(2)),))
    assert np.array_equal(tangents, [3.0, 2.0])
