"""What launches and kernels refuse, and how they say it."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit, prange

import adjit as aj

from . import programs as p


@pytest.fixture(autouse=True)
def _uncompiled(uncompiled):
    """Nothing is compiled."""


U = np.ones(4)


@pytest.mark.parametrize(
    ("ndrange", "words"),
    [
        (-1, "ndrange of the kernel 'square' is -1, which is negative"),
        ((2, -3), r"is \(2, -3\), which is negative"),
        (2.0, "ndrange of the kernel 'square' is 2.0"),
        (np.float64(2), "ndrange of the kernel 'square' is np.float64"),
        (True, "ndrange of the kernel 'square' is True"),
        ([2], r"ndrange of the kernel 'square' is \[2\]"),
        (None, "ndrange of the kernel 'square' is None"),
        ((), "has 0 extents"),
        ((1, 1, 1, 1), "has 4 extents"),
    ],
)
def test_ndrange(ndrange, words):
    with pytest.raises(aj.ArgumentError, match=words) as caught:
        p.square(U.copy(), ndrange=ndrange)
    assert "give" in str(caught.value) and "programs.py" in str(caught.value)


def test_a_call_without_ndrange():
    with pytest.raises(TypeError, match="missing a required argument: 'ndrange'"):
        p.square(U)


def test_the_rank_that_the_body_asks_for():
    with pytest.raises(
        aj.UnsupportedError, match=r"kernel 'square' asks for aj.index\(\), and its ndrange has 2"
    ) as one:
        p.square(U.copy(), ndrange=(2, 2))
    assert "launch it with ndrange=n, or take i, j = aj.index(2)" in str(one.value)
    with pytest.raises(
        aj.UnsupportedError, match=r"'outer' asks for aj.index\(2\), and its ndrange has 1 extent"
    ) as two:
        p.outer(np.ones((2, 2)), U, U, ndrange=2)
    assert "ndrange=(n, m)" in str(two.value) and "i, j = aj.index(2)" in str(two.value)


def test_streams_and_blocks():
    with pytest.raises(aj.DeviceError, match="'square' is launched on a stream"):
        p.square(U.copy(), ndrange=2, stream=object())
    with pytest.raises(aj.ArgumentError, match="block of the kernel 'square' is 'wide'"):
        p.square(U.copy(), ndrange=2, block="wide")

    def host(u, s):
        p.square(u, ndrange=2, stream=s)

    with pytest.raises(aj.DeviceError, match="'square' is launched on a stream"):
        aj.jit(host)(U.copy(), 3)
    aj.jit(host)(U.copy(), None)


def refused(f, *args, error=aj.UnsupportedError):
    with pytest.raises(error) as caught:
        aj.grad(f)(*args)
    return str(caught.value)


def test_launches_in_hosts():
    def no_range(u):
        p.square(u)
        return u[0]

    def floats(u):
        p.square(u, ndrange=2.0)
        return u[0]

    def negative(u):
        p.square(u, ndrange=(-2))
        return u[0]

    def four(u):
        p.square(u, ndrange=(1, 1, 1, 1))
        return u[0]

    def an_array(u):
        p.square(u, ndrange=u)
        return u[0]

    assert "the kernel 'square' is called without ndrange" in refused(no_range, U)
    assert "the ndrange of the kernel 'square' holds 2.0" in refused(floats, U)
    assert "the ndrange of the kernel 'square' is negative" in refused(negative, U)
    assert "the ndrange of the kernel 'square' has 4 extents" in refused(four, U)
    assert "the ndrange of the kernel 'square' holds a 1-D array" in refused(an_array, U)


def test_an_extent_that_turns_out_negative():
    def host(u, n):
        p.square(u, ndrange=n - 1)
        return np.sum(u)

    assert aj.grad(host)(np.full(2, 3.0), 2).tolist() == [6.0, 1.0]
    assert aj.grad(host)(np.full(2, 3.0), 1).tolist() == [1.0, 1.0]
    with pytest.raises(ValueError, match="the ndrange of the kernel 'square' is negative"):
        aj.grad(host)(np.full(2, 3.0), 0)


def test_an_extent_that_is_a_float():
    def host(u, n):
        p.square(u, ndrange=n / 2)
        return np.sum(u)

    assert "range" in refused(host, U, 4)


def test_index_outside_of_a_kernel():
    def host(u):
        return u[aj.index()]

    assert "'aj.index' outside of a kernel" in refused(host, U)
    with pytest.raises(aj.UnsupportedError, match="outside of a kernel"):
        aj.index(2)


@aj.kernel
def launches(u):
    p.square(u, ndrange=2)


@aj.kernel
def returns(u):
    if u[0] > 0.0:
        return 1.0
    return 2.0


@aj.kernel
def asks(u):
    u[aj.index(4)] = 1.0


def test_kernels_that_do_what_they_may_not():
    with pytest.raises(aj.UnsupportedError, match="'square' is launched inside of the kernel 'launches'"):
        launches(U.copy(), ndrange=2)
    with pytest.raises(aj.UnsupportedError, match="the kernel 'returns' returns a number"):
        returns(U.copy(), ndrange=2)
    with pytest.raises(aj.UnsupportedError, match=r"'aj\.index' of something else than 1, 2 or 3"):
        asks(U.copy(), ndrange=2)


def test_a_gradient_of_a_kernel_is_refused():
    with pytest.raises(aj.ArgumentError, match=r"square\(\) returns None"):
        aj.grad(p.square)(U, ndrange=2)
    with pytest.raises(aj.ArgumentError, match=r"aj\.pure"):
        aj.vjp(p.square, U, ndrange=2)


def test_njit():
    @njit
    def host(u):
        p.square(u, ndrange=2)
        return u[0]

    message = refused(host, U)
    assert "'square' is launched by 'host', which is under njit" in message and "leave off njit" in message

    def outer_host(u):
        return host(u)

    assert "'square' is launched by 'host', which is under njit" in refused(outer_host, U)
    with pytest.raises(aj.UnsupportedError, match="the kernel 'wave' is under njit"):
        aj.kernel(p.wave)


def test_decoration():
    def block(u, block):
        u[aj.index()] = block

    def more(u, **more):
        u[aj.index()] = 0.0

    with pytest.raises(aj.UnsupportedError, match="'block' has a parameter 'block', which launches reserve"):
        aj.kernel(block)
    with pytest.raises(aj.UnsupportedError, match=r"'more' has a parameter '\*\*more'"):
        aj.kernel(more)
    with pytest.raises(aj.ArgumentError, match="expected a function"):
        aj.kernel(3)


def test_arguments_that_share_memory():
    u = np.ones(4)
    with pytest.raises(aj.ArgumentError, match="shares memory"):
        p.scale(u[1:], 2.0, u[:-1], ndrange=3)
    before = u.copy()
    assert np.array_equal(u, before)
    u.flags.writeable = False
    with pytest.raises(aj.ArgumentError, match="read-only"):
        p.square(u, ndrange=2)


# races that are certain


@aj.kernel
def overwrite(y, x):
    y[0] = x[aj.index()]


@aj.kernel
def sum_up(y, x):
    i = aj.index()
    y[0] += x[i]


@aj.kernel
def rows(y, x):
    i, j = aj.index(2)
    y[i] = x[i, j]


def by_prange(x):
    y = np.zeros(2)
    for i in prange(len(x)):
        for k in range(2):
            y[k] += x[i]
    return y[0]


@pytest.mark.parametrize(
    ("f", "args", "ndrange"),
    [
        (overwrite, (U.copy(), U), 4),
        (sum_up, (U.copy(), U), 4),
        (rows, (U.copy(), np.ones((4, 4))), (4, 4)),
        (by_prange, (U,), None),
    ],
)
def test_a_certain_race(f, args, ndrange):
    keywords = {} if ndrange is None else {"ndrange": ndrange}
    with pytest.raises(
        aj.UnsupportedError, match="every turn of a parallel loop writes the same element of 'y'"
    ) as e:
        aj.jit(f)(*args, **keywords)
    assert "^" in str(e.value) and "aj.atomic_add" in str(e.value)
    with pytest.raises(aj.CheckError, match=r"meet in 'y\[0\]'"):
        aj.check_races(f, ndrange, *args)


@aj.kernel
def not_certain(y, x):
    i = aj.index()
    if i == 0:
        y[0] = x[i]
    y[1] = x[2]
    own = np.zeros(2)
    own[0] = x[i]
    y[3] = 1.0
    aj.atomic_add(y, 2, own[0])


def test_what_is_no_certain_race():
    y = np.zeros(4)
    not_certain(y, np.arange(4.0), ndrange=4)
    assert y.tolist() == [0.0, 2.0, 6.0, 1.0]
    overwrite_one = aj.jit(lambda y, x: overwrite(y, x, ndrange=1))
    overwrite_one(y, np.full(1, 7.0))
    assert y[0] == 7.0


@pytest.mark.parametrize("update", [aj.atomic_add, aj.atomic_min, aj.atomic_max])
def test_a_float_is_not_added_to_an_integer(update):
    """It used to lose its fraction without a word: a histogram of weights below 1 stayed empty."""

    @aj.kernel
    def histogram(count, at, weight):
        i = aj.index()
        update(count, at[i], weight[i])

    count, at = np.zeros(2, np.int64), np.array([0, 1, 1, 0])
    with pytest.raises(
        aj.UnsupportedError, match="an update of `count` with float64 would lose the fraction"
    ) as one:
        histogram(count, at, U * 0.6, ndrange=4)
    assert "give the array a float dtype, or convert the value: int(v)" in str(one.value)
    with pytest.raises(aj.ArgumentError, match="would lose the fraction"):
        update(count, 0, 0.6)
    assert count.tolist() == [0, 0]
    histogram(count, at, np.array([3, 4, 5, 6]), ndrange=4)
    aj.atomic_add(count, 0, 2)
    floats = np.zeros(2)
    histogram(floats, at, U * 0.6, ndrange=4)


def test_a_kernel_chosen_by_data():
    @aj.kernel
    def double(u):
        u[aj.index()] *= 2.0

    def ternary(u, flag):
        k = double if flag else p.square
        k(u, ndrange=4)
        return u[0]

    def branch(u, flag):
        if flag:
            k = double
        else:
            k = p.square
        k(u, ndrange=4)
        return u[0]

    def in_a_loop(u, n):
        k = double
        for _ in range(n):
            k(u, ndrange=4)
            k = p.square
        return u[0]

    for f in (ternary, branch, in_a_loop):
        with pytest.raises(aj.UnsupportedError, match="call each in a branch of its own"):
            aj.grad(f)(U, 1)

    def each(u, flag):
        if flag:
            double(u, ndrange=4)
        else:
            p.square(u, ndrange=4)
        return u[0]

    assert aj.grad(each)(U * 3.0, True)[0] == 2.0
    assert aj.grad(each)(U * 3.0, False)[0] == 6.0


def test_jvp_takes_the_keywords_of_a_launch():
    (states,), (tangent,) = aj.jvp(aj.pure(p.square), (U * 3.0,), (U,), ndrange=2)
    np.testing.assert_array_equal(states, [9.0, 9.0, 3.0, 3.0])
    np.testing.assert_array_equal(tangent, [6.0, 6.0, 1.0, 1.0])
    with pytest.raises(aj.ArgumentError, match="ndrange of the kernel 'square' is -1"):
        aj.jvp(aj.pure(p.square), (U,), (U,), ndrange=-1)
