"""`vjp` and `jvp`: structure of cotangents and tangents, independence of the pullback, refusals."""

from typing import NamedTuple

import numpy as np
import pytest

import adjit as aj


def product(x, a, n):
    y = np.empty_like(x)
    for i in range(x.shape[0]):
        y[i] = a * x[i] * x[i]
    return y, n, a * a


def in_place(x):
    for i in range(x.shape[0]):
        x[i] = x[i] * x[i]


def in_place_and_value(x, a):
    s = 0.0
    for i in range(x.shape[0]):
        x[i] = x[i] * x[i] * a
        s += x[i]
    return s


X = np.array([1.0, 2.0, 3.0])
CT = np.array([1.0, 10.0, 100.0])


class TestVjp:
    def test_cotangents_per_positional_argument(self):
        (y, n, b), pullback = aj.vjp(product, X, 3.0, 4)
        np.testing.assert_array_equal(y, 3 * X * X)
        assert n == 4
        assert b == 9.0
        gx, ga, gn = pullback((CT, None, 1.0))
        np.testing.assert_allclose(gx, 6 * X * CT, rtol=1e-6)
        assert ga == pytest.approx(float(np.sum(X * X * CT)) + 6.0)
        assert type(ga) is float
        assert gn is None

    def test_none_is_zero(self):
        _, pullback = aj.vjp(product, X, 3.0, 4)
        gx, ga, _ = pullback((None, None, 1))
        np.testing.assert_array_equal(gx, 0.0)
        assert ga == pytest.approx(6.0)

    def test_pullback_owns_what_it_needs(self):
        x = X.copy()
        value, first = aj.vjp(in_place_and_value, x, 2.0)
        assert value == 28.0
        _, second = aj.vjp(in_place_and_value, x, 2.0)
        x[:] = 0.0
        np.testing.assert_allclose(first(1.0)[0], 4 * X, rtol=1e-6)
        np.testing.assert_allclose(first(2.0)[0], 8 * X, rtol=1e-6)
        np.testing.assert_allclose(second(1.0)[0], 4 * (2 * X * X), rtol=1e-6)
        ct = CT.copy()
        _, pullback = aj.vjp(product, X, 3.0, 4)
        pullback((ct, None, 0.0))
        np.testing.assert_array_equal(ct, CT)

    def test_const_and_keywords_have_no_cotangent(self):
        _, pullback = aj.vjp(product, X, aj.Const(3.0), 4)
        gx, ga, _ = pullback((CT, None, 1.0))
        assert ga is None
        np.testing.assert_allclose(gx, 6 * X * CT, rtol=1e-6)
        _, pullback = aj.vjp(product, X, a=3.0, n=4)
        assert len(pullback((CT, None, 1.0))) == 1

    def test_pure(self):
        x = X.copy()
        (state,), pullback = aj.vjp(aj.pure(in_place), x)
        np.testing.assert_array_equal(x, X)
        np.testing.assert_array_equal(state, X * X)
        (g,) = pullback((CT,))
        np.testing.assert_allclose(g, 2 * X * CT, rtol=1e-6)
        value, states = aj.pure(in_place_and_value)(x, 1.0)
        assert value == 14.0
        assert len(states) == 1
        np.testing.assert_array_equal(x, X)

    def test_pure_takes_read_only_and_shared_arrays(self):
        x = X.copy()
        x.flags.writeable = False
        (state,) = aj.pure(in_place)(x)
        np.testing.assert_array_equal(state, X * X)

    def test_cotangents_that_do_not_fit(self):
        _, pullback = aj.vjp(product, X, 3.0, 4)
        for ct, says in [
            (1.0, "structure"),
            ((CT, None), "structure"),
            ((CT, 1.0, 1.0), "must be None"),
            ((CT[:2], None, 1.0), "shape"),
            ((CT.astype(np.float32), None, 1.0), "dtype"),
            ((1.0, None, 1.0), "must be an array"),
            ((CT, None, CT), "must be a number"),
            ((CT, None, True), "must be a number"),
        ]:
            with pytest.raises(aj.ArgumentError, match=says):
                pullback(ct)

    def test_function_that_returns_nothing(self):
        with pytest.raises(aj.ArgumentError, match=r"aj\.pure\(f\)"):
            aj.vjp(in_place, X.copy())
        with pytest.raises(aj.ArgumentError, match=r"aj\.pure\(f\)"):
            aj.jvp(in_place, (X.copy(),), (X,))

    def test_variadic(self):
        def f(x, *ys):
            return x * ys[0] + ys[1] * ys[1]

        value, pullback = aj.vjp(f, 2.0, 3.0, aj.Const(4.0))
        assert value == 22.0
        assert pullback(1.0) == (pytest.approx(3.0), pytest.approx(2.0), None)


class TestJvp:
    def test_value_and_tangent(self):
        (y, n, b), (dy, dn, db) = aj.jvp(product, (X, 3.0, 4), (CT, 1.0, None))
        np.testing.assert_array_equal(y, 3 * X * X)
        assert (n, b, dn) == (4, 9.0, None)
        np.testing.assert_allclose(dy, 6 * X * CT + X * X, rtol=1e-6)
        assert db == pytest.approx(6.0)
        assert type(db) is float

    def test_none_is_inactive(self):
        _, (dy, _, db) = aj.jvp(product, (X, 3.0, 4), (CT, None, None))
        np.testing.assert_allclose(dy, 6 * X * CT, rtol=1e-6)
        assert db == pytest.approx(0.0)

    def test_written_arrays_and_tangents(self):
        x, dx = X.copy(), CT.copy()
        value, tangent = aj.jvp(in_place_and_value, (x, 1.0), (dx, None))
        assert value == 14.0
        assert tangent == pytest.approx(float(np.sum(2 * X * CT)))
        np.testing.assert_array_equal(dx, CT)
        np.testing.assert_array_equal(x, X * X)

    def test_pure(self):
        (state,), (moved,) = aj.jvp(aj.pure(in_place), (X,), (CT,))
        np.testing.assert_array_equal(state, X * X)
        np.testing.assert_allclose(moved, 2 * X * CT, rtol=1e-6)

    def test_same_array_as_primal_and_tangent(self):
        def f(x, y):
            s = 0.0
            for i in range(x.shape[0]):
                s += x[i] * y[i]
            return s

        _, t = aj.jvp(f, (X, X), (X, X))
        assert t == pytest.approx(28.0)

    def test_tuples(self):
        class P(NamedTuple):
            a: float
            n: int
            b: np.ndarray

        def f(p):
            return p.a * p.b[0] * p.n

        p = P(2.0, 3, X)
        _, t = aj.jvp(f, (p,), (P(1.0, None, None),))
        assert t == pytest.approx(3.0)
        _, t = aj.jvp(f, (p,), (P(1.0, None, CT),))
        assert t == pytest.approx(9.0)
        with pytest.raises(aj.ArgumentError, match=r"'p\.n' is int64"):
            aj.jvp(f, (p,), (P(1.0, 1, None),))
        with pytest.raises(aj.ArgumentError, match="structure"):
            aj.jvp(f, (p,), ((1.0, None),))
        with pytest.raises(aj.ArgumentError, match="structure"):
            aj.jvp(f, (p,), (1.0,))

    def test_tangents_that_do_not_fit(self):
        for tangents, says in [
            ((CT[:2], None, None), "shape"),
            ((CT.astype(np.float32), None, None), "dtype"),
            ((1.0, None, None), "must be an array"),
            ((None, "x", None), "must be a number"),
            ((None, None, 1), "int64"),
            ((None, None), "3 primals and 2 tangents"),
        ]:
            with pytest.raises(aj.ArgumentError, match=says):
                aj.jvp(product, (X, 3.0, 4), tangents)
        with pytest.raises(aj.ArgumentError, match="tuples"):
            aj.jvp(product, X, CT)


def test_keywords_of_f_are_constants_of_jvp():
    def scaled(x, *, power, scale=2.0):
        return scale * x**power

    assert aj.jvp(scaled, (3.0,), (1.0,), power=2) == (18.0, 12.0)
    assert aj.jvp(scaled, (3.0,), (1.0,), power=2, scale=1.0) == (9.0, 6.0)
    with pytest.raises(TypeError, match="'power'"):
        aj.jvp(scaled, (3.0,), (1.0,))
    with pytest.raises(TypeError, match="wrong"):
        aj.jvp(scaled, (3.0,), (1.0,), power=2, wrong=1)
