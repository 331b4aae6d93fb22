"""Custom rules in loops, over mutated arrays, in both modes. Rules are wrong on purpose where that shows who is asked."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numba import njit

import adjit as aj

pytestmark = pytest.mark.usefixtures("uncompiled")


@aj.custom_vjp
def wave(x, y):
    return math.sin(x) * y


def wave_fwd(x, y):
    return math.sin(x) * y, (math.cos(x), y, math.sin(x))


def wave_bwd(res, ct):
    c, y, s = res
    return 10.0 * c * y * ct, s * ct  # ten times too much in x


wave.defvjp(wave_fwd, wave_bwd)


@aj.custom_jvp
def square(x):
    return x * x


def square_jvp(primals, tangents):
    return primals[0] * primals[0], 3.0 * primals[0] * tangents[0]  # 3, not 2


square.defjvp(square_jvp)


@aj.custom_vjp
def scale(x, k):
    for i in range(x.shape[0]):
        x[i] = x[i] * k


def scale_fwd(x, k):
    old = x.copy()
    for i in range(x.shape[0]):
        x[i] = x[i] * k
    return None, (old, k)


def scale_bwd(res, ct, dx):
    old, k = res
    t = 0.0
    for i in range(dx.shape[0]):
        t += dx[i] * old[i]
        dx[i] = dx[i] * k
    return None, t


scale.defvjp(scale_fwd, scale_bwd)


def running(x, a):
    s = 0.0
    for i in range(a.shape[0]):
        s += wave(x * a[i], a[i])
        a[i] = s
    return s * s


def test_vjp_rule_in_a_loop_that_overwrites_its_arguments() -> None:
    x, a = 0.3, np.array([1.0, 2.0, 3.0])
    value, (dx, da) = aj.value_and_grad(running, wrt=(0, 1))(x, a.copy())
    s = sum(math.sin(x * v) * v for v in a)
    assert value == pytest.approx(s * s, rel=1e-15)
    assert dx == pytest.approx(2 * s * sum(10 * math.cos(x * v) * v * v for v in a), rel=1e-13)
    np.testing.assert_allclose(da, 2 * s * (10 * np.cos(x * a) * a * x + np.sin(x * a)), rtol=1e-13)


def test_final_state_is_the_plain_functions() -> None:
    a = np.array([1.0, 2.0, 3.0])
    plain = a.copy()
    running(0.3, plain)
    aj.grad(running)(0.3, a)
    np.testing.assert_array_equal(a, plain)


def powers(x, n):
    s = 1.0
    for _ in range(n):
        s = s * square(x)
    return s


def test_jvp_rule_in_both_modes() -> None:
    """In reverse mode the rule is transposed."""
    want = 3 * 2.0 ** (2 * 3 - 1) * 3.0  # each of the n factors has slope 3x
    assert aj.grad(powers)(2.0, 3) == pytest.approx(want)
    assert aj.jvp(powers, (2.0, 3), (1.0, None))[1] == pytest.approx(want)
    assert aj.vjp(powers, 2.0, 3)[1](1.0)[0] == pytest.approx(want)


def scaled_cubes(x, k):
    y = x.copy()
    scale(y, k)
    scale(y, k)
    s = 0.0
    for i in range(y.shape[0]):
        s += y[i] ** 3
    return s


def test_rule_that_mutates() -> None:
    x, k = np.array([1.0, 2.0, 3.0]), 2.0
    dx, dk = aj.grad(scaled_cubes, wrt=(0, 1))(x, k)
    np.testing.assert_allclose(dx, 3 * x**2 * k**6)
    assert dk == pytest.approx(6 * k**5 * np.sum(x**3))


def scaled_in_a_loop(x, k, times):
    for _ in range(times):
        scale(x, k)
    return x[0]


def test_rule_that_mutates_inside_a_loop() -> None:
    x, k = np.array([1.0, 2.0, 3.0]), 2.0
    dx, dk = aj.grad(scaled_in_a_loop, wrt=(0, 1))(x, k, 3)
    np.testing.assert_allclose(dx, [k**3, 0.0, 0.0])
    assert dk == pytest.approx(3 * k**2)
    np.testing.assert_array_equal(x, [k**3, 2 * k**3, 3 * k**3])


@aj.custom_vjp
def halve(x):
    for i in range(x.shape[0]):
        x[i] = 0.5 * x[i]


def halve_fwd(x):
    for i in range(x.shape[0]):
        x[i] = 0.5 * x[i]
    return None, ()


def halve_bwd(res, ct, dx):
    for i in range(dx.shape[0]):
        dx[i] = 7.0 * dx[i]  # 7, not a half


halve.defvjp(halve_fwd, halve_bwd)


def halved_in_a_loop(x, times):
    s = 0.0
    for _ in range(times):
        halve(x)
        s += x[0] * x[1]
    return s


@pytest.mark.parametrize("times", [0, 1, 3])
def test_mutating_rule_in_a_loop(times: int) -> None:
    x = np.array([1.0, 2.0, 3.0])
    want = np.zeros(3)
    for k in range(times, 0, -1):
        want += 0.5**k * np.array([2.0, 1.0, 0.0]) if k else 0.0
        want *= 7.0
    np.testing.assert_allclose(aj.grad(halved_in_a_loop)(x, times), want)
    np.testing.assert_array_equal(x, np.array([1.0, 2.0, 3.0]) * 0.5**times)


def argument_scaled(x, k):
    scale(x, k)
    scale(x, k)


def test_rule_that_mutates_an_argument() -> None:
    x, k = np.array([1.0, 2.0, 3.0]), 2.0
    dx = np.array([1.0, 10.0, 100.0])
    result = aj.autodiff(aj.Reverse, argument_scaled, aj.Duplicated(x, dx), aj.Active(k))
    np.testing.assert_array_equal(x, [4.0, 8.0, 12.0])
    np.testing.assert_array_equal(dx, [4.0, 40.0, 400.0])
    assert result.gradients[1] == pytest.approx(2 * k * (1 * 1 + 2 * 10 + 3 * 100))


def branching(x):
    s = 0.0
    for i in range(x.shape[0]):
        if x[i] > 1.0:
            s += square(x[i])
        else:
            s += x[i]
    return s


def test_rule_in_a_branch() -> None:
    np.testing.assert_allclose(aj.grad(branching)(np.array([0.5, 2.0])), [1.0, 6.0])


def test_missing_rules_are_named() -> None:
    @aj.custom_vjp
    def bare(x):
        return x

    with pytest.raises(aj.MissingRuleError, match=r"(?s)'bare'.*\^"):
        aj.grad(lambda x: bare(x) * x)(1.0)
    with pytest.raises(aj.MissingRuleError, match="'wave' has no forward rule"):
        aj.jvp(lambda x: wave(x, 1.0), (1.0,), (1.0,))


def test_a_rule_is_typed_as_the_call_that_it_serves(monkeypatch):
    """In a dispatcher float32 * 0.8 is a float64, in the rule's own plain function too."""
    monkeypatch.setenv("ADJIT_UNCOMPILED", "1")

    @aj.custom_vjp
    def wave(x):
        return x * math.sin(0.8 * x)

    def forth(x):
        return x * math.sin(0.8 * x), (x,)

    def back(res, ct):
        return (ct * (math.sin(0.8 * res[0]) + res[0] * 0.8 * math.cos(0.8 * res[0])),)

    wave.defvjp(forth, back)

    def plain(a):
        return wave(a[0])

    a = np.array([0.3], np.float32)
    for f in (plain, njit(plain)):
        gradient = aj.grad(f)(a)
        assert gradient.dtype == np.float32
        assert gradient[0] == pytest.approx(math.sin(0.24) + 0.24 * math.cos(0.24), rel=1e-6)


@aj.custom_vjp
def doubled(v):
    y = np.empty(v.shape[0])
    for i in range(v.shape[0]):
        y[i] = 2.0 * v[i]
    return y


def doubled_fwd(v):
    y = np.empty(v.shape[0])
    for i in range(v.shape[0]):
        y[i] = 2.0 * v[i]
    return y, None


def doubled_bwd(res, ct):
    d = np.empty(ct.shape[0])
    for i in range(ct.shape[0]):
        d[i] = 2.0 * ct[i]
    return (d,)


doubled.defvjp(doubled_fwd, doubled_bwd)


def test_a_rule_may_return_an_array(monkeypatch):
    monkeypatch.setenv("ADJIT_UNCOMPILED", "1")

    def f(x):
        z = doubled(x)
        s = z[0] * z[1]
        z[0] = z[0] * z[0]
        return s + z[0]

    np.testing.assert_allclose(aj.grad(f)(np.array([1.0, 2.0])), [16.0, 4.0])
    _, pullback = aj.vjp(f, np.array([1.0, 2.0]))
    for _ in range(2):
        np.testing.assert_allclose(pullback(1.0)[0], [16.0, 4.0])


def test_a_rule_that_returns_an_array_in_a_loop_is_refused_by_its_name(monkeypatch):
    def f(x):
        s = 0.0
        for _ in range(2):
            z = doubled(x)
            s += z[0] * z[1]
        return s

    with pytest.raises(aj.UnsupportedError, match="a rule of its own returns an array, in a loop"):
        aj.grad(f)(np.array([1.0, 2.0]))


@aj.custom_jvp
def weighed(x, n):
    return x * n


def weighed_rule(primals, tangents):
    (x, n), (dx, dn) = primals, tangents
    return x * n, n * dx + x * dn


weighed.defjvp(weighed_rule)


def weighed_thrice(x):
    return weighed(x, 3)


def test_a_tangent_of_an_integer_is_named_at_the_call(uncompiled: None) -> None:
    """It is None; a rule that asks for no such tangent takes integers (`powers` above)."""
    for call in (lambda: aj.grad(weighed_thrice)(2.0), lambda: aj.jvp(weighed, (2.0, 3), (1.0, None))):
        with pytest.raises(
            aj.UnsupportedError, match=r"'weighed' uses a tangent of 'n', .*\n(.*\n)*.*pass a float"
        ):
            call()
    assert aj.grad(weighed, wrt=(0, 1))(2.0, 3.0) == (3.0, 2.0)
