"""Corners of the interface: empty and 0-size arrays, results that are arguments, captured objects, methods, speed."""

import functools
import timeit
import types
from typing import NamedTuple

import numba
import numpy as np
import pytest

import adjit as aj

X = np.array([1.0, 2.0])


def total(x):
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i] * x[i]
    return s


def doubled(x):
    for i in range(x.shape[0]):
        x[i] = x[i] * 2.0
    return x


def through_buffer(x, buffer, a):
    for i in range(x.shape[0]):
        buffer[i] = a * x[i] * x[i]
    s = 0.0
    for i in range(x.shape[0]):
        s += buffer[i]
    return s


class Model(NamedTuple):
    a: float

    def energy(self, y):
        return self.a * y * y


def test_empty_array():
    assert aj.grad(total)(np.zeros(0)).shape == (0,)


def test_float32_stays_float32():
    x = X.astype(np.float32)
    assert aj.grad(total)(x).dtype == np.float32
    value, g = aj.value_and_grad(lambda y: y * y * y)(np.float32(2.0))
    assert (value, g) == (8.0, 12.0)
    assert type(value) is type(g) is np.float32
    gx, gh = aj.grad(lambda x, h: x[0] * h, wrt=(0, 1))(x, 2.0)
    assert gx.dtype == np.float32
    assert type(gh) is float


def test_a_result_that_is_the_argument():
    x = X.copy()
    value, pullback = aj.vjp(doubled, x)
    assert value is x
    np.testing.assert_array_equal(x, 2 * X)
    x[:] = 0.0
    np.testing.assert_array_equal(pullback(np.ones(2))[0], 2.0)


def test_results_of_any_kind():
    value = aj.jit(lambda x: (x, 2, True, None, 1.5))(X)
    assert value[1:] == (2, True, None, 1.5)
    assert value[0] is X


def test_none_and_defaults_steer_the_program():
    def f(a, k=None):
        return a * 2.0 if k is None else a * k

    assert aj.grad(f)(2.0) == 2.0
    assert aj.grad(f)(2.0, 5.0) == 5.0
    assert aj.grad(f)(2.0, k=7.0) == 7.0


def test_pure_composes_with_grad():
    buffer = np.zeros(2)
    g, (state,) = aj.grad(aj.pure(through_buffer), has_aux=True)(X, buffer, 3.0)
    np.testing.assert_allclose(g, 6 * X)
    np.testing.assert_allclose(state, 3 * X * X)
    np.testing.assert_array_equal(buffer, 0.0)


def test_batches_with_a_written_array():
    d1, d2, e1, e2 = np.ones(2), np.zeros(2), np.zeros(2), np.zeros(2)
    result = aj.autodiff(
        aj.Reverse,
        through_buffer,
        aj.BatchDuplicated(X, (e1, e2)),
        aj.BatchDuplicated(np.zeros(2), (d1, d2)),
        aj.Active(3.0),
    )
    assert result.gradients[2] == (10.0, 5.0)
    np.testing.assert_allclose(e1, 12 * X)
    np.testing.assert_allclose(e2, 6 * X)
    np.testing.assert_array_equal([d1, d2], 0.0)


def test_same_bits_every_time():
    x = np.random.default_rng(1).standard_normal(100)
    g = aj.grad(total)
    assert g(x).tobytes() == g(x).tobytes()


def test_captured_values_are_told_apart():
    def make(c):
        return lambda y: c * y

    assert np.isnan(aj.grad(make(float("nan")))(1.0))
    assert str(aj.grad(make(-0.0))(1.0)) == "-0.0"
    assert str(aj.grad(make(0.0))(1.0)) == "0.0"
    assert aj.grad(make(2))(1.0) == 2.0


def test_attributes_of_captured_objects_are_seen():
    settings = types.SimpleNamespace(a=2.0)

    def f(y):
        return settings.a * y

    g = aj.grad(f)
    assert g(3.0) == 2.0
    settings.a = 5.0
    assert g(3.0) == 5.0


def test_captured_arrays_are_read_at_the_call():
    weights = np.array([2.0, 3.0])

    def f(x):
        return weights[0] * x[0]

    g = aj.grad(f)
    assert g(X)[0] == 2.0
    weights[0] = 7.0
    assert g(X)[0] == 7.0
    other = aj.grad(lambda x: weights[1] * x[0])
    assert other(X)[0] == 3.0
    weights = np.array([1.0, 1.0])
    assert g(X)[0] == 1.0
    assert other(X)[0] == 1.0


def test_one_lambda_in_a_loop_is_built_once():
    from adjit.runtime import program

    built = []
    original = program.build

    def counted(request):
        built.append(request)
        return original(request)

    program.build = counted
    try:
        for _ in range(3):
            assert aj.grad(lambda y: y * y + 1.25 * y)(3.0) == 7.25
    finally:
        program.build = original
    assert len(built) == 1


def test_methods_of_named_tuples():
    assert aj.grad(Model(3.0).energy)(2.0) == 12.0
    with pytest.raises(aj.ArgumentError, match="does not take its object"):
        aj.grad(types.MethodType(lambda self, y: y, object()))(2.0)


def test_dispatchers_with_fixed_signatures():
    @numba.njit(["float64(float64)"])
    def f(y):
        return y * y

    assert aj.grad(f)(3.0) == 6.0
    assert aj.check_grad(f, 3.0).reverse < 1e-9


def test_check_grad_of_in_place_functions():
    report = aj.check_grad(through_buffer, X, np.zeros(2), 3.0)
    assert report.forward is not None
    assert report.joint is not None
    aj.check_grad(aj.pure(through_buffer), X, np.zeros(2), 3.0)
    aj.check_grad(functools.partial(through_buffer, X), np.zeros(2), 3.0)


def test_partials_do_not_keep_their_arrays():
    import gc
    import weakref

    bound = np.ones(3)
    watched = weakref.ref(bound)
    aj.vjp(functools.partial(lambda w, y: w[0] * y, bound), 2.0)
    del bound
    gc.collect()
    assert watched() is None


def test_a_call_costs_little():
    g = aj.grad(total)
    x = np.ones(10)
    g(x)
    assert min(timeit.repeat(lambda: g(x), number=500, repeat=40)) / 500 < 20e-6
