"""`grad` and `value_and_grad`: structure of arguments and gradients, binding, refusals, captured values."""

import functools
from typing import NamedTuple

import numpy as np
import pytest

import adjit as aj
from adjit.errors import CallError


class Params(NamedTuple):
    D: float
    n: int
    field: np.ndarray
    flag: bool = True
    nothing: None = None


def square_sum(x):
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i] * x[i]
    return s


def weighted(x, a, k=3, *, b=2.0):
    s = 0.0
    for i in range(x.shape[0]):
        s += a * x[i] * x[i] * k + b * x[i]
    return s


def in_params(p, scale):
    s = 0.0
    for i in range(p.n):
        s += p.D * p.field[i] * scale
    return s


def in_place(x):
    for i in range(x.shape[0]):
        x[i] = x[i] * x[i]
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i]
    return s


X = np.array([1.0, 2.0, 3.0])


def test_gradient_of_an_array_is_an_array_of_its_kind():
    g = aj.grad(square_sum)(X)
    assert type(g) is np.ndarray
    assert g.dtype == X.dtype
    np.testing.assert_allclose(g, 2 * X, rtol=1e-6)


def test_value_and_grad():
    value, g = aj.value_and_grad(square_sum)(X)
    assert value == 14.0
    assert type(value) is float
    np.testing.assert_allclose(g, 2 * X, rtol=1e-6)


def test_gradient_of_a_python_float_is_a_python_float():
    g = aj.grad(lambda x: x * x)(3.0)
    assert type(g) is float
    assert g == pytest.approx(6.0)


def test_gradient_of_a_numpy_scalar_has_its_type():
    g = aj.grad(lambda x: x * x)(np.float64(3.0))
    assert type(g) is np.float64


@pytest.mark.parametrize("wrt", [1, "a", -2])
def test_wrt_by_position_name_and_from_the_end(wrt):
    g = aj.grad(weighted, wrt=wrt)(X, 2.0)
    assert g == pytest.approx(3 * 14.0)


def test_wrt_tuple_gives_a_tuple():
    gx, gb = aj.grad(weighted, wrt=(0, "b"))(X, 2.0, b=1.0)
    np.testing.assert_allclose(gx, 12 * X + 1.0, rtol=1e-6)
    assert gb == pytest.approx(6.0)
    (only,) = aj.grad(weighted, wrt=(0,))(X, 2.0)
    assert only.shape == (3,)


def test_keywords_and_defaults_belong_to_f():
    positional = aj.grad(weighted)(X, 2.0, 5)
    np.testing.assert_array_equal(aj.grad(weighted)(a=2.0, x=X, k=5), positional)
    with pytest.raises(CallError, match="missing a required argument: 'a'"):
        aj.grad(weighted)(X)
    with pytest.raises(CallError, match="unexpected keyword argument 'c'"):
        aj.grad(weighted)(X, 2.0, c=1)
    with pytest.raises(CallError, match="multiple values for argument 'a'"):
        aj.grad(weighted)(X, 2.0, a=1)
    with pytest.raises(CallError, match="takes 3 positional"):
        aj.grad(weighted)(X, 2.0, 1, 1)


def test_gradient_of_a_named_tuple_is_that_named_tuple():
    p = Params(2.0, 3, X)
    g = aj.grad(in_params)(p, 1.5)
    assert type(g) is Params
    assert g.D == pytest.approx(9.0)
    assert type(g.D) is float
    assert g.n is None
    assert g.flag is None
    assert g.nothing is None
    np.testing.assert_allclose(g.field, 3.0, rtol=1e-6)


@pytest.mark.parametrize("wrt", ["p.D", "p.0"])
def test_wrt_path(wrt):
    assert aj.grad(in_params, wrt=wrt)(Params(2.0, 3, X), 1.5) == pytest.approx(9.0)


def test_variadic_arguments():
    def f(x, *ys):
        return x * ys[0] * ys[1]

    assert aj.grad(f, wrt=2)(2.0, 3.0, 5.0) == pytest.approx(6.0)
    assert aj.grad(f, wrt="ys")(2.0, 3.0, 5.0) == (pytest.approx(10.0), pytest.approx(6.0))


def test_partial_binds_run_time_arguments():
    def f(k, x, c=1.0):
        return k * x * x * c

    g = aj.grad(functools.partial(f, 3.0, c=2.0))
    assert g(2.0) == pytest.approx(24.0)
    assert g(2.0, c=1.0) == pytest.approx(12.0)
    assert aj.grad(functools.partial(f, c=2.0), wrt=1)(3.0, 2.0) == pytest.approx(24.0)


def test_fortran_order_is_kept():
    def f(x):
        s = 0.0
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                s += x[i, j] * x[i, j]
        return s

    a = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    g = aj.grad(f)(a)
    assert g.flags.f_contiguous
    np.testing.assert_allclose(g, 2 * a, atol=1e-6)
    strided = np.arange(12.0).reshape(2, 6)[:, ::2]
    g = aj.grad(f)(strided)
    assert g.flags.c_contiguous
    np.testing.assert_allclose(g, 2 * strided, rtol=1e-6)


def test_mutated_argument_ends_as_the_plain_call_leaves_it():
    x = X.copy()
    value, g = aj.value_and_grad(in_place)(x)
    assert value == 14.0
    np.testing.assert_array_equal(x, X * X)
    np.testing.assert_allclose(g, 2 * X, rtol=1e-6)


def test_has_aux():
    def f(x):
        s = 0.0
        for i in range(x.shape[0]):
            s += x[i] * x[i]
        return s, (x.shape[0], 2.0 * s)

    g, aux = aj.grad(f, has_aux=True)(X)
    np.testing.assert_allclose(g, 2 * X, rtol=1e-6)
    assert aux == (3, 28.0)
    (value, aux), g = aj.value_and_grad(f, has_aux=True)(X)
    assert value == 14.0
    assert aux == (3, 28.0)
    with pytest.raises(aj.ArgumentError, match="has_aux"):
        aj.grad(square_sum, has_aux=True)(X)


def test_source_is_text():
    assert isinstance(aj.grad(square_sum).source(X), str)
    assert "square_sum" in repr(aj.grad(square_sum))


class TestRefusals:
    def test_unknown_wrt(self):
        with pytest.raises(aj.ArgumentError, match="no such parameter"):
            aj.grad(weighted, wrt="z")
        with pytest.raises(aj.ArgumentError, match="no positional argument 7"):
            aj.grad(weighted, wrt=7)
        with pytest.raises(aj.ArgumentError, match="twice"):
            aj.grad(weighted, wrt=(0, "x"))
        with pytest.raises(aj.ArgumentError, match="inside of it"):
            aj.grad(in_params, wrt=("p", "p.D"))
        with pytest.raises(aj.ArgumentError, match="no 'E' in 'p'"):
            aj.grad(in_params, wrt="p.E")(Params(2.0, 3, X), 1.5)
        with pytest.raises(aj.ArgumentError, match="empty"):
            aj.grad(weighted, wrt=())

    def test_wrt_without_derivative(self):
        with pytest.raises(aj.ArgumentError, match="wrt='k' is int64"):
            aj.grad(weighted, wrt="k")(X, 2.0, 3)
        with pytest.raises(aj.ArgumentError, match="wrt='x' is int64"):
            aj.grad(lambda x: x * 2.0)(3)

    @pytest.mark.parametrize(
        ("value", "says"),
        [
            ([1.0], "list"),
            ({}, "dict"),
            (b"a", "bytes"),
            (np.array([object()]), "dtype object"),
            (np.array([1.0], dtype=">f8"), "byte-swapped"),
            (np.array([1.0], dtype=np.float16), "float16"),
            (np.array([(1.0, 2)], dtype=[("a", float), ("b", int)]), "dtype"),
            (np.ma.masked_array([1.0]), "MaskedArray"),
            (2**70, "does not fit"),
            (np.frombuffer(b"x" * 25, np.uint8)[1:].view(np.float64), "not aligned"),
        ],
    )
    def test_arguments_that_are_not_taken(self, value, says):
        def f(x, other):
            return x

        with pytest.raises(aj.ArgumentError, match=says) as caught:
            aj.grad(f)(1.0, value)
        assert "'other'" in str(caught.value)
        with pytest.raises(aj.ArgumentError, match=r"'other\.1'"):
            aj.grad(f)(1.0, (1.0, value))

    @pytest.mark.parametrize(
        ("f", "says"),
        [
            (lambda x: x, "array"),
            (lambda x: (x[0], x[1]), "tuple"),
            (lambda x: 3, "int64"),
            (lambda x: None, "None"),
        ],
    )
    def test_results_that_are_no_scalar(self, f, says):
        with pytest.raises((aj.ArgumentError, aj.UnsupportedError), match=says):
            aj.grad(f)(X)

    def test_functions_without_source(self):
        with pytest.raises(aj.ArgumentError, match="no Python source to differentiate, and no rule"):
            aj.grad(np.sum)
        with pytest.raises(aj.ArgumentError, match="wrap it"):
            aj.grad(np.sin)
        with pytest.raises(aj.ArgumentError, match="expected a function"):
            aj.grad(3)

    def test_variadic_keywords(self):
        def f(x, **kw):
            return x

        with pytest.raises(aj.UnsupportedError, match=r"\*\*kw"):
            aj.grad(f)


class TestMemory:
    def test_written_array_that_overlaps_another_is_refused_by_name(self):
        def f(x, y):
            for i in range(x.shape[0]):
                x[i] = x[i] * y[i]
            return x[0]

        a = np.arange(8.0)
        before = a.copy()
        with pytest.raises(aj.ArgumentError, match=r"'x' shares memory with 'y'.*written"):
            aj.grad(f)(a[1:4], a[3:6])
        np.testing.assert_array_equal(a, before)
        with pytest.raises(aj.ArgumentError, match="shares memory"):
            aj.grad(f)(a, a)
        aj.grad(f)(a[:4], a[4:])
        pos = np.ones((5, 2))
        aj.grad(f)(pos[:, 0], pos[:, 1])

    def test_read_twice_is_fine(self):
        def f(x, y):
            s = 0.0
            for i in range(x.shape[0]):
                s += x[i] * y[i]
            return s

        gx, gy = aj.grad(f, wrt=(0, 1))(X, X)
        np.testing.assert_allclose(gx, X, rtol=1e-6)
        np.testing.assert_allclose(gy, X, rtol=1e-6)

    def test_read_only_array_that_is_written(self):
        x = X.copy()
        x.flags.writeable = False
        np.testing.assert_allclose(aj.grad(square_sum)(x), 2 * X, rtol=1e-6)
        with pytest.raises(aj.ArgumentError, match="'x' is read-only"):
            aj.grad(in_place)(x)

    def test_written_array_with_repeated_elements(self):
        x = np.lib.stride_tricks.as_strided(X.copy(), (4, 2), (0, 8))

        def f(x):
            x[0, 0] = x[0, 1] * 2.0
            return x[0, 0]

        with pytest.raises(aj.ArgumentError, match="several of its elements"):
            aj.grad(f)(x)


class TestCaptures:
    def test_captured_numbers_are_part_of_the_key(self):
        def make(c):
            return lambda x: c * x * x

        assert aj.grad(make(2.0))(3.0) == pytest.approx(12.0)
        assert aj.grad(make(5.0))(3.0) == pytest.approx(30.0)

    def test_rebinding_a_captured_number_is_seen(self):
        c = 2.0

        def f(x):
            return c * x * x

        g = aj.grad(f)
        assert g(3.0) == pytest.approx(12.0)
        c = 5.0
        assert g(3.0) == pytest.approx(30.0)

    def test_changing_a_global_is_seen(self, monkeypatch):
        g = aj.grad(uses_global)
        assert g(3.0) == pytest.approx(12.0)
        monkeypatch.setitem(globals(), "SCALE", 5.0)
        assert g(3.0) == pytest.approx(30.0)


SCALE = 2.0


def scaled(x):
    return SCALE * x


def uses_global(x):
    return scaled(x) * x
