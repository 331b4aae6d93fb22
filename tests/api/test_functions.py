"""`options`, `jit`, `custom_*`, `stop_gradient`, `debug_nans`, `check_grad`, and functions as arguments."""

import subprocess
import sys
import threading

import numba
import numpy as np
import pytest

import adjit as aj

X = np.array([1.0, 2.0, 3.0])


def square_sum(x):
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i] * x[i]
    return s


def in_place(x, a):
    for i in range(x.shape[0]):
        x[i] = a * x[i] * x[i]


class TestOptions:
    def test_a_function_with_options_is_the_function(self):
        f = aj.options(square_sum, boundscheck=True)
        assert f(X) == 14.0
        np.testing.assert_allclose(aj.grad(f)(X), 2 * X, rtol=1e-6)
        np.testing.assert_allclose(aj.vjp(f, X)[1](1.0)[0], 2 * X, rtol=1e-6)

    def test_they_compose_with_pure(self):
        f = aj.options(aj.pure(in_place), boundscheck=True)
        (state,), _ = aj.vjp(f, X, 2.0)
        np.testing.assert_array_equal(state, 2 * X * X)
        (state,), _ = aj.vjp(aj.pure(aj.options(in_place, boundscheck=True)), X, 2.0)
        np.testing.assert_array_equal(state, 2 * X * X)

    def test_memory(self):
        with pytest.raises(aj.ArgumentError, match="bytes"):
            aj.options(square_sum, memory=-1)


class TestJit:
    def test_same_value_and_mutation(self):
        x = X.copy()
        assert aj.jit(in_place)(x, 2.0) is None
        np.testing.assert_array_equal(x, 2 * X * X)
        assert aj.jit(square_sum)(X) == 14.0

    def test_operators_look_through(self):
        np.testing.assert_allclose(aj.grad(aj.jit(square_sum))(X), 2 * X, rtol=1e-6)


class TestCustom:
    def test_called_as_the_primal(self):
        @aj.custom_vjp
        def f(x):
            return x * x

        f.defvjp(lambda x: (x * x, (x,)), lambda res, ct: (2 * res[0] * ct,))
        assert f(3.0) == 9.0
        assert f.__name__ == "f"

    def test_called_from_njit_code(self):
        @aj.custom_jvp
        def f(x):
            return x * x

        @numba.njit
        def g(x):
            return f(x) + aj.stop_gradient(x) + 1.0

        assert g(3.0) == 13.0
        np.testing.assert_array_equal(g(X), X * X + X + 1.0)

    def test_twice_is_refused(self):
        @aj.custom_vjp
        def f(x):
            return x

        with pytest.raises(aj.ArgumentError, match="rules already"):
            aj.custom_jvp(f)


def test_stop_gradient_is_the_identity():
    assert aj.stop_gradient(X) is X


def test_functions_are_arguments():
    def apply(x, h):
        return h(x) * x

    def double(x):
        return 2.0 * x

    assert aj.grad(apply)(3.0, double) == pytest.approx(12.0)
    assert aj.grad(apply)(3.0, numba.njit(double)) == pytest.approx(12.0)
    c = 2.0

    def scaled(x):
        return c * x

    g = aj.grad(apply)
    assert g(3.0, scaled) == pytest.approx(12.0)
    c = 5.0
    assert g(3.0, scaled) == pytest.approx(30.0)


def test_one_build_for_many_threads():
    def f(x):
        return x * x * x

    g, found = aj.grad(f), []
    threads = [threading.Thread(target=lambda: found.append(g(2.0))) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found == [pytest.approx(12.0)] * 8


class TestCheckGrad:
    def test_passes(self):
        report = aj.check_grad(square_sum, X)
        assert report.reverse < 1e-6
        assert "passed" in str(report)
        x = X.copy()
        aj.check_grad(in_place, x, 2.0)
        np.testing.assert_array_equal(x, X)

    def test_fails_with_the_worst_component(self):
        @aj.custom_vjp
        def wrong(x):
            return x * x * x

        wrong.defvjp(lambda x: (x * x * x, (x,)), lambda res, ct: (2.0 * res[0] * ct,))

        def f(x):
            return wrong(x[0]) + x[1]

        with pytest.raises(aj.CheckError, match=r"worst: x\[0\]"):
            aj.check_grad(f, np.array([2.0, 1.0]))

    def test_a_kink_does_not_settle(self):
        with pytest.raises(aj.CheckError, match=r"settle|differences say"):
            aj.check_grad(lambda x: x if x > 0.0 else 3.0 * x, 0.0)
        with pytest.raises(aj.CheckError, match="do not settle"):
            aj.check_grad(lambda x: 1.0 + 0.0 * x if x > 0.0 else 0.0 * x, 0.0)

    def test_nothing_to_check(self):
        with pytest.raises(aj.ArgumentError, match="no argument is a float"):
            aj.check_grad(lambda n: 2.0 * n, 3)


def test_import_is_light():
    code = (
        "import numba, time, sys; old = set(sys.modules); t = time.process_time(); import adjit;"
        "print(time.process_time() - t); print(sorted(m for m in set(sys.modules) - old"
        " if not m.startswith(('adjit.api', 'adjit.ir', 'adjit.rules', 'adjit.runtime', 'adjit.errors'))))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    seconds, modules = out.splitlines()
    assert modules == "['__future__', 'adjit']"
    assert float(seconds) < 0.5
